"""L1: whether the next round is free or forced (section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from phases.supervision.config import Mode
from phases.supervision.risk import RuntimeState, derived_signals, risk_level
from phases.supervision.words import (
    FAULTS,
    DegradedTier,
    ExecutionMode,
    ModeSignal,
    RiskLevel,
    SupervisorMode,
    SupervisorPhase,
)

ENTER_FORCED, EXIT_FORCED, KEEP = "enter_forced", "exit_forced", "keep"
_SUPERVISED = (SupervisorPhase.TAKEOVER, SupervisorPhase.HANDOFF_PENDING)
_NO_REASONS = (ModeSignal.RECOVERY_PENDING, ModeSignal.ENGINE_FAIL_SAFE)


@dataclass(frozen=True)
class ModeState:
    """All that L1 remembers (section 5.1). constraints.py alone makes one with another execution_mode."""

    execution_mode: ExecutionMode = ExecutionMode.FREE
    lock_remaining: int = 0
    entered_by: tuple[ModeSignal, ...] = ()
    entered_by_primary: ModeSignal | None = None
    entered_at_round: int = 0
    task_bearing_since_entry: int = 0
    forced_degraded_tier: DegradedTier | None = None
    last_decision: str = ""
    """enter_forced, exit_forced, keep, or keep with why: `denied:<why>`."""
    pending_signals: tuple[ModeSignal, ...] = ()
    """Submitted, and not consumed yet."""
    recovery_pending: bool = False
    """Sticky: set by trouble, cleared by a handback or when all debt is settled (section 5.4). It blocks the exit."""


@dataclass(frozen=True)
class ModeContext:
    """What a decision is made of. No goal, no intent, no domain is among it."""

    mode: SupervisorMode
    floor: ExecutionMode
    phase: SupervisorPhase
    state: ModeState
    runtime: RuntimeState
    risk: RiskLevel | None = None
    """As the round was classified; None: it is classified here."""


@dataclass(frozen=True)
class ModeDecision:
    """What was decided, and why."""

    kind: str
    """ENTER_FORCED, EXIT_FORCED or KEEP."""
    reasons: tuple[ModeSignal, ...] = ()
    """Of an entry: without doubles, the strongest first."""
    denied: str = ""
    """Of forced mode that is kept: strict_floor, takeover_floor, mode_lock, min_dwell or exit_conditions."""
    fail_safe: bool = False
    """The engine itself failed."""

    @property
    def human(self) -> str:
        """`forced because a + b`."""
        return f"forced because {' + '.join(self.reasons)}" if self.reasons else ""


def submit(state: ModeState, *signals: ModeSignal) -> ModeState:
    """The state with these signals, for the next evaluation. recovery_pending is no reason to enter: it sticks."""
    queued = tuple(dict.fromkeys((*state.pending_signals, *(one for one in signals if one not in _NO_REASONS))))
    sticky = state.recovery_pending or ModeSignal.RECOVERY_PENDING in signals
    return replace(state, pending_signals=queued, recovery_pending=sticky)


def drained(state: ModeState) -> ModeState:
    """The state without submitted signals: after every evaluation, and where a run begins."""
    return replace(state, pending_signals=())


def evaluate(context: ModeContext, config: Mode) -> ModeDecision:
    """What L1 decides before a round (section 5.3, the first row that fits). It never fails: an error of its own forces."""
    if context.mode is SupervisorMode.OFF:
        return ModeDecision(KEEP)
    forced = context.state.execution_mode is ExecutionMode.FORCED
    try:
        return _while_forced(context, config) if forced else _while_free(context, config)
    except FAULTS:
        reasons = () if forced else (ModeSignal.ENGINE_FAIL_SAFE,)
        return ModeDecision(KEEP if forced else ENTER_FORCED, reasons, fail_safe=True)


def _while_free(context: ModeContext, config: Mode) -> ModeDecision:
    reasons = [*context.state.pending_signals, *_derived(context, config)]
    if context.floor is ExecutionMode.FORCED:
        reasons.append(ModeSignal.EXPLICIT_IMPL)
    if context.phase in _SUPERVISED:
        reasons.append(ModeSignal.TAKEOVER_FLOOR)
    ordered = _ordered(reasons)
    return ModeDecision(ENTER_FORCED, ordered) if ordered else ModeDecision(KEEP)


def _derived(context: ModeContext, config: Mode) -> tuple[ModeSignal, ...]:
    """Of the run itself; in adaptive a round that only looks gives no reason."""
    derived = derived_signals(context.runtime, config)
    risk = context.risk or risk_level(context.runtime, config)
    return () if context.mode is SupervisorMode.ADAPTIVE and risk is RiskLevel.L0 else derived


def _ordered(reasons: Iterable[ModeSignal]) -> tuple[ModeSignal, ...]:
    given = set(reasons).difference(_NO_REASONS)
    return tuple(signal for signal in ModeSignal if signal in given)


def _while_forced(context: ModeContext, config: Mode) -> ModeDecision:
    denied = _denied(context, config)
    return ModeDecision(KEEP, denied=denied) if denied else ModeDecision(EXIT_FORCED)


def _denied(context: ModeContext, config: Mode) -> str:
    """Why forced mode must stay; empty where nothing holds it."""
    state = context.state
    if context.floor is ExecutionMode.FORCED:
        return "strict_floor"
    if context.phase in _SUPERVISED:
        return "takeover_floor"
    if state.lock_remaining > 0:
        return "mode_lock"
    if state.task_bearing_since_entry < config.forced_min_dwell_rounds:
        return "min_dwell"
    return "" if _may_exit(context, config) else "exit_conditions"


def _may_exit(context: ModeContext, config: Mode) -> bool:
    runtime = context.runtime
    return (
        runtime.pending_step_count == 0
        and runtime.planned_write_targets == 0
        and runtime.stable_rounds >= config.stable_rounds_exit_threshold
        and not (runtime.recovery_pending or context.state.recovery_pending)
        and runtime.branch_debt == 0
    )
