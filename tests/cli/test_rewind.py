"""`pipeline rewind`: the endings that were not accepted, for people and for programs, and the way back to one of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from phases.llm.model import Reply, reply_to_json
from phases.workspace.rejected_snapshots import keep_rejected, read_refusals
from phases.workspace.task_paths import task_paths
from pipeline.engine.lock import lock_task
from tests.agents import write
from tests.papers import HANGS, Command, paper

DONE = Reply("ok", "done")
SCRIPT = [DONE, write("one.py", "ONE = 1\n", "w1"), DONE, write("two.py", "TWO = 2\n", "w2"), DONE, DONE]
"""Four endings that are refused, at the turns 1, 3, 5 and 6; the last one ends the run."""


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one task whose work was never accepted."""
    folder = tmp_path_factory.mktemp("refused")
    command, recording = Command(folder), folder / "replies.jsonl"
    rows = [
        {"kind": "reply", "key": {"thread": "implement", "turn": turn}, "result": reply_to_json(reply)}
        for turn, reply in enumerate(SCRIPT, 1)
    ]
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows))
    begin = ("run", "--fast", paper(folder), "--code-model", f"replay:{recording}", "--supervisor", "off")
    codes = []
    for arguments, most in ((begin, 1), (("resume", "paper"), 3), (("resume", "paper"), 5), (("resume", "paper"), 99)):
        ended = command(*arguments, "--max-turns", str(most))
        codes.append(ended.code)
        places = task_paths(str(command.task("paper")))
        newest = read_refusals(places)[-1]
        assert keep_rejected(places, newest.number, newest.tree), ended.err
    assert codes == [5, 5, 5, 3]
    return folder


@pytest.fixture
def command(refused: Path, tmp_path: Path) -> Command:
    """The command in a copy of that folder."""
    shutil.copytree(refused / "tasks", tmp_path / "tasks", symlinks=True)
    shutil.copytree(refused / "home", tmp_path / "home", symlinks=True)  # with the key that its seal is made with
    return Command(tmp_path)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A task that phase 09 has not begun with."""
    folder = tmp_path_factory.mktemp("fresh")
    ended = Command(folder)("run", "--fast", paper(folder), "--stop-at", "implement")
    assert ended.code == 0, ended.err
    return Command(folder)


def code_of(command: Command) -> list[str]:
    return sorted(path.name for path in (command.task("paper") / "generate_code").iterdir())


@pytest.mark.slow
def test_without_a_number_it_lists_every_ending_that_was_not_accepted(command: Command) -> None:
    ended = command("rewind", "paper")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "Task paper: 4 attempts were rejected"
    assert [line.split()[:4] for line in lines[2:6]] == [
        [str(number), str(turn), "internal:code", "kept"] for number, turn in ((1, 1), (2, 3), (3, 5), (4, 6))
    ]
    assert "(ended the run)" in lines[5]
    assert "is planned and not there" in lines[2]
    assert lines[6] == "go back to just after one of them with: pipeline rewind paper N"


def test_a_program_is_told_of_every_ending_and_where_its_copy_is(command: Command) -> None:
    told = command("rewind", "paper", "--json").json()
    assert (told["task"], told["cut_off"]) == ("paper", None)
    assert [row["turn"] for row in told["endings"]] == [1, 3, 5, 6]
    assert [row["ended_the_run"] for row in told["endings"]] == [False, False, False, True]
    assert sorted(path.name for path in Path(told["endings"][1]["copy"]).iterdir()) == ["one.py"]
    shutil.rmtree(told["endings"][0]["copy"])
    assert command("rewind", "paper", "--json").json()["endings"][0]["copy"] is None


def test_with_a_number_the_work_is_back_there_and_it_says_what_is_kept_and_what_to_type(command: Command) -> None:
    spent = (command.task("paper") / "logs" / "llm.jsonl").read_bytes()
    ended = command("rewind", "paper", "2")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Task paper is back at attempt 2, of turn 3.")
    assert {"  generate_code.prev", "  journal.jsonl.prev", "  hooks.prev"} <= set(ended.out.splitlines())
    assert "continue with: pipeline resume paper" in ended.out
    assert code_of(command) == ["one.py"]
    assert (command.task("paper") / "logs" / "llm.jsonl").read_bytes() == spent
    state = command("status", "paper", "--json").json()
    assert (state["status"], state["reason"]) == ("paused", "the work was taken back to attempt 2, of turn 3")
    assert state["phases"][-1]["stale"] == "never finished: the work was taken back to attempt 2"


@pytest.mark.slow
def test_a_resume_goes_on_from_there_and_ends_as_the_first_time(command: Command) -> None:
    straight = (command.task("paper") / "journal.jsonl").read_text().splitlines()[1:]
    assert command("rewind", "paper", "2").code == 0
    ended = command("resume")
    assert ended.code == 3, ended.err
    assert code_of(command) == ["one.py", "two.py"]
    assert (command.task("paper") / "journal.jsonl").read_text().splitlines()[1:] == straight
    assert len(command.document("paper", "acceptance.json")["attempts"]) == 4


@pytest.mark.slow
def test_the_phase_is_run_again_though_the_code_is_what_it_was(command: Command) -> None:
    """Between the last two endings nothing changed."""
    assert command("rewind", "paper", "3").code == 0
    assert code_of(command) == ["one.py", "two.py"]
    assert "never finished" in command("why", "paper").out
    assert command("resume", "paper").code == 3


def test_the_ending_that_ended_the_run_is_judged_anew_with_more_attempts(command: Command) -> None:
    told = command("rewind", "paper", "4")
    assert "--max-acceptance-continues N" in told.out
    ended = command("resume", "paper", "--max-acceptance-continues", "5")
    assert ended.code == 3, ended.err  # the recording has no more to say
    assert len(command.document("paper", "acceptance.json")["attempts"]) == 4


@pytest.mark.slow
def test_the_line_that_takes_it_back_can_be_pasted(command: Command) -> None:
    before = {path.name: path.read_bytes() for path in (command.task("paper") / "generate_code").iterdir()}
    journal = (command.task("paper") / "journal.jsonl").read_bytes()
    told = command("rewind", "paper", "1", "--json").json()
    assert told["aside"]["generate_code"] == "generate_code.prev"
    assert told["next"] == "pipeline resume paper"
    assert code_of(command) == []
    assert command("resume", "paper").code == 3
    pasted = subprocess.run(["sh", "-c", told["undo"]], cwd=command.folder, capture_output=True, text=True, check=True)
    assert (pasted.stdout, pasted.stderr) == ("", "")
    assert {path.name: path.read_bytes() for path in (command.task("paper") / "generate_code").iterdir()} == before
    assert (command.task("paper") / "journal.jsonl").read_bytes() == journal
    assert (command.task("paper") / "generate_code.undone").exists()
    assert command("resume", "paper").code == 3
    assert (command.task("paper") / "journal.jsonl").read_bytes() == journal


_KILLED = """
import os, sys

