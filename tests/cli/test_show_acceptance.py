"""`pipeline show ID acceptance`: every attempt to have the code accepted, also of a run that did not end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from pipeline.engine.lock import lock_task
from tests.drills import looping, scenes
from tests.papers import Command, paper

LAST_WORDS = "\n".join(f"line {number}" for number in range(1, 21))


def hooks(*items: dict[str, Any]) -> str:
    """A settings file with these hooks."""
    return json.dumps({"runtime": {"hooks": {"items": items}}})


def item(name: str, runs: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "point": "accept_gate", "kind": "command", "params": {"command": runs}, **more}


def recorded(folder: Path) -> list[str | Path]:
    """The command that lets a recorded model implement a small paper, so that the built-in check passes."""
    looping.looping(folder / "scene", looping.SOUND)
    model = f"replay:{folder / 'scene' / 'recording.jsonl'}"
    return ["run", "--fast", paper(folder, scenes.PAPER), "--review", "auto", "--mutants", "1", "--model", model]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task whose code a hook refused twice."""
    folder = tmp_path_factory.mktemp("refused")
    command = Command(folder)
    command.configure(hooks(item("lint", f"echo '{LAST_WORDS}'; exit 1"), item("fine", "true")))
    ended = command(*recorded(folder), "--max-acceptance-continues", "1")
    assert ended.code == 3, ended.err
    return folder


@pytest.fixture
def command(refused: Path, tmp_path: Path) -> Command:
    """The command in a copy of that folder."""
    shutil.copytree(refused / "tasks", tmp_path / "tasks")
    shutil.copytree(refused / "home", tmp_path / "home", symlinks=True)  # with the key that its seal is made with
    return Command(tmp_path)


def journal(command: Command) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (command.task("paper") / "journal.jsonl").read_text().splitlines()]


