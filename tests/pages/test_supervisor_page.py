"""What is made of the files of supervision: schemas, one value, lines of text, and a page in which nothing can run or load."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.pages.supervisor_events import Span, build_lanes, meaning_of, timeline_rows
from phases.pages.supervisor_page import MOST_ROWS, PAGE_START, render_page
from phases.pages.supervisor_text import render_text
from phases.pages.supervisor_view import SupervisionEvent, View, steps_of
from phases.supervision.config import Config
from phases.supervision.enums import (
    DeviationSignal,
    ExecutionMode,
    GraphStatus,
    NodeType,
    SupervisorMode,
    SupervisorPhase,
    TaskPhase,
    TimelineEvent,
)
from phases.supervision.graph import Branch, Cursor, Delegate, Edge, Node, TaskGraph
from phases.supervision.serialization import from_json, to_json
from phases.supervision.work_ledger import FailureRecord, ToolRecord
from phases.supervision.workspace_snapshot import WorkspaceSnapshot
from pipeline.engine.contract import Contracts
from tests.strategies import NASTY, QUICK
from tests.supervised import (
    SNAPSHOT,
    START,
    Log,
    checkpoint,
    graph,
    long_log,
    quiet_log,
    report,
    takeover_log,
    view_of,
    write_files,
)

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'>&\x1b[2J\u202e</svg></title>"
VOID = {"meta"}
OPEN_ENDED = {"th", "td", "tr", "tbody", "thead", "dt", "dd"}


def schema(name: str) -> dict[str, Any]:
    return Contracts().schema(f"{name}.json")


def breach(name: str, value: Any) -> str | None:
    contracts = Contracts()
    return contracts.breach(contracts.schema(f"{name}.json"), value)


# The schemas, and the classes that they are of


def settings_of(part: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every setting of a schema: its path, and what is said of it."""
    for key, inner in part["properties"].items():
        if inner.get("deprecated"):  # of older files; nothing reads it
            continue
        if "properties" in inner:
            yield from settings_of(inner, (*path, key))
        else:
            yield (*path, key), inner


def values_of(value: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from values_of(inner, (*path, key))
        else:
            yield (*path, key), inner


def test_every_setting_of_the_kernel_is_in_the_schema_with_its_default_and_the_other_way_round() -> None:
    described = {path: part["default"] for path, part in settings_of(schema("supervisor-config"))}
    assert described == dict(values_of(to_json(Config())))


def test_every_setting_says_what_it_is_for_and_may_be_left_out() -> None:
    for path, part in settings_of(schema("supervisor-config")):
        assert part["description"].endswith("."), path
    assert '"required"' not in json.dumps(schema("supervisor-config"))
    assert breach("supervisor-config", {}) is None


def test_the_defaults_fit_their_schema_and_give_the_settings_again() -> None:
    assert breach("supervisor-config", to_json(Config())) is None
    assert from_json(Config, to_json(Config())) == Config()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"nonsense": 1}, id="a key that is not known"),
        pytest.param({"triggers": {"nonsense": 1}}, id="one that is deeper"),
        pytest.param({"mode": "wild"}, id="a mode that is not known"),
        pytest.param({"triggers": {"noProgressRoundsMin": 0}}, id="a window of no round"),
        pytest.param({"adaptiveTakeover": {"handoffCooldownRounds": -1}}, id="a negative window"),
        pytest.param({"adaptiveTakeover": {"recoveryTokenRatio": 1.01}}, id="more than the whole"),
        pytest.param({"snapshotConfidence": {"weights": {"gitClean": -0.1}}}, id="a negative weight"),
        pytest.param({"branchBudget": {"commandRetryMax": 1001}}, id="a count out of range"),
        pytest.param({"branchBudget": {"commandRetryMax": 2.5}}, id="half an edit"),
        pytest.param({"triggers": {"disabled": ["nonsense"]}}, id="a signal that is not known"),
        pytest.param({"shadow": 1}, id="a number for yes"),
    ],
)
def test_settings_that_make_no_sense_are_refused(value: dict[str, Any]) -> None:
    assert breach("supervisor-config", value)


