"""The scenarios of supervision on a whole run: what the parts can do also happens, in its order, through the one facade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from phases.supervision import graph_executor
from phases.supervision.checkpoint import kernel_report
from phases.supervision.config import Config, Layers, ModeLimits, RecoveryLimits
from phases.supervision.enums import (
    ExecutionMode,
    GraphStatus,
    ModeSignal,
    NodeStatus,
    NodeType,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
)
from phases.supervision.facts import DiskFacts, Task
from phases.supervision.graph import GraphRun, TaskGraph, is_active
from phases.supervision.state import KernelState, RecoveryBudget
from tests.supervision_runs import (
    MODERATE,
    SOUND,
    UNMERGED,
    Supervision,
    Turn,
    broken,
    check,
    events,
    ran,
    read,
    write,
)

FREE, FORCED = ExecutionMode.FREE, ExecutionMode.FORCED
P = SupervisorPhase
Disk = DiskFacts | Callable[[KernelState], DiskFacts]
L1_ALONE = Config(layers=Layers(recovery_supervisor=False))
LOCKED = replace(L1_ALONE, execution_mode=ModeLimits(mode_lock_rounds=20))
"""Once it is forced, it stays so."""
ROLLBACK = replace(ran("git reset --hard"), call=replace(ran("git reset --hard").call, rollback=True))


def reading(run: Supervision, count: int, *, start: int = 0) -> list[Turn]:
    """So many rounds that each read another file."""
    return run.rounds(*(read(f"docs/{number}.md") for number in range(start, start + count)))


def graph_of(run: Supervision) -> TaskGraph:
    assert run.state.graph.graph is not None
    return run.state.graph.graph


def step(run: Supervision) -> NodeType:
    return graph_of(run).current.type


def forced(config: Config = LOCKED) -> Supervision:
    """An adaptive run whose next round is forced, as a call failed."""
    run = Supervision("adaptive", config)
    run.round(broken())
    return run


def on_edit() -> Supervision:
    """A strict run that has looked around."""
    run = Supervision("strict")
    run.round(read(), open_files=2)
    assert step(run) is NodeType.EDIT
    return run


def on_verify() -> Supervision:
    run = on_edit()
    run.round(write("src/a.py"))
    assert step(run) is NodeType.VERIFY
    return run


def taken_over(
    config: Config | None = None, *, task: Task = MODERATE, disk: Disk = SOUND, open_files: int = 1
) -> Supervision:
    """A run whose second round ended in a takeover."""
    run = Supervision("adaptive", config, task, disk=disk)
    run.round(write("src/a.py"), open_files=open_files)
    run.bridge.take_over()
    run.round(read(), open_files=open_files)
    assert run.phase is P.TAKEOVER
    return run


def calm(run: Supervision, count: int) -> list[Turn]:
    """So many rounds with progress and nothing that speaks against them: new tests, while planned files are open."""
    return [run.round(write(f"tests/test_{run.state.round}.py", new=True), open_files=1) for _ in range(count)]


# L0


def test_scenario_1_off_does_nothing_but_count() -> None:
    run = Supervision("off")
    run.bridge.take_over()
    turns = [run.round(broken(), ran("make", error="boom")) for _ in range(5)]
    assert {turn.begun.mode.execution_mode for turn in turns} == {FREE}
    assert [(turn.lines, turn.said, turn.out.stop, turn.refused) for turn in turns] == [([], [], None, ("", ""))] * 5
    assert [row.count for row in run.state.progress.fruitless.values()] == [5, 5]


@pytest.mark.parametrize(
    ("mode", "config", "graphs"),
    [
        pytest.param("adaptive", Config(), 0, id="adaptive makes none by itself"),
        pytest.param("strict", Config(), 1, id="strict makes one, once"),
        pytest.param("strict", Config(layers=Layers(task_graph=False)), 0, id="strict without that layer"),
    ],
)
def test_scenario_2_a_graph_is_made_before_the_first_round_where_one_is_due(
    mode: str, config: Config, graphs: int
) -> None:
    run = Supervision(mode, config)
    turns = reading(run, 3)
    assert events(turns).count("recover task_graph_init") == graphs
    assert turns[0].begun.graph.graph is not None if graphs else run.state.graph.graph is None
    assert not graphs or len(graph_of(run).main_branch.node_ids) == 5


def test_scenario_3_a_mode_that_nobody_knows_is_adaptive_and_off_has_no_shadow() -> None:
    assert Supervision("wild").bridge.setting.policy.mode is SupervisorMode.ADAPTIVE
    run = Supervision("off", shadow="1")
    assert not run.bridge.setting.policy.shadow
    assert events([run.round(broken()) for _ in range(4)]) == []


# L1


@pytest.mark.parametrize(
    ("threshold", "files", "mode"),
    [(1, 2, FORCED), (1, 1, FREE), (2, 2, FREE), (2, 3, FORCED)],
    ids=["two files over one", "one file", "two files at two", "three over two"],
)
def test_scenario_8_many_files_in_one_round_force_the_next(threshold: int, files: int, mode: ExecutionMode) -> None:
    run = Supervision(config=Config(execution_mode=ModeLimits(write_targets_enter_threshold=threshold)))
    run.round(*(write(f"src/{name}.py") for name in "abc"[:files]))
    assert run.mode is FREE, "L1 reacts one round late"
    turn = run.round(read())
    assert turn.begun.mode.execution_mode is mode
    assert turn.begun.mode.entered_by == ((ModeSignal.MULTI_WRITE,) if mode is FORCED else ())


def left() -> list[Turn]:
    """A run that was forced in its second round, and left alone."""
    run = forced(L1_ALONE)
    return reading(run, 5)


def test_scenario_9_a_stable_run_is_free_again_after_its_lock() -> None:
    turns = left()
    assert [turn.begun.mode.execution_mode for turn in turns] == [FORCED, FORCED, FORCED, FREE, FREE]
    assert turns[0].state.round == 2


def test_scenario_20_the_event_log_tells_of_a_switch_and_of_nothing_that_stays() -> None:
    switches = [line for turn in left() for line in turn.lines if line["event"] == "switch"]
    assert [line["reason"] for line in switches] == [
        "free->forced: tool_failure",
        "denied:mode_lock",
        "forced->free: stable",
    ]
    entered, _, freed = (line["payload"] for line in switches)
    assert (entered["enteredBy"], entered["round"]) == (["tool_failure"], 2)
    assert (freed["dwell"], freed["enteredBy"]) == (3, ["tool_failure"])


def test_scenario_12_strict_never_ends_and_says_so_once() -> None:
    run = Supervision("strict")
    turns = [run.round(text="Let me think.") for _ in range(10)]
    assert {turn.begun.mode.execution_mode for turn in turns} == {FORCED}
    switches = [reason for reason in events(turns) if reason.startswith("switch")]
    assert switches == ["switch free->forced: task_graph_active", "switch denied:strict_floor"]


def test_scenario_13_a_takeover_forces_by_itself_until_its_cooldown() -> None:
    run = taken_over(disk=UNMERGED)
    assert (run.mode, run.state.graph.graph) == (FREE, None), "nothing but the floor can force the next round"
    turns = calm(run, 4)
    assert turns[0].begun.mode.entered_by == (ModeSignal.TAKEOVER_FLOOR,)
    assert {turn.begun.mode.execution_mode for turn in turns} == {FORCED}
    assert (turns[2].state.phase.phase, turns[3].begun.mode.last_decision) == (
        P.HANDOFF_PENDING,
        "denied:takeover_floor",
    )
    assert run.phase is P.COOLDOWN
    assert reading(run, 3)[-1].begun.mode.execution_mode is FREE
    assert run.state.round == 9, "the cooldown ended with this very round"


def test_scenario_18_a_command_that_failed_twice_is_kept_back_however_it_is_written() -> None:
    run = forced()
    make = ran("make  all", error="boom")
    run.rounds(make, make, make)
    assert "make all failed 3 times" in run.round(make).refused[0]


def test_scenario_19_a_graph_that_can_not_be_made_lowers_the_tier_and_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> GraphRun:
        raise ValueError("no template")

    monkeypatch.setattr(graph_executor, "init_run", fails)
    run = Supervision("strict")
    turn = run.round(read())
    assert "failure graph_init_failed:ValueError" in turn.reasons
    assert (turn.refused, turn.out.stop) == (("",), None)
    assert (turn.begun.mode.execution_mode, turn.begun.mode.recovery_pending) == (FORCED, True)
    assert (turn.context, run.round(write("src/a.py")).out.stop) == ("", None)


# The graph


def test_scenario_24_twenty_clean_rounds_end_in_no_other_branch() -> None:
    run = on_edit()
    turns = [run.round(write(f"tests/{number}.py", new=True), open_files=2) for number in range(20)]
    assert not any(branch.attempt_count for branch in graph_of(run).fallback_branches)
    assert [said for turn in turns for said in turn.said] == []


def test_scenario_25_a_check_whose_tries_are_spent_leads_to_its_own_fallback() -> None:
    run = on_verify()
    for number in range(3):
        turn = run.round(check(f"test_{number}"))
        if number < 2:
            run.round(write("src/b.py", number))
    assert "recover graph_switch:verify_fail" in turn.reasons
    assert (graph_of(run).current.id, step(run)) == ("node-fb02", NodeType.FALLBACK)
    assert ModeSignal.BRANCH_SWITCHED in run.state.mode.pending_signals
    assert "branch_switch" in turn.out.triggers


def test_scenario_26_a_fallback_of_the_edit_replaces_it_and_the_check_is_still_to_be_made() -> None:
    run = on_edit()
    run.rounds(*[broken("a")] * 3)
    assert graph_of(run).current.id == "node-fb01"
    run.round(write("src/a.py"))
    assert (graph_of(run).nodes["node-03"].status, step(run)) == (NodeStatus.SKIPPED, NodeType.VERIFY)
    run.round(text="All of it is done.")
    assert graph_of(run).status is GraphStatus.RUNNING
    run.round(check())
    assert graph_of(run).nodes["node-04"].status is NodeStatus.DONE


def test_scenario_27_a_graph_without_another_way_fails_and_frees_and_ends_nothing() -> None:
    run, turns = on_verify(), list[Turn]()
    while graph_of(run).status is GraphStatus.RUNNING and len(turns) < 30:
        turns += run.rounds(write("src/b.py", len(turns)), check(f"test_{len(turns)}"))
    assert "failure graph_failed:verify_fail" in turns[-1].reasons
    assert (graph_of(run).status, turns[-1].out.stop) == (GraphStatus.FAILED, None)
    assert (run.mode, run.state.mode.recovery_pending) == (FORCED, True)
    after = run.round(write("src/b.py", 99))
    assert (after.context, after.refused, after.out.stop) == ("", ("",), None)


def test_scenario_29_in_a_takeover_the_branch_switches_without_a_word() -> None:
    run = taken_over(disk=replace(SOUND, present=MODERATE.planned_files))
    assert step(run) is NodeType.EDIT
    turns = run.rounds(*[broken("a")] * 3)
    assert graph_of(run).branch.is_fallback
    assert [said for turn in turns for said in turn.said] == []


# L2


def trouble(run: Supervision) -> list[Turn]:
    """The same failure six times: a word, then the call is kept back, then L2 is told."""
    return run.rounds(*[broken()] * 6)


def test_scenario_32_33_a_takeover_is_committed_once() -> None:
    run = Supervision()
    turns = trouble(run)
    assert [turn.state.phase.phase for turn in turns] == [P.FREE] * 5 + [P.TAKEOVER]
    line = next(line for line in turns[5].lines if line["event"] == "recover" and "signals" in line["payload"])
    assert (line["reason"], line["phase"]) == ("tool_repeat_fail:7", "takeover")
    assert run.state.mode.recovery_pending
    again = run.round(broken())
    assert again.context == line["payload"]["text"], "the block that stands before the model is on record"
    assert run.state.phase.takeovers == 1


@pytest.mark.parametrize(
    ("mode", "config"),
    [
        ("off", Config()),
        ("adaptive", L1_ALONE),
        ("strict", L1_ALONE),
        ("adaptive", Config(layers=Layers(observer=False))),
        ("strict", Config(layers=Layers(observer=False))),
    ],
    ids=["off", "no supervisor", "no supervisor, strict", "no observer", "no observer, strict"],
)
def test_scenario_32_without_its_layers_nobody_takes_over(mode: str, config: Config) -> None:
    run = Supervision(mode, config)
    turns = trouble(run)
    assert {turn.state.phase.phase for turn in turns} == {P.FREE}
    assert run.asked == 0, "the disk is looked at for a takeover alone"


@pytest.mark.parametrize(("window", "expected"), [(3, (4, 5, 8)), (4, (5, 6, 9))], ids=["window 3", "window 4"])
def test_scenario_34_a_calm_takeover_is_handed_back_on_time(window: int, expected: tuple[int, int, int]) -> None:
    run = taken_over(Config(takeover=RecoveryLimits(stability_window_rounds=window)))
    turns = calm(run, window + 1) + reading(run, 3)
    phases = [P.TAKEOVER, *(turn.state.phase.phase for turn in turns)]
    assert tuple(phases.index(phase) + 1 for phase in (P.HANDOFF_PENDING, P.COOLDOWN, P.FREE)) == expected
    told = [reason for reason in events(turns) if reason.startswith("handoff")]
    assert told == ["handoff handoff_pending", "handoff handoff", "handoff cooldown_over"]
    assert (run.state.recovery, run.state.mode.recovery_pending) == (RecoveryBudget(), False)


def test_scenario_34_a_signal_before_the_handback_runs_the_recovery_again() -> None:
    run = taken_over()
    calm(run, 3)
    assert (run.phase, run.asked) == (P.HANDOFF_PENDING, 1)
    run.bridge.take_over()
    turn = calm(run, 1)[0]
    assert (run.phase, run.asked, run.state.phase.takeovers) == (P.TAKEOVER, 2, 1)
    assert "handoff handoff_withdrawn" in turn.reasons
    assert any(reason.startswith("recover template_graph:") for reason in turn.reasons)
    assert graph_of(run).graph_id == "graph-2"


def test_scenario_35_rounds_of_talk_hand_nothing_back() -> None:
    run = taken_over()
    turns = [run.round(text="Let me think.") for _ in range(9)]
    assert {turn.state.phase.phase for turn in turns} == {P.TAKEOVER}
    assert ["failure no_progress:4" in turn.reasons for turn in turns] == [False] * 8 + [True]


def cooling() -> Supervision:
    """A run to which control has just been handed back, for a long cooldown."""
    run = taken_over(Config(takeover=RecoveryLimits(handoff_cooldown_rounds=20)))
    calm(run, 4)
    assert run.phase is P.COOLDOWN
    return run


def test_scenario_36_a_stall_of_five_rounds_ends_a_cooldown() -> None:
    run = cooling()
    turns = trouble(run)
    assert [turn.state.phase.phase for turn in turns] == [P.COOLDOWN] * 5 + [P.TAKEOVER]
    assert "failure tool_repeat_fail:4" in turns[3].reasons, "it was seen, and too weak"


def test_scenario_36_a_user_ends_a_cooldown_at_once() -> None:
    run = cooling()
    run.bridge.take_over()
    run.round(read())
    assert (run.phase, run.state.phase.takeovers) == (P.TAKEOVER, 2)


def test_scenario_37_a_reading_spell_is_forgotten_once_the_work_goes_on() -> None:
    run = Supervision()
    spell = run.rounds(*[read("docs/a.md"), read("docs/b.md")] * 4)
    assert "failure cycle:5" in events(spell), "from then on nothing new was read"
    assert run.phase is P.FREE, "it was only told of"
    assert calm(run, 1)[0].state.observer.live == ()


def held(run: Supervision, count: int, *, ratio: float = 0.0) -> list[Turn]:
    """So many rounds with progress, in each of which something speaks against a handback. The first sets the ratio."""
    turns = []
    for _ in range(count):
        run.bridge.take_over()
        turns.append(run.round(write(f"tests/{run.state.round}.py", new=True), open_files=1, ratio=ratio))
    return turns


def test_scenario_38_a_takeover_that_only_reads_ends_after_twice_its_rounds() -> None:
    run = taken_over()
    turns = reading(run, 12)
    assert [turn.out.stop for turn in turns[:11]] == [None] * 11
    assert turns[11].out.stop is not None
    assert turns[11].out.stop.reason is StopReason.USER_CHECKPOINT
    assert {"failure budget_exhausted:rounds", "failure checkpoint"} <= set(turns[11].reasons)


def test_scenario_38_rounds_with_progress_that_cost_something_end_it_after_its_rounds() -> None:
    run = taken_over()
    turns = held(run, 1) + held(run, 6, ratio=0.15)
    assert [turn.out.stop is None for turn in turns] == [True] * 6 + [False]
    assert "failure budget_exhausted:rounds" in turns[6].reasons


def test_scenario_38_rounds_with_progress_that_cost_little_are_given_once_more() -> None:
    run = taken_over()
    turns = held(run, 13)
    assert [turn.out.stop is None for turn in turns] == [True] * 12 + [False]
    assert events(turns).count("failure budget_extended:rounds") == 1
    assert "failure budget_extended:rounds" in turns[6].reasons


def test_scenario_39_requests_that_grow_by_too_much_end_a_takeover() -> None:
    run = taken_over()
    run.round(write("src/b.py"), open_files=1, ratio=0.3)
    turn = run.round(write("src/b.py", 1), open_files=1, ratio=0.56)
    assert "failure budget_exhausted:tokens" in turn.reasons
    assert turn.out.stop is not None


def test_scenario_39_one_failure_that_is_repeated_too_often_ends_a_takeover() -> None:
    run = taken_over()
    turns = []
    for number in range(4):
        run.bridge.take_over()
        turns.append(run.round(broken(), write("src/b.py", number)))
    assert [turn.out.stop is None for turn in turns] == [True] * 3 + [False]
    assert "failure budget_exhausted:retries" in turns[3].reasons


def test_scenario_39_in_free_nothing_is_spent() -> None:
    run = Supervision()
    turns = [run.round(broken(), ratio=0.9) for _ in range(5)]
    assert (run.phase, run.state.recovery, turns[-1].out.stop) == (P.FREE, RecoveryBudget(), None)


def test_scenario_40_a_stall_gets_one_word_and_its_takeover_none_beside_its_block() -> None:
    run = Supervision(config=L1_ALONE)
    turns = run.rounds(*[broken()] * 5)
    assert [len(turn.said) for turn in turns] == [0, 0, 0, 1, 0], "one word, then calls are kept back"
    assert turns[4].refused[0]
    run = taken_over()
    turns = run.rounds(*[broken()] * 4)
    assert [turn.said for turn in turns] == [[]] * 4
    assert all(turn.context for turn in turns)


def test_scenario_41_a_shadow_logs_what_it_would_have_done_and_does_nothing() -> None:
    run, plain = Supervision(shadow="1"), Supervision(config=L1_ALONE)
    turns = trouble(run)
    assert "shadow_diagnostic tool_repeat_fail:7" in turns[5].reasons
    assert (run.phase, run.state.graph.graph, run.state.recovery) == (P.FREE, None, RecoveryBudget())
    assert [turn.said for turn in turns] == [[]] * 6
    other = Supervision(shadow="1")
    for one in (plain, other):
        one.rounds(*[broken()] * 2)
    assert other.state.mode == plain.state.mode, "L1 is what it would be without"
    turns = calm(run, 5)
    assert [reason for reason in events(turns) if "would_handoff" in reason] == [
        "shadow_diagnostic would_handoff_pending",
        "shadow_diagnostic would_handoff",
    ]
    assert (run.phase, [said for turn in turns for said in turn.said]) == (P.FREE, [])


def test_scenario_42_a_run_that_was_cut_off_in_a_takeover_goes_on_in_it() -> None:
    run = taken_over()
    calm(run, 1)
    kept, cut = run.state, run.continued()
    cut.resumed()
    state = cut.state
    assert (state.phase, state.recovery, state.graph) == (kept.phase, kept.recovery, kept.graph)
    assert state.progress == kept.progress
    assert (state.phase.stable_rounds, state.observer.live) == (1, ())
    turn = calm(cut, 1)[0]
    assert "failure checkpoint_resumed" in turn.reasons
    assert turn.begun.mode.execution_mode is FORCED
    assert (turn.said, cut.asked, cut.state.phase.takeovers) == ([], 0, 1)
    assert (cut.phase, cut.state.phase.stable_rounds) == (P.TAKEOVER, 2)


def test_scenario_42_a_resumed_run_is_forced_by_that_once() -> None:
    run = Supervision(config=L1_ALONE)
    reading(run, 1)
    run.resumed()
    turns = reading(run, 5, start=1)
    assert turns[0].begun.mode.entered_by == (ModeSignal.CHECKPOINT_RESUMED,)
    assert turns[-1].begun.mode.execution_mode is FREE


def test_scenario_46_a_recovery_leads_from_the_next_round_on() -> None:
    run = taken_over()
    turn = run.round(read(), open_files=1)
    assert (run.bridge.state.phase.phase, turn.before.round) == (P.TAKEOVER, 2)
    assert turn.context.startswith("[Supervision] You are being led")
    assert (step(run), graph_of(run).progress) == (NodeType.EDIT, 40)


def test_scenario_46_the_round_of_the_takeover_itself_was_led_by_what_was_there_before() -> None:
    run = Supervision()
    run.round(write("src/a.py"))
    run.bridge.take_over()
    turn = run.round(read())
    assert turn.context == ""
    line = next(line for line in turn.lines if line["reason"] == "template_graph:2/5")
    assert line["payload"]["markedDone"] == ["node-01", "node-02"]
    assert line["payload"]["snapshotId"] == "snapshot-2"
    assert turn.out.snapshot is not None


# What a takeover leaves behind, however it ends


def stopped() -> Supervision:
    """A takeover in which the model wanted to take work back: a person has to look."""
    run = taken_over()
    turn = run.round(ROLLBACK)
    assert turn.refused[0].startswith("[Supervision] Not executed: it would discard work")
    assert turn.out.stop is not None
    assert (turn.out.stop.reason, run.state.stopped) == (StopReason.USER_CHECKPOINT,) * 2
    return run


def test_a_stopped_takeover_is_over_for_its_graph_too_once_a_person_resumes() -> None:
    run = stopped()
    run.resumed()
    assert run.phase is P.FREE
    assert not is_active(run.state.graph), "else it forces, and keeps silent, with nobody to hand back"


@pytest.mark.parametrize("goes_on", [Supervision.resumed, lambda run: run.set_to("adaptive", L1_ALONE)])
def test_nothing_of_a_takeover_stands_before_the_model_once_a_person_goes_on(
    goes_on: Callable[[Supervision], None],
) -> None:
    run = stopped()
    goes_on(run)
    assert (run.phase, run.round(read()).context) == (P.FREE, ""), "nobody leads any more"


def test_a_person_who_goes_on_with_other_settings_begins_anew_as_well() -> None:
    run = Supervision()
    turns = run.rounds(*[broken()] * 14)
    stop = next(turn.out.stop for turn in turns if turn.out.stop)
    assert stop.reason is StopReason.CIRCUIT_BREAKER
    run.set_to("strict")
    run.resumed()
    assert run.round(broken("once more")).out.stop is None


def test_settings_that_change_after_a_reply_of_no_use_hold_for_the_next_one() -> None:
    run = Supervision()
    run.bridge.begin()
    run.set_to("strict")
    turn = run.round(write("src/a.py"))
    assert (run.mode, turn.begun.graph.graph is not None) == (FORCED, True)


def test_graphs_are_numbered_over_the_whole_run_and_takeovers_counted() -> None:
    run = taken_over()
    assert graph_of(run).graph_id == "graph-1"
    run.set_to("strict")
    run.round(read())
    assert graph_of(run).graph_id == "graph-2"
    assert kernel_report(run.state, run.bridge.setting, stop_reason=None, detail="", warning="")["takeovers"] == 1


def test_lines_that_forced_a_run_do_not_force_it_again_once_it_was_stable() -> None:
    run = Supervision("adaptive", L1_ALONE)
    run.round(write(lines=500, new=True))
    modes = [turn.begun.mode.execution_mode for turn in reading(run, 8)]
    assert modes[0] is FORCED, "500 lines that no check has seen are a reason"
    free = modes.index(FREE)
    assert modes == [FORCED] * free + [FREE] * (8 - free), "decision 58: they are no reason twice"
    run.round(write("src/b.py", lines=10, new=True))
    assert run.round(read("a.md")).begun.mode.execution_mode is FREE
    run.round(write("src/b.py", 1, lines=500))
    assert run.round(read("b.md")).begun.mode.execution_mode is FORCED, "new lines are one"