def hook(event, details):
    if event == "os.rename" and str(details[0]).endswith(sys.argv[1]):
        os.kill(os.getpid(), 9)

sys.addaudithook(hook)
from pipeline.cli import main
main(["rewind", "paper", "2"])
"""


@pytest.mark.parametrize(
    "moved",
    [
        pytest.param("paper/generate_code", marks=pytest.mark.slow),
        "rewinding/generate_code",
        "rewinding/journal.jsonl",
        pytest.param("paper/.report.json.tmp", marks=pytest.mark.slow),
    ],
    ids=["before the code is set aside", "before the code comes", "before the journal comes", "when all is moved"],
)
def test_killed_it_says_what_to_type_and_that_leads_to_the_end(moved: str, command: Command) -> None:
    words = [sys.executable, "-c", _KILLED, moved]
    killed = subprocess.run(
        words, cwd=command.folder, env=command.environment, capture_output=True, timeout=HANGS, check=False
    )
    assert killed.returncode == -9, killed.stderr
    listed = command("rewind", "paper")
    if moved.startswith("paper/."):
        assert "warning" not in listed.err
    else:
        assert "going back to attempt 2 was cut off; finish it with: pipeline rewind paper 2" in listed.err
        other = command("rewind", "paper", "1")
        assert "finish it first: pipeline rewind paper 2" in other.complaints[0]
        assert command("rewind", "paper", "2").code == 0
    assert code_of(command) == ["one.py"]
    assert "never finished" in command("why", "paper").out
    assert command("resume", "paper").code == 3
    assert code_of(command) == ["one.py", "two.py"]


@pytest.mark.parametrize("number", ["0", "5"])
def test_an_ending_that_is_not_there_is_refused_with_those_that_are(number: str, command: Command) -> None:
    ended = command("rewind", "paper", number)
    assert ended.code == 1
    assert ended.complaints == [f"pipeline: there is no rejected attempt {number}; there are 1 to 4"]
    assert command("status", "paper", "--json").json()["phases"][-1]["stale"] is None


def test_a_number_that_is_none_is_refused(command: Command) -> None:
    assert command("rewind", "paper", "first").code == 2


def test_a_task_that_is_worked_on_is_left_alone_and_can_be_looked_at(command: Command) -> None:
    with lock_task(str(command.task("paper"))):
        assert "4 attempts were rejected" in command("rewind", "paper").out
        ended = command("rewind", "paper", "1")
    assert ended.code == 75
    assert "is in use by" in ended.complaints[0]
    assert code_of(command) == ["one.py", "two.py"]


def test_a_task_whose_code_was_not_begun_has_nothing_to_go_back_to(fresh: Command) -> None:
    assert fresh("rewind", "paper").out == "Task paper: phase 09 has not started yet\n"
    ended = fresh("rewind", "paper", "1")
    assert ended.code == 2
    assert "has not started yet, so there is no attempt to go back to" in ended.complaints[0]


def test_code_of_another_plan_is_not_gone_back_in(command: Command) -> None:
    plan = command.task("paper") / "initial_plan.txt"
    plan.write_text(plan.read_text() + "\n")
    ended = command("rewind", "paper", "1")
    assert ended.code == 2
    assert "was written for another plan than the initial_plan.txt of now" in ended.complaints[0]
    assert code_of(command) == ["one.py", "two.py"]


def test_what_a_model_or_a_hook_said_cannot_drive_the_terminal(command: Command) -> None:
    journal = command.task("paper") / "journal.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    for row in rows:
        if row["kind"] == "verdict":
            row["result"]["detail"] = "\x1b]0;owned\x07\u202e" + row["result"]["detail"]
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for arguments in ((), ("--json",)):
        ended = command("rewind", "paper", *arguments)
        assert ended.code == 0
        assert "\x1b" not in ended.out
        assert "\u202e" not in ended.out
        assert "owned" in ended.out
