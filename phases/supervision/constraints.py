"""Applies what L1 decided: the only writer of the execution mode (section 5.3, axiom I5)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision.config import Mode
from phases.supervision.mode import ENTER_FORCED, EXIT_FORCED, KEEP, ModeDecision, ModeState, drained
from phases.supervision.timeline import Entry, failure, switch
from phases.supervision.words import ExecutionMode


def apply(
    state: ModeState,
    decision: ModeDecision,
    *,
    round: int,  # noqa: A002 - the kernel counts rounds, and a caller should read so
    config: Mode,
) -> tuple[ModeState, tuple[Entry, ...]]:
    """The state after a decision, with what is to be told of it. Submitted signals are used up by it in any case."""
    if decision.kind == ENTER_FORCED:
        return _entered(state, decision, round, config)
    if decision.kind == EXIT_FORCED:
        return _left(state, round)
    return _kept(state, decision)


def after_round(state: ModeState, *, task_bearing: bool) -> ModeState:
    """The state after a round: forced mode counts the rounds that brought the task on."""
    if not task_bearing or state.execution_mode is ExecutionMode.FREE:
        return state
    return replace(state, task_bearing_since_entry=state.task_bearing_since_entry + 1)


def cleared_recovery(state: ModeState) -> ModeState:
    """The state after a handback, or once all debt is settled: nothing of that kind blocks the exit any more."""
    return replace(state, recovery_pending=False)


def _entered(state: ModeState, decision: ModeDecision, at: int, config: Mode) -> tuple[ModeState, tuple[Entry, ...]]:
    """A tier that was lowered before (a graph that could not be made) stays: entering mends no graph."""
    primary = decision.reasons[0] if decision.reasons else None
    entered = replace(
        drained(state),
        execution_mode=ExecutionMode.FORCED,
        lock_remaining=config.mode_lock_rounds,
        entered_by=decision.reasons,
        entered_by_primary=primary,
        entered_at_round=at,
        task_bearing_since_entry=0,
        last_decision=ENTER_FORCED,
    )
    told = switch(
        f"free->forced: {primary}",
        enteredBy=[reason.value for reason in decision.reasons],
        round=at,
        human=decision.human,
        failSafe=decision.fail_safe,
        degradedTier=state.forced_degraded_tier,
    )
    return entered, (told,)


def _left(state: ModeState, at: int) -> tuple[ModeState, tuple[Entry, ...]]:
    told = switch(
        "forced->free: stable",
        dwell=state.task_bearing_since_entry,
        rounds=at - state.entered_at_round,
        enteredBy=[reason.value for reason in state.entered_by],
    )
    return ModeState(last_decision=EXIT_FORCED), (told,)


def _kept(state: ModeState, decision: ModeDecision) -> tuple[ModeState, tuple[Entry, ...]]:
    kept = drained(state)
    if decision.fail_safe:
        return kept, (failure("kernel_error", layer="mode_engine", failSafe=True),)
    if not decision.denied:
        return replace(kept, last_decision=KEEP), ()
    why = f"denied:{decision.denied}"
    locked = replace(kept, lock_remaining=max(0, state.lock_remaining - 1), last_decision=why)
    return locked, () if why == state.last_decision else (switch(why),)