def keys_of(part: dict[str, Any]) -> set[str]:
    return set(part["properties"])


@pytest.mark.parametrize(
    ("described", "kind"),
    [
        pytest.param(lambda: schema("task-graph"), TaskGraph, id="the graph"),
        pytest.param(lambda: schema("task-graph")["$defs"]["node"], Node, id="a step"),
        pytest.param(
            lambda: schema("task-graph")["$defs"]["node"]["properties"]["delegate"]["anyOf"][0],
            Delegate,
            id="a delegate",
        ),
        pytest.param(lambda: schema("task-graph")["$defs"]["branch"], Branch, id="a branch"),
        pytest.param(lambda: schema("task-graph")["properties"]["edges"]["items"], Edge, id="an edge"),
        pytest.param(lambda: schema("task-graph")["properties"]["cursor"], Cursor, id="the cursor"),
        pytest.param(lambda: schema("workspace-snapshot"), WorkspaceSnapshot, id="a snapshot"),
        pytest.param(
            lambda: schema("kernel-checkpoint")["properties"]["recentTools"]["items"], ToolRecord, id="a call"
        ),
        pytest.param(
            lambda: schema("kernel-checkpoint")["properties"]["recentFailures"]["items"], FailureRecord, id="a failure"
        ),
    ],
)
def test_a_schema_has_the_keys_of_its_class_and_no_others(described: Any, kind: type) -> None:
    names = {str(row.metadata.get("key", _camel(row.name))) for row in dataclasses.fields(kind)}
    assert keys_of(described()) == names


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("mode", SupervisorMode),
        ("phase", SupervisorPhase),
        ("executionMode", ExecutionMode),
        ("event", TimelineEvent),
    ],
)
def test_an_event_has_the_words_of_the_kernel(key: str, words: type[SupervisorMode]) -> None:
    assert schema("supervisor-event")["properties"][key]["enum"] == list(words)


