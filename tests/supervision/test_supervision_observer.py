"""What L2 sees: alignment, signals, how long they live, and what a recovery may cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import GoalDrift, RecoveryLimits, Triggers
from phases.supervision.enums import (
    DeviationSignal,
    ProgressClass,
    TaskIntent,
    ToolClass,
)
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round, Task
from phases.supervision.l2_phases import (
    RecoveryBudget,
    find_exhausted,
    spend_round,
    try_extension,
)
from phases.supervision.observer import (
    Observation,
    ObservedRound,
    ObserverState,
    bigram_similarity,
    is_test,
    measure_alignment,
    observe_round,
)
from phases.supervision.progress import Progress, begin_round, count_action, count_round
from phases.supervision.serialization import from_json, to_json
from phases.supervision.signals import Signal
from phases.supervision.work_ledger import WorkLedger, after_action, after_gate, after_round, check_fails

D = DeviationSignal
CHECK = "run the checks"
TASK = Task("write the model", TaskIntent.EDIT, ("src/model.py", "src/train.py"), (CHECK,))
UNRELATED = "zzz qqq xxx"


def read(path: str = "a.md", *, digest: str = "r") -> Action:
    return Action(
        Call(f"read-{path}", "look", ToolClass.READ, f"read {path}", path=path), CallResult(True, digest=digest)
    )


def write(path: str = "src/model.py", *, changed: bool = True, new: bool = False) -> Action:
    call = Call("w", "put", ToolClass.WRITE, f"write {path}", path=path, new_file=new)
    return Action(call, CallResult(True, changed=(path,) if changed else (), lines=3))


def ran(command: str = "list", *, failed: bool = False, digest: str = "same", ok_in_background: bool = False) -> Action:
    call = Call("x", "shell", ToolClass.EXEC, f"run {command}", command=command)
    return Action(
        call, CallResult(True, failed, digest=digest, error="no" if failed else "", background=ok_in_background)
    )


def checked(*failures: str, error: str = "") -> Action:
    call = Call("c", "shell", ToolClass.EXEC, "run checks", command=CHECK, verify=True)
    told = " ".join(failures) or error
    return Action(call, CallResult(True, bool(told), digest=told or "passed", error=error, failures=failures))


def blocked(action: Action) -> Action:
    return Action(action.call, CallResult(False))


NOTE = Action(Call("n", "note", ToolClass.NEUTRAL, "note"), CallResult(True))


def taken_in(ledger: WorkLedger, turn: Round) -> tuple[WorkLedger, Round]:
    """The ledger after a round, and the round with what the ledger says of its checks."""
    actions = []
    for action in turn.actions:
        ledger, verified = after_action(ledger, action.call, action.result, turn.number, TASK.verify_commands)
        actions.append(replace(action, verified=verified))
    turn = replace(turn, actions=tuple(actions))
    return after_round(ledger, turn, disturbed=False), turn


def watched(rounds: Sequence[Sequence[Action] | str], triggers: Triggers | None = None) -> list[Observation]:
    """All that is observed of a run: each round is its actions, or a text without any."""
    state, ledger, progress, seen = ObserverState(), WorkLedger(), Progress(), []
    for number, content in enumerate(rounds, 1):
        turn = Round(number, text=content) if isinstance(content, str) else Round(number, tuple(content))
        ledger, turn = taken_in(ledger, turn)
        progress = begin_round(progress)
        for action in turn.actions:
            progress = count_action(progress, action, number)
        progress = count_round(progress, turn, check_fails=check_fails(ledger))
        observed = observe_round(state, ObservedRound(turn, TASK, progress), triggers or Triggers())
        state = observed.state
        seen.append(observed)
    return seen


def kinds(signals: Sequence[Signal]) -> list[DeviationSignal]:
    return [signal.kind for signal in signals]


# Alignment, section 7.1


@pytest.mark.parametrize(
    ("actions", "text", "failed_rounds", "value"),
    [
        pytest.param((read(),), "", 0, 0.425, id="pure reading, no text"),
        pytest.param((read(),), UNRELATED, 0, 0.35, id="reading, and a text about something else"),
        pytest.param((blocked(read()),), UNRELATED, 3, 0.20, id="the same, and three rounds failed whole"),
        pytest.param((write(), read()), "wr mn op qr", 0, 0.85, id="healthy writing, a tenth of the pairs in common"),
    ],
)
def test_the_reference_points_of_alignment_hold(
    actions: tuple[Action, ...], text: str, failed_rounds: int, value: float
) -> None:
    task = Task("ab cd ef gh ij kl wr", TaskIntent.EDIT)
    kind = ProgressClass.ALL_FAILED_OR_BLOCKED if failed_rounds else ProgressClass.NON_PROGRESS_SUCCESS
    progress = Progress(stall=2 * failed_rounds, last=kind)
    assert measure_alignment(Round(1, actions, text), task, progress).value == value


@pytest.mark.parametrize(
    ("turn", "factor", "value"),
    [
        pytest.param(Round(1), "toolIntent", 1.0, id="no calls"),
        pytest.param(Round(1, (NOTE,)), "toolIntent", 1.0, id="only calls that touch nothing"),
        pytest.param(Round(1, (read(), NOTE)), "toolIntent", 0.2, id="reading, and a call that touches nothing"),
        pytest.param(Round(1, (read(), read("b"))), "toolIntent", 0.2, id="only reading"),
        pytest.param(Round(1, (read(), ran())), "toolIntent", 0.4, id="half reading, nothing written"),
        pytest.param(Round(1, (read(), write())), "toolIntent", 0.7, id="half writing"),
        pytest.param(Round(1, (read(), read("b"), read("c"), write())), "toolIntent", 0.55, id="a quarter writing"),
        pytest.param(Round(1, (write(),)), "toolIntent", 1.0, id="all writing"),
        pytest.param(Round(1, (read(),)), "fileIntent", 0.2, id="nothing written, nothing changed"),
        pytest.param(Round(1, (write(changed=False),)), "fileIntent", 0.3, id="written, and nothing changed"),
        pytest.param(Round(1, (write(),)), "fileIntent", 1.0, id="changed"),
        pytest.param(Round(1), "text", 0.3, id="no text"),
        pytest.param(Round(1, text=TASK.goal), "text", 1.0, id="the goal itself"),
        pytest.param(Round(1, text=UNRELATED), "text", 0.0, id="something else"),
    ],
)
def test_each_factor_of_alignment_follows_its_rule(turn: Round, factor: str, value: float) -> None:
    assert measure_alignment(turn, TASK, Progress()).factors[factor] == pytest.approx(value)


def test_a_task_that_asks_for_reading_is_served_by_reading() -> None:
    asked = replace(TASK, intent=TaskIntent.INSPECT)
    factors = measure_alignment(Round(1, (read(),)), asked, Progress()).factors
    assert (factors["toolIntent"], factors["fileIntent"]) == (1.0, 1.0)


def test_a_text_that_barely_touches_the_goal_counts_little() -> None:
    drift = GoalDrift()
    goal = " ".join(f"{one}{other}" for one in "abcdefghij" for other in "klmnop")
    said = "ak " + " ".join(f"z{other}" for other in "abcdefghij")
    j = bigram_similarity(goal, said)
    assert 0 < j < drift.jaccard_min
    assert measure_alignment(Round(1, text=said), Task(goal, TaskIntent.EDIT), Progress()).factors["text"] == 5 * j


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_similarity_is_symmetric_within_bounds_and_never_fails(one: str, other: str) -> None:
    assert bigram_similarity(one, other) == bigram_similarity(other, one)
    assert 0 <= bigram_similarity(one, other) <= 1


OTHER_CHECK = Call("o", "shell", ToolClass.EXEC, "o", command="other", verify=True)
OTHER, OTHER_FAILED = Action(OTHER_CHECK, CallResult(True)), Action(OTHER_CHECK, CallResult(True, True))


@pytest.mark.parametrize(
    ("actions", "fails"),
    [
        pytest.param((), False, id="none was run"),
        pytest.param((checked("a"),), True, id="one failed"),
        pytest.param((checked("a"), write()), True, id="a change does not make it pass"),
        pytest.param((checked(error=""), write()), False, id="it passed, and something changed"),
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
    refused = after_gate(WorkLedger(), GateVerdict(passed=False), 1)
    assert check_fails(refused)
    assert not check_fails(after_gate(refused, GateVerdict(passed=True), 2))


def test_a_call_that_ended_well_is_over_its_failures() -> None:
    seen = watched([[ran(failed=True)], [ran(failed=True)], [ran()], [ran(failed=True)], [ran(failed=True)]])
    assert all(D.TOOL_REPEAT_FAIL not in kinds(round_.live) for round_ in seen)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True),
        ("src/test_a.py", True),
        ("src/a_test.py", True),
        ("a/b_tests/c.py", True),
        ("src/model.py", False),
        ("src/attestation.py", False),
        ("", False),
    ],
)
def test_a_test_is_known_by_its_path(path: str, expected: bool) -> None:
    assert is_test(path) is expected


# The list, and how long a signal lives


ACTIONS = st.sampled_from(
    [
        read(), read("b", digest="x"), write(), write("z.py", new=True), write(changed=False), ran(), ran(failed=True),
        checked(), checked("a"), checked("a", "b"), checked(error="broke"), blocked(write()), blocked(ran()),
    ]
)  # fmt: skip
ROUNDS = st.lists(st.one_of(st.lists(ACTIONS, max_size=4), st.sampled_from(["", UNRELATED, TASK.goal])), max_size=25)


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
        pytest.param([IDLE] * 12, "", id="twelve rounds that came to nothing"),
        pytest.param([IDLE] * 13, "rounds", id="a thirteenth"),
        pytest.param([MEANINGFUL] * 6, "", id="six with progress"),
        pytest.param([MEANINGFUL] * 7, "rounds", id="a seventh"),
        pytest.param([IDLE] * 6 + [MEANINGFUL] * 6, "", id="six of each"),
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
        pytest.param(spent([MEANINGFUL] + [IDLE] * 12), id="the progress is long past"),
        pytest.param(spent([IDLE] * 13), id="there never was progress"),
        pytest.param(spent([MEANINGFUL] * 6), id="nothing is spent yet"),
        pytest.param(replace(spent([MEANINGFUL] * 7), retries={"a": 9}), id="the retries are spent as well"),
    ],
)
def test_nothing_is_extended_without_need_progress_and_thrift(budget: RecoveryBudget) -> None:
    assert try_extension(budget, RecoveryLimits(), budget.rounds) == (budget, False)


def test_an_extended_takeover_ends_after_three_times_its_rounds() -> None:
    budget = replace(spent([IDLE] * 18), extended=True)
    assert find_exhausted(budget, RecoveryLimits()) == ""
    assert find_exhausted(spend_round(budget, Round(19), IDLE), RecoveryLimits()) == "rounds"


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
        assert number <= 18 or find_exhausted(budget, RecoveryLimits()) == "rounds"
        assert from_json(RecoveryBudget, json.loads(json.dumps(to_json(budget)))) == budget


NEW, LOST = ProgressClass.NON_PROGRESS_SUCCESS, ProgressClass.ALL_FAILED_OR_BLOCKED
