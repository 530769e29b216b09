"""What a failure says: what is wrong in the user's words, and what to type next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.papers import ROOT, Command, paper


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.slow
def test_a_missing_key_says_what_to_set_and_how_to_continue_with_or_without_it(command: Command) -> None:
    ended = command("run", "--fast", paper(command.folder), "--model", "openai:gpt-5")
    assert ended.complaints[-1].endswith(
        "openai has no API key: set OPENAI_API_KEY, or openai_api_key in the settings file; then: "
        "pipeline resume paper (without a model: --model offline)"
    )
    assert (ended.code, ended.out) == (2, "")
    assert command("resume", "paper", "--model", "offline").code == 3


@pytest.mark.slow
def test_after_an_error_the_checks_of_an_earlier_run_are_not_shown(command: Command) -> None:
    example = ROOT / "examples" / "averaged-perceptron"
    words = ("--id", "paper", "--review", "auto", "--model", f"replay:{example / 'replies.jsonl'}")
    assert "\nChecks:\n" in command("run", "--fast", example / "paper.pdf", *words).out
    ended = command("resume", "paper", "--model", "compatible:x", "--base-url", "http://127.0.0.1:9/v1")
    assert ended.code == 1
    assert "Checks:" not in ended.out


@pytest.mark.parametrize(
    ("source", "told"),
    [
        pytest.param("https:///paper.pdf", ": it has no host name; check the address", id="a URL without a host"),
        pytest.param("/dev/null", "/dev/null is a device, not a regular file; give the file of a paper", id="a device"),
    ],
)
def test_what_is_no_paper_is_named_as_what_it_is(source: str, told: str, command: Command) -> None:
    assert command("run", "--fast", source).complaints[-1].endswith(told)


def test_an_empty_directory_is_called_empty(command: Command) -> None:
    (command.folder / "d").mkdir()
    told = command("run", "--fast", "d").complaints[-1]
    assert "d is an empty directory: there is no paper in it; give a PDF" in told
    (command.folder / "d" / "notes.xyz").write_text("words")
    assert "d holds no paper at its top" in command("run", "--fast", "d", "--new").complaints[-1]


@pytest.mark.parametrize("source", ["arxiv:9999.99999999", "http:/x.pdf"])
def test_what_looks_like_an_address_and_is_none_is_not_looked_for_on_the_disk(source: str, command: Command) -> None:
    refused = command("run", "--fast", source)
    assert refused.complaints == [f"pipeline: {source} is neither a file, a URL nor an arXiv id (like 2401.01234)"]


def test_an_unknown_phase_is_answered_with_the_phases(command: Command) -> None:
    paper(command.folder)
    [complaint] = command("run", "--fast", "paper.md", "--until", "99").complaints
    assert complaint.startswith("pipeline: there is no phase '99'; the phases are 00 environment, 01 intake, ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decide", "shown"),
    [
        pytest.param(lambda command: None, True, id="an undecided plan"),
        pytest.param(lambda command: command("review", "paper", "--approve"), False, id="an approved one"),
    ],
)
def test_only_an_undecided_plan_is_to_be_decided(
    decide: Callable[[Command], object], shown: bool, command: Command
) -> None:
    command("run", "--fast", paper(command.folder), "--review", "file")
    decide(command)
    assert ("decide with: " in command("review", "paper").out) is shown
