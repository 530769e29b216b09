"""The loop detectors: a word first, then a block, then L2, and never a word to a run that is healthy."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import Triggers
from phases.supervision.enums import DeviationSignal, ToolClass
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round
from phases.supervision.loops import LoopFindings, LoopState, watch_round, watch_verdict
from phases.supervision.serialization import from_json, to_json
from phases.supervision.work_ledger import GATE

CHECK = "run the checks"


def looked(name: str = "a", digest: str = "same") -> Action:
    return Action(
        Call(name, "look", ToolClass.READ, f"read {name}", path=f"{name}.py"), CallResult(True, digest=digest)
    )


def failed(name: str = "a", digest: str = "no") -> Action:
    call = Call(name, "shell", ToolClass.EXEC, f"run {name}", command=name)
    return Action(call, CallResult(True, True, digest=digest, error="no"))


def wrote(name: str = "a", what: str = "") -> Action:
    call = Call(name, "put", ToolClass.WRITE, f"write {name} {what}", path=name)
    return Action(call, CallResult(True, changed=(name,), digest="written"))


def ran(name: str, *, fails: bool = False, background: bool = False) -> Action:
    call = Call(name, "shell", ToolClass.EXEC, f"run {name}", command=name)
    return Action(call, CallResult(True, fails, digest=name, background=background))


def kept_back(action: Action) -> Action:
    return Action(action.call, CallResult(False))


def checked(*failures: str, command: str = CHECK) -> Action:
    call = Call("c", "shell", ToolClass.EXEC, f"run {command}", command=command, verify=True)
    told = " ".join(failures)
    return Action(call, CallResult(True, bool(failures), digest=told or "passed", error=told, failures=failures))


def followed(rounds: Sequence[Sequence[Action]], triggers: Triggers | None = None) -> list[LoopFindings]:
    """What the detectors say after each round."""
    state, said = LoopState(), []
    for number, actions in enumerate(rounds, 1):
        seen = watch_round(state, Round(number, tuple(actions)), triggers or Triggers())
        state = seen.state
        said.append(seen)
    return said


def is_silent(seen: LoopFindings) -> bool:
    return not (seen.hint or seen.blocked or seen.signals or seen.submit)


# Cycles


@pytest.mark.parametrize("period", [1, 2, 3, 4, 5])
def test_a_cycle_is_seen_at_its_third_repeat_whatever_its_period(period: int) -> None:
    calls = [looked(str(at)) for at in range(period)] * 3
    said = followed([[call] for call in calls])
    assert all(is_silent(seen) for seen in said[:-1])
    assert "repeated 3 times" in said[-1].hint
    assert "look 0.py" in said[-1].hint


def test_a_cycle_of_six_calls_is_not_looked_for() -> None:
    assert all(is_silent(seen) for seen in followed([[looked(str(at))] for at in range(6)] * 4))


def test_the_answer_to_a_cycle_is_a_hint_then_a_block_then_a_signal() -> None:
    calls = [[looked()], [failed()], [failed("b")]] * 5
    said = followed(calls)
    hinted, blocked, told = said[8], said[11], said[14]
    assert (bool(hinted.hint), dict(hinted.blocked), hinted.signals, hinted.submit) == (True, {}, (), False)
    assert (blocked.hint, set(blocked.blocked), blocked.signals, blocked.submit) == (
        "", {"read a", "run a", "run b"}, (), True,
    )  # fmt: skip
    assert "part of a loop" in blocked.blocked["run a"]
    assert [(signal.kind, signal.value, signal.detail) for signal in told.signals] == [
        (DeviationSignal.CYCLE, 5, "period 3")
    ]
    assert all(not seen.hint and not seen.signals for seen in (*said[9:11], *said[12:14]))


def test_a_call_that_is_kept_back_repeats_itself() -> None:
    said = followed([[looked()]] * 4 + [[kept_back(looked())]] * 2)
    assert set(said[3].blocked) == {"read a"}
    assert [signal.reason for signal in said[4].signals] == ["cycle:5"]
    assert [signal.reason for signal in said[5].signals] == ["cycle:6"]


def test_a_call_that_the_gate_never_lets_through_is_a_loop_too() -> None:
    assert followed([[kept_back(wrote())]] * 3)[-1].hint


def test_one_reply_with_many_equal_calls_gets_no_more_than_a_hint() -> None:
    seen = followed([[looked()] * 20])[0]
    assert (bool(seen.hint), seen.submit, dict(seen.blocked)) == (True, False, {})


def test_polling_with_a_changing_result_is_no_loop() -> None:
    assert all(is_silent(seen) for seen in followed([[looked(digest=f"{number} %")] for number in range(60)]))


def test_polling_with_the_same_result_is_one() -> None:
    assert followed([[looked(digest="50 %")]] * 3)[-1].hint


def test_a_change_by_another_call_lifts_the_block() -> None:
    said = followed([[looked()]] * 4 + [[wrote("b", "new")], [looked()]])
    assert said[3].blocked
    assert (dict(said[4].blocked), dict(said[5].blocked)) == ({}, {})


def test_a_command_that_ended_well_lifts_the_block_until_the_loop_is_seen_again() -> None:
    """It may have changed what nobody looks at."""
    said = followed([[looked()]] * 4 + [[ran("sed")], [looked()], [looked()], [looked()]])
    assert set(said[3].blocked) == {"read a"}
    assert [dict(seen.blocked) for seen in said[4:7]] == [{}, {}, {}]
    assert (said[7].hint, set(said[7].blocked)) == ("", {"read a"})
    assert [signal.kind for signal in said[7].signals] == [DeviationSignal.CYCLE]


@pytest.mark.parametrize(
    "other",
    [ran("sed", fails=True), ran("sed &", background=True), kept_back(ran("sed")), checked(), looked("b")],
    ids=["it failed", "it still runs", "it was kept back", "it only checks", "it reads"],
)
def test_what_cannot_have_changed_anything_lifts_no_block(other: Action) -> None:
    assert set(followed([[looked()]] * 4 + [[other]])[-1].blocked) == {"read a"}
    plateau = [fixed(number) for number in range(4)]
    other = checked("x", command="other") if other.call.verify else other
    assert set(followed([*plateau, [other]])[-1].blocked) == {f"run {CHECK}"}


def test_a_loop_does_not_lift_its_own_block() -> None:
    said = followed([[ran("ls")], [looked()]] * 6)
    assert all(set(seen.blocked) == {"run ls", "read a"} for seen in said[7:])


def test_reading_something_else_does_not_lift_the_block_at_once_but_in_time() -> None:
    said = followed([[looked()]] * 4 + [[looked(f"other {number}")] for number in range(25)])
    assert set(said[5].blocked) == {"read a"}
    assert dict(said[-1].blocked) == {}


def test_a_loop_that_is_left_and_taken_up_again_is_not_warned_twice() -> None:
    loop = [[looked()], [failed()]] * 3
    said = followed([*loop, [looked("b")], *loop])
    assert said[5].hint
    assert (said[12].hint, said[12].submit, set(said[12].blocked)) == ("", True, {"read a", "run a"})


def test_edits_that_undo_each_other_are_a_cycle_though_they_change_a_file() -> None:
    said = followed([[wrote(what="on")], [wrote(what="off")]] * 4)
    assert "repeated 3 times" in said[5].hint
    assert set(said[7].blocked) == {"write a on", "write a off"}


def test_a_blocked_loop_leads_to_another_answer_for_the_next_one() -> None:
    said = followed([[looked()]] * 4 + [[kept_back(looked()), looked("b")]] * 3)
    assert said[-1].hint
    assert set(said[-1].blocked) == {"read a"}


def test_a_round_without_calls_repeats_nothing() -> None:
    said = followed([[looked()]] * 3 + [[], [], []])
    assert said[2].hint
    assert all(is_silent(seen) for seen in said[3:])


# Plateaus


def fixed(number: int) -> list[Action]:
    return [wrote("src/a.py", f"try {number}"), checked("test_one fails", "test_two fails")]


def test_the_answer_to_a_plateau_is_a_hint_then_a_block_then_a_signal() -> None:
    said = followed([fixed(number) for number in range(5)])
    assert [is_silent(seen) for seen in said] == [True, True, False, False, False]
    assert CHECK in said[2].hint
    assert "test_one fails" in said[2].hint
    assert "failed 3 times" in said[2].hint
    assert (said[3].hint, set(said[3].blocked), said[3].submit) == ("", {f"run {CHECK}"}, True)
    assert [(signal.kind, signal.value, signal.detail) for signal in said[4].signals] == [
        (DeviationSignal.ERROR_PLATEAU, 5, CHECK)
    ]


def test_a_check_is_kept_back_only_until_a_file_changed() -> None:
    rounds = [fixed(number) for number in range(4)]
    said = followed([*rounds, [kept_back(checked())], [wrote("src/a.py", "at last")], [checked("test_two fails")]])
    assert set(said[4].blocked) == {f"run {CHECK}"}
    assert dict(said[5].blocked) == {}
    assert is_silent(said[6])


def test_a_command_that_ended_well_lets_the_check_run_but_begins_nothing_anew() -> None:
    """It may have changed a file that nobody looks at; but whether it did is not known, so the run after it does not count."""
    said = followed([*(fixed(number) for number in range(4)), [ran("sed")], fixed(4)[1:], fixed(4)])
    assert set(said[3].blocked) == {f"run {CHECK}"}
    assert dict(said[4].blocked) == {}
    assert (set(said[5].blocked), said[5].signals) == ({f"run {CHECK}"}, ())
    assert [signal.value for signal in said[6].signals] == [5]


@pytest.mark.parametrize(
    "failures",
    [
        pytest.param(("test_one fails",), id="fewer fail"),
        pytest.param((), id="none fails"),
        pytest.param(("test_one fails", "test_three fails"), id="others fail"),
    ],
)
def test_another_set_of_failures_begins_anew(failures: tuple[str, ...]) -> None:
    said = followed([fixed(0), fixed(1), [wrote("x", "x"), checked(*failures)], fixed(2), fixed(3)])
    assert all(is_silent(seen) for seen in said)


def test_the_same_failures_without_a_change_between_are_no_plateau() -> None:
    rounds = [[looked(str(number)), checked("a fails")] for number in range(9)]
    assert all(is_silent(seen) for seen in followed(rounds))


def test_a_file_that_the_check_itself_writes_is_no_change() -> None:
    check = checked("a fails")
    leaves = Action(check.call, CallResult(True, True, changed=(".cache",), digest="x", failures=("a fails",)))
    rounds = [[looked(str(number)), leaves] for number in range(9)]
    assert all(is_silent(seen) for seen in followed(rounds))


def test_a_change_by_a_command_counts_as_a_change() -> None:
    call = Call("x", "shell", ToolClass.EXEC, "run sed", command="sed")
    rounds = [
        [Action(call, CallResult(True, changed=("a.py",), digest=str(number))), checked("a fails")]
        for number in range(3)
    ]
    assert followed(rounds)[-1].hint


def test_many_tries_in_one_reply_get_no_more_than_a_hint() -> None:
    seen = followed([[action for number in range(8) for action in fixed(number)]])[0]
    assert (bool(seen.hint), seen.submit) == (True, False)


def test_each_check_has_a_plateau_of_its_own() -> None:
    rounds = [[wrote("a", str(n)), checked("x fails"), checked(f"y {n} fails", command="other")] for n in range(3)]
    hint = followed(rounds)[-1].hint
    assert CHECK in hint
    assert "other" not in hint


def test_a_check_written_with_other_spaces_is_the_same_check() -> None:
    spaced = "run  the   checks"
    said = followed([[wrote("a", str(n)), checked("x", command=CHECK if n % 2 else spaced)] for n in range(4)])
    assert set(said[3].blocked) == {f"run {CHECK}", f"run {spaced}"}


def test_the_completion_gate_is_one_more_check() -> None:
    state, said = LoopState(), []
    for number in range(1, 6):
        state = watch_round(state, Round(number, (wrote("a", str(number)),)), Triggers()).state
        seen = watch_verdict(state, GateVerdict(False, ("model.py is missing",)), number, Triggers())
        state = seen.state
        said.append(seen)
    assert [is_silent(seen) for seen in said] == [True, True, False, False, False]
    assert GATE in said[2].hint
    assert (said[3].submit, dict(said[3].blocked)) == (True, {})
    assert [signal.reason for signal in said[4].signals] == ["error_plateau:5"]
    assert watch_verdict(state, GateVerdict(True), 6, Triggers()).state.plateaus == {}


@pytest.mark.parametrize(
    ("kind", "rounds"),
    [
        pytest.param(DeviationSignal.CYCLE, [[looked()]] * 9, id="cycle"),
        pytest.param(DeviationSignal.ERROR_PLATEAU, [fixed(number) for number in range(9)], id="plateau"),
    ],
)
def test_a_detector_that_is_switched_off_says_nothing(kind: DeviationSignal, rounds: list[list[Action]]) -> None:
    assert all(is_silent(seen) for seen in followed(rounds, Triggers(disabled=(kind,))))


# Any run


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.sampled_from(["a", "b", "c"]), max_size=3), st.booleans()),
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None)
def test_a_healthy_run_never_gets_anything(rows: list[tuple[int, list[str], bool]]) -> None:
    """Each round reads what it likes, writes something new, and runs the checks, which say something else each time."""
    rounds = []
    for number, (file, reads, background) in enumerate(rows):
        check = checked(f"test {number} fails", *(f"more {name} {number}" for name in reads))
        if background:
            check = Action(check.call, CallResult(True, digest=f"{number} passed"))
        rounds.append([*(looked(name) for name in reads), wrote(f"{file}.py", f"version {number}"), check])
    assert all(is_silent(seen) for seen in followed(rounds))


@given(st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=8), max_size=20))
@settings(max_examples=60, deadline=None)
def test_a_set_of_failures_that_shrinks_never_gets_anything(sets: list[set[str]]) -> None:
    left = set("abcdefgh") | {"z"}
    rounds = []
    for number, gone in enumerate(sets):
        if not gone & left:
            continue
        left = left - gone
        rounds.append([wrote("a", str(number)), checked(*sorted(left))])
    assert all(is_silent(seen) for seen in followed(rounds))


ACTIONS = st.sampled_from(
    [
        looked(), looked("b"), failed(), ran("ls"), wrote(), wrote("b", "x"), kept_back(wrote()), kept_back(looked()),
        checked(), checked("a"), checked("a", "b"), kept_back(checked()),
    ]
)  # fmt: skip


@given(st.lists(st.lists(ACTIONS, max_size=5), max_size=40), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_any_run_is_answered_in_order_and_the_state_survives_json(rounds: list[list[Action]], repeats: int) -> None:
    triggers = Triggers(cycle_repeats=repeats, plateau_repeats=repeats)
    hinted = submitted = False
    for seen in followed(rounds, triggers):
        assert hinted or not (seen.submit or seen.blocked)
        assert submitted or not seen.signals
        hinted, submitted = hinted or bool(seen.hint), submitted or seen.submit
        assert len(seen.state.marks) <= 25
        assert len(seen.state.cycles) <= 5
        assert from_json(LoopState, json.loads(json.dumps(to_json(seen.state)))) == seen.state


def test_two_hundred_rounds_leave_a_state_of_the_same_size() -> None:
    rounds = [
        [wrote("a", str(number)), checked(*(f"{at} fails" for at in range(99)), command=f"check {number}")]
        for number in range(200)
    ]
    state = followed(rounds)[-1].state
    assert (len(state.marks), len(state.plateaus)) == (25, 20)
    assert max(len(plateau.failures) for plateau in state.plateaus.values()) == 50
