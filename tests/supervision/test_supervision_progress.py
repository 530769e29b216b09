"""What progress is, what a stall is made of, how it is answered by degrees, and why a call is kept back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import Config, Layers
from phases.supervision.effects import Effects
from phases.supervision.enums import DeviationSignal, ProgressClass, StopReason, SupervisorPhase
from phases.supervision.facts import Action, GateVerdict
from phases.supervision.gate import gate_call
from phases.supervision.progress import Progress
from phases.supervision.serialization import from_json, to_json
from phases.supervision.signals import BLOCKED, HINTED, TOLD
from phases.supervision.signatures import first_assertion, gap_of, kind_of_failure, limit_of
from tests.strategies import QUICK
from tests.supervision_runs import CHECK, MODERATE, Supervision, Turn, broken, check, ran, read, write


def stalls(run: Supervision) -> int:
    return run.state.progress.stall


def failing(way: str, number: int = 0) -> Action:
    """A call that fails in one way, with other arguments each time."""
    action = ran(f"python run.py --seed {number}", error=f"{way} {number}")
    return replace(action, result=replace(action.result, way=way))


def named(turn: Turn) -> list[tuple[str, int]]:
    """What was seen in a round, and how far the answer has gone."""
    return [
        (line["reason"].partition(":")[0], line["payload"]["stage"])
        for line in turn.lines
        if "stage" in line["payload"]
    ]


# What counts


def test_a_change_and_a_passed_check_are_work_and_leave_no_stall() -> None:
    for work in (write("src/a.py", 1), check()):
        run = Supervision("off")
        run.rounds(broken(), broken())
        assert stalls(run) == 3
        run.round(work)
        assert (stalls(run), run.state.progress.last) == (0, ProgressClass.MEANINGFUL_PROGRESS)


def test_what_is_read_for_the_first_time_takes_back_and_the_second_time_adds() -> None:
    run = Supervision("off")
    run.rounds(broken(), broken())
    run.round(read("new.md"))
    assert stalls(run) == 1
    run.round(read("new.md"))
    assert stalls(run) == 3


def test_the_same_call_for_the_third_time_in_a_row_weighs_more() -> None:
    run = Supervision("off")
    seen = [stalls(run) for _ in range(4) if run.round(broken())]
    assert seen == [1, 3, 6, 9]


def test_another_way_to_fail_weighs_little_and_the_same_way_with_other_arguments_as_much_as_the_same_call() -> None:
    other, same = Supervision("off"), Supervision("off")
    other.rounds(*(failing(way) for way in "abcd"))
    same.rounds(*(failing("a", number) for number in range(4)))
    assert (stalls(other), stalls(same)) == (4, 7)


def test_a_round_is_worth_the_best_of_its_calls() -> None:
    run = Supervision("off")
    run.rounds(broken(), broken())
    run.round(broken(), write("src/a.py", 1), broken())
    assert stalls(run) == 0


def test_a_check_that_fails_in_a_new_way_is_how_work_goes() -> None:
    run = Supervision("off")
    run.rounds(*(check(f"test_{number}") for number in range(6)))
    assert stalls(run) == 0


def test_failures_are_forgotten_after_twenty_rounds() -> None:
    run = Supervision("off")
    run.round(failing("a"))
    run.rounds(*(read(f"{number}.md") for number in range(20)))
    assert [way for way in run.state.progress.ways if way.kind == "a"] == []


# Plateaus: the same failures, however the check is called, whatever numbers it prints


def test_the_same_failures_after_each_change_are_counted_whatever_command_shows_them() -> None:
    run = Supervision("off")
    for number, command in enumerate((CHECK, f"{CHECK} -x", "make test", f"{CHECK} -k a")):
        failed = check("test_a", command=command)
        failed = replace(failed, call=replace(failed.call, verify=command == CHECK, like_check=command != CHECK))
        run.round(write("src/a.py", number), failed)
    assert [plateau.count for plateau in run.state.progress.plateaus.values()] == [4]


def test_fewer_failures_and_a_number_that_comes_nearer_are_progress() -> None:
    run = Supervision("off")
    for number in range(5):
        failed = check("loss is too high")
        run.round(write("src/a.py", number), replace(failed, result=replace(failed.result, gap=1.0 / (number + 1))))
    assert [plateau.count for plateau in run.state.progress.plateaus.values()] == [1]
    for number in range(5, 9):
        failed = check("loss is too high")
        run.round(write("src/a.py", number), replace(failed, result=replace(failed.result, gap=0.5)))
    assert [plateau.count for plateau in run.state.progress.plateaus.values()] == [5]
    run = Supervision("off")
    run.round(write("src/a.py"), check("a", "b", "c"))
    run.round(write("src/a.py", 1), check("a", "b"))
    assert [plateau.failures for plateau in run.state.progress.plateaus.values()] == [("a", "b")]


def test_what_the_machine_lacks_is_no_failure_of_the_work() -> None:
    run = Supervision()
    lacks = check("No module named torch")
    lacks = replace(lacks, result=replace(lacks.result, limit="the package torch is not installed"))
    turns = [run.round(write("src/a.py", number), lacks) for number in range(8)]
    assert run.state.phase.takeovers == 0
    assert run.state.progress.plateaus == {}
    assert [turn.out.stop for turn in turns] == [None] * 8


def test_a_stall_for_what_the_machine_lacks_is_named_and_never_led() -> None:
    run = Supervision()
    lacks = ran("javac A.java", error="javac: command not found")
    lacks = replace(lacks, result=replace(lacks.result, limit="the program javac is not there"))
    turns = [run.round(replace(lacks, call=replace(lacks.call, signature=str(number)))) for number in range(12)]
    said = [text for turn in turns for text in turn.said]
    assert len(said) == 1
    assert "the program javac is not there, and no command fixes that" in said[0]
    assert run.state.phase.takeovers == 0
    assert next(turn.out.stop for turn in turns if turn.out.stop)


# The answer by degrees


def test_a_stall_gets_a_word_then_calls_are_kept_back_then_it_is_led_then_it_ends() -> None:
    run = Supervision()
    turns = run.rounds(*[broken()] * 16)
    assert [named(turn)[0][1] for turn in turns if named(turn)][:3] == [HINTED, BLOCKED, TOLD]
    assert [bool(turn.refused[0]) for turn in turns[4:6]] == [True, True]
    assert [(at, turn.state.phase.phase) for at, turn in enumerate(turns) if turn.said] == [(3, SupervisorPhase.FREE)]
    stop = next(turn.out.stop for turn in turns if turn.out.stop)
    assert stop.reason is StopReason.CIRCUIT_BREAKER
    assert "broken.py" in stop.detail


def plateau(run: Supervision, number: int) -> Turn:
    return run.round(write("src/a.py", number), check("test_a"), open_files=0)


def edits(run: Supervision, number: int) -> Turn:
    if not number:
        run.round(check("test_a"))
    return run.round(write("src/a.py", number))


def strays(run: Supervision, number: int) -> Turn:
    return run.round(write(f"src/more_{number}.py", new=True))


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (plateau, DeviationSignal.ERROR_PLATEAU),
        (edits, DeviationSignal.FILE_LOOP),
        (strays, DeviationSignal.SCOPE_CREEP),
        (lambda run, number: run.round(broken()), DeviationSignal.TOOL_REPEAT_FAIL),
        (lambda run, number: run.round(read(f"{number % 2}.md")), DeviationSignal.CYCLE),
        (lambda run, number: run.round(read("a.md")), DeviationSignal.NO_PROGRESS),
        (lambda run, number: run.round(ran(f"echo {number}")), DeviationSignal.GOAL_DRIFT),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_detector_speaks_then_blocks_then_tells_l2(
    trouble: Callable[[Supervision, int], Turn], kind: DeviationSignal
) -> None:
    run, stages = Supervision("strict", Config(layers=Layers(recovery_supervisor=False))), list[int]()
    for number in range(20):
        stages += [stage for name, stage in named(trouble(run, number)) if name == kind]
    assert stages[0] == HINTED
    assert sorted(stages) == stages
    assert list(dict.fromkeys(stages)) == [HINTED, BLOCKED, TOLD]


def test_helper_scripts_and_tests_are_no_straying() -> None:
    run = Supervision()
    for number in range(6):
        paths = (f"scripts/help_{number}.py", f"tests/test_{number}.py", f"debug_{number}.py", "src/__init__.py")
        turn = run.round(*(write(path, number, new=True) for path in paths))
        assert turn.said == []


def test_one_plateau_after_another_each_gets_its_word() -> None:
    run = Supervision("strict")
    said = [
        text for name in ("test_a", "test_b") for at in range(3)
        for text in run.round(write("src/a.py", at), check(name)).said if text.startswith("[Supervision]")
    ]  # fmt: skip
    assert len(said) == 2


def test_work_is_handed_back_only_after_a_check_passed_or_a_planned_file_became_sound() -> None:
    unsound = write("src/a.py", 9)
    unsound = replace(unsound, result=replace(unsound.result, sound=()))

    def led() -> Supervision:
        run = Supervision()
        run.round(unsound)
        run.bridge.take_over()
        run.round(read())
        return run

    quiet = led()
    for number in range(5):
        quiet.round(replace(unsound, call=replace(unsound.call, signature=str(number))))
    assert quiet.phase is SupervisorPhase.TAKEOVER
    proved = led()
    proved.rounds(*(write("src/b.py", number) for number in range(4)))
    assert proved.phase is SupervisorPhase.COOLDOWN


def test_a_gate_that_refuses_for_what_the_machine_lacks_leads_nobody() -> None:
    run = Supervision()
    verdict = GateVerdict(False, ("the package torch is not installed",), limit="the package torch is not installed")
    for number in range(8):
        run.round(write("src/a.py", number), open_files=0)
        run.round(text="done", verdict=verdict)
    assert run.state.phase.takeovers == 0


# Why a call is kept back


def test_a_call_that_failed_three_times_is_kept_back_until_something_changed() -> None:
    run = Supervision("strict")
    assert [run.round(broken()).refused[0] != "" for _ in range(4)] == [False, False, False, True]
    run.round(write("src/a.py"))
    assert run.round(broken()).refused == ("",)


def test_what_was_short_for_a_moment_may_be_tried_again() -> None:
    run = Supervision("strict")
    assert {run.round(ran("pip download x", error="connection timed out")).refused for _ in range(5)} == {("",)}


def test_what_goes_well_is_kept_back_only_once_a_stall_of_it_was_told_of() -> None:
    run = Supervision("strict")
    turns = run.rounds(*[read("a.md")] * 7)
    told = next(at for at, turn in enumerate(turns) if turn.said)
    assert {turn.refused for turn in turns[: told + 1]} == {("",)}
    assert "use that result" in turns[-1].refused[0]
    assert run.round(read("b.md")).refused == ("",)


def test_strict_keeps_back_what_takes_work_back_and_goes_on() -> None:
    run = Supervision("strict")
    back = replace(ran("git reset --hard"), call=replace(ran("git reset --hard").call, rollback=True))
    turn = run.round(back)
    assert "the user has to allow first" in turn.refused[0]
    assert turn.out.stop is None


ASKS = st.lists(
    st.one_of(
        st.builds(write, st.sampled_from(("src/a.py", "src/b.py")), st.integers(0, 2)),
        st.builds(lambda names: check(*names), st.sets(st.sampled_from(("t1", "t2")))),
        st.builds(broken, st.sampled_from("ab")),
        st.builds(read, st.sampled_from(("a.md", "b.md"))),
        st.builds(ran, st.sampled_from(("make", "ls")), error=st.sampled_from(("", "boom"))),
    ),
    min_size=1,
    max_size=30,
)


@pytest.mark.slow
@given(st.sampled_from(("adaptive", "strict")), st.booleans(), ASKS)
@settings(QUICK, max_examples=120)
def test_whatever_came_before_there_is_always_a_way_that_the_kernel_accepts(
    mode: str, led: bool, asked: list[Action]
) -> None:
    """A new edit is let through, and after it every check, and every call that was kept back before."""
    run = Supervision(mode)
    for at, action in enumerate(asked):
        if run.state.stopped:
            break
        if led and at == 1:
            run.bridge.take_over()
        run.round(action, open_files=1)
    if run.state.stopped:
        return
    refused = [one for one in asked if gate_call(run.state, run.bridge.setting, one.call, Effects())[1].reason]
    assert run.round(write("src/a.py", 99), open_files=1).refused == ("",)
    for action in (*refused, *(check(command=command) for command in MODERATE.verify_commands)):
        assert gate_call(run.state, run.bridge.setting, action.call, Effects())[1].reason == ""


@pytest.mark.slow
@given(ASKS)
@settings(QUICK, max_examples=60)
def test_progress_comes_back_from_its_json(asked: list[Action]) -> None:
    run = Supervision("off")
    run.rounds(*asked)
    assert from_json(Progress, json.loads(json.dumps(to_json(run.state.progress)))) == run.state.progress


# What a failure says


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("bash: line 12: javac: command not found", "bash: line 907: javac: command not found", True),
        ("FileNotFoundError: 'a/b.py' at 0x7f", "FileNotFoundError: 'c/d.py' at 0x8a", True),
        ("loss 0.31 is over 0.2: error", "loss 0.77 is over 0.2: error", True),
        ("TypeError: one", "ValueError: one", False),
    ],
)
def test_a_kind_of_failure_is_without_numbers_names_and_places(one: str, other: str, same: bool) -> None:
    assert (kind_of_failure(one) == kind_of_failure(other)) is same


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/bin/bash: line 1: javac: command not found", "the program javac is not there"),
        ("ModuleNotFoundError: No module named 'torch.nn'", "the package torch is not installed"),
        ("ModuleNotFoundError: No module named 'src.model'", ""),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("AssertionError: 1 != 2", ""),
    ],
)
def test_what_the_machine_lacks_is_said_in_a_sentence(text: str, told: str) -> None:
    assert limit_of(text, frozenset(("src", "model"))) == told


PYTEST = """
=================================== FAILURES ===================================
__________________________________ test_decay __________________________________
    def test_decay():
>       assert rate(3) == 0.5
E       assert 0.25 == 0.5
E        +  where 0.25 = rate(3)

tests/test_decay.py:7: AssertionError
=========================== short test summary info ============================
FAILED tests/test_decay.py::test_decay - assert 0.25 == 0.5
1 failed, 3 passed in 0.12s
"""


def test_the_first_assertion_names_test_place_and_error() -> None:
    assert first_assertion(PYTEST) == (
        "test_decay (tests/test_decay.py:7)\nE       assert 0.25 == 0.5\nE        +  where 0.25 = rate(3)"
    )
    assert (
        first_assertion("FAILED tests/a.py::test_b - ValueError: no\n1 failed") == "tests/a.py::test_b\nValueError: no"
    )
    assert gap_of(PYTEST) == 0.25
