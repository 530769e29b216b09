"""What a message says to type does what it says, wherever the task directories are."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.papers import Command, paper
from tests.toys import write_toys

ELSEWHERE = ("--tasks-dir", "elsewhere")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Two tasks of one name: in ./tasks, and in another directory."""
    command = Command(tmp_path)
    command.environment["PIPELINE_PHASES"] = str(write_toys(tmp_path / "toys", 2))
    assert command("run", "one.md").code == 0
    assert command("run", "one.md", *ELSEWHERE).code == 0
    return command


def named_command(text: str) -> list[str]:
    """The words of the one command that a text ends with."""
    return str(re.findall(r"pipeline ([a-z]+ .*)", text)[-1]).split()


def test_the_removal_that_is_offered_is_of_the_task_that_was_named(command: Command) -> None:
    asked = command("rm", "one", *ELSEWHERE)
    [complaint] = asked.complaints
    assert complaint.endswith("to remove it without being asked: pipeline rm one --tasks-dir elsewhere --yes")
    assert command(*named_command(complaint)).out == "removed elsewhere/one\n"
    assert command.task("one").is_dir()


def test_a_task_whose_directory_is_gone_is_taken_off_its_own_list(command: Command) -> None:
    shutil.rmtree(command.folder / "elsewhere" / "one")
    [complaint] = command("status", "one", *ELSEWHERE).complaints
    [entry] = command("list", *ELSEWHERE, "--json").json()
    assert complaint.endswith("remove it from the list: pipeline rm one --tasks-dir elsewhere")
    assert entry["reason"].endswith("remove it from the list: pipeline rm one --tasks-dir elsewhere")
    assert command(*named_command(complaint), "--yes").code == 0
    assert command("list", *ELSEWHERE, "--json").json() == []
    assert command.task("one").is_dir()


@pytest.mark.parametrize("name", ["status", "rm"])
def test_an_unknown_task_names_the_list_of_its_directory(name: str, command: Command) -> None:
    [complaint] = command(name, "nosuch", *ELSEWHERE).complaints
    assert complaint.endswith(
        "there is no task 'nosuch' in elsewhere; to see the tasks: pipeline list --tasks-dir elsewhere"
    )
    assert "one" in command(*named_command(complaint)).out


@pytest.mark.parametrize("name", ["status", pytest.param("rm", marks=pytest.mark.slow)])
def test_a_mistyped_task_is_recognized(name: str, command: Command) -> None:
    [complaint] = command(name, "onee").complaints
    assert complaint.endswith("there is no task 'onee' in tasks; did you mean 'one'?")


def test_an_empty_list_says_how_to_start_a_task_in_it(command: Command) -> None:
    empty = command("list", "--tasks-dir", "empty")
    assert empty.out.endswith("start one with: pipeline run --fast paper.pdf --tasks-dir empty\n")
    assert command("list", "--tasks-dir", "none yet").out.endswith("paper.pdf --tasks-dir 'none yet'\n")
    assert command("status", "--tasks-dir", "empty").complaints[0].endswith("paper.pdf --tasks-dir empty")


def test_a_url_that_cannot_be_downloaded_is_printed_as_it_was_typed(tmp_path: Path) -> None:
    ended = Command(tmp_path)("run", "--fast", "https:///paper.pdf")
    assert ended.code == 1
    assert re.search(r"pipeline run --fast https:///paper.pdf {2,}try again, once the address answers", ended.out)


def test_a_phase_names_its_task_as_it_is_typed_here(tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command("run", "--fast", paper(command.folder), *ELSEWHERE, "--review", "auto", "--max-turns", "1")
    assert "pipeline resume elsewhere/paper --max-turns 2" in " ".join(ended.err.split())
    assert "pipeline resume paper" not in ended.out + ended.err
    for name in (["status", "elsewhere/paper"], ["why", "elsewhere/paper"], ["list", *ELSEWHERE]):
        assert "pipeline resume paper" not in command(*name).out
    assert "pipeline resume elsewhere/paper" in command("why", "elsewhere/paper").out
