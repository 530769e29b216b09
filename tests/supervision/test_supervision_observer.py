"""What the observer and the ledger remember of checks, tests and drift, and what a recovery may cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import RecoveryLimits, Triggers
from phases.supervision.enums import DeviationSignal, ProgressClass, ToolClass
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round, Task
from phases.supervision.observer import ObservedRound, ObserverState, count_drift, is_test, observe_round
from phases.supervision.progress import Progress, begin_round, count_action, count_round
from phases.supervision.serialization import from_json, to_json
from phases.supervision.state import RecoveryBudget
from phases.supervision.takeover import find_exhausted, spend_round, try_extension
from phases.supervision.work_ledger import WorkLedger, after_action, after_gate, check_fails

CHECK = "run the checks"
TASK = Task("write the model", ("src/model.py", "src/train.py"), (CHECK,))


def call(kind: ToolClass, what: str = "") -> Action:
    path, command = ("", what) if kind is ToolClass.EXEC else (what, "")
    return Action(Call("1", "tool", kind, f"{kind} {what}", path=path, command=command), CallResult(True, digest=what))


def read(path: str = "a.md") -> Action:
    return call(ToolClass.READ, path)


def write(path: str = "src/model.py") -> Action:
    return replace(call(ToolClass.WRITE, path), result=CallResult(True, changed=(path,)))


def ran(command: str = "list", *, failed: bool = False, digest: str = "same") -> Action:
    result = CallResult(True, failed, digest=digest, error="no" if failed else "")
    return replace(call(ToolClass.EXEC, command), result=result)


def checked(*failures: str) -> Action:
    told = " ".join(failures)
    action = call(ToolClass.EXEC, CHECK)
    result = CallResult(True, bool(told), digest=told or "passed", failures=failures)
    return Action(replace(action.call, verify=True), result)


def blocked(action: Action) -> Action:
    return Action(action.call, CallResult(False))


NOTE, SEARCH = call(ToolClass.NEUTRAL, ""), call(ToolClass.SEARCH, "word")


# Checks, and tests


OTHER_CHECK = Call("o", "shell", ToolClass.EXEC, "o", command="other", verify=True)
OTHER, OTHER_FAILED = Action(OTHER_CHECK, CallResult(True)), Action(OTHER_CHECK, CallResult(True, True))


@pytest.mark.parametrize(
    ("actions", "fails"),
    [
        pytest.param((), False, id="none was run"),
        pytest.param((checked("a"),), True, id="one failed"),
        pytest.param((checked("a"), write()), True, id="a change does not make it pass"),
        pytest.param((checked(), write()), False, id="it passed, and something changed"),
        pytest.param((checked("a"), OTHER), True, id="another one passed"),
        pytest.param((checked("a"), OTHER, checked()), False, id="both passed"),
        pytest.param((OTHER_FAILED, write(), OTHER), False, id="it passed after all"),
    ],
)  # fmt: skip
def test_a_check_is_known_to_fail_until_it_passes(actions: tuple[Action, ...], fails: bool) -> None:
    ledger = WorkLedger()
    for action in actions:
        ledger, _ = after_action(ledger, action.call, action.result, 1, (CHECK, "other"))
    assert check_fails(ledger) is fails


def test_a_verdict_says_whether_checks_fail() -> None:
    refused = after_gate(WorkLedger(), GateVerdict(passed=False))
    assert check_fails(refused)
    assert not check_fails(after_gate(refused, GateVerdict(passed=True)))


def test_a_call_that_ended_well_is_over_its_failures() -> None:
    state, progress = ObserverState(), Progress()
    for number, action in enumerate([ran(failed=True)] * 2 + [ran()] + [ran(failed=True)] * 2, 1):
        turn = Round(number, (action,))
        progress = count_round(count_action(begin_round(progress), action, number), turn, check_fails=False)
        seen = observe_round(state, ObservedRound(turn, TASK, progress), Triggers())
        state = seen.state
        assert DeviationSignal.TOOL_REPEAT_FAIL not in {signal.kind for signal in seen.live}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True),
        ("src/test_a.py", True),
        ("src/a_test.py", True),
        ("a/b_tests/c.py", True),
        ("src/total.test.js", True),
        ("src/total.spec.ts", True),
        ("src/__tests__/total.js", True),
        ("spec/total_spec.rb", True),
        ("src/total_test.go", True),
        ("src/model.py", False),
        ("src/attestation.py", False),
        ("src/inspector.py", False),
        ("", False),
    ],
)
def test_a_test_is_known_by_its_path(path: str, expected: bool) -> None:
    assert is_test(path) is expected


def test_of_two_problems_in_one_round_each_gets_its_own_hint_before_its_calls_are_refused() -> None:
    """A model reads one text a round: the second problem waits for the next one."""
    state, progress, told = ObserverState(has_written=True), Progress(stall=20), []
    state = replace(state, drift_rounds=9)
    for number in range(1, 4):
        turn = Round(number, (OFF,))
        progress = replace(progress, stall=progress.stall + 1)
        seen = observe_round(state, ObservedRound(turn, TASK, progress, force_takeover=False), Triggers())
        told.append([signal.kind for signal in seen.hints])
        state = seen.state
    assert told == [[DeviationSignal.NO_PROGRESS], [DeviationSignal.GOAL_DRIFT], []]


# Drift: rounds off the plan, since one touched it

OFF = write("helper.py")
DELEGATED = call(ToolClass.DELEGATE, "how others do it")
LACKS = replace(ran("nvcc a.cu"), result=replace(ran(failed=True).result, limit="the program nvcc is not there"))


@pytest.mark.parametrize(
    ("before", "action", "from_nothing", "expected"),
    [
        pytest.param(2, write("src/train.py"), False, 0, id="a planned file"),
        pytest.param(2, read("src/train.py"), False, 0, id="a planned file that is read"),
        pytest.param(2, write("tests/test_x.py"), False, 0, id="a test"),
        pytest.param(2, checked("a"), False, 0, id="a check, whatever it says"),
        pytest.param(2, ran("python -c 'import src.model'"), False, 0, id="a planned module"),
        pytest.param(2, ran("cd src && ls"), False, 0, id="a directory of the plan"),
        pytest.param(2, blocked(write()), False, 2, id="a planned file, kept back"),
        pytest.param(2, OFF, False, 3, id="another file"),
        pytest.param(2, ran("python -c 'print(4)'"), False, 3, id="a command about nothing of the plan"),
        pytest.param(2, LACKS, False, 2, id="a command for which the machine lacks something"),
        pytest.param(0, write("README.md"), False, 1, id="a file of the package that the plan does not name"),
        pytest.param(2, read(), False, 2, id="what is read says nothing"),
        pytest.param(0, SEARCH, False, 0, id="a search where code stands already"),
        pytest.param(0, NOTE, False, 0, id="a note where code stands already"),
        pytest.param(0, ran("git log"), False, 1, id="a command, also where code stands already"),
        pytest.param(2, DELEGATED, True, 2, id="a question to another agent"),
        pytest.param(2, SEARCH, False, 3, id="a search, once a drift began"),
        pytest.param(0, SEARCH, True, 1, id="a search where nothing stands yet"),
        pytest.param(0, NOTE, True, 1, id="a note where nothing stands yet"),
    ],
)
def test_a_round_that_touches_the_plan_ends_a_drift_and_one_that_acts_elsewhere_adds_to_it(
    before: int, action: Action, from_nothing: bool, expected: int
) -> None:
    task = replace(TASK, from_nothing=from_nothing)
    assert count_drift(before, Round(1, (action,)), task) == expected


def test_a_round_that_touches_the_plan_among_other_things_is_no_drift() -> None:
    assert count_drift(4, Round(1, (OFF, write(), OFF)), TASK) == 0
    assert count_drift(4, Round(1, text="Let me think."), TASK) == 4, "nor does a round of talk say anything"
    assert count_drift(4, Round(1, (OFF,)), replace(TASK, planned_files=())) == 0, "without planned files there is none"


# What a takeover may cost (7.5; scenarios 38 and 39)

MEANINGFUL, IDLE = ProgressClass.MEANINGFUL_PROGRESS, ProgressClass.NO_TOOL


def spent(rounds: Sequence[ProgressClass], *, ratio: float = 0.0) -> RecoveryBudget:
    budget = RecoveryBudget()
    for number, progress in enumerate(rounds, 1):
        budget = spend_round(budget, Round(number, token_ratio=ratio if number > 1 else 0.0), progress)
    return budget


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        pytest.param([IDLE] * 11, "", id="eleven rounds that came to nothing"),
        pytest.param([IDLE] * 12, "rounds", id="a twelfth"),
        pytest.param([MEANINGFUL] * 6, "", id="six with progress"),
        pytest.param([MEANINGFUL] * 7, "rounds", id="a seventh"),
        pytest.param([IDLE] * 5 + [MEANINGFUL] * 6, "", id="with five others"),
        pytest.param([IDLE] * 6 + [MEANINGFUL] * 6, "rounds", id="with six others"),
    ],
)
def test_scenario_38_rounds_are_counted_whether_they_come_to_something_or_not(
    rounds: list[ProgressClass], expected: str
) -> None:
    assert find_exhausted(spent(rounds), RecoveryLimits()) == expected


def test_scenario_38_recent_progress_at_a_low_cost_extends_the_rounds_once() -> None:
    budget, extended = try_extension(spent([MEANINGFUL] * 7, ratio=0.09), RecoveryLimits(), 7)
    assert (extended, find_exhausted(budget, RecoveryLimits())) == (True, "")
    for number in range(8, 13):
        budget = spend_round(budget, Round(number), MEANINGFUL)
    assert find_exhausted(budget, RecoveryLimits()) == ""
    budget = spend_round(budget, Round(13), MEANINGFUL)
    assert find_exhausted(budget, RecoveryLimits()) == "rounds"
    assert try_extension(budget, RecoveryLimits(), 13) == (budget, False)


@pytest.mark.parametrize(
    "budget",
    [
        pytest.param(spent([MEANINGFUL] * 7, ratio=0.1), id="it used a tenth of the window"),
        pytest.param(spent([MEANINGFUL] + [IDLE] * 11), id="the progress is long past"),
        pytest.param(spent([IDLE] * 12), id="there never was progress"),
        pytest.param(spent([MEANINGFUL] * 6), id="nothing is spent yet"),
        pytest.param(replace(spent([MEANINGFUL] * 7), retries={"a": 9}), id="the retries are spent as well"),
    ],
)
def test_nothing_is_extended_without_need_progress_and_thrift(budget: RecoveryBudget) -> None:
    assert try_extension(budget, RecoveryLimits(), budget.rounds) == (budget, False)


def test_an_extended_takeover_ends_after_three_times_its_rounds() -> None:
    budget = replace(spent([IDLE] * 17), extended=True)
    assert find_exhausted(budget, RecoveryLimits()) == ""
    assert find_exhausted(spend_round(budget, Round(18), IDLE), RecoveryLimits()) == "rounds"


def test_scenario_39_tokens_over_the_ratio_exhaust() -> None:
    assert find_exhausted(spent([MEANINGFUL] * 2, ratio=0.25), RecoveryLimits()) == ""
    assert find_exhausted(spent([MEANINGFUL] * 2, ratio=0.26), RecoveryLimits()) == "tokens"


def test_what_was_in_the_window_before_a_takeover_is_not_its_cost() -> None:
    budget = spend_round(RecoveryBudget(), Round(9, token_ratio=0.8), IDLE)
    assert find_exhausted(spend_round(budget, Round(10, token_ratio=0.85), IDLE), RecoveryLimits()) == ""
    assert find_exhausted(spend_round(budget, Round(10, token_ratio=0.2), IDLE), RecoveryLimits()) == ""


def test_scenario_39_a_third_retry_of_one_failure_exhausts() -> None:
    budget = RecoveryBudget()
    told = []
    for number in range(1, 5):
        budget = spend_round(budget, Round(number, (ran(failed=True),)), IDLE)
        told.append(find_exhausted(budget, RecoveryLimits()))
    assert told == ["", "", "", "retries"]


def test_other_failures_and_successes_are_no_retries() -> None:
    budget = RecoveryBudget()
    for number in range(60):
        actions = (ran(failed=True, digest=str(number)), ran(), blocked(ran()))
        budget = spend_round(budget, Round(number, actions), MEANINGFUL)
    assert max(budget.retries.values()) == 0
    assert len(budget.retries) <= 50


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(ProgressClass), st.floats(0, 1), st.booleans()), max_size=30))
@settings(max_examples=60, deadline=None)
def test_a_takeover_always_ends_and_its_budget_survives_json(rows: list[tuple[ProgressClass, float, bool]]) -> None:
    budget = RecoveryBudget()
    for number, (progress, ratio, fails) in enumerate(rows, 1):
        actions = (ran(failed=True),) if fails else ()
        budget = spend_round(budget, Round(number, actions, token_ratio=ratio), progress)
        budget, _ = try_extension(budget, RecoveryLimits(), number)
        assert budget.effective_rounds <= budget.rounds == number
        assert number < 18 or find_exhausted(budget, RecoveryLimits()) == "rounds"
        assert from_json(RecoveryBudget, json.loads(json.dumps(to_json(budget)))) == budget
