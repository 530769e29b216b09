"""How a takeover begins, what it recovers from, and how it ends (sections 7.3, 7.4 and 7.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phases.supervision import executor, observer, recovery_budget
from phases.supervision.branch_budget import BranchBudget, granted
from phases.supervision.constraints import cleared_recovery
from phases.supervision.corrections import Block
from phases.supervision.mode import submit
from phases.supervision.outbox import LADDER_PIN, PINS, RECOVERY_PIN, TAKEOVER_PIN, Outbox
from phases.supervision.phases import Decision
from phases.supervision.recovery import RecoveryContext, recover
from phases.supervision.rules import FIRST
from phases.supervision.speaking import corrected
from phases.supervision.state import KernelState, Setting
from phases.supervision.texts import evidence_lines, handoff_text, takeover_text
from phases.supervision.tiers import lowered, raised
from phases.supervision.timeline import Entry
from phases.supervision.timeline import recover as entry_of_recovery
from phases.supervision.words import (
    CorrectionKind,
    DegradedTier,
    DeviationSignal,
    ModeSignal,
    RecoveryTier,
    StopReason,
    SupervisorPhase,
    TaskPhase,
    TimelineEvent,
)
from phases.supervision.workspace import DiskFacts

LED = (SupervisorPhase.TAKEOVER, SupervisorPhase.HANDOFF_PENDING)
"""Phases in which the supervisor leads."""
Disk = Callable[[], DiskFacts]
"""What stands in the workspace now. Asked for when a takeover begins, and not else."""


def taken_over(state: KernelState, setting: Setting, decision: Decision, disk: Disk, out: Outbox) -> KernelState:
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
        mode=submit(state.mode, ModeSignal.RECOVERY_PENDING),
        recovery=recovery_budget.RecoveryBudget(),
        recovery_failed=False,
        graph=executor.enter_takeover(state.graph),
        budget=granted(state.budget, setting.config.branch_budget),
    )
    state = corrected(state, setting, Block(CorrectionKind.TAKEOVER, text), out, pin=TAKEOVER_PIN)
    out.unpinned.append(LADDER_PIN)
    out.triggers.append("takeover")
    return recovered(state, setting, decision.reason, disk, out)


def recovered(state: KernelState, setting: Setting, reason: str, disk: Disk, out: Outbox) -> KernelState:
    """The recovery main path (section 7.6)."""
    facts = disk()
    made = recover(recovery_of(state, setting, reason, facts))
    out.note(*made.entries)
    out.snapshot = made.snapshot
    if made.tier is RecoveryTier.MANUAL_CHECKPOINT:
        out.end(StopReason.USER_CHECKPOINT, f"a second recovery found no way either ({made.why})")
        return state
    if made.graph is None:
        state = corrected(state, setting, Block(CorrectionKind.RECOVERY, made.text), out, pin=RECOVERY_PIN)
        return replace(state, recovery_failed=True, mode=lowered(state.mode, DegradedTier.STEP_QUEUE))
    run = replace(state.graph, planned_files=len(setting.task.planned_files), open_files=state.open_files)
    graph = executor.enter_takeover(executor.with_graph(run, made.graph, state.round))
    if setting.rules != FIRST and not made.snapshot.changed and not facts.present:
        graph = executor.sync_phase(
            graph, TaskPhase.EDITING, state.round
        )  # there is nothing to look at before the first write
    counts = replace(state.counts, graphs=state.counts.graphs + 1)
    return replace(state, graph=graph, mode=raised(state.mode), recovery_failed=False, counts=counts)


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


def handed_back(state: KernelState, setting: Setting, out: Outbox) -> KernelState:
    """Section 7.4: everything that the takeover brought about is taken back, so that nothing forces for ever."""
    out.note(Entry(TimelineEvent.HANDOFF, "handoff"))
    out.unpinned += PINS
    out.triggers.append("handoff")
    state = corrected(state, setting, Block(CorrectionKind.GRAPH_HINT, handoff_text()), out)
    return replace(
        state,
        graph=executor.pause(executor.exit_takeover(state.graph), state.round),
        mode=cleared_recovery(state.mode),
        observer=observer.clear(state.observer),
        recovery=recovery_budget.RecoveryBudget(),
        recovery_failed=False,
        budget=BranchBudget(triggers=state.budget.triggers),
    )


def given_up(state: KernelState, setting: Setting, out: Outbox) -> KernelState:
    """The budget is spent: a person has to look."""
    which = recovery_budget.exhausted(state.recovery, setting.config.adaptive_takeover)
    out.note(recovery_budget.exhausted_entry(which), Entry(TimelineEvent.FAILURE, "checkpoint"))
    kinds = {signal.kind for signal in state.observer.live}
    reason = StopReason.STUCK_CYCLE if DeviationSignal.CYCLE in kinds else StopReason.USER_CHECKPOINT
    spent = state.recovery
    out.end(
        reason,
        f"the supervisor led for {spent.rounds} rounds, {spent.effective_rounds} of them with progress, and the work did not "
        f"become stable (its budget of {which} is spent)",
    )
    return state
