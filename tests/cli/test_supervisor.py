"""`pipeline supervisor`: what supervision did, for people, for programs, as a page, and the ways to steer it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from phases.supervision.config import Config
from phases.supervision.serialization import to_json
from tests.papers import Command, paper
from tests.supervised import PYTEST, graph, led_log, report, takeover_log, write_files


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one task that phase 09 has not begun with."""
    folder = tmp_path_factory.mktemp("begun")
    ended = Command(folder)("run", "--fast", paper(folder), "--stop-at", "implement")
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def command(begun: Path, tmp_path: Path) -> Command:
    """The command in a copy of that folder."""
    shutil.copytree(begun / "tasks", tmp_path / "tasks")
    shutil.copytree(begun / "home", tmp_path / "home", symlinks=True)  # with the key that its seal is made with
    return Command(tmp_path)


@pytest.fixture
def supervised(command: Command) -> Command:
    """The same with a task that was taken over once."""
    write_files(command.task("paper"), takeover_log().lines, drawn=graph(), told=report())
    return command


@pytest.mark.slow
def test_one_screen_tells_how_it_ended_and_what_happened(supervised: Command) -> None:
    ended = supervised("supervisor", "paper")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[:2] == ["Task paper", "  Run     24 turns, the work was accepted"]
    told = f"the supervisor leads: {PYTEST} failed 5 times with the same failures"
    assert ["10", "led", "takeover", told] in [line.split(maxsplit=3) for line in lines]
    assert "| What to do next: read total.py." in map(str.strip, lines)
    assert "  Steps   40 % done, now: Write it another way" in lines


@pytest.mark.slow
def test_the_screen_ends_with_what_to_type_after_a_stop(supervised: Command) -> None:
    write_files(supervised.task("paper"), led_log().lines, told=report(stopReason="user_checkpoint"))
    told = supervised("supervisor", "paper").out.partition("What you can do:\n")[2]
    assert [line[:4] for line in told.splitlines()] == ["  1.", "  2.", "  3."]
    assert "pipeline resume paper" in told
    assert supervised("supervisor", "paper", "--json").json()["now"] == "led"
    (supervised.folder / "tasks").rename(supervised.folder / "elsewhere")
    assert "pipeline resume elsewhere/paper" in supervised("supervisor", "--tasks-dir", "elsewhere", "paper").out


def test_without_a_task_it_is_about_the_newest(supervised: Command) -> None:
    assert supervised("supervisor").out == supervised("supervisor", "paper").out


def test_a_program_is_told_all_of_it(supervised: Command) -> None:
    found = supervised("supervisor", "paper", "--json").json()
    assert found["task"] == "paper"
    assert (found["mode"], found["shadow"], found["turns"], found["over"]) == ("adaptive", False, 24, True)
    assert found["now"] == "free"
    assert found["events"] == takeover_log().lines
    assert (found["graph"], found["report"]) == (graph(), report())
    assert found["config"] == to_json(Config())
    assert (found["damaged"], found["next"]) == ([], [])
    row = found["timeline"][3]
    assert (row["first"], row["last"], row["kind"], row["times"]) == (8, 9, "refused", 2)


def test_a_task_that_was_not_supervised_says_so_in_one_line(command: Command) -> None:
    ended = command("supervisor", "paper", "--html", "page.html")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "Task paper was not supervised: supervision was off, or phase 09 has not started yet\n"
    assert not (command.folder / "page.html").exists()
    assert command("supervisor", "paper", "--json").json()["events"] == []


def test_damage_is_named_with_its_line_after_what_could_be_read(supervised: Command) -> None:
    path = supervised.task("paper") / "kernel" / "supervisor-events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "nonsense\n", *lines[4:]]))
    ended = supervised("supervisor", "paper")
    assert ended.code == 1
    assert "Timeline" in ended.out
    assert ended.complaints == [
        "pipeline: damaged: kernel/supervisor-events.jsonl, line 4, column 1: not JSON: Expecting value"
    ]
    told = supervised("supervisor", "paper", "--json")
    assert told.code == 1
    assert told.json()["damaged"] == ["kernel/supervisor-events.jsonl, line 4, column 1: not JSON: Expecting value"]


