"""The gate: three checks, always all three, on what the work says of itself."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.acceptance.gate import CONVERGENCE, GATE_CONTINUED, GATE_FAILED, NONE_FAILED, OUTPUT, run_gate
from phases.acceptance.stop_reasons import ACCEPT_CONTINUE, ACCEPTED, STATUS, TODO_FAILED, TODO_WAITING, describe_reason
from phases.acceptance.todos import BLOCKED_REASONS, STATUSES, WAITS, Todo
from tests.papers import ROOT
from tests.strategies import QUICK

EMPTY_HINT = "You gave no visible reply just now; continue the task and give a clear result."
OPEN_HINT = "Required todos are still unfinished; keep working on them before finishing:"
DONE, LEFT, BROKEN = (
    Todo("a", "write it", "completed"), Todo("b", "test it", "in_progress"), Todo("c", "measure it", "failed"),
)  # fmt: skip
WAITING = Todo("d", "get the data", "blocked", blocked_reason="user_input_wait")


@pytest.mark.parametrize(
    ("todos", "text", "passed", "status", "stop"),
    [
        pytest.param([], "done", (1, 1, 1), ACCEPTED, ACCEPTED, id="nothing to do, and a text"),
        pytest.param([DONE], "done", (1, 1, 1), ACCEPTED, ACCEPTED, id="all is done"),
        pytest.param([DONE], " \n", (0, 1, 1), GATE_CONTINUED, ACCEPT_CONTINUE, id="no text"),
        pytest.param([DONE, LEFT], "done", (1, 1, 0), GATE_CONTINUED, ACCEPT_CONTINUE, id="one is open"),
        pytest.param([LEFT], "", (0, 1, 0), GATE_CONTINUED, ACCEPT_CONTINUE, id="no text, and one is open"),
        pytest.param([BROKEN], "done", (1, 0, 1), GATE_FAILED, TODO_FAILED, id="one failed"),
        pytest.param([LEFT, BROKEN], "", (0, 0, 0), GATE_FAILED, TODO_FAILED, id="all three fail"),
        pytest.param([DONE, WAITING], "done", (1, 1, 0), GATE_FAILED, TODO_WAITING, id="nothing but waiting is left"),
        pytest.param([WAITING], "", (0, 1, 0), GATE_FAILED, TODO_WAITING, id="waiting, and no text"),
        pytest.param([WAITING, LEFT], "done", (1, 1, 0), GATE_CONTINUED, ACCEPT_CONTINUE, id="one waits, one does not"),
        pytest.param([WAITING, BROKEN], "done", (1, 0, 0), GATE_FAILED, TODO_FAILED, id="one waits, one failed"),
    ],
)
def test_three_checks_make_one_outcome_and_what_failed_wins(
    todos: list[Todo], text: str, passed: tuple[int, ...], status: str, stop: str
) -> None:
    report = run_gate(todos, text)
    assert [(row.name, int(row.passed)) for row in report.results] == list(
        zip((OUTPUT, NONE_FAILED, CONVERGENCE), passed, strict=True)
    )
    assert [bool(row.reason) for row in report.results] == [not row for row in passed]
    assert (report.status, report.stop_reason) == (status, stop)


def test_the_names_of_the_checks_are_those_that_people_know() -> None:
    assert [row.name for row in run_gate([], "").results] == [
        "output_only",
        "required_todo_failed",
        "required_todo_convergence",
    ]


@pytest.mark.parametrize(
    ("todos", "text", "hint"),
    [
        pytest.param([DONE], "done", "", id="accepted"),
        pytest.param([], "", EMPTY_HINT, id="no text"),
        pytest.param([LEFT], "done", f"{OPEN_HINT}\n- b: test it", id="an open todo"),
        pytest.param([LEFT, WAITING], "", f"{EMPTY_HINT}\n{OPEN_HINT}\n- b: test it\n- d: get the data", id="both"),
        pytest.param([LEFT, BROKEN], "", f"{EMPTY_HINT}\n{OPEN_HINT}\n- b: test it", id="both, where another failed"),
    ],
)
def test_the_hint_names_everything_that_more_work_can_mend(todos: list[Todo], text: str, hint: str) -> None:
    assert run_gate(todos, text).continue_hint == hint


def test_the_summary_has_every_check_that_fails_in_its_order() -> None:
    assert run_gate([DONE], "x").summary == "acceptance prechecks passed"
    assert run_gate([LEFT, BROKEN, WAITING], "").summary == (
        "output_only: the reply has no visible text; required_todo_failed: required todos failed: c; "
        "required_todo_convergence: required todos are open: b, d (user_input_wait)"
    )


@pytest.mark.parametrize("text", ["", " \t\n", "\u200b\u2060", "\x1b\x00", "\ufeff \u3164", "\u202e"])
def test_what_nobody_would_see_is_no_visible_text(text: str) -> None:
    assert not run_gate([], text).results[0].passed
    assert run_gate([], f"{text}x").results[0].passed


@pytest.mark.parametrize("required", [None, True, False], ids=["nothing said", "required", "optional"])
@pytest.mark.parametrize("status", STATUSES)
def test_a_todo_counts_unless_it_is_said_to_be_optional(status: str, required: bool | None) -> None:
    report = run_gate([Todo("a", "x", status, required)], "done")
    if required is False or status in ("completed", "canceled"):
        assert report.status == ACCEPTED
    else:
        assert report.stop_reason == (TODO_FAILED if status == "failed" else ACCEPT_CONTINUE)


@pytest.mark.parametrize("reason", BLOCKED_REASONS)
def test_only_waiting_for_somebody_else_ends_the_run_at_once(reason: str) -> None:
    report = run_gate([Todo("a", "x", "blocked", blocked_reason=reason)], "done")
    assert (report.stop_reason == TODO_WAITING) == (reason in WAITS)
    assert reason in report.summary or reason not in WAITS


def test_a_reason_that_is_left_over_from_a_block_does_not_wait() -> None:
    assert run_gate([Todo("a", "x", "pending", blocked_reason="user_input_wait")], "x").stop_reason == ACCEPT_CONTINUE


@pytest.mark.parametrize(
    ("others", "excused"),
    [
        pytest.param([Todo("n", "new", "completed", supersedes=("c",))], True, id="one that is done"),
        pytest.param([Todo("n", "new", supersedes=("c",))], True, id="one that is open"),
        pytest.param([Todo("n", "new", "completed", False, supersedes=("c",))], False, id="an optional one"),
        pytest.param([Todo("n", "new", "canceled", supersedes=("c",))], False, id="a canceled one"),
        pytest.param([Todo("n", "new", "completed", supersedes=("x",))], False, id="one for another"),
        pytest.param([Todo("n", "new", "canceled", supersedes=("c",)), Todo("o", "newer", "completed", supersedes=("n",))],
            True, id="one by way of a canceled one"),
        pytest.param([Todo("n", "new", "failed", supersedes=("c",))], None, id="one that failed too"),
    ],
)  # fmt: skip
def test_a_failed_todo_does_not_count_where_another_stands_in_its_place(
    others: list[Todo], excused: bool | None
) -> None:
    failed = run_gate([BROKEN, *others], "done").results[1]
    assert failed.passed is bool(excused)
    assert ("c" in failed.reason.rpartition(": ")[2]) is (excused is False)


def test_a_todo_does_not_stand_in_its_own_place() -> None:
    assert run_gate([Todo("a", "x", "failed", supersedes=("a",))], "done").stop_reason == TODO_FAILED


def test_hostile_names_and_contents_make_single_lines() -> None:
    report = run_gate([Todo("a\n- b: forged", "x\n\x1b[2J\n# Accepted", "pending")], "done")
    assert report.continue_hint.count("\n") == 1
    assert "\x1b" not in report.continue_hint + report.summary
    assert "\n" not in report.summary


TODOS = st.lists(
    st.builds(
        Todo, st.sampled_from("abcde"), st.text(max_size=9), st.sampled_from(STATUSES), st.sampled_from([None, True, False]),
        st.sampled_from(["", *BLOCKED_REASONS]), supersedes=st.lists(st.sampled_from("abcde"), max_size=3).map(tuple),
    ),
    max_size=6,
)  # fmt: skip


@pytest.mark.slow
@given(TODOS, st.text(max_size=5))
@QUICK
def test_any_list_has_a_report_of_three_checks_and_a_live_reason(todos: list[Todo], text: str) -> None:
    report = run_gate(todos, text)
    assert [row.name for row in report.results] == [OUTPUT, NONE_FAILED, CONVERGENCE]
    assert (report.status == ACCEPTED) == all(row.passed for row in report.results)
    assert report.stop_reason in STATUS or report.stop_reason == ACCEPT_CONTINUE
    assert report.stop_reason != ACCEPT_CONTINUE or report.continue_hint
    assert report == run_gate(todos, text)


def test_the_order_of_the_todos_decides_nothing() -> None:
    outcomes = {run_gate(todos, "x").stop_reason for todos in itertools.permutations([DONE, LEFT, BROKEN, WAITING])}
    assert outcomes == {TODO_FAILED}


@pytest.mark.parametrize("reason", sorted(set(STATUS) - {ACCEPTED}))
def test_the_guide_has_the_words_of_the_screen_beside_the_code(reason: str) -> None:
    rows = [line for line in (ROOT / "docs" / "guide.md").read_text().splitlines() if f"(`{reason}`)" in line]
    (row,) = [row for row in rows if row.startswith(f"| {describe_reason(reason)} (")]
    assert f"| `{STATUS[reason]}`, " in row