def test_the_report_counts_every_mode_and_every_phase() -> None:
    parts = schema("kernel-report")["properties"]
    assert keys_of(parts["modeRounds"]) == set(ExecutionMode)
    assert keys_of(parts["phaseRounds"]) == set(SupervisorPhase)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task-graph", to_json(graph())),
        ("workspace-snapshot", to_json(SNAPSHOT)),
        ("kernel-report", report()),
        ("kernel-checkpoint", checkpoint(7)),
        *(("supervisor-event", line) for line in (takeover_log().lines[0], long_log().lines[-1])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_kernel_writes_fits_its_schema(name: str, value: Any) -> None:
    assert breach(name, value) is None
    assert breach(name, {**value, "more": 1})


# Reading


def test_what_is_on_the_disk_is_read_into_one_value(tmp_path: Path) -> None:
    config = Config(shadow=True)
    write_files(tmp_path, takeover_log().lines, drawn=graph(), told=report(), snapshots=[SNAPSHOT], config=config)
    view = view_of(tmp_path)
    assert (view.damage, view.empty) == ((), False)
    assert (view.graph, view.config, view.snapshots) == (graph(), config, (SNAPSHOT,))
    assert [event.reason for event in view.events] == [line["reason"] for line in takeover_log().lines]
    assert (view.mode, view.rounds, view.shadow) == ("adaptive", 24, False)


def test_a_task_that_was_not_supervised_gives_nothing(tmp_path: Path) -> None:
    assert view_of(tmp_path).empty


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        pytest.param(
            "kernel/supervisor-events.jsonl",
            b'{"seq": 1}\n',
            "kernel/supervisor-events.jsonl, line 2: at $: ",
            id="a line of another kind",
        ),
        pytest.param(
            "kernel/supervisor-events.jsonl",
            b"\nnonsense\n",
            "kernel/supervisor-events.jsonl, line 3, column 1: not JSON",
            id="a line that is no JSON",
        ),
        pytest.param(
            "kernel/supervisor-events.jsonl",
            b'{"seq"',
            "kernel/supervisor-events.jsonl, line 2: it is not whole",
            id="a line that was torn",
        ),
        pytest.param(
            "kernel/task-graph.json",
            b'{\n  "version": }',
            "kernel/task-graph.json, line 2, column 14: not JSON",
            id="a graph that is no JSON",
        ),
        pytest.param("kernel/task-graph.json", b"{}", "kernel/task-graph.json: at $: ", id="a graph of another kind"),
        pytest.param(
            "kernel/checkpoint.json", b"[]", "kernel/checkpoint.json: at $: ", id="a checkpoint of another kind"
        ),
        pytest.param("kernel-report.json", b"\xff", "kernel-report.json: not UTF-8", id="a report that is no text"),
        pytest.param(
            "kernel/supervisor-config.json",
            b'{"shadow": 1}',
            "kernel/supervisor-config.json: at $.shadow: ",
            id="settings",
        ),
        pytest.param(
            "kernel/snapshots/snapshot-10.json", b"{}", "kernel/snapshots/snapshot-10.json: at $: ", id="a snapshot"
        ),
    ],
)
def test_what_is_damaged_is_named_with_its_line_and_the_rest_is_read(
    name: str, content: bytes, told: str, tmp_path: Path
) -> None:
    first = quiet_log().lines[:1]
    write_files(tmp_path, first, told=None)
    path = tmp_path / name
    path.write_bytes((path.read_bytes() if path.exists() else b"") + content)
    view = view_of(tmp_path)
    assert len(view.damage) == 1
    assert view.damage[0].startswith(told)
    assert [event.seq for event in view.events] == [1]
    assert any(told in line for line in [*view.damage, render_page(view)])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"main_branch": Branch("branch-main-1", ("node-09",))}, "names the step 'node-09', and there is none"),
        ({"edges": (Edge("node-01", "gone"),)}, "names the step 'gone', and there is none"),
        ({"cursor": Cursor("branch-main-1", "gone", 0)}, "the cursor names the step 'gone', and there is none"),
        ({"cursor": Cursor("gone", "node-01", 0)}, "the cursor is on the branch 'gone', and there is none"),
    ],
    ids=["a branch", "an edge", "the cursor's step", "the cursor's branch"],
)
def test_a_graph_that_names_what_is_not_there_is_damaged(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    write_files(tmp_path, drawn=graph(**changes))
    view = view_of(tmp_path)
    assert view.graph is None
    assert told in view.damage[0]


@pytest.mark.parametrize("kind", ["a link", "a pipe", "a folder"])
def test_no_file_that_was_planted_is_followed_or_waited_for(kind: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    path = tmp_path / "kernel" / "task-graph.json"
    if kind == "a link":
        os.symlink("/etc/passwd", path)
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert "task-graph.json" in view_of(tmp_path).damage[0]


def test_the_older_name_of_a_phase_is_understood(tmp_path: Path) -> None:
    line = takeover_log().lines[0] | {"phase": "handoff"}
    view = view_of(write_files(tmp_path, [line]))
    assert (view.damage, view.events[0].phase) == ((), SupervisorPhase.HANDOFF_PENDING)


@given(st.binary(max_size=60), st.sampled_from(["supervisor-events.jsonl", "task-graph.json", "checkpoint.json"]))
@QUICK
def test_no_content_of_a_file_raises(tmp_path: Path, content: bytes, name: str) -> None:
    write_files(tmp_path)
    (tmp_path / "kernel" / name).write_bytes(content)
    view = view_of(tmp_path)
    assert render_page(view)
    assert render_text(view)


# In words


def event_of(name: str, reason: str, payload: dict[str, Any] | None = None, **changes: Any) -> SupervisionEvent:
    event = SupervisionEvent(
        1,
        START,
        1,
        2,
        SupervisorMode.ADAPTIVE,
        SupervisorPhase.FREE,
        ExecutionMode.FREE,
        TimelineEvent(name),
        reason,
        payload or {},
    )
    return replace(event, **changes)


@pytest.mark.parametrize(
    ("event", "reason", "payload", "told"),
    [
        (
            "switch",
            "free->forced: tool_failure",
            {"enteredBy": ["tool_failure", "multi_write"]},
            ("mode", "watched closely from here: a call failed + many files were written at once"),
        ),
        (
            "switch",
            "free->forced: engine_fail_safe",
            {"failSafe": True, "degradedTier": "graph"},
            ("mode", "watched closely from here: engine fail safe (the engine itself failed), led by graph"),
        ),
        ("switch", "forced->free: stable", {}, ("mode", "trusted again: stable")),
        ("switch", "denied:min_dwell", {}, ("kept", "still watched closely: nothing was done since")),
        (
            "failure",
            "tool_repeat_fail:3",
            {"command": "pytest"},
            ("signal", "one thing fails again and again, 3 times (pytest)"),
        ),
        ("failure", "budget_exhausted:tokens", {}, ("budget", "the recovery budget is spent: tokens")),
        ("failure", "budget_extended:rounds", {}, ("budget", "the recovery budget is extended, once: rounds")),
        (
            "failure",
            "correction_budget_exhausted:graph_hint",
            {},
            ("budget", "not said, the budget of corrections is spent: graph hint"),
        ),
        (
            "failure",
            "recovery_boundary_rejected:lifecycle",
            {},
            ("dropped", "not said, it is not for this phase: lifecycle"),
        ),
        ("failure", "recovery_main_path_skipped:off", {}, ("recovery", "the workspace was not looked at: off")),
        ("failure", "checkpoint", {}, ("stop", "stopped, for a person to decide")),
        ("failure", "checkpoint_resumed", {}, ("resumed", "the run was resumed from its checkpoint")),
        (
            "failure",
            "kernel_error",
            {"detail": "KeyError"},
            ("fault", "supervision itself failed, and the work went on (KeyError)"),
        ),
        ("failure", "something_new:1", {}, ("failure", "something new:1")),
        (
            "drift",
            "goal_drift:0.31",
            {"factors": {"progress": 0.4}},
            ("signal", "goal drift, alignment 0.31 (progress 0.40)"),
        ),
        (
            "recover",
            "tool_repeat_fail:3,no_progress:4",
            {},
            (
                "takeover",
                "led from here, because one thing fails again and again (3 times), nothing new comes (4 times)",
            ),
        ),
        ("recover", "user_force_takeover:1", {}, ("takeover", "led from here, because a person asked for it")),
        (
            "recover",
            "template_graph:2/5",
            {"confidence": 0.885},
            ("recovery", "tier template graph, confidence 0.89: 2 of 5 steps stand already in the workspace"),
        ),
        (
            "recover",
            "strong_hint:low_confidence",
            {"confidence": 0.4},
            ("recovery", "tier strong hint, confidence 0.40: low confidence"),
        ),
        ("recover", "manual_checkpoint", {}, ("recovery", "tier manual checkpoint")),
        ("recover", "graph_hint:forced_step_block", {}, ("block", "a call was kept back: it is not for this step")),
        ("recover", "graph_hint:evaluate_round", {}, ("hint", "a hint: the round was not what this step is for")),
        ("recover", "segment_renewal:rounds", {}, ("budget", "the takeover started over: rounds")),
        ("recover", "loop_hint", {"text": "a b a b"}, ("hint", "a hint: the calls go round in a loop (a b a b)")),
        ("recover", "ladder:light", {"rounds": 2}, ("hint", "a hint: every call fails: light")),
        (
            "recover",
            "graph_switch:verify_fail",
            {"nodeId": "node-04"},
            ("graph", "a step was given up for its fallback: verify fail (node-04)"),
        ),
        ("recover", "some_hint:x", {}, ("hint", "some hint:x")),
        ("failure", "circuit_breaker", {"rounds": 10}, ("stop", "every call failed for too long")),
        ("failure", "graph_failed:no_progress", {}, ("graph", "no way through the graph is left: no progress")),
        ("handoff", "handoff_withdrawn", {}, ("handoff", "it did not stay quiet: control is kept")),
        ("handoff", "cooldown_over", {}, ("handoff", "the agent is trusted again")),
        ("handoff", "handoff", {}, ("handoff", "control is handed back")),
        ("rollback", "rollback", {}, ("rollback", "rollback")),
        ("timeout", "task time cap", {}, ("timeout", "task time cap")),
        ("shadow_diagnostic", "no_progress:4", {}, ("shadow", "would take over: nothing new comes (4 times)")),
        ("shadow_diagnostic", "would_handoff", {}, ("shadow", "would handoff")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_reason_is_told_in_plain_words(
    event: str, reason: str, payload: dict[str, Any], told: tuple[str, str]
) -> None:
    assert meaning_of(event_of(event, reason, payload)) == told


def test_equal_lines_that_follow_each_other_are_folded_and_counted() -> None:
    events = [event_of("switch", "denied:mode_lock", round=turn) for turn in (3, 4, 5)]
    rows = timeline_rows([*events, event_of("switch", "denied:min_dwell", round=6)])
    assert [(row.first, row.last, row.times) for row in rows] == [(3, 5, 3), (6, 6, 1)]


def test_lines_that_are_written_at_the_end_of_a_round_do_not_say_twice_who_leads() -> None:
    rows = [("failure", "no_progress:4"), ("recover", "no_progress:4"), ("recover", "strong_hint:no_executor")]
    events = [event_of(name, reason, round=9, phase=SupervisorPhase.TAKEOVER) for name, reason in rows]
    assert [row.text for row in timeline_rows(events)] == [
        "nothing new comes, 4 times",
        "led from here, because nothing new comes (4 times) [free -> takeover]",
        "tier strong hint: no executor",
    ]
    over = event_of("handoff", "cooldown_over", round=12)
    assert timeline_rows([*events, over])[-1].text == "the agent is trusted again [takeover -> free]"


def test_the_screen_tells_mode_timeline_graph_workspace_and_budgets(tmp_path: Path) -> None:
    write_files(tmp_path, takeover_log().lines, drawn=graph(), told=report(), snapshots=[SNAPSHOT])
    lines = render_text(view_of(tmp_path))
    assert lines[0] == "Task paper: adaptive supervision, 24 rounds, the work was accepted"
    for line in (
        "          4  mode      watched closely from here: a call failed + many files were written at once",
        "        5-6  kept      still watched closely: it began only just now  ×2",
        (
            "         10  takeover  led from here, because one thing fails again and again (3 times), "
            "nothing new comes (4 times) [free -> takeover]"
        ),
        "         20  phase     cooldown -> free",
        "  ✓ inspect    Understand the goal  [done]",
        "  ✗ edit       Write or modify code  [failed, retry 2 of 2, the same error three times]",
        "      ↳ ▶ fallback   Fallback plan 1  [current, retry 1 of 1]  (taken: repeated failure)",
        "      ↳ ○ fallback   Fallback plan 2  [pending]  (if retries exceeded)",
        "  round   10  1 added; checks failed; build ok",
        "  corrections  1 made, at most 1 a task",
    ):
        assert line in lines, line


def test_a_run_that_was_stopped_says_why(tmp_path: Path) -> None:
    write_files(tmp_path, told=report(stopReason="user_checkpoint", detail="the budget is spent", warning="mind this"))
    lines = render_text(view_of(tmp_path))
    assert lines[0].endswith("stopped by supervision: user_checkpoint")
    assert lines[1] == "  the budget is spent"
    assert "  warning: mind this" in lines


@pytest.mark.parametrize(
    ("reason", "told", "marked"),
    [
        (None, "supervision did not stop it", False),
        ("model_done", "the work was accepted", False),
        ("completed_unverified", "the model was done, and no check has verified its work", True),
        ("budget_rounds", "ended: budget_rounds", True),
        ("circuit_breaker", "stopped by supervision: circuit_breaker", True),
    ],
)
def test_no_ending_but_accepted_work_reads_as_success(
    reason: str | None, told: str, marked: bool, tmp_path: Path
) -> None:
    view = view_of(write_files(tmp_path, told=report(stopReason=reason)))
    assert render_text(view)[0].endswith(told)
    assert bool(build_lanes(view).stop) is marked


def test_a_run_that_works_right_now_is_not_at_its_end(tmp_path: Path) -> None:
    view = view_of(write_files(tmp_path, told=report(rounds=24)))
    assert view.over
    assert render_text(replace(view, running=True))[0].endswith("not at its end yet")


def test_a_report_of_an_earlier_run_is_not_taken_for_the_end(tmp_path: Path) -> None:
    write_files(tmp_path, long_log(30).lines, told=report(rounds=24), saved=checkpoint(29))
    view = view_of(tmp_path)
    lines = render_text(view)
    assert lines[0].endswith("30 rounds, not at its end yet")
    assert "  the figures are of the run before it went on:" in lines
    assert "  the last checkpoint: round 29, tool failed" in lines


def test_shadow_is_said(tmp_path: Path) -> None:
    log = Log().add(5, "shadow_diagnostic", "no_progress:4")
    assert "in shadow (it looks on, and does nothing)" in render_text(view_of(write_files(tmp_path, log.lines)))[0]


def test_the_marks_of_the_graph_tell_its_cursor() -> None:
    main, unbound = steps_of(graph())
    assert [shown.step.state for shown in main] == ["done", "skipped", "failed", "pending", "pending"]
    assert [step.state for shown in main for row in shown.fallbacks for step in row.steps] == [
        "current",
        "pending",
        "pending",
    ]
    assert unbound == ()
    ended, _ = steps_of(graph(status=GraphStatus.FAILED))
    assert ended[2].fallbacks[0].steps[0].state == "running"


def test_a_fallback_that_is_bound_to_nothing_is_shown_all_the_same() -> None:
    loose = graph(edges=())
    main, unbound = steps_of(loose)
    assert len(main[2].fallbacks) == 1
    assert len(unbound) == 2
    assert "Fallback plan 3" in render_page(View("paper", graph=loose))


# Over the rounds


def test_the_lanes_follow_the_switches_and_a_cooldown_ends_by_itself(tmp_path: Path) -> None:
    lanes = build_lanes(view_of(write_files(tmp_path, takeover_log().lines, told=report())))
    assert lanes.modes == (Span(1, 3, "free"), Span(4, 15, "forced"), Span(16, 24, "free"))
    assert lanes.phases == (
        Span(1, 9, "free"),
        Span(10, 13, "takeover"),
        Span(14, 14, "handoff_pending"),
        Span(15, 17, "cooldown"),
        Span(18, 24, "free"),
    )
    assert {name: [mark.round for mark in marks] for name, marks in lanes.signals.items()} == {
        "tool_repeat_fail": [8],
        "no_progress": [9],
        "goal_drift": [9],
    }
    assert {name: [mark.round for mark in marks] for name, marks in lanes.interventions.items()} == {
        "hint": [7],
        "block": [8],
        "takeover": [10],
        "handoff": [14, 15],
    }
    assert lanes.stop is None


def test_lines_that_were_written_before_the_change_that_they_tell_of_give_the_same_lanes(tmp_path: Path) -> None:
    after = [dict(line) for line in takeover_log().lines]
    before = [dict(line) for line in takeover_log().lines]
    for number, line in enumerate(before):
        earlier = after[number - 1] if number else {"phase": "free", "executionMode": "free"}
        if line["event"] in ("switch", "handoff") or line["reason"].startswith("tool_repeat_fail:3,"):
            line |= {"phase": earlier["phase"], "executionMode": earlier["executionMode"]}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = build_lanes(view_of(write_files(tmp_path / "a", after, told=report())))
    assert one == build_lanes(view_of(write_files(tmp_path / "b", before, told=report())))


def test_a_stop_is_marked_in_its_round_and_one_that_was_gone_on_from_is_not(tmp_path: Path) -> None:
    stopped = long_log(50)
    lanes = build_lanes(view_of(write_files(tmp_path, stopped.lines)))
    assert lanes.stop
    assert lanes.stop.round == 50
    stopped.add(51, "failure", "checkpoint_resumed").add(52, "failure", "no_progress:4")
    assert build_lanes(view_of(write_files(tmp_path, stopped.lines))).stop is None


def test_a_strict_run_is_forced_from_its_first_round_on(tmp_path: Path) -> None:
    lanes = build_lanes(view_of(write_files(tmp_path, quiet_log().lines, told=report(mode="strict", rounds=9))))
    assert lanes.modes == (Span(1, 9, "forced"),)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.integers(0, 60),
            st.sampled_from(list(TimelineEvent)),
            st.sampled_from(["handoff", "no_progress:4", "free->forced: x", "forced->free: stable", "checkpoint"]),
            st.sampled_from(list(SupervisorPhase)),
            st.sampled_from(list(ExecutionMode)),
        ),
        max_size=20,
    )
)
@QUICK
def test_the_lanes_cover_every_round_once_whatever_the_events_say(rows: list[Any]) -> None:
    events = tuple(
        event_of(str(name), reason, round=turn, phase=phase, execution_mode=mode)
        for turn, name, reason, phase, mode in sorted(rows, key=lambda row: row[0])
    )
    lanes = build_lanes(View("paper", events=events))
    for spans in (lanes.modes, lanes.phases):
        assert [turn for span in spans for turn in range(span.first, span.last + 1)] == list(
            range(lanes.first, lanes.last + 1)
        )


# The page


class Seen(HTMLParser):
    """What a browser makes of a page: its tags, ids, links and texts, and whether its tags are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.classes: Counter[str] = Counter()
        self.words = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        self.ids.update([value for name, value in attrs if name == "id" and value])
        self.links += [value for name, value in attrs if name == "href" and value]
        self.classes.update(value for name, value in attrs if name == "class" and value)
        if tag not in VOID | OPEN_ENDED:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID | OPEN_ENDED:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in OPEN_ENDED:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.words += data


def assert_sound(page: str) -> Seen:
    """Every link leads to a place on the page, every id is one, and nothing can run or load."""
    seen = Seen(page)
    assert [link for link in seen.links if not link.startswith("#") or link[1:] not in seen.ids] == []
    assert [name for name, count in seen.ids.items() if count > 1] == []
    assert not {
        "script",
        "img",
        "image",
        "use",
        "iframe",
        "object",
        "embed",
        "link",
        "form",
        "base",
        "foreignobject",
    } & set(seen.tags)
    assert not {name for name in seen.attributes if name.startswith("on")} | ({"src", "style"} & seen.attributes)
    for pattern in ("url(", "@import", "http:", "https:", "nan", "inf"):
        assert not re.search(rf'"[^"<>]*{re.escape(pattern)}[^"<>]*"', page), pattern
    page.encode("utf-8")
    return seen


def page_of_files(folder: Path, *arguments: Any, **named: Any) -> Seen:
    page = render_page(view_of(write_files(folder, *arguments, **named)))
    assert page.startswith(PAGE_START)
    assert "default-src 'none'" in page
    return assert_sound(page)


def test_the_page_draws_the_lanes_the_graph_and_the_events(tmp_path: Path) -> None:
    seen = page_of_files(tmp_path, takeover_log().lines, drawn=graph(), told=report(), snapshots=[SNAPSHOT])
    assert {"rounds", "graph", "events", "workspace", "budgets"} <= set(seen.ids)
    assert seen.classes["span free"] == 2 + 2 + 1  # two lanes, and the legend
    for kind, count in (("signal", 3), ("hint", 1), ("block", 1), ("led", 1), ("back", 2)):
        assert seen.classes[kind] == count + 1, kind
    for state, count in (("done", 1), ("skipped", 1), ("failed", 1), ("current", 1), ("pending", 4)):
        assert seen.classes[f"box {state}"] == count, state
    assert seen.classes["edge fallback"] == 3
    for words in (
        "round 10: led from here, because one thing fails again and again (3 times)",
        "rounds 4 to 15",
        "retry 2 of 2",
        "repeated failure",
    ):
        assert words in seen.words, words


def test_no_state_of_a_step_is_told_by_its_colour_alone(tmp_path: Path) -> None:
    seen = page_of_files(tmp_path, drawn=graph())
    for mark, state in (("✓", "done"), ("▶", "current"), ("✗", "failed"), ("○", "pending")):
        assert seen.words.count(mark) >= 2
        assert state in seen.words


def test_the_page_is_for_light_and_for_dark() -> None:
    page = render_page(View("paper"))
    assert "color-scheme: light dark" in page
    assert "prefers-color-scheme: dark" in page


@pytest.mark.parametrize("rounds", [1, 2, 24, 200, 400, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_run_of_any_length_has_a_page_of_sane_size_with_round_numbers_that_stand_apart(
    rounds: int, tmp_path: Path
) -> None:
    log = quiet_log() if rounds < 3 else long_log(rounds)
    page = render_page(view_of(write_files(tmp_path, log.lines, told=report(rounds=rounds))))
    assert_sound(page)
    ticks = [(float(x), int(turn)) for x, turn in re.findall(r'x="([0-9.]+)" y="14" text-anchor="middle">(\d+)<', page)]
    assert ticks[0][1] == 1
    near = [(one, other) for one, other in pairwise(ticks) if other[0] - one[0] < 23]
    assert near == []
    width = max(float(found) for found in re.findall(r'<svg width="(\d+)"', page))
    assert width <= 30_030
    assert max(x for x, _ in ticks) <= width
    assert len(page) < 400 * max(rounds, 100) + 20_000


def test_a_task_without_events_and_without_a_graph_has_a_page(tmp_path: Path) -> None:
    seen = page_of_files(tmp_path, told=report())
    assert "the agent was led by no graph" in seen.words
    assert "Nothing happened" in seen.words


def test_a_table_of_events_is_cut_and_that_is_said() -> None:
    events = tuple(event_of("failure", f"no_progress:{turn}", round=turn) for turn in range(1, MOST_ROWS + 8))
    assert "… 7 more" in assert_sound(render_page(View("paper", events=events))).words


def hostile_graph(text: str) -> TaskGraph:
    node = Node(
        text, NodeType.EDIT, text, TaskPhase.EDITING, suggested_tools=(text,), evidence=text, retry_count=1, error=text
    )
    other = Node("fb", NodeType.FALLBACK, text, TaskPhase.EDITING)
    edges = (Edge(text, "fb", "fallback", text),)
    branches = (Branch("b", ("fb",), True),)
    return graph(
        goal=text, nodes={text: node, "fb": other}, edges=edges, main_branch=Branch(text, (text,)), fallback_branches=branches,
        cursor=Cursor(text, text, 0),
    )  # fmt: skip


def hostile_view(text: str) -> View:
    reasons = (text, f"no_progress:{text}", f"free->forced: {text}", f"template_graph:{text}", f"graph_hint:{text}")
    payload = {"detail": text, "enteredBy": [text], "factors": {text: text}, "degradedTier": text, "confidence": text}
    events = tuple(event_of(str(name), reason, payload) for name in TimelineEvent for reason in reasons)
    told = report(stopReason=text or "x", detail=text, warning=text)
    snapshot = replace(SNAPSHOT, git_summary=text, build_summary=text)
    return View(text, Config(), events, (), hostile_graph(text or "x"), None, told, (snapshot,), True, damage=(text,))


def test_what_a_stranger_wrote_is_shown_and_does_nothing() -> None:
    page = render_page(hostile_view(HOSTILE))
    seen = assert_sound(page)
    assert "<script>alert(1)</script>" in seen.words
    assert r"\x1b[2J\u202e" in seen.words
    assert not any(
        "\x1b" in line or "\u202e" in line for line in render_text(replace(hostile_view(HOSTILE), task="paper"))
    )


@pytest.mark.slow
@given(st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=60)))
@QUICK
def test_no_text_breaks_the_page_or_a_line(text: str) -> None:
    assert_sound(render_page(hostile_view(text)))
    for line in render_text(replace(hostile_view(text), task="paper", damage=())):
        assert "\n" not in line


def test_every_signal_of_the_kernel_has_a_lane() -> None:
    events = tuple(event_of("failure", f"{name}:3") for name in DeviationSignal)
    assert list(build_lanes(View("paper", events=events)).signals) == list(DeviationSignal)