def test_a_file_that_is_damaged_throughout_does_not_flood_the_screen(supervised: Command) -> None:
    (supervised.task("paper") / "kernel" / "supervisor-events.jsonl").write_text("nonsense\n" * 50)
    ended = supervised("supervisor", "paper")
    assert len(ended.complaints) == 6
    assert ended.complaints[-1] == "pipeline: damaged: 45 more"


def test_what_a_model_wrote_cannot_drive_the_terminal(supervised: Command) -> None:
    hostile = "\x1b]0;owned\x07\u202e"
    lines = [
        line | {"payload": {"command": hostile, "enteredBy": [hostile]}, "reason": f"{line['reason']}{hostile}"}
        for line in takeover_log().lines
    ]
    told = report(stopReason=hostile, detail=hostile, warning=hostile)
    drawn = graph()
    drawn["nodes"]["node-01"]["title"] = hostile
    write_files(supervised.task("paper"), lines, drawn=drawn, told=told)
    for arguments in ((), ("--json",), ("--html", "page.html")):
        ended = supervised("supervisor", "paper", *arguments)
        assert ended.code == 0, ended.err
        assert "\x1b" not in ended.out + ended.err
        assert "\u202e" not in ended.out + ended.err
        assert "owned" in ended.out
    assert "\x1b" not in (supervised.folder / "page.html").read_text(encoding="utf-8")


# The page


@pytest.mark.slow
def test_the_page_is_written_and_may_be_written_again(supervised: Command) -> None:
    for _ in range(2):
        ended = supervised("supervisor", "paper", "--html", "page.html")
        assert ended.code == 0, ended.err
        assert "wrote page.html" in ended.err
    page = (supervised.folder / "page.html").read_text(encoding="utf-8")
    assert "now: Write it another way" in page


@pytest.mark.parametrize("kind", ["a text", "an empty file", "a page of another command", "a folder", "a broken link"])
def test_what_is_no_such_page_is_not_written_over(kind: str, supervised: Command) -> None:
    out = supervised.folder / "out.html"
    if kind == "a folder":
        out.mkdir()
    elif kind == "a broken link":
        os.symlink("gone", out)
    else:
        other = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="pipeline trace">'
        out.write_text({"a text": "mine", "an empty file": ""}.get(kind, other))
    before = out.read_text() if out.is_file() else ""
    ended = supervised("supervisor", "paper", "--html", "out.html")
    assert ended.code == 2
    assert ended.complaints == [
        "pipeline: --html out.html already exists, and was not written by this command; choose another name"
    ]
    assert (out.read_text() if out.is_file() else "") == before


# The settings


def test_the_settings_that_are_printed_can_be_saved_and_are_then_in_force(command: Command) -> None:
    printed = command("supervisor", "paper", "--config")
    assert (printed.code, printed.json()) == (0, to_json(Config()))
    changed = printed.json()
    changed["takeover"]["maxRecoveryRounds"] = 9
    kernel = command.task("paper") / "kernel"
    kernel.mkdir()
    (kernel / "supervisor-config.json").write_text(json.dumps(changed))
    assert command("supervisor", "paper", "--config").json() == changed


def test_settings_that_are_left_out_are_printed_with_their_defaults(command: Command) -> None:
    kernel = command.task("paper") / "kernel"
    kernel.mkdir()
    (kernel / "supervisor-config.json").write_text('{"mode": "strict"}')
    assert command("supervisor", "paper", "--config").json() == to_json(Config()) | {"mode": "strict"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"mode": }', "kernel/supervisor-config.json, line 1, column 10: not JSON: Expecting value"),
        pytest.param(
            '{"nonsense": 1}',
            "kernel/supervisor-config.json: at $: Additional properties are not allowed",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["no JSON", "a key that is not known"],
)
def test_settings_that_are_damaged_are_named_and_nothing_is_printed(text: str, told: str, command: Command) -> None:
    kernel = command.task("paper") / "kernel"
    kernel.mkdir()
    (kernel / "supervisor-config.json").write_text(text)
    ended = command("supervisor", "paper", "--config")
    assert (ended.code, ended.out) == (1, "")
    assert told in ended.complaints[0]
    assert "supervision is off until it is corrected or deleted" in ended.complaints[0]


# The takeover


