"""The budget of what is tried again and again: what settles it, so that no run of fix and check ever stands before a wall."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from phases.supervision.branch_budget import BranchBudget, count_call, grant_bypasses, note_refusal, why_refused
from phases.supervision.config import BranchLimits
from phases.supervision.enums import ToolClass
from phases.supervision.facts import Action, Call, CallResult

LIMITS = BranchLimits()
EMPTY = BranchBudget()


def write(path: str = "src/a.py", **more: Any) -> Action:
    call = Call("1", "writer", ToolClass.WRITE, f"write {path}", path=path, **more)
    return Action(call, CallResult(executed=True, changed=(path,), lines=2))


def read(path: str = "src/a.py") -> Action:
    return Action(Call("1", "reader", ToolClass.READ, f"read {path}", path=path), CallResult(executed=True))


def run(command: str = "make", *, fails: bool = False, changes: tuple[str, ...] = (), **more: Any) -> Action:
    background = more.pop("background", False)
    call = Call("1", "shell", ToolClass.EXEC, f"run {command}", command=command, **more)
    return Action(call, CallResult(executed=True, failed=fails, changed=changes, background=background))


BROKEN_RUN = run(fails=True)
CHECK = run("check", fails=True, verify=True)


def after(actions: Iterable[Action], budget: BranchBudget = EMPTY, turn: int = 0) -> BranchBudget:
    for action in actions:
        budget = count_call(budget, action, LIMITS, enabled=True, turn=turn)
    return budget


def refused(budget: BranchBudget, action: Action, turn: int = 0) -> bool:
    return bool(why_refused(budget, action.call, LIMITS, enabled=True, turn=turn))


BROKEN = after([BROKEN_RUN] * 2)
IN_DEBT = note_refusal(BROKEN, BROKEN_RUN.call, LIMITS)[0]


# Commands


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(write(), id="an edit"),
        pytest.param(write("new.py", new_file=True), id="a new file"),
        pytest.param(run("sed -i", changes=("src/a.py",)), id="a command"),
        pytest.param(run("sed -i", fails=True, changes=("src/a.py",)), id="a command that failed after it"),
        pytest.param(run("check", verify=True, changes=("results.json",)), id="a check that leaves a file"),
    ],
)
def test_a_command_that_failed_may_run_again_after_any_change_and_its_debt_is_settled(change: Action) -> None:
    assert refused(BROKEN, BROKEN_RUN)
    assert IN_DEBT.debt == 1
    budget = after([change], IN_DEBT)
    assert (refused(budget, BROKEN_RUN), budget.debt) == (False, 0)
    assert budget.command_failures.get("make", 0) == 0


def test_fix_and_run_is_never_refused_however_often_it_fails() -> None:
    budget = EMPTY
    for number in range(20):
        assert not refused(budget, BROKEN_RUN)
        budget = after([BROKEN_RUN, write(f"src/{number}.py")], budget)


@pytest.mark.parametrize("verify", [True, False], ids=["a check", "a command"])
def test_what_a_command_itself_leaves_behind_is_no_change_for_it(verify: bool) -> None:
    leaves = run("train", fails=True, changes=("log.txt",), verify=verify)
    assert refused(after([leaves] * 2), leaves)


def test_a_change_settles_no_other_debt() -> None:
    edited = note_refusal(after([write()] * 3), write().call, LIMITS)[0]
    assert after([write("src/b.py")], edited).in_debt == ("file:src/a.py",)


@pytest.mark.parametrize("failing", [BROKEN_RUN, CHECK], ids=["a command", "a check"])
def test_a_command_that_ended_well_may_have_mended_what_another_one_lacked(failing: Action) -> None:
    """To install what is missing changes no file of the workspace."""
    budget = after([failing] * 2)
    once = after([run("install it")], budget)
    assert not refused(once, failing)
    again = after([failing], once)
    assert refused(again, failing)
    assert not refused(after([run("install more")], again), failing)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(run("install it", fails=True), id="it failed"),
        pytest.param(run("install it &", background=True), id="it still runs"),
        pytest.param(run("check", verify=True), id="it only checks"),
        pytest.param(read(), id="it reads"),
        pytest.param(replace(run("install it"), result=CallResult(executed=False)), id="it was kept back"),
    ],
)
def test_what_cannot_have_mended_anything_lets_nothing_through(other: Action) -> None:
    assert refused(after([other], BROKEN), BROKEN_RUN)


# Edits


def test_many_edits_of_a_file_in_one_reply_are_one() -> None:
    budget = EMPTY
    for turn in (1, 2, 3):
        for _ in range(5):
            assert not refused(budget, write(), turn)
            budget = after([write()], budget, turn)
        assert budget.file_edits == {"src/a.py": turn}
    assert refused(budget, write(), 4)


def test_a_round_in_which_an_edit_was_let_through_may_go_on_with_it() -> None:
    budget = after([write()], after([write()], after([write()], turn=1), turn=2), turn=3)
    budget = note_refusal(budget, write().call, LIMITS, 4)[0]
    budget = after([read()], budget, 4)
    for _ in range(3):
        assert not refused(budget, write(), 5)
        budget = after([write()], budget, 5)
    assert (budget.file_edits, refused(budget, write(), 6)) == ({"src/a.py": 4}, True)


def test_a_round_counts_each_of_its_files() -> None:
    budget = after([write(), write("src/b.py"), write("./src/a.py"), write("src/b.py")], turn=7)
    assert budget.file_edits == {"src/a.py": 1, "src/b.py": 1}


def test_rounds_that_are_not_told_are_each_another_one() -> None:
    assert after([write()] * 3).file_edits == {"src/a.py": 3}


def test_a_command_that_holds_a_check_and_ends_well_settles_edits_and_their_debt() -> None:
    edited = note_refusal(after([write()] * 3, IN_DEBT), write().call, LIMITS)[0]
    assert "file:src/a.py" in edited.in_debt
    budget = after([run("cd src && check", like_check=True)], edited)
    assert (budget.file_edits, budget.file_rounds) == ({}, {})
    assert not [key for key in budget.in_debt if key.startswith("file:")]
    assert not refused(budget, write())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(run("cd src && check", like_check=True, fails=True), id="it failed"),
        pytest.param(run("cd src && check &", like_check=True, background=True), id="it still runs"),
        pytest.param(run("ls"), id="it holds no check"),
    ],
)
def test_another_command_settles_no_edits(other: Action) -> None:
    assert refused(after([other], after([write()] * 3)), write())


def test_a_takeover_lets_one_more_edit_through_of_a_file_that_has_just_reached_its_limit() -> None:
    spent = BranchBudget(file_edits={"a.py": 3, "b.py": 2}, command_failures={"make": 2, "ls": 1})
    assert grant_bypasses(spent, BranchLimits()).bypasses == ("file:a.py", "command:make")
