"""The tables of the supervision kernel a second time, written from its specification alone: what the product is compared with.

Slow and plain on purpose: each row of a table is a row here, in the same order, and the first that fits decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phases.supervision.config import ModeLimits, RecoveryLimits
from phases.supervision.enums import (
    DecisionKind,
    DeviationSignal,
    ExecutionMode,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
)
from phases.supervision.execution_mode import (
    ENTER_FORCED,
    EXIT_FORCED,
    KEEP,
    ModeContext,
    ModeDecision,
    ModeState,
    RuntimeState,
)
from phases.supervision.signals import TOLD, Signal
from phases.supervision.state import PhaseState
from phases.supervision.takeover import PhaseContext, PhaseDecision

FREE, TAKEOVER, PENDING, COOLDOWN = SupervisorPhase
S = ModeSignal

# 5.2: signal, and when it is derived; the precedence is the order of the rows

DERIVED: tuple[tuple[ModeSignal, Callable[[RuntimeState, ModeLimits], bool]], ...] = (
    (S.CHECKPOINT_RESUMED, lambda run, _: run.checkpoint_resumed),
    (S.TASK_GRAPH_ACTIVE, lambda run, _: run.task_graph_active),
    (S.BRANCH_SWITCHED, lambda run, _: run.branch_switched),
    (S.PENDING_STEPS, lambda run, limits: run.pending_step_count >= limits.pending_steps_enter_threshold),
    (S.TOOL_FAILURE, lambda run, _: not run.last_tool_success),
    (S.MULTI_WRITE, lambda run, limits: run.write_targets > limits.write_targets_enter_threshold),
    (S.LARGE_DIFF, lambda run, limits: run.accumulated_diff_lines > limits.diff_lines_enter_threshold),
    (S.EXPLICIT_IMPL, lambda run, _: run.edit_step_open),
)
PRECEDENCE = (*(signal for signal, _ in DERIVED), S.TAKEOVER_FLOOR, S.LOOP_DETECTED, S.ENGINE_FAIL_SAFE)

# 5.3: why forced mode is kept, before its exit is thought of

HELD: tuple[tuple[str, Callable[[ModeContext, ModeLimits], bool]], ...] = (
    ("strict_floor", lambda context, _: context.floor is ExecutionMode.FORCED),
    ("takeover_floor", lambda context, _: context.phase in (TAKEOVER, PENDING)),
    ("mode_lock", lambda context, _: context.state.lock_remaining > 0),
    ("min_dwell", lambda context, limits: context.state.task_bearing_since_entry < limits.forced_min_dwell_rounds),
)
EXIT: tuple[Callable[[ModeContext, ModeLimits], bool], ...] = (
    lambda context, _: context.runtime.pending_step_count == 0,
    lambda context, _: context.runtime.planned_write_targets == 0,
    lambda context, limits: context.runtime.stable_rounds >= limits.stable_rounds_exit_threshold,
    lambda context, _: not context.state.recovery_pending,
    lambda context, _: not context.runtime.recovery_pending,
    lambda context, _: context.runtime.branch_debt == 0,
)

# 7.2: what ends a cooldown early

STRONG: tuple[tuple[DeviationSignal, float], ...] = (
    (DeviationSignal.TOOL_REPEAT_FAIL, 5),
    (DeviationSignal.NO_PROGRESS, 6),
    (DeviationSignal.USER_FORCE_TAKEOVER, float("-inf")),
)


def derived(run: RuntimeState, limits: ModeLimits) -> tuple[ModeSignal, ...]:
    """5.2, the last column."""
    return tuple(signal for signal, holds in DERIVED if holds(run, limits))


def submitted(state: ModeState, signals: tuple[ModeSignal, ...]) -> ModeState:
    """recovery_pending is remembered, and enters nothing; the others wait for the next evaluate."""
    queue = [*state.pending_signals]
    for signal in signals:
        if signal is not S.RECOVERY_PENDING and signal not in queue:
            queue.append(signal)
    return replace(
        state, pending_signals=tuple(queue), recovery_pending=state.recovery_pending or S.RECOVERY_PENDING in signals
    )


def decided(context: ModeContext, limits: ModeLimits, *, broken: bool = False) -> ModeDecision:
    """5.3. `broken`: what is looked at cannot be read."""
    forced = context.state.execution_mode is ExecutionMode.FORCED
    if context.mode is SupervisorMode.OFF:
        return ModeDecision(KEEP)
    if broken:
        return (
            ModeDecision(KEEP, fail_safe=True)
            if forced
            else ModeDecision(ENTER_FORCED, (S.ENGINE_FAIL_SAFE,), fail_safe=True)
        )
    if not forced:
        reasons = _reasons(context, limits)
        return ModeDecision(ENTER_FORCED, reasons) if reasons else ModeDecision(KEEP)
    for denied, holds in HELD:
        if holds(context, limits):
            return ModeDecision(KEEP, denied=denied)
    if all(holds(context, limits) for holds in EXIT):
        return ModeDecision(EXIT_FORCED)
    return ModeDecision(KEEP, denied="exit_conditions")


def applied(
    state: ModeState, decision: ModeDecision, *, turn: int, limits: ModeLimits
) -> tuple[ModeState, tuple[tuple[str, str], ...]]:
    """`Apply` under 5.3: the state that follows, and event with reason of what is logged."""
    drained = replace(state, pending_signals=())
    if decision.kind == ENTER_FORCED:
        entered = replace(
            drained,
            execution_mode=ExecutionMode.FORCED,
            lock_remaining=limits.mode_lock_rounds,
            entered_by=decision.reasons,
            entered_at_round=turn,
            task_bearing_since_entry=0,
            last_decision="enter_forced",
        )
        return entered, (("switch", f"free->forced: {decision.reasons[0].value}"),)
    if decision.kind == EXIT_FORCED:
        left = ModeState(last_decision="exit_forced", recovery_pending=state.recovery_pending)
        return left, (("switch", "forced->free: stable"),)
    if decision.fail_safe:
        return drained, ()
    if not decision.denied:  # free mode that stays, or the row of `off`: no side effects
        return replace(drained, last_decision="keep"), ()
    why = f"denied:{decision.denied}"
    kept = replace(drained, lock_remaining=max(0, state.lock_remaining - 1), last_decision=why)
    return kept, (("switch", why),) if why != state.last_decision else ()


def worked(state: ModeState, *, task_bearing: bool) -> ModeState:
    """recordTaskBearingRoundIfForced."""
    if state.execution_mode is ExecutionMode.FORCED and task_bearing:
        return replace(state, task_bearing_since_entry=state.task_bearing_since_entry + 1)
    return state


def led(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits) -> PhaseDecision:
    """7.2."""
    rows = {FREE: _from_free, TAKEOVER: _from_takeover, PENDING: _from_pending, COOLDOWN: _from_cooldown}
    return rows[state.phase](state, context, recovery)


def _reasons(context: ModeContext, limits: ModeLimits) -> tuple[ModeSignal, ...]:
    found = set(context.state.pending_signals) - {S.RECOVERY_PENDING} | set(derived(context.runtime, limits))
    if context.floor is ExecutionMode.FORCED:
        found.add(S.EXPLICIT_IMPL)
    if context.phase in (TAKEOVER, PENDING):
        found.add(S.TAKEOVER_FLOOR)
    return tuple(sorted(found, key=PRECEDENCE.index))


def _from_free(state: PhaseState, context: PhaseContext, _: RecoveryLimits) -> PhaseDecision:
    told = tuple(signal for signal in context.live if signal.stage == TOLD)
    if not told:
        return PhaseDecision(DecisionKind.CONTINUE, next=state)
    after = PhaseState(
        phase=TAKEOVER,
        takeover_start_round=context.round,
        takeovers=state.takeovers + 1,
        handoffs=state.handoffs,
    )
    reason = ",".join(f"{signal.kind.value}:{signal.value:g}" for signal in told)
    return PhaseDecision(DecisionKind.TAKEOVER, reason=reason, signals=told, next=after)


def _from_takeover(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits) -> PhaseDecision:
    if context.exhausted:
        return PhaseDecision(DecisionKind.FAIL, reason="checkpoint", next=state)
    if context.now or context.failed_round:
        return PhaseDecision(DecisionKind.CONTINUE, next=replace(state, stable_rounds=0, effective_rounds=0))
    if context.round == state.takeover_start_round:
        return PhaseDecision(DecisionKind.CONTINUE, next=state)
    stable, effective = state.stable_rounds + 1, state.effective_rounds + context.meaningful
    counted = replace(state, stable_rounds=stable, effective_rounds=effective)
    if stable >= recovery.stability_window_rounds and effective >= 1 and context.proof and not context.check_failed:
        return PhaseDecision(DecisionKind.HANDOFF_PENDING, next=replace(counted, phase=PENDING))
    return PhaseDecision(DecisionKind.CONTINUE, next=counted)


def _from_pending(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits) -> PhaseDecision:
    if context.now or context.failed_round or context.check_failed:
        back = replace(state, phase=TAKEOVER, stable_rounds=0, effective_rounds=0)
        return PhaseDecision(DecisionKind.CONTINUE, rerun_recovery=len(context.now) > 0, next=back)
    after = replace(
        state, phase=COOLDOWN, cooldown_remaining=recovery.handoff_cooldown_rounds, handoffs=state.handoffs + 1
    )
    return PhaseDecision(DecisionKind.HANDOFF, next=after)


def _from_cooldown(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits) -> PhaseDecision:
    reset = PhaseState(takeovers=state.takeovers, handoffs=state.handoffs)
    if any(_is_strong(signal) for signal in context.live):
        return _from_free(reset, context, recovery)
    left = state.cooldown_remaining - 1
    return PhaseDecision(DecisionKind.CONTINUE, next=replace(state, cooldown_remaining=left) if left > 0 else reset)


def _is_strong(signal: Signal) -> bool:
    return signal.stage == TOLD and any(signal.kind is kind and signal.value >= least for kind, least in STRONG)
