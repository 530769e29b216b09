"""L1: every row of its tables, how a decision is applied, and what holds whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from phases.supervision import execution_mode as modes
from phases.supervision.config import ModeLimits
from phases.supervision.effects import TimelineEntry
from phases.supervision.enums import (
    FAULTS,
    ExecutionMode,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)
from phases.supervision.execution_mode import (
    ENTER_FORCED,
    EXIT_FORCED,
    KEEP,
    ModeContext,
    ModeDecision,
    ModeState,
    RuntimeState,
    apply_decision,
    clear_recovery,
    count_round,
    drain_signals,
    evaluate_mode,
    signals_of_run,
    submit_signals,
)

CONFIG = ModeLimits()
IDLE = RuntimeState(stable_rounds=2)
FORCED = ModeState(
    execution_mode=ExecutionMode.FORCED,
    entered_by=(ModeSignal.TOOL_FAILURE,),
    entered_at_round=3,
    task_bearing_since_entry=1,
    last_decision=ENTER_FORCED,
)


def context(
    state: ModeState = ModeState(),  # noqa: B008 - frozen
    runtime: RuntimeState = IDLE,
    **other: Any,
) -> ModeContext:
    given_ = {"mode": SupervisorMode.ADAPTIVE, "floor": ExecutionMode.FREE, "phase": SupervisorPhase.FREE, **other}
    return ModeContext(state=state, runtime=runtime, **given_)


@dataclass
class Run:
    """L1 from round to round, as the facade drives it."""

    mode: SupervisorMode = SupervisorMode.ADAPTIVE
    floor: ExecutionMode = ExecutionMode.FREE
    phase: SupervisorPhase = SupervisorPhase.FREE
    state: ModeState = ModeState()  # noqa: RUF009 - frozen
    config: ModeLimits = CONFIG
    round: int = 0

    def step(
        self, runtime: RuntimeState = IDLE, *signals: ModeSignal, bearing: bool = True
    ) -> tuple[ModeDecision, tuple[TimelineEntry, ...]]:
        """Submits, decides, applies, and has a round."""
        self.round += 1
        submitted = submit_signals(self.state, *signals)
        decision = evaluate_mode(ModeContext(self.mode, self.floor, self.phase, submitted, runtime), self.config)
        after, entries = apply_decision(submitted, decision, round=self.round, config=self.config)
        self.state = count_round(after, task_bearing=bearing)
        return decision, entries

    def steps(self, count: int, runtime: RuntimeState = IDLE, *, bearing: bool = True) -> list[str]:
        """What is decided in so many rounds: the kind, or why it is denied."""
        decisions = [self.step(runtime, bearing=bearing)[0] for _ in range(count)]
        return [decision.denied or decision.kind for decision in decisions]


# The table of section 5.2: what is derived from a run


@pytest.mark.parametrize(
    ("runtime", "signals"),
    [
        pytest.param(RuntimeState(), (), id="nothing"),
        pytest.param(RuntimeState(checkpoint_resumed=True), ("checkpoint_resumed",), id="P0 resumed"),
        pytest.param(RuntimeState(task_graph_active=True), ("task_graph_active",), id="P1 graph active"),
        pytest.param(RuntimeState(branch_switched=True), ("branch_switched",), id="P2 branch switched"),
        pytest.param(RuntimeState(pending_step_count=1), (), id="P3 one step pending is under the threshold"),
        pytest.param(RuntimeState(pending_step_count=2), ("pending_steps",), id="P3 two steps pending reach it"),
        pytest.param(RuntimeState(last_tool_success=False), ("tool_failure",), id="P4 every tool failed"),
        pytest.param(RuntimeState(write_targets=4), (), id="P5 four files do not exceed the threshold"),
        pytest.param(RuntimeState(write_targets=5), ("multi_write",), id="P5 five files exceed it"),
        pytest.param(RuntimeState(planned_write_targets=9), (), id="P5 files that were kept back are no writes"),
        pytest.param(RuntimeState(accumulated_diff_lines=400), (), id="P6 400 lines do not exceed the threshold"),
        pytest.param(RuntimeState(accumulated_diff_lines=401), ("large_diff",), id="P6 401 lines exceed it"),
        pytest.param(RuntimeState(edit_step_open=True), ("explicit_impl",), id="P7 an edit step is open"),
        pytest.param(RuntimeState(recovery_pending=True, branch_debt=3), (), id="recovery and debt are no reasons"),
        pytest.param(
            RuntimeState(
                edit_step_open=True, accumulated_diff_lines=999, write_targets=9, last_tool_success=False,
                pending_step_count=9, branch_switched=True, task_graph_active=True, checkpoint_resumed=True,
            ),
            tuple(ModeSignal)[:8],
            id="all of them, in their order",
        ),
    ],
)  # fmt: skip
def test_a_signal_is_derived_just_where_its_row_says(runtime: RuntimeState, signals: tuple[str, ...]) -> None:
    assert signals_of_run(runtime, CONFIG) == signals


# The table of section 5.3


@pytest.mark.parametrize("state", [ModeState(), FORCED], ids=["free", "forced"])
def test_off_decides_nothing(state: ModeState) -> None:
    loud = RuntimeState(task_graph_active=True, last_tool_success=False, edit_step_open=True)
    decision = evaluate_mode(
        context(submit_signals(state, *ModeSignal), loud, mode=SupervisorMode.OFF, floor=ExecutionMode.FORCED), CONFIG
    )
    assert decision == ModeDecision(KEEP)
    after, entries = apply_decision(state, decision, round=5, config=CONFIG)
    assert (after.execution_mode, after.lock_remaining, entries) == (state.execution_mode, state.lock_remaining, ())


@pytest.mark.parametrize(
    ("given_context", "reasons"),
    [
        pytest.param(context(), (), id="no reason"),
        pytest.param(context(runtime=RuntimeState(task_graph_active=True)), ("task_graph_active",), id="derived"),
        pytest.param(context(submit_signals(ModeState(), ModeSignal.TOOL_FAILURE)), ("tool_failure",), id="submitted"),
        pytest.param(
            context(submit_signals(ModeState(), ModeSignal.TOOL_FAILURE), RuntimeState(last_tool_success=False)),
            ("tool_failure",),
            id="submitted and derived: told once",
        ),
        pytest.param(
            context(mode=SupervisorMode.STRICT, floor=ExecutionMode.FORCED), ("explicit_impl",), id="the strict floor"
        ),
        pytest.param(context(phase=SupervisorPhase.TAKEOVER), ("takeover_floor",), id="takeover"),
        pytest.param(context(phase=SupervisorPhase.HANDOFF_PENDING), ("takeover_floor",), id="handoff pending"),
        pytest.param(context(phase=SupervisorPhase.COOLDOWN), (), id="cooldown is no reason"),
        pytest.param(context(submit_signals(ModeState(), ModeSignal.LOOP_DETECTED)), ("loop_detected",), id="a loop"),
        pytest.param(context(submit_signals(ModeState(), ModeSignal.RECOVERY_PENDING)), (), id="recovery is no reason"),
        pytest.param(
            context(ModeState(pending_signals=(ModeSignal.RECOVERY_PENDING, ModeSignal.ENGINE_FAIL_SAFE))),
            (),
            id="nor is it where a checkpoint holds it as one",
        ),
    ],
)
def test_free_mode_ends_where_there_is_a_reason(given_context: ModeContext, reasons: tuple[str, ...]) -> None:
    decision = evaluate_mode(given_context, CONFIG)
    assert decision == ModeDecision(ENTER_FORCED if reasons else KEEP, tuple(ModeSignal(one) for one in reasons))


@pytest.mark.parametrize(
    ("given_context", "denied"),
    [
        pytest.param(
            context(replace(FORCED, lock_remaining=2), floor=ExecutionMode.FORCED, phase=SupervisorPhase.TAKEOVER),
            "strict_floor",
            id="strict before all",
        ),
        pytest.param(
            context(replace(FORCED, lock_remaining=2), phase=SupervisorPhase.TAKEOVER), "takeover_floor", id="takeover"
        ),
        pytest.param(context(FORCED, phase=SupervisorPhase.HANDOFF_PENDING), "takeover_floor", id="handoff pending"),
        pytest.param(
            context(replace(FORCED, lock_remaining=1, task_bearing_since_entry=0)), "mode_lock", id="lock before dwell"
        ),
        pytest.param(context(replace(FORCED, task_bearing_since_entry=0)), "min_dwell", id="dwell"),
        pytest.param(context(FORCED, replace(IDLE, pending_step_count=1)), "exit_conditions", id="a step is pending"),
        pytest.param(
            context(FORCED, replace(IDLE, planned_write_targets=1)), "exit_conditions", id="a write is wanted"
        ),
        pytest.param(context(FORCED, replace(IDLE, stable_rounds=1)), "exit_conditions", id="not stable yet"),
        pytest.param(context(FORCED, replace(IDLE, recovery_pending=True)), "exit_conditions", id="recovery pending"),
        pytest.param(context(replace(FORCED, recovery_pending=True)), "exit_conditions", id="recovery sticks"),
        pytest.param(context(FORCED, replace(IDLE, branch_debt=1)), "exit_conditions", id="debt"),
        pytest.param(context(FORCED), "", id="all conditions hold"),
        pytest.param(context(FORCED, phase=SupervisorPhase.COOLDOWN), "", id="in cooldown as well"),
    ],
)
def test_forced_mode_ends_where_nothing_holds_it(given_context: ModeContext, denied: str) -> None:
    decision = evaluate_mode(given_context, CONFIG)
    assert decision == (ModeDecision(KEEP, denied=denied) if denied else ModeDecision(EXIT_FORCED))


class Broken(RuntimeState):
    """A run at which whoever looks at this field stumbles."""

    def __init__(self, name: str, fault: type[Exception]) -> None:
        super().__init__(stable_rounds=2)
        object.__setattr__(self, "_broken", (name, fault))

    def __repr__(self) -> str:
        return f"Broken{object.__getattribute__(self, '__dict__')['_broken']}"

    def __getattribute__(self, name: str) -> Any:
        broken, fault = object.__getattribute__(self, "__dict__").get("_broken", ("", ValueError))
        if name == broken:
            raise fault(f"{name} is broken")
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    "fault", [*FAULTS, ZeroDivisionError, KeyError, RecursionError], ids=lambda kind: kind.__name__
)
def test_an_error_of_the_engine_while_free_forces(fault: type[Exception]) -> None:
    run = Run()
    decision, entries = run.step(Broken("task_graph_active", fault))
    assert decision == ModeDecision(ENTER_FORCED, (ModeSignal.ENGINE_FAIL_SAFE,), fail_safe=True)
    assert run.state.execution_mode is ExecutionMode.FORCED
    assert [(entry.reason, entry.payload["failSafe"]) for entry in entries] == [
        ("free->forced: engine_fail_safe", True)
    ]


@pytest.mark.parametrize("name", ["pending_step_count", "stable_rounds", "recovery_pending", "branch_debt"])
def test_an_error_of_the_engine_while_forced_touches_no_counter(name: str) -> None:
    state = submit_signals(FORCED, ModeSignal.MULTI_WRITE)
    runtime = Broken(name, ValueError)
    decision = evaluate_mode(context(state, runtime), CONFIG)
    assert decision == ModeDecision(KEEP, fail_safe=True)
    after, entries = apply_decision(state, decision, round=9, config=CONFIG)
    assert after == drain_signals(state)
    assert [(entry.event, entry.reason) for entry in entries] == [(TimelineEvent.FAILURE, "kernel_error")]


def test_an_error_never_shortens_the_lock() -> None:
    locked = replace(FORCED, lock_remaining=2)
    after, _ = apply_decision(locked, ModeDecision(KEEP, fail_safe=True), round=9, config=CONFIG)
    assert (after.lock_remaining, after.task_bearing_since_entry) == (2, 1)


# Signals


def test_what_forced_is_told_strongest_first_and_once() -> None:
    run = Run()
    run.step(
        IDLE,
        ModeSignal.PENDING_STEPS,
        ModeSignal.RECOVERY_PENDING,
        ModeSignal.CHECKPOINT_RESUMED,
        ModeSignal.MULTI_WRITE,
        ModeSignal.PENDING_STEPS,
    )
    assert run.state.entered_by == (
        ModeSignal.CHECKPOINT_RESUMED,
        ModeSignal.PENDING_STEPS,
        ModeSignal.MULTI_WRITE,
    )
    assert run.state.recovery_pending


def test_a_signal_is_queued_once_and_an_error_of_the_engine_never() -> None:
    state = submit_signals(
        submit_signals(ModeState(), ModeSignal.MULTI_WRITE), ModeSignal.TOOL_FAILURE, ModeSignal.MULTI_WRITE
    )
    assert state.pending_signals == (ModeSignal.MULTI_WRITE, ModeSignal.TOOL_FAILURE)
    assert submit_signals(ModeState(), ModeSignal.ENGINE_FAIL_SAFE) == ModeState()


@pytest.mark.parametrize(
    "decision",
    [
        ModeDecision(KEEP),
        ModeDecision(KEEP, denied="exit_conditions"),
        ModeDecision(KEEP, fail_safe=True),
        ModeDecision(ENTER_FORCED, (ModeSignal.MULTI_WRITE,)),
        ModeDecision(EXIT_FORCED),
    ],
    ids=["keep", "denied", "fail safe", "enter", "exit"],
)
def test_every_decision_uses_up_what_was_submitted(decision: ModeDecision) -> None:
    state = submit_signals(FORCED if decision.kind != ENTER_FORCED else ModeState(), ModeSignal.MULTI_WRITE)
    assert apply_decision(state, decision, round=4, config=CONFIG)[0].pending_signals == ()


# From round to round


def test_the_lock_and_one_round_that_brings_the_task_on_give_the_earliest_exit() -> None:
    run = Run()
    run.step(IDLE, ModeSignal.TOOL_FAILURE)
    assert run.steps(4) == ["mode_lock", "mode_lock", EXIT_FORCED, KEEP]


def test_texts_and_blocked_calls_alone_never_end_forced_mode() -> None:
    run = Run()
    run.step(IDLE, ModeSignal.TOOL_FAILURE, bearing=False)
    assert run.steps(8, bearing=False) == ["mode_lock"] * 2 + ["min_dwell"] * 6
    assert run.steps(1, bearing=True) == ["min_dwell"]
    assert run.steps(1) == [EXIT_FORCED]


@pytest.mark.parametrize("sticks", [True, False], ids=["submitted", "seen in the run"])
def test_recovery_holds_forced_mode_until_it_is_cleared_and_no_longer(sticks: bool) -> None:
    run = Run()
    run.step(IDLE, ModeSignal.TOOL_FAILURE)
    run.steps(2)
    run.step(*((IDLE, ModeSignal.RECOVERY_PENDING) if sticks else (replace(IDLE, recovery_pending=True),)))
    pending = replace(IDLE, recovery_pending=not sticks)
    assert run.steps(5, pending) == ["exit_conditions"] * 5
    run.state = clear_recovery(run.state)
    assert run.steps(1) == [EXIT_FORCED]


def test_only_forced_rounds_count_as_bringing_the_task_on() -> None:
    assert count_round(ModeState(), task_bearing=True) == ModeState()
    assert count_round(FORCED, task_bearing=False) == FORCED
    assert count_round(FORCED, task_bearing=True).task_bearing_since_entry == 2


def test_leaving_forced_mode_forgets_all_of_it() -> None:
    state = replace(FORCED, lock_remaining=0)
    assert apply_decision(state, ModeDecision(EXIT_FORCED), round=8, config=CONFIG)[0] == ModeState(
        last_decision=EXIT_FORCED
    )


def test_entering_locks_and_begins_to_count() -> None:
    state = submit_signals(ModeState(task_bearing_since_entry=7), ModeSignal.TOOL_FAILURE)
    after, _ = apply_decision(state, evaluate_mode(context(state), CONFIG), round=6, config=CONFIG)
    assert after == ModeState(
        execution_mode=ExecutionMode.FORCED,
        lock_remaining=CONFIG.mode_lock_rounds,
        entered_by=(ModeSignal.TOOL_FAILURE,),
        entered_at_round=6,
        last_decision=ENTER_FORCED,
    )


# What is told


def test_the_event_log_tells_of_changes_and_of_no_round_that_stays_the_same() -> None:
    run = Run()
    told: list[tuple[int, TimelineEntry]] = []
    for runtime in (IDLE, RuntimeState(write_targets=9), IDLE, IDLE, replace(IDLE, stable_rounds=0), IDLE, IDLE):
        entries = run.step(runtime)[1]
        told += [(run.round, entry) for entry in entries]
    assert [(number, entry.reason) for number, entry in told] == [
        (2, "free->forced: multi_write"),
        (3, "denied:mode_lock"),
        (5, "denied:exit_conditions"),
        (6, "forced->free: stable"),
    ]
    assert {entry.event for _, entry in told} == {TimelineEvent.SWITCH}
    entered, left = told[0][1].payload, told[-1][1].payload
    assert entered == {
        "enteredBy": ["multi_write"],
        "round": 2,
        "failSafe": False,
    }
    assert left == {"dwell": 4, "rounds": 4, "enteredBy": ["multi_write"]}


# Whatever happens


def test_no_decision_knows_more_of_the_task_than_its_context_holds() -> None:
    assert set(modes.ModeContext.__annotations__) == {"mode", "floor", "phase", "state", "runtime"}
