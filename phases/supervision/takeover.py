"""How a takeover begins, what it recovers from, and how it ends (sections 7.3, 7.4 and 7.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phases.supervision import graph_executor, observer
from phases.supervision.branch_budget import BranchBudget, grant_bypasses
from phases.supervision.config import FIRST
from phases.supervision.corrections import Correction
from phases.supervision.effects import LADDER_PIN, PINS, RECOVERY_PIN, TAKEOVER_PIN, Effects, TimelineEntry
from phases.supervision.effects import recovery_entry as entry_of_recovery
from phases.supervision.enums import (
    LED,
    CorrectionKind,
    DecisionKind,
    DegradedTier,
    DeviationSignal,
    ModeSignal,
    RecoveryTier,
    StopReason,
    TaskPhase,
    TimelineEvent,
)
from phases.supervision.execution_mode import clear_recovery, lower_tier, raise_tier, submit_signals
from phases.supervision.facts import Round
from phases.supervision.graph_executor import sync_phase
from phases.supervision.l2_phases import (
    PhaseContext,
    PhaseDecision,
    PhaseState,
    RecoveryBudget,
    as_shadow,
    commit_phase,
    compute_next,
    entry_of_exhausted,
    find_exhausted,
    settle_round,
)
from phases.supervision.messages import send_correction
from phases.supervision.recovery import RecoveryContext, plan_recovery
from phases.supervision.state import KernelState, Setting
from phases.supervision.wording import evidence_lines, handoff_text, takeover_text
from phases.supervision.workspace_snapshot import DiskFacts

Disk = Callable[[], DiskFacts]
"""What stands in the workspace now. Asked for when a takeover begins, and not else."""


def take_over(state: KernelState, setting: Setting, decision: PhaseDecision, disk: Disk, out: Effects) -> KernelState:
    """Section 7.3: the phase is committed already; then exactly one text, the floor of L1, and the main path."""
    reasons = [signal.reason + (f" ({signal.detail})" if signal.detail else "") for signal in decision.signals]
    out.note(entry_of_recovery(decision.reason, signals=reasons))
    text = takeover_text(
        setting.task.goal,
        decision.reason,
        reasons,
        setting.domain,
        evidence_lines(state.ledger, setting.task.verify_commands),
    )
    state = replace(
        state,
        mode=submit_signals(state.mode, ModeSignal.RECOVERY_PENDING),
        recovery=RecoveryBudget(),
        recovery_failed=False,
        graph=graph_executor.enter_takeover(state.graph),
        # A recovery may need the very edit that the budget has just refused.
        budget=grant_bypasses(state.budget, setting.config.branch_budget),
    )
    state = send_correction(state, setting, Correction(CorrectionKind.TAKEOVER, text), out, pin=TAKEOVER_PIN)
    out.unpinned.append(LADDER_PIN)
    out.triggers.append("takeover")
    return recover_work(state, setting, decision.reason, disk, out)


def recover_work(state: KernelState, setting: Setting, reason: str, disk: Disk, out: Effects) -> KernelState:
    """The recovery main path (section 7.6)."""
    facts = disk()
    made = plan_recovery(recovery_of(state, setting, reason, facts))
    out.note(*made.entries)
    out.snapshot = made.snapshot
    if made.tier is RecoveryTier.MANUAL_CHECKPOINT:
        out.end(StopReason.USER_CHECKPOINT, f"a second recovery found no way either ({made.why})")
        return state
    # What cannot be rebuilt is not guessed: a hint, and a queue of steps below the graph.
    if made.graph is None:
        state = send_correction(state, setting, Correction(CorrectionKind.RECOVERY, made.text), out, pin=RECOVERY_PIN)
        return replace(state, recovery_failed=True, mode=lower_tier(state.mode, DegradedTier.STEP_QUEUE))
    run = replace(state.graph, planned_files=len(setting.task.planned_files), open_files=state.open_files)
    graph = graph_executor.enter_takeover(graph_executor.with_graph(run, made.graph, state.round))
    if setting.rules != FIRST and not made.snapshot.changed and not facts.present:
        graph = sync_phase(graph, TaskPhase.EDITING, state.round)  # there is nothing to look at before the first write
    counts = replace(state.counts, graphs=state.counts.graphs + 1)
    return replace(state, graph=graph, mode=raise_tier(state.mode), recovery_failed=False, counts=counts)


def recovery_of(state: KernelState, setting: Setting, reason: str, disk: DiskFacts) -> RecoveryContext:
    """What a recovery is made of, here and now."""
    return RecoveryContext(
        setting.task,
        disk,
        state.ledger,
        setting.config.snapshot_confidence,
        state.round,
        f"graph-{state.counts.graphs + 1}",
        setting.domain,
        reason,
        tier_failed_before=state.recovery_failed,
        has_executor=setting.policy.task_graph,
        shadow=setting.policy.shadow,
    )


def hand_back(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """Section 7.4: everything that the takeover brought about is taken back, so that nothing forces for ever."""
    out.note(TimelineEntry(TimelineEvent.HANDOFF, "handoff"))
    out.unpinned += PINS
    out.triggers.append("handoff")
    state = send_correction(state, setting, Correction(CorrectionKind.GRAPH_HINT, handoff_text()), out)
    return replace(
        state,
        graph=graph_executor.pause_graph(graph_executor.exit_takeover(state.graph), state.round),
        mode=clear_recovery(state.mode),
        observer=observer.reset_observer(state.observer),
        recovery=RecoveryBudget(),
        recovery_failed=False,
        budget=BranchBudget(triggers=state.budget.triggers),
    )


def give_up(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """The budget is spent: a person has to look."""
    which = find_exhausted(state.recovery, setting.config.adaptive_takeover)
    out.note(entry_of_exhausted(which), TimelineEntry(TimelineEvent.FAILURE, "checkpoint"))
    kinds = {signal.kind for signal in state.observer.live}
    reason = StopReason.STUCK_CYCLE if DeviationSignal.CYCLE in kinds else StopReason.USER_CHECKPOINT
    spent = state.recovery
    out.end(
        reason,
        f"the supervisor led for {spent.rounds} rounds, {spent.effective_rounds} of them with progress, and the work did not "
        f"become stable (its budget of {which} is spent)",
    )
    return state


def step_shadow(
    state: KernelState, setting: Setting, turn: Round, context: PhaseContext, disk: Disk, out: Effects
) -> KernelState:
    """The virtual machine goes on as the real one would; nothing else changes."""
    virtual, budget, config = state.shadow_phase, state.shadow_recovery, setting.config.adaptive_takeover
    if virtual.phase in LED:
        spent = settle_round(budget, turn, config)
        budget, context = spent.budget, replace(context, exhausted=spent.which)
    decision = compute_next(virtual, context, setting.config.adaptive_free, config)
    _, entries = as_shadow(decision, state.phase)
    out.note(*entries)
    if decision.kind is DecisionKind.TAKEOVER:
        budget = RecoveryBudget()
        out.note(*plan_recovery(recovery_of(state, setting, decision.reason, disk())).entries)
    return replace(state, shadow_phase=_phase_after(virtual, decision), shadow_recovery=budget)


def _phase_after(virtual: PhaseState, decision: PhaseDecision) -> PhaseState:
    """The real run would have stopped where it fails: this one goes on, and so the machine starts anew."""
    failed = decision.kind is DecisionKind.FAIL
    return (
        PhaseState(takeovers=virtual.takeovers, handoffs=virtual.handoffs)
        if failed
        else commit_phase(virtual, decision)
    )