def test_a_takeover_that_is_asked_for_is_left_for_the_agent_and_the_next_step_is_said(command: Command) -> None:
    ended = command("supervisor", "paper", "--take-over")
    assert (ended.code, ended.err) == (0, "")
    asked = json.loads((command.task("paper") / "kernel" / "take-over").read_text())
    assert list(asked) == ["at"]
    assert asked["at"].endswith("Z")
    assert "Task paper is not running" in ended.out
    assert "  pipeline resume paper" in ended.out.splitlines()
    assert "a takeover is requested" in command("supervisor", "paper").out
    assert command("supervisor", "paper", "--take-over").code == 0, "asking twice is asking once"


def test_a_task_that_runs_is_asked_without_being_stopped(supervised: Command) -> None:
    import fcntl

    with (supervised.task("paper") / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = supervised("supervisor", "paper", "--take-over")
    assert ended.code == 0, ended.err
    assert "Task paper is running: the takeover begins with the agent's next turn" in ended.out
    assert (supervised.task("paper") / "kernel" / "take-over").exists()
    assert "Requested  a takeover, which begins with the next turn" in supervised("supervisor", "paper").out


def test_a_program_is_told_of_the_request(command: Command) -> None:
    told = command("supervisor", "paper", "--take-over", "--json").json()
    assert (told["task"], told["running"]) == ("paper", False)
    assert told["at"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"mode": "off"},
            "supervision of this task is off, so the request has no effect; change that with: ",
        ),
        ({"shadow": True}, "supervision is in shadow mode: the takeover will be logged, and not carried out"),
    ],
    ids=["off", "shadow"],
)
def test_a_request_that_nobody_will_follow_is_said_to_be_one(
    settings: dict[str, object], told: str, command: Command
) -> None:
    write_files(command.task("paper"))
    (command.task("paper") / "kernel" / "supervisor-config.json").write_text(json.dumps(settings))
    ended = command("supervisor", "paper", "--take-over")
    assert ended.code == 0
    assert f"warning: {told}" in ended.err


@pytest.mark.slow
def test_the_setting_of_the_task_goes_before_the_file_of_settings(command: Command) -> None:
    write_files(command.task("paper"))
    (command.task("paper") / "kernel" / "supervisor-config.json").write_text('{"mode": "strict"}')
    changed = command("resume", "paper", "--supervisor", "off", "--stop-at", "implement")
    assert changed.code == 0, changed.err
    ended = command("supervisor", "paper", "--take-over")
    assert "warning: supervision of this task is off, " in ended.err


def test_a_request_to_a_task_whose_code_is_done_says_what_would_use_it(command: Command) -> None:
    finished = command("resume", "paper")
    assert finished.code in (0, 3), finished.err
    ended = command("supervisor", "paper", "--take-over")
    assert ended.code == 0
    assert "The code of task paper is done: the takeover begins when phase 09 is run again" in ended.out
    assert "  pipeline run tasks/paper --redo 09" in ended.out.splitlines()


@pytest.mark.parametrize("kind", ["a file", "a link"])
def test_no_request_is_written_through_what_was_planted(kind: str, command: Command) -> None:
    kernel, elsewhere = command.task("paper") / "kernel", command.folder / "elsewhere"
    elsewhere.mkdir()
    if kind == "a file":
        kernel.write_text("mine")
    else:
        kernel.symlink_to(elsewhere)
    ended = command("supervisor", "paper", "--take-over")
    assert ended.code == 1
    why = "is not a directory, and one is needed there" if kind == "a file" else "kernel is a symbolic link"
    assert why in ended.err
    assert list(elsewhere.iterdir()) == []


# The rest


@pytest.mark.parametrize(
    "arguments",
    [("--config", "--take-over"), ("--take-over", "--html", "page.html")],
    ids=" ".join,
)
def test_two_things_to_do_at_once_are_refused(arguments: tuple[str, ...], command: Command) -> None:
    ended = command("supervisor", "paper", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "cannot be combined; choose one of them" in ended.complaints[0]
    assert not (command.task("paper") / "kernel" / "take-over").exists()


@pytest.mark.slow
def test_a_task_that_there_is_not_is_a_usage_error(command: Command) -> None:
    ended = command("supervisor", "nowhere")
    assert (ended.code, ended.out) == (2, "")
    assert "there is no task 'nowhere'" in ended.complaints[0]
