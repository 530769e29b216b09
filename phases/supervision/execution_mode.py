"""Decide for L1 whether the next round is free or forced (section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from phases.supervision.config import ModeLimits
from phases.supervision.effects import TimelineEntry, failure_entry, switch_entry
from phases.supervision.enums import (
    FAULTS,
    LED,
    ExecutionMode,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
)

ENTER_FORCED, EXIT_FORCED, KEEP = "enter_forced", "exit_forced", "keep"
_NO_REASONS = (ModeSignal.RECOVERY_PENDING, ModeSignal.ENGINE_FAIL_SAFE)


@dataclass(frozen=True)
class ModeState:
    """The memory of L1 (section 5.1). No other module changes its execution_mode."""

    execution_mode: ExecutionMode = ExecutionMode.FREE
    lock_remaining: int = 0
    entered_by: tuple[ModeSignal, ...] = ()
    entered_at_round: int = 0
    task_bearing_since_entry: int = 0
    last_decision: str = ""
    """enter_forced, exit_forced, keep, or `denied:<why>`."""
    pending_signals: tuple[ModeSignal, ...] = ()
    """Submitted, and not consumed yet."""
    recovery_pending: bool = False
    """Set by problems, cleared by a handback or once all debt is settled (section 5.4). It blocks the exit."""


@dataclass(frozen=True)
class ModeContext:
    """The input of a decision. The task is not part of it."""

    mode: SupervisorMode
    floor: ExecutionMode
    phase: SupervisorPhase
    state: ModeState
    runtime: RuntimeState


@dataclass(frozen=True)
class ModeDecision:
    kind: str
    """ENTER_FORCED, EXIT_FORCED or KEEP."""
    reasons: tuple[ModeSignal, ...] = ()
    """Entry: the reasons without duplicates, the strongest first."""
    denied: str = ""
    """Kept forced mode: strict_floor, takeover_floor, mode_lock, min_dwell or exit_conditions."""
    fail_safe: bool = False
    """The engine itself failed."""


def is_forced(state: ModeState) -> bool:
    return state.execution_mode is ExecutionMode.FORCED


def submit_signals(state: ModeState, *signals: ModeSignal) -> ModeState:
    """Return the state with signals for the next evaluation. recovery_pending is not a reason to enter: it stays set."""
    queued = tuple(
        dict.fromkeys((*state.pending_signals, *(signal for signal in signals if signal not in _NO_REASONS)))
    )
    sticky = state.recovery_pending or ModeSignal.RECOVERY_PENDING in signals
    return replace(state, pending_signals=queued, recovery_pending=sticky)


def drain_signals(state: ModeState) -> ModeState:
    """Return the state without submitted signals."""
    return replace(state, pending_signals=())


def evaluate_mode(context: ModeContext, config: ModeLimits) -> ModeDecision:
    """Return the decision before a round (section 5.3, the first row that applies). An error of its own forces."""
    if context.mode is SupervisorMode.OFF:
        return ModeDecision(KEEP)
    forced = context.state.execution_mode is ExecutionMode.FORCED
    try:
        return _while_forced(context, config) if forced else _while_free(context, config)
    except FAULTS:
        # Axiom I8: a failing engine forces, since a free run would continue unsupervised.
        reasons = () if forced else (ModeSignal.ENGINE_FAIL_SAFE,)
        return ModeDecision(KEEP if forced else ENTER_FORCED, reasons, fail_safe=True)


def _while_free(context: ModeContext, config: ModeLimits) -> ModeDecision:
    reasons = [*context.state.pending_signals, *signals_of_run(context.runtime, config)]
    if context.floor is ExecutionMode.FORCED:
        reasons.append(ModeSignal.EXPLICIT_IMPL)
    if context.phase in LED:
        reasons.append(ModeSignal.TAKEOVER_FLOOR)
    ordered = _order_signals(reasons)
    return ModeDecision(ENTER_FORCED, ordered) if ordered else ModeDecision(KEEP)


def _order_signals(reasons: Iterable[ModeSignal]) -> tuple[ModeSignal, ...]:
    given = set(reasons).difference(_NO_REASONS)
    return tuple(signal for signal in ModeSignal if signal in given)


def _while_forced(context: ModeContext, config: ModeLimits) -> ModeDecision:
    denied = _why_denied(context, config)
    return ModeDecision(KEEP, denied=denied) if denied else ModeDecision(EXIT_FORCED)


def _why_denied(context: ModeContext, config: ModeLimits) -> str:
    state = context.state
    if context.floor is ExecutionMode.FORCED:
        return "strict_floor"
    if context.phase in LED:
        return "takeover_floor"
    if state.lock_remaining > 0:
        return "mode_lock"
    if state.task_bearing_since_entry < config.forced_min_dwell_rounds:
        return "min_dwell"
    return "" if _may_exit(context, config) else "exit_conditions"


def _may_exit(context: ModeContext, config: ModeLimits) -> bool:
    runtime = context.runtime
    return (
        runtime.pending_step_count == 0
        and runtime.planned_write_targets == 0
        and runtime.stable_rounds >= config.stable_rounds_exit_threshold
        and not (runtime.recovery_pending or context.state.recovery_pending)
        and runtime.branch_debt == 0
    )


@dataclass(frozen=True)
class RuntimeState:
    """The run as L1 sees it before a round; of the last round unless stated otherwise."""

    task_graph_active: bool = False
    pending_step_count: int = 0
    """Pending or running steps of the current branch."""
    write_targets: int = 0
    """Number of files written in the last round."""
    planned_write_targets: int = 0
    """Number of files whose writing the gate refused in the last round."""
    accumulated_diff_lines: int = 0
    """Lines added and removed since the checks last passed."""
    branch_switched: bool = False
    checkpoint_resumed: bool = False
    last_tool_success: bool = True
    """False if every executed tool failed."""
    recovery_pending: bool = False
    branch_debt: int = 0
    stable_rounds: int = 0
    edit_step_open: bool = False
    """The active graph has an edit step that is pending or running."""


def signals_of_run(state: RuntimeState, config: ModeLimits) -> tuple[ModeSignal, ...]:
    """Return the reasons to enter forced mode that the run itself shows, the strongest first (section 5.2)."""
    holds = {
        ModeSignal.CHECKPOINT_RESUMED: state.checkpoint_resumed,
        ModeSignal.TASK_GRAPH_ACTIVE: state.task_graph_active,
        ModeSignal.BRANCH_SWITCHED: state.branch_switched,
        ModeSignal.PENDING_STEPS: state.pending_step_count >= config.pending_steps_enter_threshold,
        ModeSignal.TOOL_FAILURE: not state.last_tool_success,
        ModeSignal.MULTI_WRITE: state.write_targets > config.write_targets_enter_threshold,
        ModeSignal.LARGE_DIFF: state.accumulated_diff_lines > config.diff_lines_enter_threshold,
        ModeSignal.EXPLICIT_IMPL: state.edit_step_open,
    }
    return tuple(signal for signal, held in holds.items() if held)


def apply_decision(
    state: ModeState,
    decision: ModeDecision,
    *,
    round: int,  # noqa: A002 - the kernel counts rounds, and a caller should read so
    config: ModeLimits,
) -> tuple[ModeState, tuple[TimelineEntry, ...]]:
    """Return the state after a decision, with its log entries. Submitted signals are consumed in any case."""
    if decision.kind == ENTER_FORCED:
        return _enter_forced(state, decision, round, config)
    if decision.kind == EXIT_FORCED:
        return _exit_forced(state, round)
    return _keep_mode(state, decision)


def count_round(state: ModeState, *, task_bearing: bool) -> ModeState:
    """Return the state after a round: forced mode counts the rounds that advanced the task."""
    if not task_bearing or state.execution_mode is ExecutionMode.FREE:
        return state
    return replace(state, task_bearing_since_entry=state.task_bearing_since_entry + 1)


def clear_recovery(state: ModeState) -> ModeState:
    """Return the state after a handback, or once all debt is settled: no recovery blocks the exit."""
    return replace(state, recovery_pending=False)


def _enter_forced(
    state: ModeState, decision: ModeDecision, at: int, config: ModeLimits
) -> tuple[ModeState, tuple[TimelineEntry, ...]]:
    entered = replace(
        drain_signals(state),
        execution_mode=ExecutionMode.FORCED,
        lock_remaining=config.mode_lock_rounds,
        entered_by=decision.reasons,
        entered_at_round=at,
        task_bearing_since_entry=0,
        last_decision=ENTER_FORCED,
    )
    entry = switch_entry(
        f"free->forced: {decision.reasons[0]}",
        enteredBy=[reason.value for reason in decision.reasons],
        round=at,
        failSafe=decision.fail_safe,
    )
    return entered, (entry,)


def _exit_forced(state: ModeState, at: int) -> tuple[ModeState, tuple[TimelineEntry, ...]]:
    entry = switch_entry(
        "forced->free: stable",
        dwell=state.task_bearing_since_entry,
        rounds=at - state.entered_at_round,
        enteredBy=[reason.value for reason in state.entered_by],
    )
    return ModeState(last_decision=EXIT_FORCED), (entry,)


def _keep_mode(state: ModeState, decision: ModeDecision) -> tuple[ModeState, tuple[TimelineEntry, ...]]:
    drained = drain_signals(state)
    if decision.fail_safe:
        return drained, (failure_entry("kernel_error", layer="mode_engine", failSafe=True),)
    if not decision.denied:
        return replace(drained, last_decision=KEEP), ()
    why = f"denied:{decision.denied}"
    locked = replace(drained, lock_remaining=max(0, state.lock_remaining - 1), last_decision=why)
    return locked, () if why == state.last_decision else (switch_entry(why),)
