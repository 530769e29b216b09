"""Supervision as a user meets it: bad settings, modes, a takeover on request, a log that was lost, work of other rules."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phases.agent.session import RULES
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from pipeline.engine.contract import Contracts
from tests.drills import scenes
from tests.drills.ground import Ground
from tests.drills.looping import LED, LOST, RIGHT, STOPS_AT, looping

_NO_SANDBOX = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
_PAUSED = 5
_LOG = "kernel/supervisor-events.jsonl"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks of which one has come as far as phase 09."""
    ground = scenes.paper(tmp_path_factory.mktemp("begun"), tools=True)
    assert ground.call(*ground.arguments, "--stop-at", "implement").code == 0
    return ground.tasks


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A run that supervision stopped."""
    ground = looping(tmp_path_factory.mktemp("kept"), LOST)
    assert ground.call().code == _PAUSED
    return ground


@pytest.fixture
def stopped(kept: Ground, tmp_path: Path) -> Ground:
    """A copy of it."""
    return _copy(kept.tasks, tmp_path)


def _copy(tasks: Path, base: Path) -> Ground:
    ground = Ground(base, text=scenes.PAPER)
    shutil.copytree(tasks, ground.tasks)
    shutil.copytree(
        tasks.parents[1] / "home", ground.home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("python")
    )  # with the key that its seal is made with
    return ground


def _report(ground: Ground) -> Any:
    return json.loads((ground.task / "kernel-report.json").read_bytes())


def _lines(ground: Ground) -> list[dict[str, Any]]:
    """The event log, without the clock."""
    rows = map(json.loads, (ground.task / _LOG).read_bytes().splitlines())
    return [{name: value for name, value in row.items() if name != "ts"} for row in rows]


def _rows(ground: Ground) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ground.task / "journal.jsonl").read_bytes().splitlines()]


def _code(ground: Ground) -> dict[str, bytes]:
    root = ground.task / "generate_code"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# settings


def _text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


def _link(path: Path) -> None:
    elsewhere = path.parents[3] / "elsewhere.json"
    elsewhere.write_text('{"mode": "strict"}')
    path.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        pytest.param(_text('{"mode": }'), "line 1, column 10: not JSON", id="malformed", marks=pytest.mark.slow),
        pytest.param(_text('{"nonsense": 1}'), "'nonsense' was unexpected", id="a key that is not known"),
        pytest.param(_text('{"triggers": {"fileLoopMin": -4}}'), "at $.triggers.fileLoopMin: -4", id="out of range"),
        pytest.param(os.mkfifo, "is a pipe, not a regular file", id="a pipe"),
        pytest.param(_link, "is a symbolic link, not a regular file", id="a link", marks=pytest.mark.slow),
    ],
)
def test_settings_that_cannot_be_used_are_said_on_the_screen_and_the_agent_works_without_supervision(
    make: Callable[[Path], object], told: str, begun: Path, tmp_path: Path
) -> None:
    ground = _copy(begun, tmp_path)
    path = ground.task / "kernel" / "supervisor-config.json"
    path.parent.mkdir()
    make(path)
    ended = ground.call("resume", "paper", "--max-turns", "1")
    assert ended.code == _PAUSED, ended.err
    assert "turn 1: " in ended.err
    report = _report(ground)
    assert told in report["warning"]
    assert f"the agent is not supervised until {path} is mended or removed" in report["warning"]
    assert (report["mode"], report["stopReason"]) == ("off", "budget_rounds")
    assert not (ground.task / _LOG).exists()
    assert len([line for line in ended.err.splitlines() if told in line and "is not supervised" in line]) == 1


def test_a_mode_that_there_is_not_is_a_usage_error_that_names_those_there_are(tmp_path: Path) -> None:
    ground = scenes.paper(tmp_path, tools=True)
    ended = ground.call(*ground.arguments, "--supervisor", "wild")
    assert ended.code == 2
    ended.assert_failed("--supervisor", "'wild'", "'off', 'adaptive', 'strict'")
    assert not ground.tasks.exists()


# what is only looked at


@pytest.mark.slow
@_NO_SANDBOX
def test_supervision_that_only_looks_on_asks_for_the_same_as_none_and_notes_what_it_would_have_done(
    tmp_path: Path,
) -> None:
    made = []
    for words in (("--supervisor", "off"), ("--supervisor-shadow",)):
        ground = looping(tmp_path, LED, *words)
        ground.fresh()
        ended = ground.call()
        assert ended.code == 0, ended.err
        assert words[1:] == () or not (ground.task / "kernel").exists()
        # The digest of a request is in its key: what supervision says was never in one.
        rows = [row for row in _rows(ground)[1:] if row["kind"] != "snapshot"]
        made.append((rows, _code(ground)))
    assert made[0] == made[1]
    assert made[0][1]["decay.py"].decode() == RIGHT
    would = [line["reason"] for line in _lines(ground) if line["event"] == "shadow_diagnostic"]
    assert would == [
        "would_say:error_plateau",
        "would_say:file_loop",
        "error_plateau:5",
        "would_recover:template_graph:2/5",
        "would_handoff_pending",
        "would_handoff",
    ]
    assert {line["event"] for line in _lines(ground)} == {"shadow_diagnostic", "failure"}
    report = _report(ground)
    assert (report["shadow"], report["takeovers"], report["handoffs"]) == (True, 0, 0)
    assert report["interventions"] == {"hints": 0, "blocks": 0, "takeovers": 0}


# what a person reads


@_NO_SANDBOX
def test_a_stopped_run_is_told_in_plain_words_and_its_files_fit_their_schemas(kept: Ground) -> None:
    ended = kept.call("supervisor", "paper")
    assert (ended.code, ended.err) == (0, "")
    own = [line for line in ended.out.splitlines() if not line.lstrip().startswith("|")]
    assert f"  Run     {STOPS_AT} turns, stopped by supervision, for you to decide" in own
    for number in (3, 5):
        assert any(f"failed {number} times with the same failures" in line for line in own), number
    internal = re.compile(r"\w+:\d|\b(?:denied|forced|L[012]|rollback|checkpoint)\b|(?<![/\w])[a-z]+_[a-z_]+(?![\w./])")
    assert [line for line in own if internal.search(line)] == []
    assert "pipeline resume paper" in own[-1]
    contracts = Contracts()
    for name, pattern in (
        ("task-graph", "kernel/task-graph.json"),
        ("kernel-checkpoint", "kernel/checkpoint.json"),
        ("kernel-report", "kernel-report.json"),
        ("workspace-snapshot", "kernel/snapshots/*.json"),
    ):
        written = [json.loads(path.read_bytes()) for path in kept.task.glob(pattern)]
        assert [contracts.breach(contracts.schema(f"{name}.json"), value) for value in written] == [None], name


# a takeover on request


@pytest.mark.slow
@_NO_SANDBOX
def test_a_takeover_that_is_asked_for_comes_with_the_first_turn_after_the_resume_and_once(stopped: Ground) -> None:
    assert stopped.call("supervisor", "paper", "--take-over").code == 0
    request = stopped.task / "kernel" / "take-over"
    assert request.exists()
    for turns in (STOPS_AT + 1, STOPS_AT + 2):
        assert stopped.call("resume", "paper", "--max-turns", str(turns)).code == _PAUSED
        assert not request.exists()
        made = [line["turn"] for line in _lines(stopped) if line["reason"] == "user_force_takeover:1"]
        assert made == [STOPS_AT + 1, STOPS_AT + 1], "a signal, and the takeover for it"
    assert _report(stopped)["takeovers"] == 2
    facts = [row["result"] for row in _rows(stopped) if row["kind"] == "facts"]
    assert [row.get("take_over") for row in facts if "take_over" in row] == [True]


# a log that was lost


def _torn(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@_NO_SANDBOX
@pytest.mark.parametrize("damage", [pytest.param(Path.unlink, marks=pytest.mark.slow), _torn], ids=["deleted", "torn"])
def test_an_event_log_that_was_lost_is_made_again_by_a_resume(damage: Callable[[Path], None], stopped: Ground) -> None:
    before = _lines(stopped)
    damage(stopped.task / _LOG)
    assert stopped.call("resume", "paper", "--max-turns", str(STOPS_AT)).code == _PAUSED
    assert _lines(stopped) == before


# other rules


@_NO_SANDBOX
def test_work_of_other_rules_is_begun_anew_by_the_command_that_its_refusal_names(stopped: Ground) -> None:
    journal, now = stopped.task / "journal.jsonl", f'"rules": {RULES}'
    journal.write_text(journal.read_text().replace(now, f'"rules": {RULES - 1}', 1))
    before = journal.read_text()
    refused = stopped.call("resume", "paper")
    advised = "pipeline resume paper --redo implement"
    assert refused.code == 1
    assert all(advised in told for told in (refused.err, refused.out.rpartition("Next:")[2]))
    assert journal.read_text() == before
    assert stopped.call(*advised.split()[1:]).code == _PAUSED
    assert journal.with_name("journal.jsonl.prev").read_text() == before
    assert now in journal.read_text().partition("\n")[0]
