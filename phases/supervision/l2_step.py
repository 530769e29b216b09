"""What L2 makes of a round in which something spoke against the work, or in which somebody leads (section 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phases.supervision import graph_executor
from phases.supervision.branch_budget import BranchBudget, grant_bypasses
from phases.supervision.config import FIRST
from phases.supervision.corrections import Correction
from phases.supervision.effects import (
    LADDER_PIN,
    PINS,
    RECOVERY_PIN,
    TAKEOVER_PIN,
    Effects,
    TimelineEntry,
    failure_entry,
    recovery_entry,
)
from phases.supervision.effects import recovery_entry as entry_of_recovery
from phases.supervision.enums import (
    LED,
    CorrectionKind,
    DecisionKind,
    DegradedTier,
    DeviationSignal,
    ModeSignal,
    ProgressClass,
    RecoveryTier,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
    TaskPhase,
    TimelineEvent,
)
from phases.supervision.execution_mode import (
    clear_recovery,
    lower_tier,
    raise_tier,
    risk_level,
    risk_score,
    submit_signals,
)
from phases.supervision.facts import Round, classify_round
from phases.supervision.graph_executor import sync_phase
from phases.supervision.l2_phases import (
    ROUNDS,
    PhaseContext,
    PhaseDecision,
    PhaseState,
    RecoveryBudget,
    compute_next,
    find_exhausted,
    settle_round,
    shadow_entries,
)
from phases.supervision.messages import send_correction, send_warning
from phases.supervision.observer import Observation, ObserverState
from phases.supervision.policy import is_critical
from phases.supervision.recovery import RecoveryContext, plan_recovery
from phases.supervision.round import runtime_of
from phases.supervision.signals import SIGNALS, Signal
from phases.supervision.state import KernelState, Setting
from phases.supervision.wording import CIRCUIT_BREAKER, evidence_lines, handoff_text, ladder_rung, takeover_text
from phases.supervision.work_ledger import check_fails
from phases.supervision.workspace_snapshot import DiskFacts

_FOR_EVER = 40
"""A signal that stops a run says with such a number that nothing gets on any more."""


def step_l2(
    state: KernelState, setting: Setting, turn: Round, observed: Observation, disk: Disk, out: Effects
) -> KernelState:
    state = answer_failed_rounds(state, setting, out)
    if not setting.policy.recovery_supervisor or setting.policy.mode is not SupervisorMode.ADAPTIVE:
        return _stop_hopeless(state, setting, observed.now, out)
    context = _phase_context(state, setting, turn, observed)
    if setting.policy.shadow:
        return step_shadow(state, setting, turn, context, disk, out)
    state, context = _pay_recovery(state, setting, turn, context, out)
    decision = compute_next(state.phase, context, setting.config.adaptive_free, setting.config.adaptive_takeover)
    return _commit_decision(state, setting, decision, disk, out)


def _stop_hopeless(state: KernelState, setting: Setting, now: tuple[Signal, ...], out: Effects) -> KernelState:
    """Where nobody takes over, in strict mode or without that layer, what goes on for ever must end here."""
    # decision 67: no limit on turns should be the only end where nobody takes over.
    worst = next((one for one in now if SIGNALS[one.kind].stops_unled and one.value >= _FOR_EVER), None)
    if worst and not setting.policy.shadow:
        out.note(failure_entry("checkpoint", why=worst.reason))
        about = f", {worst.detail}" if worst.detail else ""
        out.end(StopReason.USER_CHECKPOINT, f"nothing gets on any more ({worst.reason}{about})")
    return state


def _phase_context(state: KernelState, setting: Setting, turn: Round, observed: Observation) -> PhaseContext:
    runtime, progress = runtime_of(state, setting), classify_round(turn)
    return PhaseContext(
        setting.policy.mode,
        is_critical(setting.domain),
        risk_score(runtime, risk_level(runtime, setting.config.execution_mode)),
        turn.number,
        observed.now,
        observed.live,
        meaningful=progress is ProgressClass.MEANINGFUL_PROGRESS,
        failed_round=progress is ProgressClass.ALL_FAILED_OR_BLOCKED,
        check_failed=check_fails(state.ledger),
    )


def _pay_recovery(
    state: KernelState, setting: Setting, turn: Round, context: PhaseContext, out: Effects
) -> tuple[KernelState, PhaseContext]:
    """The recovery budget after this round; only a takeover costs."""
    if state.phase.phase not in LED:
        return state, context
    spent = settle_round(state.recovery, turn, setting.config.adaptive_takeover)
    if spent.extended:
        out.note(failure_entry(f"budget_extended:{ROUNDS}"))
    return replace(state, recovery=spent.budget), replace(context, exhausted=spent.which)


def _commit_decision(
    state: KernelState, setting: Setting, decision: PhaseDecision, disk: Disk, out: Effects
) -> KernelState:
    before, state = state.phase.phase, replace(state, phase=decision.next)
    if decision.kind is DecisionKind.TAKEOVER:
        return take_over(state, setting, decision, disk, out)
    if decision.kind is DecisionKind.HANDOFF_PENDING:
        out.note(TimelineEntry(TimelineEvent.HANDOFF, "handoff_pending"))
    elif decision.kind is DecisionKind.HANDOFF:
        return hand_back(state, setting, out)
    elif decision.kind is DecisionKind.FAIL:
        return give_up(state, setting, out)
    elif before is SupervisorPhase.HANDOFF_PENDING:
        out.note(TimelineEntry(TimelineEvent.HANDOFF, "handoff_withdrawn"))
        return recover_work(state, setting, "handoff_withdrawn", disk, out) if decision.rerun_recovery else state
    elif before is SupervisorPhase.COOLDOWN and state.phase.phase is SupervisorPhase.FREE:
        out.note(TimelineEntry(TimelineEvent.HANDOFF, "cooldown_over"))
    return state


def answer_failed_rounds(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """The step of the ladder that is due after a round."""
    rounds, first = _count_failed_rounds(state)
    if rounds == 0 or 0 < state.ledger.failed_last < state.round:  # the model does something else now
        out.unpinned.append(LADDER_PIN)
        return state
    executed, in_a_row = any(row.round >= first for row in state.ledger.recent_failures), first > state.round - rounds
    rung = ladder_rung(
        rounds, evidence_lines(state.ledger, ()), executed=executed, rules=setting.rules, in_a_row=in_a_row
    )
    if not rung.text:
        return state
    if setting.policy.shadow:
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:ladder:{rung.level}"))
        return state
    if rung.level == CIRCUIT_BREAKER:
        out.note(failure_entry("circuit_breaker", rounds=rounds))
        which = f"the last {rounds} rounds" if in_a_row else f"{rounds} rounds since the last progress"
        out.end(StopReason.CIRCUIT_BREAKER, f"every call of {which} failed or was kept back")
        return state
    out.note(recovery_entry(f"ladder:{rung.level}", rounds=rounds))
    return send_warning(state, setting, Correction(CorrectionKind.RECOVERY, rung.text), out, pin=LADDER_PIN)


def _count_failed_rounds(state: KernelState) -> tuple[int, int]:
    """How many there are, and the first of them; under rules 1, which keep no first one, they are in a row."""
    ledger = state.ledger
    rounds = ledger.consecutive_failed_rounds
    return rounds, ledger.failed_since or state.round - rounds + 1


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
        observer=ObserverState(),
        recovery=RecoveryBudget(),
        recovery_failed=False,
        budget=BranchBudget(triggers=state.budget.triggers),
    )


def give_up(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """The budget is spent: a person has to look."""
    which = find_exhausted(state.recovery, setting.config.adaptive_takeover)
    out.note(failure_entry(f"budget_exhausted:{which}"), failure_entry("checkpoint"))
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
    out.note(*shadow_entries(decision))
    if decision.kind is DecisionKind.TAKEOVER:
        budget = RecoveryBudget()
        out.note(*plan_recovery(recovery_of(state, setting, decision.reason, disk())).entries)
    # The real run would have stopped where it fails: this one goes on, and so the machine starts anew.
    anew = PhaseState(takeovers=virtual.takeovers, handoffs=virtual.handoffs)
    phase = anew if decision.kind is DecisionKind.FAIL else decision.next
    return replace(state, shadow_phase=phase, shadow_recovery=budget)