def write_journal(command: Command, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (command.task("paper") / "journal.jsonl").write_text(text)


def cut_off(command: Command, kind: str) -> None:
    """Makes of the task one whose run was cut off after the first row of that kind. The documents of a run before are there."""
    rows = journal(command)
    write_journal(command, rows[: [row["kind"] for row in rows].index(kind) + 1])
    path = command.task("paper") / "state.json"
    state = json.loads(path.read_text())
    state["phases"]["09"]["status"] = "running"
    path.write_text(json.dumps(state))


@pytest.mark.slow
def test_the_story_tells_each_attempt_who_refused_it_why_and_where_all_of_it_stands(command: Command) -> None:
    ended = command("show", "paper", "acceptance")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    attempts = [line for line in lines if line.startswith("Attempt ")]
    assert [line.rpartition(": ")[2] for line in attempts] == ["not accepted by user:lint"] * 2
    first = lines[: lines.index("")]
    assert [line.split()[:2] for line in first if line.startswith(("  passed", "  blocked"))] == [
        ["passed", "internal:code"], ["blocked", "user:lint"], ["passed", "user:fine"]
    ]  # fmt: skip
    assert "exited with code 1." in ended.out
    assert [line.strip() for line in first if line.strip().startswith("line ")] == [f"line {n}" for n in range(15, 21)]
    assert "all of it: hooks/1-user-lint.log" in [line.strip() for line in first]
    assert lines[-1] == "Not accepted: no attempts are left"
    assert "line 1\n" in command("show", "paper", "hooks/1-user-lint.log").out


def test_programs_are_given_the_attempts_and_how_it_ended(command: Command) -> None:
    told = command("show", "paper", "acceptance", "--json").json()
    document = command.document("paper", "acceptance.json")
    assert told["attempts"] == document["attempts"]
    assert (told["task"], told["ended"]) == ("paper", True)
    for name in ("stop_reason", "verified", "why_not", "tree_sha256", "max_continues", "refused_todo_changes"):
        assert told[name] == document[name]


def test_the_document_itself_is_shown_by_its_whole_name(command: Command) -> None:
    assert command("show", "paper", "acceptance.json", "--json").json() == command.document("paper", "acceptance.json")
    assert "  acceptance    acceptance.json" in command("show", "paper").out.splitlines()


@pytest.mark.slow
def test_accepted_work_says_whether_it_was_verified(tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command(*recorded(tmp_path))
    assert ended.code == 0, ended.err
    lines = command("show", "paper", "acceptance").out.splitlines()
    assert lines[0].startswith("Attempt 1, turn ")
    verified = command.document("paper", "acceptance.json")["verified"]
    assert lines[-1].startswith("Accepted, and verified" if verified else "Accepted, with doubts: ")


@pytest.mark.slow
@pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
def test_command_and_number_of_tests_stand_in_the_story_and_on_the_last_screen(tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command(*recorded(tmp_path))
    told = "python -m unittest discover -s tests -t .: 3 tests passed"
    assert f"Checks:\n  {told}\n" in ended.out
    assert f"  check    {told}" in command("show", "paper", "acceptance").out.splitlines()
    counts = {"passed": 3, "failed": 0, "skipped": 0}
    assert [row.get("tests") for row in command.document("paper", "report.json")["checks"]] == [counts]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        pytest.param("look", "Attempt 1, turn {}: cut off before there was a decision", id="before a hook"),
        pytest.param("hook", "  passed   internal:code", id="after a hook"),
        pytest.param(
            "verdict", "Attempt 1, turn {}: not accepted by user:lint", id="after a decision", marks=pytest.mark.slow
        ),
    ],
)
def test_a_run_that_was_cut_off_is_told_as_far_as_it_came(kind: str, told: str, command: Command) -> None:
    turn = next(row["key"]["turn"] for row in journal(command) if row["kind"] == "look")
    cut_off(command, kind)
    ended = command("show", "paper", "acceptance")
    assert (ended.code, ended.err) == (0, "")
    assert told.format(turn) in ended.out.splitlines()
    assert ended.out.splitlines()[-1] == (
        "The run is not finished, and it is not running; continue with: pipeline resume paper"
    )
    found = command("show", "paper", "acceptance", "--json").json()
    assert (found["ended"], len(found["attempts"]), "stop_reason" in found) == (False, 1, False)


def test_while_a_run_is_at_work_its_attempts_are_told(command: Command) -> None:
    cut_off(command, "verdict")
    with lock_task(str(command.task("paper"))):
        ended = command("show", "paper", "acceptance")
    assert ended.code == 0
    assert "Attempt 1" in ended.out
    assert ended.out.splitlines()[-1].startswith("The run is not over: ")


@pytest.mark.slow
def test_a_run_that_waits_for_its_user_says_what_for(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command.configure(hooks(item("tests", "exit 127")))
    assert command("run", "--fast", paper(tmp_path)).code == 3
    lines = command("show", "paper", "acceptance").out.splitlines()
    assert any(line.startswith("  broken   user:tests") for line in lines)
    assert lines[-1].startswith("The run stopped here (a check did not work: user:tests: ")
    assert lines[-1].endswith("; continue with: pipeline resume paper")


def test_before_the_agent_says_that_it_is_done_there_is_nothing_to_tell(tmp_path: Path) -> None:
    command = Command(tmp_path)
    assert command("run", "--fast", paper(tmp_path), "--stop-at", "implement").code == 0
    ended = command("show", "paper", "acceptance")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "The agent has not said yet that task paper is done; continue with: pipeline resume paper\n"
    assert command("show", "paper", "acceptance", "--json").json() == {"task": "paper", "ended": False, "attempts": []}


def test_a_damaged_journal_is_one_line_that_says_where(command: Command) -> None:
    path = command.task("paper") / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "nonsense\n", *lines[4:]]))
    for arguments in ((), ("--json",)):
        ended = command("show", "paper", "acceptance", *arguments)
        assert (ended.code, ended.out, len(ended.complaints)) == (1, "", 1)
        assert "journal.jsonl, line 4: not JSON" in ended.complaints[0]


@pytest.mark.parametrize(
    ("kind", "spoilt"),
    [
        pytest.param("look", {"files": None}, id="what changed is no list"),
        pytest.param("hook", {"notes": 3, "status": "pass"}, id="the notes of a hook are a number"),
        pytest.param("hook", {"status": "well"}, id="a hook said what none can say"),
        pytest.param("verdict", {"gate": {"results": [{}]}}, id="the gate said nothing"),
        pytest.param("verdict", {"verification": {}}, id="there is no verification"),
    ],
)
def test_a_record_that_no_run_wrote_is_named_by_its_line(kind: str, spoilt: dict[str, Any], command: Command) -> None:
    rows = journal(command)
    number = [row["kind"] for row in rows].index(kind)
    rows[number]["result"] |= spoilt
    write_journal(command, rows)
    ended = command("show", "paper", "acceptance")
    assert (ended.code, len(ended.complaints)) == (1, 1), ended.err
    assert f"journal.jsonl, line {number + 1}: not a record of a run" in ended.complaints[0]


def test_what_a_hook_printed_cannot_drive_the_terminal(command: Command) -> None:
    rows = journal(command)
    for row in rows:
        if row["kind"] == "hook":
            row["result"] |= {"reason": "\x1b]0;owned\x07\u202e", "status": "block"}
    write_journal(command, rows)
    for arguments in ((), ("--json",)):
        ended = command("show", "paper", "acceptance", *arguments)
        assert "owned" in ended.out
        assert "\x1b" not in ended.out
        assert "\u202e" not in ended.out
