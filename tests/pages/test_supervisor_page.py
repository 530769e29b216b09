"""The files of supervision as one value, as a timeline in words, and as a page in which nothing can run or load."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.pages.supervisor_page import (
    MOST_ROWS,
    TimelineRow,
    View,
    describe_reason,
    describe_state,
    next_steps,
    render_page,
    timeline_rows,
)
from phases.supervision.config import Config
from phases.supervision.enums import (
    DeviationSignal,
    ExecutionMode,
    FallbackReason,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)
from phases.supervision.facts import WorkspaceSnapshot
from phases.supervision.graph import Branch, Cursor, Edge, Node, TaskGraph
from phases.supervision.serialization import from_json, to_json
from pipeline.engine.contract import Contracts
from tests.sound_pages import assert_sound
from tests.strategies import NASTY, QUICK
from tests.supervised import PYTEST, Log, graph, led_log, report, takeover_log, view_of, write_files

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'>&\x1b[2J\u202e</svg></title>"


def schema(name: str) -> dict[str, Any]:
    return Contracts().schema(f"{name}.json")


def breach(name: str, value: Any) -> str | None:
    return Contracts().breach(schema(name), value)


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
        pytest.param({"takeover": {"handoffCooldownRounds": -1}}, id="a negative window"),
        pytest.param({"takeover": {"recoveryTokenRatio": 1.01}}, id="more than the whole"),
        pytest.param({"takeover": {"templateGraphMin": -0.1}}, id="a negative share"),
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
        pytest.param(lambda: schema("task-graph")["$defs"]["branch"], Branch, id="a branch"),
        pytest.param(lambda: schema("task-graph")["properties"]["edges"]["items"], Edge, id="an edge"),
        pytest.param(lambda: schema("task-graph")["properties"]["cursor"], Cursor, id="the cursor"),
        pytest.param(lambda: schema("workspace-snapshot"), WorkspaceSnapshot, id="a snapshot"),
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
        ("task-graph", graph()),
        ("kernel-report", report()),
        *(("supervisor-event", line) for line in takeover_log().lines[:1]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_key_that_a_schema_does_not_know_is_refused(name: str, value: dict[str, Any]) -> None:
    assert breach(name, value) is None
    assert breach(name, {**value, "more": 1})


# Reading


def test_the_files_of_a_task_are_read_into_one_value(tmp_path: Path) -> None:
    write_files(tmp_path, takeover_log().lines, drawn=graph(), told=report(), config={"shadow": True})
    view = view_of(tmp_path)
    assert (view.damage, view.empty) == ((), False)
    assert (view.graph, view.config, view.report) == (graph(), Config(shadow=True), report())
    assert list(view.events) == takeover_log().lines
    assert (view.mode, view.turns, view.over, view.shadow) == ("adaptive", 24, True, False)


def test_a_task_that_was_not_supervised_gives_nothing(tmp_path: Path) -> None:
    assert view_of(tmp_path).empty


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("kernel/supervisor-events.jsonl", b'{"seq": 1}\n', ", line 2: at $: "),
        ("kernel/supervisor-events.jsonl", b"\nnonsense\n", ", line 3, column 1: not JSON"),
        ("kernel/supervisor-events.jsonl", b'{"seq"', ", line 2: it is incomplete"),
        ("kernel/task-graph.json", b'{\n  "version": }', ", line 2, column 14: not JSON"),
        ("kernel/task-graph.json", b"{}", ": at $: "),
        ("kernel-report.json", b"\xff", ": not UTF-8"),
        ("kernel/supervisor-config.json", b'{"shadow": 1}', ": at $.shadow: "),
    ],
    ids=["another line", "no JSON", "a torn line", "no JSON graph", "another graph", "no text", "settings"],
)
def test_damage_is_named_with_its_line_and_the_rest_is_read(
    name: str, content: bytes, told: str, tmp_path: Path
) -> None:
    path = write_files(tmp_path, takeover_log().lines[:1]) / name
    path.write_bytes((path.read_bytes() if path.exists() else b"") + content)
    view = view_of(tmp_path)
    assert [line.startswith(f"{name}{told}") for line in view.damage] == [True]
    assert [event["seq"] for event in view.events] == [1]
    assert f"damaged: {name}" in render_page(view)


@pytest.mark.parametrize("kind", ["a link", "a pipe", "a folder", "a linked directory"])
def test_no_planted_file_is_followed_or_waited_for(kind: str, tmp_path: Path) -> None:
    path = write_files(tmp_path / "task") / "kernel" / "task-graph.json"
    (tmp_path / "task" / "task.json").write_text("{}")
    if kind == "a link":
        path.symlink_to("/etc/passwd")
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    else:
        elsewhere = write_files(tmp_path / "elsewhere", drawn=graph()) / "kernel"
        path.parent.rmdir()
        path.parent.symlink_to(elsewhere)
    view = view_of(tmp_path / "task")
    assert view.graph is None
    assert str(path.parent) in view.damage[0]


@given(st.binary(max_size=60), st.sampled_from(["supervisor-events.jsonl", "task-graph.json"]))
@QUICK
def test_no_content_of_a_file_raises(tmp_path: Path, content: bytes, name: str) -> None:
    (write_files(tmp_path) / "kernel" / name).write_bytes(content)
    view = view_of(tmp_path)
    assert render_page(view)
    assert describe_state(view)


# The timeline


def row_of(event: str, reason: str, payload: Mapping[str, Any]) -> TimelineRow:
    (row,) = timeline_rows(Log().add(1, event, reason, **payload).lines)
    return row


@pytest.mark.parametrize(
    ("event", "reason", "payload", "told"),
    [
        (
            "switch",
            "free->forced: tool_failure",
            {"enteredBy": ["tool_failure", "multi_write"]},
            "mode: repeated calls without a new result are refused from here on: a call failed, many files were written at once",
        ),
        ("switch", "forced->free: stable", {"enteredBy": ["tool_failure"]}, "mode: every call is executed again"),
        ("failure", "error_plateau:5", {"detail": "pytest"}, "signal: pytest failed 5 times with the same failures"),
        ("failure", "no_progress:4", {"detail": "", "stage": 1}, "signal: 4 turns produced nothing new"),
        ("failure", "cycle:9", {"detail": "2 calls"}, "signal: the same calls repeat without a new result (2 calls)"),
        ("failure", "file_loop:4", {"detail": "a.py"}, "signal: a.py was edited 4 times, and the checks fail as before"),
        ("drift", "goal_drift:5", {"stage": 1}, "signal: 5 consecutive turns touched no planned file, test or check"),
        ("recover", "user_force_takeover:1", {}, "takeover: the supervisor leads: you requested a takeover"),
        ("recover", "kept_back", {"detail": "it failed 3 times"}, "refused: a call was not executed (it failed 3 times)"),
        (
            "recover",
            "template_graph:2/5",
            {"confidence": 0.9},
            "steps: a list of steps leads the work; 2 of 5 of them are done in the workspace already",
        ),
        (
            "recover",
            "strong_hint:unsafe:missing_files",
            {},
            (
                "steps: no list of steps could be made, so one next action leads the work: "
                "the workspace is not fit to build on"
            ),
        ),
        ("recover", "graph_switch:verify_fail", {"nodeId": "n"}, "steps: a step was replaced by its fallback: its checks fail"),
        ("failure", "budget_exhausted:rounds", {}, "budget: the takeover has used up its budget of rounds"),
        (
            "failure",
            "stalled",
            {"since": 7, "why": "Bash x brought nothing 9 times"},
            "stop: the run was stopped: no new result since turn 7 (Bash x brought nothing 9 times)",
        ),
        (
            "failure",
            "checkpoint",
            {"why": "error_plateau:20"},
            "stop: the run was stopped for you to decide (a check failed 20 times with the same failures)",
        ),
        ("failure", "kernel_error", {"error": "x"}, "fault: supervision itself failed, and the work continued (x)"),
        ("rollback", "rollback", {"command": "rm *"}, "stop: the run was stopped: the model wanted to discard work (rm *)"),
        ("shadow_diagnostic", "no_progress:4", {}, "shadow: the supervisor would lead: 4 turns produced nothing new"),
        ("shadow_diagnostic", "would_say:error_plateau", {}, "shadow: the model would have been told"),
        ("failure", "something_new:1", {"detail": "x"}, "other: something new:1 (x)"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)  # fmt: skip
def test_every_event_is_told_in_plain_words(event: str, reason: str, payload: dict[str, Any], told: str) -> None:
    row = row_of(event, reason, payload)
    assert f"{row.kind}: {row.text}" == told


@pytest.mark.parametrize(
    "word",
    [*(f"{signal}:4" for signal in DeviationSignal), *sorted({*ModeSignal, *FallbackReason} - {"recovery_pending"})],
)
def test_every_reason_of_the_kernel_has_words_of_its_own(word: str) -> None:
    assert "_" not in describe_reason(word)
    assert describe_reason(word) != word


def test_the_timeline_says_when_which_signal_fired_in_which_mode_and_what_the_model_was_told() -> None:
    said = takeover_log().lines[3]["payload"]["text"]
    rows = timeline_rows(takeover_log().lines)
    assert [(row.turns, row.mode, row.kind, row.times, row.message) for row in rows] == [
        ("4", "limited", "mode", 1, ""),
        ("7", "limited", "signal", 1, ""),
        ("7", "limited", "hint", 1, said),
        ("8-9", "limited", "refused", 2, ""),
        ("9-10", "limited", "signal", 1, ""),
        ("9", "limited", "signal", 1, ""),
        ("10", "led", "takeover", 1, said),
        ("10", "led", "steps", 1, ""),
        ("14", "led", "handback", 1, ""),
        ("15", "limited", "handback", 1, ""),
        ("16", "free", "mode", 1, ""),
        ("18", "free", "handback", 1, ""),
    ]
    assert rows[1].text == f"{PYTEST} failed 3 times with the same failures"
    assert rows[6].text == f"the supervisor leads: {PYTEST} failed 5 times with the same failures"


def test_a_signal_that_goes_on_is_one_row_with_its_last_count() -> None:
    log = Log()
    for turn in (3, 4, 5):
        log.add(turn, "failure", f"no_progress:{turn}").add(turn, "failure", f"file_loop:{turn}", detail="a.py")
    rows = timeline_rows(log.lines)
    assert [(row.turns, row.text) for row in rows] == [
        ("3-5", "5 turns produced nothing new"),
        ("3-5", "a.py was edited 5 times, and the checks fail as before"),
    ]


# The state


def state_of(folder: Path, *arguments: Any, running: bool = False, **named: Any) -> dict[str, str]:
    return dict(describe_state(view_of(write_files(folder, *arguments, **named), running=running)))


def test_the_state_of_a_run_says_who_leads_whether_calls_are_refused_and_the_current_step(tmp_path: Path) -> None:
    state = state_of(tmp_path, led_log().lines, drawn=graph(), running=True)
    assert (state["Run"], state["Now"]) == ("20 turns, it is running", "the supervisor leads")
    assert state["Steps"] == "40 % done, now: Write it another way"
    assert "So far" not in state
    events = takeover_log().lines
    told = [state_of(tmp_path, events[:end], running=True)["Now"].partition(";")[0] for end in (1, 11, 13, 15)]
    refuses = "the model leads, and repeated calls without a new result are refused"
    assert told == [refuses, "the supervisor leads", refuses, "the model leads, and every call is executed"]


def test_a_run_that_supervision_stopped_says_why_and_what_to_type(tmp_path: Path) -> None:
    told = report(stopReason="user_checkpoint", detail="the budget is spent", warning="mind this")
    state = state_of(tmp_path, led_log().lines, told=told)
    assert state["Run"] == "24 turns, stopped by supervision, for you to decide"
    assert (state["Why"], state["Warning"]) == ("the budget is spent", "mind this")
    assert state["At end"] == "the supervisor leads"
    assert [step.rpartition(": ")[2] for step in next_steps(view_of(tmp_path))][:2] == [
        "pipeline review paper",
        "pipeline resume paper",
    ]


def test_nobody_leads_a_run_that_is_no_longer_supervised(tmp_path: Path) -> None:
    state = state_of(tmp_path, led_log().lines, told=report(mode="off", stopReason="budget_rounds"))
    assert state["Mode"] == "off"
    assert state.keys().isdisjoint({"Now", "At end"})


def test_hints_are_counted_once_and_by_the_report(tmp_path: Path) -> None:
    done = {"hints": 2, "blocks": 1, "takeovers": 1}
    state = state_of(tmp_path, takeover_log().lines, told=report(interventions=done, handoffs=1))
    assert state["So far"] == "2 hints, 1 call refused, 1 takeover, 1 handback"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (None, "ended, and not by supervision"),
        ("model_done", "the work was accepted"),
        ("completed_unverified", "the model finished, and no check has verified its work"),
        ("budget_rounds", "a limit was reached"),
        ("accept_continue_exhausted", "no attempts are left"),
        ("circuit_breaker", "stopped by supervision, because there was no new result"),
    ],
)
def test_no_ending_but_accepted_work_reads_as_success(reason: str | None, told: str, tmp_path: Path) -> None:
    assert state_of(tmp_path, told=report(stopReason=reason))["Run"] == f"24 turns, {told}"


def test_a_report_of_an_earlier_run_is_not_taken_for_the_end(tmp_path: Path) -> None:
    log = takeover_log().add(24, "failure", "checkpoint_resumed")
    state = state_of(tmp_path, log.lines, told=report(stopReason="user_checkpoint"))
    assert state["Run"] == "24 turns, not finished, and no process is working on it"
    assert "To turn 24" in state
    assert next_steps(view_of(tmp_path)) == []
    assert state_of(tmp_path, running=True)["Run"] == "24 turns, it is running"
    assert state_of(tmp_path, told=report(rounds=25))["Run"] == "25 turns, the work was accepted"


def test_shadow_is_said(tmp_path: Path) -> None:
    log = Log().add(5, "shadow_diagnostic", "no_progress:4")
    assert state_of(tmp_path, log.lines)["Mode"] == "adaptive, in shadow: it notes what it would do, and does nothing"


# The page


def test_the_page_shows_state_timeline_and_what_to_type(tmp_path: Path) -> None:
    told = report(stopReason="stuck_cycle")
    view = view_of(write_files(tmp_path, led_log().lines, drawn=graph(), told=told))
    seen = assert_sound(render_page(view))
    assert "timeline" in seen.ids
    for words in (
        "the supervisor leads",
        f"{PYTEST} failed 3 times with the same failures",
        "What to do next: read total.py.",
        "5 turns produced nothing new; 3 files outside the plan were written: a.py, b.py",
        "now: Write it another way",
        "pipeline review paper",
    ):
        assert words in seen.words, words


def test_the_page_is_for_light_and_for_dark() -> None:
    page = render_page(View("paper"))
    assert "color-scheme: light dark" in page
    assert "prefers-color-scheme: dark" in page


def test_a_task_without_events_and_without_a_graph_has_a_page() -> None:
    seen = assert_sound(render_page(View("paper", report=report())))
    assert "Supervision did not intervene" in seen.words


def test_a_long_timeline_is_cut_and_that_is_said() -> None:
    log = Log()
    for turn in range(MOST_ROWS + 7):
        log.add(turn, "recover", "kept_back", detail=f"call {turn}")
    assert "… 7 more" in assert_sound(render_page(View("paper", events=tuple(log.lines)))).words


def hostile_view(text: str) -> View:
    reasons = (text, f"no_progress:{text}", f"free->forced: {text}", f"template_graph:{text}", f"hint:{text}")
    payload = {"detail": text, "enteredBy": [text], "signals": [text], "text": text, "assertion": text, "since": text}
    log = Log()
    for event in TimelineEvent:
        for reason in reasons:
            log.add(1, event, reason, **payload)
    step = {**graph()["nodes"]["node-03"], "title": text, "error": text}
    drawn = graph(nodes={**graph()["nodes"], "node-03": step})
    told = report(stopReason=text or "x", detail=text, warning=text)
    return View(text, Config(), tuple(log.lines), drawn, told, take_over_asked=True, damage=(text,))


def test_hostile_text_is_shown_and_does_nothing() -> None:
    seen = assert_sound(render_page(hostile_view(HOSTILE)))
    assert "<script>alert(1)</script>" in seen.words
    assert r"\x1b[2J\u202e" in seen.words


@pytest.mark.slow
@given(st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=60)))
@QUICK
def test_no_text_breaks_the_page_or_a_line(text: str) -> None:
    view = hostile_view(text)
    assert_sound(render_page(view))
    shown = [
        *describe_state(view),
        *((row.text, row.key) for row in timeline_rows(view.events)),
    ]
    for words in (word for row in shown for word in row):
        assert words == "".join(words.splitlines())
