"""One round of L2: what is seen, and who leads from here (section 7)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import observer, recovery_budget
from phases.supervision.facts import Round
from phases.supervision.failed_rounds import answered
from phases.supervision.ledger import check_fails
from phases.supervision.outbox import Outbox
from phases.supervision.phases import Decision, PhaseContext, Signal, commit, compute_next
from phases.supervision.policy import is_critical
from phases.supervision.progress import progress_of
from phases.supervision.risk import risk_level, risk_score
from phases.supervision.shadow import shadowed
from phases.supervision.state import KernelState, Setting, runtime_of
from phases.supervision.takeover import LED, Disk, given_up, handed_back, recovered, taken_over
from phases.supervision.timeline import Entry, failure
from phases.supervision.words import (
    DecisionKind,
    DeviationSignal,
    ProgressClass,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)

_COUNTED = (DeviationSignal.NO_PROGRESS, DeviationSignal.TOOL_REPEAT_FAIL, DeviationSignal.ERROR_PLATEAU)
_FOR_EVER = 40
"""A signal of these kinds with such a number says that nothing gets on any more."""


def led(
    state: KernelState, setting: Setting, turn: Round, loops: tuple[Signal, ...], disk: Disk, out: Outbox
) -> KernelState:
    """The end of a round, as L2 sees it."""
    if not setting.policy.observer:
        return state
    seen = observer.Seen(
        turn,
        setting.task,
        state.ledger,
        branch_recover=state.budget_triggers > 0,
        budget_triggers=state.budget_triggers,
        force_takeover=state.force_takeover,
        loops=loops,
    )
    observed = observer.observe(state.observer, seen, setting.config.triggers)
    out.note(*observed.entries)
    state = replace(state, observer=observed.state, force_takeover=False)
    state = answered(state, setting, out)
    if not setting.policy.recovery_supervisor or setting.policy.mode is not SupervisorMode.ADAPTIVE:
        return _hopeless(state, setting, observed.now, out)
    context = _context(state, setting, turn, observed)
    if setting.policy.shadow:
        return shadowed(state, setting, turn, context, disk, out)
    state, context = _paid(state, setting, turn, context, out)
    decision = compute_next(state.phase, context, setting.config.adaptive_free, setting.config.adaptive_takeover)
    return _committed(state, setting, decision, disk, out)


def _hopeless(state: KernelState, setting: Setting, now: tuple[Signal, ...], out: Outbox) -> KernelState:
    """Where nobody takes over, in strict mode or without that layer, what goes on for ever must end here."""
    worst = next((signal for signal in now if signal.kind in _COUNTED and signal.value >= _FOR_EVER), None)
    if worst and not setting.policy.shadow:
        out.note(failure("checkpoint", why=worst.reason))
        about = f", {worst.detail}" if worst.detail else ""
        out.end(StopReason.USER_CHECKPOINT, f"nothing gets on any more ({worst.reason}{about})")
    return state


def _context(state: KernelState, setting: Setting, turn: Round, observed: observer.Observed) -> PhaseContext:
    runtime, progress = runtime_of(state, setting), progress_of(turn)
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


def _paid(
    state: KernelState, setting: Setting, turn: Round, context: PhaseContext, out: Outbox
) -> tuple[KernelState, PhaseContext]:
    """The recovery budget after this round; only a takeover costs."""
    if state.phase.phase not in LED:
        return state, context
    spent = recovery_budget.after_round(state.recovery, turn, setting.config.adaptive_takeover)
    if spent.extended:
        out.note(recovery_budget.extended_entry())
    return replace(state, recovery=spent.budget), replace(context, exhausted=spent.which)


def _committed(state: KernelState, setting: Setting, decision: Decision, disk: Disk, out: Outbox) -> KernelState:
    before, state = state.phase.phase, replace(state, phase=commit(state.phase, decision))
    if decision.kind is DecisionKind.TAKEOVER:
        return taken_over(state, setting, decision, disk, out)
    if decision.kind is DecisionKind.HANDOFF_PENDING:
        out.note(Entry(TimelineEvent.HANDOFF, "handoff_pending"))
    elif decision.kind is DecisionKind.HANDOFF:
        return handed_back(state, setting, out)
    elif decision.kind is DecisionKind.FAIL:
        return given_up(state, setting, out)
    elif before is SupervisorPhase.HANDOFF_PENDING:
        out.note(Entry(TimelineEvent.HANDOFF, "handoff_withdrawn"))
        return recovered(state, setting, "handoff_withdrawn", disk, out) if decision.rerun_recovery else state
    elif before is SupervisorPhase.COOLDOWN and state.phase.phase is SupervisorPhase.FREE:
        out.note(Entry(TimelineEvent.HANDOFF, "cooldown_over"))
    return state
