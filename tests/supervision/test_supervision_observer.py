"""What L2 sees: alignment, signals, how long they live, and what a recovery may cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import AdaptiveFree, GoalDrift, RecoveryLimits, Triggers
from phases.supervision.enums import (
    DecisionKind,
    DeviationSignal,
    ProgressClass,
    SupervisorMode,
    TaskIntent,
    TimelineEvent,
    ToolClass,
)
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round, Task, classify_round
from phases.supervision.l2_phases import (
    PhaseContext,
    PhaseState,
    RecoveryBudget,
    compute_next,
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
    state, ledger, seen = ObserverState(), WorkLedger(), []
    for number, content in enumerate(rounds, 1):
        turn = Round(number, text=content) if isinstance(content, str) else Round(number, tuple(content))
        ledger, turn = taken_in(ledger, turn)
        observed = observe_round(state, ObservedRound(turn, TASK, ledger), triggers or Triggers())
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
    ledger = WorkLedger(consecutive_failed_rounds=failed_rounds)
    assert measure_alignment(Round(1, actions, text), task, ledger, 0).value == value


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
    assert measure_alignment(turn, TASK, WorkLedger(), 0).factors[factor] == pytest.approx(value)


@pytest.mark.parametrize(
    ("failed_rounds", "triggers", "turn", "value"),
    [
        (0, 0, Round(1), 1.0),
        (1, 1, Round(1), 1.0),
        (2, 0, Round(1), 0.8),
        (3, 0, Round(1), 0.6),
        (0, 2, Round(1), 0.8),
        (3, 2, Round(1, (blocked(read()),)), 0.2),
    ],
)
def test_failures_lower_the_factor_of_progress(failed_rounds: int, triggers: int, turn: Round, value: float) -> None:
    ledger = WorkLedger(consecutive_failed_rounds=failed_rounds)
    assert measure_alignment(turn, TASK, ledger, triggers).factors["progress"] == pytest.approx(value)


def test_a_task_that_asks_for_reading_is_served_by_reading() -> None:
    asked = replace(TASK, intent=TaskIntent.INSPECT)
    factors = measure_alignment(Round(1, (read(),)), asked, WorkLedger(), 0).factors
    assert (factors["toolIntent"], factors["fileIntent"]) == (1.0, 1.0)


def test_a_text_that_barely_touches_the_goal_counts_little() -> None:
    drift = GoalDrift()
    goal = " ".join(f"{one}{other}" for one in "abcdefghij" for other in "klmnop")
    said = "ak " + " ".join(f"z{other}" for other in "abcdefghij")
    j = bigram_similarity(goal, said)
    assert 0 < j < drift.jaccard_min
    assert measure_alignment(Round(1, text=said), Task(goal, TaskIntent.EDIT), WorkLedger(), 0).factors["text"] == 5 * j


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_similarity_is_symmetric_within_bounds_and_never_fails(one: str, other: str) -> None:
    assert bigram_similarity(one, other) == bigram_similarity(other, one)
    assert 0 <= bigram_similarity(one, other) <= 1


# tool_repeat_fail


def test_the_same_failure_with_the_same_result_speaks_the_third_time() -> None:
    seen = watched([[ran(failed=True)]] * 3)
    assert [kinds(round_.now) for round_ in seen] == [[], [], [D.TOOL_REPEAT_FAIL]]
    signal = seen[2].now[0]
    assert (signal.reason, signal.detail) == ("tool_repeat_fail:3", "shell list")


def test_a_call_that_fails_differently_each_time_is_no_repeated_failure() -> None:
    seen = watched([[ran(failed=True, digest=f"another {number}"), write()] for number in range(6)])
    assert D.TOOL_REPEAT_FAIL not in {kind for round_ in seen for kind in kinds(round_.now)}


def test_a_failure_that_came_once_beside_success_is_not_repeated_whatever_the_threshold() -> None:
    assert watched([[ran(failed=True), write()]], Triggers(tool_repeat_fail_min=1))[0].now == ()


def test_an_old_failure_does_not_speak_when_something_else_fails_once() -> None:
    seen = watched([[ran(failed=True)]] * 3 + [[write()]] * 5 + [[ran("another", failed=True)]])
    assert kinds(seen[-1].now) == []


def test_a_failure_that_is_asked_for_again_and_kept_back_still_speaks() -> None:
    seen = watched([[ran(failed=True)]] * 3 + [[blocked(ran())]])
    assert D.TOOL_REPEAT_FAIL in kinds(seen[-1].now)


def test_a_recovery_of_the_branch_budget_counts_the_failures_that_were_kept_back() -> None:
    ledger, turn = WorkLedger(), Round(1)
    for number in range(1, 4):
        ledger, turn = taken_in(ledger, Round(number, (ran(failed=True),)))
    turn = Round(4, (read(), blocked(ran())))
    assert observe_round(ObserverState(), ObservedRound(turn, TASK, ledger), Triggers()).now == ()
    told = observe_round(ObserverState(), ObservedRound(turn, TASK, ledger, branch_recover=True), Triggers()).now
    assert [signal.reason for signal in told] == ["tool_repeat_fail:3"]


# no_progress


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param([[read(str(n)) for n in range(2)]] + [[read(str(n % 2))] for n in range(4)], id="reading"),
        pytest.param(["thinking about the model"] * 4, id="four rounds of talk"),
        pytest.param([[ran(str(number), failed=True)] for number in range(4)], id="four rounds that failed whole"),
        pytest.param([[blocked(ran(str(number)))] for number in range(4)], id="four rounds that were kept back"),
        pytest.param(
            [[ran(str(number), ok_in_background=True)] for number in range(4)], id="only started, never ended"
        ),
    ],
)
def test_four_rounds_without_progress_speak_and_three_do_not(rounds: list[list[Action] | str]) -> None:
    seen = watched(rounds)
    assert all(D.NO_PROGRESS not in kinds(round_.now) for round_ in seen[:-1])
    assert "no_progress:4" in [signal.reason for signal in seen[-1].now]


def test_ten_rounds_that_bring_something_new_are_no_idle_ones_and_the_fourth_after_them_speaks() -> None:
    seen = watched([[read(str(number))] for number in range(14)])
    assert [bool(round_.live) for round_ in seen] == [False] * 13 + [True]


def test_a_file_that_reads_otherwise_than_before_is_something_new() -> None:
    assert watched([[read(digest=str(number))] for number in range(9)])[-1].live == ()


def test_idle_rounds_between_do_not_lengthen_what_may_be_learned() -> None:
    """Else one new file in every fourth round would do for ever."""
    seen = watched([[read(str(number) if number % 3 == 0 else "0")] for number in range(60)])
    assert D.NO_PROGRESS in kinds(seen[-1].live)


def test_what_is_known_is_bounded_and_the_ledger_survives_json() -> None:
    ledger = WorkLedger()
    for number in range(1, 200):
        ledger, _ = taken_in(ledger, Round(number, (read(str(number)), checked("a"), write(f"{number}.py"))))
    assert (len(ledger.learning.known), len(ledger.unverified), ledger.files_changed) == (100, 50, 199)
    assert from_json(WorkLedger, json.loads(json.dumps(to_json(ledger)))) == ledger


def test_notes_alone_change_no_count() -> None:
    ledger = WorkLedger(consecutive_failed_rounds=2, consecutive_no_tool_rounds=1, consecutive_reading_rounds=3)
    after, _ = taken_in(ledger, Round(1, (NOTE,)))
    assert replace(after, recent_tools=(), stable_rounds=0) == ledger


def test_checks_that_fail_are_neither_failed_rounds_nor_reading() -> None:
    ledger = WorkLedger()
    for number in range(1, 9):
        ledger, _ = taken_in(ledger, Round(number, (checked("a"), NOTE)))
    assert (ledger.consecutive_failed_rounds, ledger.consecutive_reading_rounds) == (0, 0)


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


def test_talk_with_a_write_between_is_progress() -> None:
    assert watched(["well", "well", "well", [write()], "well", "well", "well"])[-1].now == ()


# file_loop


def test_the_fourth_edit_of_a_file_after_a_failed_check_speaks() -> None:
    seen = watched([[checked("a")], *[[write()]] * 4])
    assert [kinds(round_.now) for round_ in seen] == [[], [], [], [], [D.FILE_LOOP]]
    assert (seen[4].now[0].value, seen[4].now[0].detail) == (4, "src/model.py")


def test_while_no_check_is_known_to_fail_no_edit_is_one_too_many() -> None:
    seen = watched([[write()]] * 9 + [[checked("a")], [write()], [write()], [write()]])
    assert all(D.FILE_LOOP not in kinds(round_.live) for round_ in seen)


def test_edits_of_one_file_in_one_round_are_one() -> None:
    seen = watched([[checked("a")], [write()] * 9, [write()] * 9, [write()] * 9])
    assert all(D.FILE_LOOP not in kinds(round_.live) for round_ in seen)
    assert seen[-1].state.edits.counts == {"src/model.py": 3}


@pytest.mark.parametrize(
    ("failed", "background", "counted"), [(False, False, 3), (True, False, 6), (False, True, 6)],
    ids=["it ended well", "it failed", "it still runs"],
)  # fmt: skip
def test_a_check_within_another_command_that_ended_well_begins_the_count_anew(
    failed: bool, background: bool, counted: int
) -> None:
    call = Call("x", "shell", ToolClass.EXEC, "r", command=f"cd src && {CHECK}", like_check=True)
    more = Action(call, CallResult(True, failed, digest="d", background=background))
    seen = watched([[checked("a")], [write()], [write()], [write()], [more], [write()], [write()], [write()]])
    assert seen[-1].state.edits.counts == {"src/model.py": counted}
    assert (D.FILE_LOOP in kinds(seen[-1].now)) is (counted >= 4)


def test_to_create_a_file_is_no_edit_of_it() -> None:
    assert watched([[checked("a")], [write(new=True)], [write()], [write()], [write()]])[-1].now == ()


def test_a_passed_verification_clears_the_file_loop() -> None:
    seen = watched([[checked("a")], *[[write()]] * 4, [checked()], [write()], [write()], [write()]])
    assert D.FILE_LOOP in kinds(seen[4].live)
    assert D.FILE_LOOP not in kinds(seen[5].live)
    assert all(D.FILE_LOOP not in kinds(round_.now) for round_ in seen[5:])


def test_fewer_failures_show_that_the_edits_lead_somewhere() -> None:
    rounds: list[list[Action]] = [[write(), checked(*"abcdefgh"[number:])] for number in range(8)]
    assert {kind for round_ in watched(rounds) for kind in kinds(round_.now)} == set()


def test_a_file_loop_speaks_only_in_rounds_that_edit_the_file() -> None:
    seen = watched([[checked("a")], *[[write()]] * 4, [ran(), read()], [write("src/train.py")]])
    assert [kinds(round_.now) for round_ in seen[4:]] == [[D.FILE_LOOP], [], []]


def test_what_a_command_leaves_behind_is_no_edit() -> None:
    call = Call("x", "shell", ToolClass.EXEC, "train", command="train")
    rounds = [[Action(call, CallResult(True, changed=("results.csv",), digest=str(number)))] for number in range(6)]
    assert watched([[checked("a")], *rounds])[-1].now == ()


# goal_drift


def test_three_rounds_off_the_goal_speak_with_their_factors() -> None:
    state, ledger = ObserverState(), WorkLedger()
    for number in range(1, 4):
        ledger, turn = taken_in(ledger, Round(number, (read(),), UNRELATED))
        observed = observe_round(state, ObservedRound(turn, TASK, ledger), Triggers())
        state = observed.state
        assert D.GOAL_DRIFT not in kinds(observed.now)
    ledger, turn = taken_in(ledger, Round(4, (read(),), UNRELATED))
    observed = observe_round(state, ObservedRound(turn, TASK, ledger), Triggers())
    assert D.GOAL_DRIFT in kinds(observed.now)  # the first of the four brought something new
    entry = observed.entries[0]
    assert (entry.event, entry.reason) == (TimelineEvent.DRIFT, "goal_drift:0.35")
    assert set(entry.payload["factors"]) == {"toolIntent", "fileIntent", "text", "progress"}


def test_who_reads_what_was_not_known_does_not_drift_whatever_is_said() -> None:
    state, ledger = ObserverState(), WorkLedger()
    for number in range(1, 11):
        ledger, turn = taken_in(ledger, Round(number, (read(str(number)),), UNRELATED))
        observed = observe_round(state, ObservedRound(turn, TASK, ledger), Triggers())
        state = observed.state
        assert observed.live == ()


def test_reading_without_a_word_is_no_drift() -> None:
    assert D.GOAL_DRIFT not in kinds(watched([[read()]] * 9)[-1].live)


def test_one_aligned_round_ends_a_drift() -> None:
    off = Round(0, (read(),), UNRELATED)
    state, ledger = ObserverState(), WorkLedger()
    for number in range(1, 5):
        observed = observe_round(state, ObservedRound(replace(off, number=number), TASK, ledger), Triggers())
        state = observed.state
    assert D.GOAL_DRIFT in kinds(observed.live)
    observed = observe_round(state, ObservedRound(Round(5, (write(),)), TASK, ledger), Triggers())
    assert (observed.live, observed.state.drift_rounds) == ((), 0)


# scope_creep


def test_three_files_outside_the_plan_speak_once_and_again_with_each_new_one() -> None:
    names = ["x.py", "y.py", "z.py", "z.py", "src/model.py", "w.py"]
    seen = watched([[write(name, new=True)] for name in names])
    told = [[signal.reason for signal in round_.now] for round_ in seen]
    assert told == [[], [], ["scope_creep:3"], [], [], ["scope_creep:4"]]


def test_tests_are_never_outside_the_plan() -> None:
    names = ["tests/test_a.py", "test/b.py", "src/model_test.py", "conftest.py", "src/UnitTests/c.py"]
    assert watched([[write(name, new=True) for name in names]])[-1].now == ()


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


def test_without_a_list_of_files_nothing_is_outside() -> None:
    turn = Round(1, tuple(write(f"{number}.py", new=True) for number in range(9)))
    free = replace(TASK, planned_files=())
    assert observe_round(ObserverState(), ObservedRound(turn, free, WorkLedger()), Triggers()).now == ()


# The list, and how long a signal lives


def test_a_user_who_wants_a_takeover_is_a_signal() -> None:
    observed = observe_round(
        ObserverState(), ObservedRound(Round(1), TASK, WorkLedger(), force_takeover=True), Triggers()
    )
    assert [signal.reason for signal in observed.live] == ["user_force_takeover:1"]
    assert [entry.reason for entry in observed.entries] == ["user_force_takeover:1"]


def test_a_signal_lives_for_three_rounds_with_its_own() -> None:
    state = ObserverState()
    lives = []
    for number in range(1, 6):
        seen = ObservedRound(Round(number), TASK, WorkLedger(), force_takeover=number == 1)
        observed = observe_round(state, seen, Triggers())
        state = observed.state
        lives.append(bool(observed.live))
    assert lives == [True, True, True, False, False]


def test_only_the_last_three_of_a_kind_are_kept() -> None:
    triggers = Triggers(signal_ttl_rounds=50)
    seen = watched([[read()]] * 13, triggers)
    assert [signal.reason for signal in seen[-1].live] == ["no_progress:10", "no_progress:11", "no_progress:12"]


@pytest.mark.parametrize("kind", list(D), ids=str)
def test_a_kind_that_is_switched_off_is_never_seen(kind: DeviationSignal) -> None:
    before = ObserverState(live=(Signal(kind, 9, 1),))
    seen = ObservedRound(
        Round(1, (blocked(ran()),)), TASK, WorkLedger(consecutive_failed_rounds=9), force_takeover=True,
        loops=(Signal(D.CYCLE, 3, 1), Signal(D.ERROR_PLATEAU, 3, 1)),
    )  # fmt: skip
    observed = observe_round(before, seen, Triggers(disabled=(kind,)))
    assert kind not in {*kinds(observed.now), *kinds(observed.live)}


def test_what_the_loop_detectors_raise_is_seen_like_any_other_signal() -> None:
    loop = Signal(D.CYCLE, 5, 1, "period 2")
    observed = observe_round(ObserverState(), ObservedRound(Round(1), TASK, WorkLedger(), loops=(loop,)), Triggers())
    assert (observed.now, observed.live) == ((loop,), (loop,))
    assert [(entry.event, entry.reason) for entry in observed.entries] == [(TimelineEvent.FAILURE, "cycle:5")]


def test_scenario_37_a_reading_spell_is_forgotten_once_the_work_goes_on() -> None:
    """★8: signals that never grew old took over the moment that real writing raised the risk."""
    seen = watched([[read()]] * 5 + [[write(f"{number}.py", new=True)] for number in "ab"])
    assert kinds(seen[4].live) == [D.NO_PROGRESS]
    context = PhaseContext(SupervisorMode.ADAPTIVE, True, 0.9, 7, seen[-1].now, seen[-1].live)
    assert compute_next(PhaseState(), context, AdaptiveFree(), RecoveryLimits()).kind is DecisionKind.CONTINUE
    assert [kinds(round_.live) for round_ in seen[5:]] == [[], []]


def test_progress_clears_earlier_repeated_failures_too() -> None:
    seen = watched([[ran(failed=True)]] * 3 + [[write()]])
    assert D.TOOL_REPEAT_FAIL in kinds(seen[2].live)
    assert seen[3].live == ()


ACTIONS = st.sampled_from(
    [
        read(), read("b", digest="x"), write(), write("z.py", new=True), write(changed=False), ran(), ran(failed=True),
        checked(), checked("a"), checked("a", "b"), checked(error="broke"), blocked(write()), blocked(ran()),
    ]
)  # fmt: skip
ROUNDS = st.lists(st.one_of(st.lists(ACTIONS, max_size=4), st.sampled_from(["", UNRELATED, TASK.goal])), max_size=25)


@given(ROUNDS)
@settings(max_examples=60, deadline=None)
def test_any_run_is_observed_within_bounds_and_the_state_survives_json(rounds: list[list[Action] | str]) -> None:
    for number, observed in enumerate(watched(rounds), 1):
        assert set(observed.now) <= set(observed.live)
        assert all(kinds(observed.live).count(kind) <= 3 for kind in D)
        assert all(number - signal.round < 3 for signal in observed.live)
        assert len(observed.entries) == len(observed.now)
        assert from_json(ObserverState, json.loads(json.dumps(to_json(observed.state)))) == observed.state


def test_two_hundred_rounds_leave_a_state_of_the_same_size() -> None:
    rounds = [[write(f"{number}/{at}.py") for at in range(5)] for number in range(200)]
    state = watched(rounds)[-1].state
    assert len(state.edits.counts) <= 300
    assert len(state.edits.strayed) <= 300
    assert len(state.live) <= 24


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


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        pytest.param((), IDLE, id="no call"),
        pytest.param((ran(),), MEANINGFUL, id="a command"),
        pytest.param((write(),), MEANINGFUL, id="a change"),
        pytest.param((write(changed=False),), NEW, id="a write that changed nothing"),
        pytest.param((read(),), NEW, id="reading"),
        pytest.param((ran(ok_in_background=True),), NEW, id="a command that still runs"),
        pytest.param((checked("a"),), NEW, id="a check that failed"),
        pytest.param((checked("a"), NOTE), NEW, id="a check that failed, and a note"),
        pytest.param((checked("a"), ran(failed=True)), LOST, id="a check and a command that failed"),
        pytest.param((checked("a"), blocked(write())), LOST, id="a check that failed, and a write that was kept back"),
        pytest.param((blocked(checked("a")),), LOST, id="a check that was kept back"),
        pytest.param((NOTE,), NEW, id="a note"),
        pytest.param((blocked(NOTE),), LOST, id="a note that was kept back"),
        pytest.param((blocked(write()), NOTE), LOST, id="a note changes nothing"),
        pytest.param((blocked(NOTE), read()), NEW, id="reading, and a note that was kept back"),
    ],
)
def test_a_round_comes_to_what_its_calls_came_to(actions: tuple[Action, ...], expected: ProgressClass) -> None:
    assert classify_round(Round(1, actions)) is expected
