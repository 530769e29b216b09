"""L2: who leads, and when that changes (section 7.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

from phases.supervision.config import AdaptiveFree, Recovery
from phases.supervision.timeline import Entry
from phases.supervision.words import (
    DecisionKind,
    DeviationSignal,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)

CHECKPOINT = "checkpoint"
_STRONG = {
    DeviationSignal.TOOL_REPEAT_FAIL: 5.0,
    DeviationSignal.NO_PROGRESS: 6.0,
    DeviationSignal.USER_FORCE_TAKEOVER: -inf,
}
"""What ends a cooldown early: the kind of a signal, and from which value on."""


@dataclass(frozen=True)
class Signal:
    """What the observer saw. `value` is its number: a count, rounds, or an alignment."""

    kind: DeviationSignal
    value: float
    round: int
    detail: str = ""
    """What it is about: a path, a command, `period 2`."""

    @property
    def reason(self) -> str:
        """`<signal>:<n>`, as the event log writes it."""
        return f"{self.kind}:{self.value:g}"


@dataclass(frozen=True)
class PhaseState:
    """All that L2 remembers of its phase."""

    phase: SupervisorPhase = SupervisorPhase.FREE
    takeover_start_round: int = 0
    stable_rounds: int = 0
    """In a row, in takeover, without a signal."""
    effective_rounds: int = 0
    """Of those stable rounds, how many made meaningful progress."""
    cooldown_remaining: int = 0
    takeovers: int = 0
    handoffs: int = 0


@dataclass(frozen=True)
class PhaseContext:
    """What a decision is made of."""

    mode: SupervisorMode
    critical: bool
    """Of the task's domain."""
    risk_score: float
    round: int
    now: tuple[Signal, ...] = ()
    """Of this round alone: what takeover and handoff_pending look at."""
    live: tuple[Signal, ...] = ()
    """Accumulated, and not too old: what free and cooldown look at."""
    meaningful: bool = False
    """This round made meaningful progress."""
    exhausted: str = ""
    """Which recovery budget is spent: rounds, tokens or retries; empty where none is."""
    failed_round: bool = False
    """Every call of this round failed, or was kept back."""
    check_failed: bool = False
    """The last check, or the completion gate, is known to have failed."""


@dataclass(frozen=True)
class Decision:
    """What L2 decides, and the state that follows once it is committed."""

    kind: DecisionKind
    reason: str = ""
    """Of a takeover: its signals, `tool_repeat_fail:3,no_progress:4`; of fail: checkpoint."""
    signals: tuple[Signal, ...] = ()
    rerun_recovery: bool = False
    """Back from handoff_pending to takeover by a signal: the recovery main path is to be run again."""
    next: PhaseState = field(default_factory=PhaseState)


def compute_next(state: PhaseState, context: PhaseContext, free: AdaptiveFree, recovery: Recovery) -> Decision:
    """The table of section 7.2, in its order; nothing is changed by asking."""
    if context.mode is not SupervisorMode.ADAPTIVE:
        return _stays(state)
    if state.phase is SupervisorPhase.TAKEOVER:
        return _in_takeover(state, context, recovery)
    if state.phase is SupervisorPhase.HANDOFF_PENDING:
        return _in_handoff_pending(state, context, recovery)
    if state.phase is SupervisorPhase.COOLDOWN:
        return _in_cooldown(state, context, free)
    return _in_free(state, context, free)


def commit(state: PhaseState, decision: Decision) -> PhaseState:
    """The state that follows. In shadow mode it is never asked for, but for the virtual machine."""
    return state if decision.kind is DecisionKind.FAIL else decision.next


def as_shadow(decision: Decision, real: PhaseState) -> tuple[Decision, tuple[Entry, ...]]:
    """What becomes of a decision of the virtual machine: nothing, but a line for whatever it would have done."""
    if decision.kind is DecisionKind.CONTINUE:
        return _stays(real), ()
    said = {DecisionKind.TAKEOVER: decision.reason, DecisionKind.FAIL: f"would_fail:{decision.reason}"}
    reason = said.get(decision.kind, f"would_{decision.kind}")
    return _stays(real), (Entry(TimelineEvent.SHADOW_DIAGNOSTIC, reason),)


def _stays(state: PhaseState) -> Decision:
    return Decision(DecisionKind.CONTINUE, next=state)


def _in_free(state: PhaseState, context: PhaseContext, free: AdaptiveFree) -> Decision:
    asked_for = any(signal.kind is DeviationSignal.USER_FORCE_TAKEOVER for signal in context.live)
    risky = context.risk_score >= free.risk_threshold or asked_for
    if not (context.critical and risky and context.live):
        return _stays(state)
    # The last of each kind says enough: the list may hold three of one.
    latest = {signal.kind: signal for signal in context.live}
    reason = ",".join(signal.reason for signal in latest.values())
    begun = PhaseState(
        phase=SupervisorPhase.TAKEOVER,
        takeover_start_round=context.round,
        takeovers=state.takeovers + 1,
        handoffs=state.handoffs,
    )
    return Decision(DecisionKind.TAKEOVER, reason=reason, signals=context.live, next=begun)


def _in_takeover(state: PhaseState, context: PhaseContext, recovery: Recovery) -> Decision:
    if context.exhausted:
        return Decision(DecisionKind.FAIL, reason=CHECKPOINT, next=state)
    if context.now or context.failed_round:
        return _stays(replace(state, stable_rounds=0, effective_rounds=0))
    if context.round == state.takeover_start_round:
        return _stays(state)
    counted = replace(
        state, stable_rounds=state.stable_rounds + 1, effective_rounds=state.effective_rounds + context.meaningful
    )
    stable = counted.stable_rounds >= recovery.stability_window_rounds and counted.effective_rounds >= 1
    if stable and not context.check_failed:
        return Decision(DecisionKind.HANDOFF_PENDING, next=replace(counted, phase=SupervisorPhase.HANDOFF_PENDING))
    return _stays(counted)


def _in_handoff_pending(state: PhaseState, context: PhaseContext, recovery: Recovery) -> Decision:
    if context.now or context.failed_round or context.check_failed:
        back = replace(state, phase=SupervisorPhase.TAKEOVER, stable_rounds=0, effective_rounds=0)
        return Decision(DecisionKind.CONTINUE, rerun_recovery=bool(context.now), next=back)
    handed = replace(
        state,
        phase=SupervisorPhase.COOLDOWN,
        cooldown_remaining=recovery.handoff_cooldown_rounds,
        handoffs=state.handoffs + 1,
    )
    return Decision(DecisionKind.HANDOFF, next=handed)


def _in_cooldown(state: PhaseState, context: PhaseContext, free: AdaptiveFree) -> Decision:
    released = PhaseState(takeovers=state.takeovers, handoffs=state.handoffs)
    if any(signal.value >= _STRONG.get(signal.kind, inf) for signal in context.live):
        return _in_free(released, context, free)
    left = state.cooldown_remaining - 1
    return _stays(replace(state, cooldown_remaining=left) if left > 0 else released)
