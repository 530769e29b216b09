"""What drives forced mode must never stand in the way of work: fixing code until its checks pass, and what a person allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from phases.supervision.config import BranchLimits, Config, RecoveryLimits, Triggers
from phases.supervision.enums import ExecutionMode, GraphStatus, NodeType, SupervisorPhase
from phases.supervision.facts import Action, DiskFacts, Task
from phases.supervision.graph import TaskGraph
from tests.supervision_runs import (
    CHECK,
    MODERATE,
    UNMERGED,
    Supervision,
    Turn,
    as_written,
    broken,
    check,
    events,
    ran,
    read,
    write,
)

OTHER_CHECK = "python main.py --check"
PATIENT = Config(
    takeover=RecoveryLimits(60, 1.0, 60),
    branch_budget=BranchLimits(60, 60),
    triggers=Triggers(plateau_repeats=50, cycle_repeats=50),
)
"""Only what the graph and its tiers refuse is looked at here; the limits of other rules are wide."""
ROLLBACK = replace(ran("git reset --hard"), call=replace(ran("git reset --hard").call, rollback=True))


def graph_of(run: Supervision) -> TaskGraph:
    assert run.state.graph.graph is not None
    return run.state.graph.graph


def strict(task: Task) -> Supervision:
    """A run whose files are all written, and its checks are next."""
    run = Supervision("strict", PATIENT, task)
    run.round(read(), open_files=len(task.planned_files))
    run.round(*(write(path, new=True) for path in task.planned_files))
    assert graph_of(run).current.type is NodeType.VERIFY
    return run


def taken_over(task: Task, word: str, disk: DiskFacts | None = None) -> Supervision:
    run = Supervision(word, PATIENT, task, disk=disk or as_written)
    run.rounds(*(write(path, new=True) for path in task.planned_files))
    run.bridge.take_over()
    run.round(read())
    assert run.phase is SupervisorPhase.TAKEOVER
    return run


def led(task: Task) -> Supervision:
    """The same, led by the supervisor, with a graph of what stands in the workspace."""
    run = taken_over(task, "adaptive")
    assert graph_of(run).active
    return run


def led_in_strict(task: Task) -> Supervision:
    return taken_over(task, "strict")


def hinted_at(task: Task) -> Supervision:
    """The same, where the workspace gives no graph: a first action leads."""
    run = taken_over(task, "adaptive", UNMERGED)
    assert run.state.first_action
    return run


def tried(number: int, commands: tuple[str, ...]) -> tuple[Action, ...]:
    """The checks, the last of which leaves a failure; where there is none, a command that ends in an error."""
    if not commands:
        return (ran("python main.py", error=f"KeyError: {number}"),)
    return (*(check(command=command) for command in commands[:-1]), check(f"test_{number}", command=commands[-1]))


def one_a_round(run: Supervision, failed: tuple[Action, ...], fixes: tuple[Action, ...]) -> list[Turn]:
    return run.rounds(*failed, *fixes)


def looked_at(run: Supervision, failed: tuple[Action, ...], fixes: tuple[Action, ...]) -> list[Turn]:
    """With a look at the code, and the check once more to see all it says."""
    return [run.round(*failed), run.round(read(fixes[0].call.path), failed[-1]), *run.rounds(*fixes)]


def in_one_reply(run: Supervision, failed: tuple[Action, ...], fixes: tuple[Action, ...]) -> list[Turn]:
    return [run.round(*failed, *fixes)]


def in_two_steps(run: Supervision, failed: tuple[Action, ...], fixes: tuple[Action, ...]) -> list[Turn]:
    return [run.round(*failed), run.round(fixes[0], *failed), run.round(fixes[1])]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("commands", [(CHECK,), (CHECK, OTHER_CHECK), ()], ids=["a check", "two checks", "no check"])
@pytest.mark.parametrize("way", [one_a_round, looked_at, in_one_reply, in_two_steps])
@pytest.mark.parametrize("begun", [strict, led, led_in_strict, hinted_at])
def test_code_that_is_mended_until_its_checks_pass_is_never_stood_in_the_way_of(
    begun: Callable[[Task], Supervision],
    way: Callable[[Supervision, tuple[Action, ...], tuple[Action, ...]], list[Turn]],
    commands: tuple[str, ...],
    count: int,
) -> None:
    run = begun(replace(MODERATE, verify_commands=commands))
    turns: list[Turn] = []
    for number in range(count):
        turns += way(run, tried(number, commands), (write("src/a.py", number), write("src/b.py", number)))
    turns += run.rounds(*(check(command=command) for command in commands) if commands else (ran("python main.py"),))
    assert [turn.refused for turn in turns if any(turn.refused)] == []
    assert [turn.out.stop for turn in turns if turn.out.stop] == []
    assert run.mode is ExecutionMode.FORCED or turns[-1].state.phase.handoffs
    assert not commands or run.state.ledger.test_summary == "passed"


def run_to_the_end_of_its_graph(config: Config = PATIENT) -> tuple[Supervision, list[Turn]]:
    """A strict run whose check fails, in another way each time, until the graph has no way left."""
    run = Supervision("strict", config)
    turns = run.rounds(read(), write("src/a.py"))
    for number in range(12):
        turns += run.rounds(check(f"test_{number}"), write("src/b.py", number))
        if graph_of(run).status is GraphStatus.FAILED:
            return run, turns
    raise AssertionError("the graph has not failed")


def test_a_graph_that_failed_ends_nothing_and_lets_its_fixes_through() -> None:
    run, turns = run_to_the_end_of_its_graph()
    turns.append(run.round(write("tests/conftest.py", new=True), check("test_99"), write("src/a.py", 99)))
    turns.append(run.round(check()))
    assert [turn.refused for turn in turns if any(turn.refused)] == []
    assert [turn.out.stop for turn in turns if turn.out.stop] == []
    assert (turns[-1].context, run.mode) == ("", ExecutionMode.FORCED), "no graph is shown, the floor of strict holds"
    assert not run.state.mode.recovery_pending, "the work is right all the same"


def test_after_a_strong_hint_what_it_asks_for_can_be_done() -> None:
    run = hinted_at(MODERATE)
    assert "Next: remove the conflict markers from these files" in run.round(check("test_a")).context
    turn = run.round(read("src/a.py"), write("src/a.py", 2), write("setup.cfg"), ran("python -c 'import a'"), check())
    assert turn.refused == ("",) * 5


# Shadow


SHADOW = Config(shadow=True)


@pytest.mark.parametrize(
    ("action", "about"),
    [
        (broken("src/a.py"), {"path": "src/a.py", "command": ""}),
        (ran("make", error="no rule"), {"path": "", "command": "make"}),
    ],
    ids=["a search", "a command"],
)
def test_in_shadow_nothing_is_kept_back_and_all_of_it_is_on_record(action: Action, about: dict[str, str]) -> None:
    run = Supervision("strict", SHADOW)
    turn = run.rounds(*[action] * 4)[-1]
    assert (turn.refused, turn.said, turn.context) == (("",), [], "")
    line = next(line for line in turn.lines if line["reason"] == "would_keep_back")
    assert line["event"] == "shadow_diagnostic"
    assert about.items() <= line["payload"].items()
    assert "failed 3 times" in line["payload"]["detail"]
    assert run.state.counts.blocks == 0


def test_in_shadow_a_failed_graph_is_on_record_and_the_model_reads_nothing() -> None:
    _, turns = run_to_the_end_of_its_graph(replace(PATIENT, shadow=True))
    assert any(reason.startswith("failure graph_failed:") for reason in events(turns))
    assert [(turn.said, turn.context) for turn in turns if turn.said or turn.context] == []
    assert [turn.out.stop for turn in turns if turn.out.stop] == []


# What a person allows


def test_work_is_taken_back_once_where_a_person_went_on_after_the_question() -> None:
    run = led(MODERATE)
    asked = run.round(ROLLBACK)
    assert "the user has to allow first" in asked.refused[0]
    assert asked.out.stop is not None
    assert run.state.rollback_asked
    run.bridge.resumed()
    assert (run.state.rollback_allowed, run.state.rollback_asked) == (True, False)
    run.bridge.take_over()
    run.round(read("c"))
    assert run.phase is SupervisorPhase.TAKEOVER
    assert run.round(ROLLBACK).refused == ("",)
    assert not run.state.rollback_allowed
    assert run.round(ROLLBACK).out.stop is not None


def test_a_consent_is_used_up_wherever_it_is_used() -> None:
    run = led(MODERATE)
    run.round(ROLLBACK)
    run.bridge.resumed()
    assert run.round(ROLLBACK).refused == ("",)
    assert not run.state.rollback_allowed


def test_a_run_that_a_person_resumes_for_another_reason_allows_nothing() -> None:
    run = led(MODERATE)
    run.bridge.resumed()
    assert not run.state.rollback_allowed


@pytest.mark.parametrize(("word", "kept_back"), [("strict", True), ("adaptive", False), ("off", False)])
def test_who_is_not_led_is_kept_from_taking_work_back_in_strict_alone_and_is_not_stopped(
    word: str, kept_back: bool
) -> None:
    turn = Supervision(word).round(ROLLBACK)
    assert (bool(turn.refused[0]), turn.out.stop) == (kept_back, None)


# A takeover that begins before there is anything to lead


EMPTY = replace(MODERATE, planned_files=("src/a.py", "src/b.py", "src/c.py"), from_nothing=True)


@pytest.mark.parametrize("first", [check(), check("no tests ran"), read()], ids=["passes", "fails", "a look"])
@pytest.mark.parametrize("from_nothing", [True, False], ids=["from nothing", "what was there is gone"])
@pytest.mark.parametrize("word", ["adaptive", "strict"])
def test_a_takeover_in_an_empty_workspace_lets_the_first_files_be_written(
    word: str, from_nothing: bool, first: Action
) -> None:
    run = Supervision(word, PATIENT, replace(EMPTY, from_nothing=from_nothing), disk=as_written)
    run.bridge.take_over()
    run.round(first, open_files=3)
    assert run.phase is SupervisorPhase.TAKEOVER
    for left, path in zip((2, 1, 0), EMPTY.planned_files, strict=True):
        assert run.round(write(path, new=True), open_files=left).refused == ("",)


@pytest.mark.parametrize("begun", [led, led_in_strict, hinted_at])
def test_in_a_takeover_planned_files_may_be_written_once_its_checks_have_passed(
    begun: Callable[[Task], Supervision],
) -> None:
    """Not only the file that the failing step was about, and more than one of them."""
    run = begun(EMPTY)
    run.rounds(check("test_a"), write("src/a.py", 1), check())
    turns = run.rounds(write("src/b.py", 1), write("src/c.py", 1), write("src/b.py", 2), check(), write("src/a.py", 2))
    assert [turn.refused for turn in turns] == [("",)] * 5
