"""What a task costs and how far it may go: told line by line, refused where it makes no sense, gone on with by one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.llm_server import LlmServer, Says, always
from tests.papers import Command, Ended, paper

EVIL = "\x1b[2Jgone\nTotal: $0.0000\u202e"
ROW = {"at": "2026-01-01T00:00:00.000Z", "run": 1, "detail": "", "used": True, "outcome": "ok", "model": "vllm:x"}
USED = {"tokens_in": 10, "tokens_cached": 0, "tokens_out": 1, "usd": 0.5, "seconds": 1.0}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    paper(tmp_path)
    return Command(tmp_path)


def spent(command: Command, *rows: dict[str, Any]) -> None:
    """A task that has asked its model so often."""
    assert command("run", "--fast", "paper.md", "--stop-at", "plan").code == 0
    lines = [json.dumps({**ROW, **USED, "turn": turn, **row}) for turn, row in enumerate(rows, 1)]
    (command.task("paper") / "logs" / "llm.jsonl").write_text("".join(f"{line}\n" for line in lines))


def section(ended: Ended, title: str) -> list[str]:
    """The names under a title."""
    lines = ended.out.partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()
    return [line.split("$")[0].strip() for line in lines]


def test_what_was_spent_is_told_by_phase_file_and_model(command: Command) -> None:
    spent(
        command,
        {"thread": "plan", "about": ""},
        {"thread": "implement", "about": "a.py"},
        {"thread": "implement", "about": "a.py", "model": "vllm:y"},
    )
    ended = command("cost", "paper")
    assert "Task paper: $1.5000  3 calls" in ended.out
    assert section(ended, "By phase") == ["05 plan", "09 implement"]
    assert section(ended, "By file") == ["(plan)", "a.py"]
    assert section(ended, "By model") == ["vllm:x", "vllm:y"]
    assert "sub agent" not in ended.out


def test_sub_agents_are_told_by_their_thread_and_are_no_files(command: Command) -> None:
    spent(
        command,
        {"thread": "implement", "about": "a.py"},
        {"thread": "explore-3-0", "about": "where is the loss"},
        {"thread": "explore-3-0", "about": "where is the loss"},
        {"thread": "explore-9-1", "about": "where is the loss"},
    )
    ended, costs = command("cost", "paper"), command("cost", "paper", "--json").json()
    assert section(ended, "By file") == ["a.py"]
    assert section(ended, "By sub agent") == ["explore-3-0", "explore-9-1"]
    assert {name: row["calls"] for name, row in costs["by_sub_agent"].items()} == {"explore-3-0": 2, "explore-9-1": 1}
    assert [*costs["by_file"]] == ["a.py"]
    assert costs["by_phase"]["09 implement"]["calls"] == 4


def test_what_a_model_said_is_one_line_and_drives_no_terminal(command: Command) -> None:
    rows = [{"thread": thread, "about": EVIL, "model": f"vllm:{EVIL}"} for thread in ("implement", f"explore-{EVIL}")]
    spent(command, *rows, {"thread": "implement", "about": "x" * 5000})
    ended = command("cost", "paper")
    assert ended.code == 0, ended.err
    assert [one for one in ended.out if not one.isprintable() and one != "\n"] == []
    assert not [line for line in ended.out.splitlines() if line.startswith("Total") or len(line) > 300]
    assert len(section(ended, "By file")) == 2
    assert "\\x1b[2Jgone" in ended.out


# Limits


@pytest.mark.parametrize(
    "amount",
    [
        pytest.param("inf", marks=pytest.mark.slow),
        pytest.param("nan", marks=pytest.mark.slow),
        "1e400",
        "-1",
        "1e3",
        pytest.param("much", marks=pytest.mark.slow),
        pytest.param("", marks=pytest.mark.slow),
        pytest.param("٣", marks=pytest.mark.slow),
        pytest.param("9999999999", marks=pytest.mark.slow),
    ],
)
def test_an_amount_that_makes_no_sense_is_usage(amount: str, command: Command) -> None:
    command("run", "--fast", "paper.md", "--stop-at", "plan", "--max-usd", "1")
    for words in (["resume", "paper"], ["run", "paper.md"]):
        ended = command(*words, f"--add-usd={amount}")
        assert (ended.code, len(ended.complaints)) == (2, 1), ended.err
        assert f"{amount!r} is not an amount like 2 or 0.50" in ended.complaints[0]
    assert command.document("paper", "task.json")["settings"]["max_usd"] == 1


def test_an_amount_is_added_to_the_limit(command: Command) -> None:
    command("run", "--fast", "paper.md", "--stop-at", "plan", "--max-usd", "1")
    assert command("resume", "paper", "--stop-at", "plan", "--add-usd", "0.50").code == 0
    assert command.document("paper", "task.json")["settings"]["max_usd"] == 1.5


# The last screen


def following(ended: Ended) -> list[str]:
    """The lines under Next, without the program's own place."""
    return [" ".join(line.split()[1:]) for line in ended.out.partition("Next:\n")[2].splitlines()]


@pytest.mark.parametrize(
    ("limit", "raised"),
    [
        pytest.param(("--max-turns", "2"), "--max-turns 4", id="turns"),
        pytest.param(("--max-tokens", "150"), "--max-tokens N", id="tokens", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_a_limit_paused_says_how_it_goes_on(limit: tuple[str, str], raised: str, command: Command) -> None:
    with LlmServer(always(Says("I am done."))) as server:
        served = ("--code-model", "vllm:x", "--base-url", server.base_url, "--review", "auto")
        ended = command("run", "--fast", "paper.md", *served, *limit)
    assert ended.code == 5, ended.err
    again = f"resume paper {raised} --base-url {server.base_url}"
    assert following(ended)[0] == f"{again} continue, with a higher limit", ended.out
    assert "0 of 0 planned files" not in ended.out


@pytest.mark.slow
def test_a_run_that_was_told_to_stop_goes_on_without_a_flag(command: Command) -> None:
    ended = command("run", "--fast", "paper.md", "--stop-at", "implement")
    assert following(ended)[0] == "resume paper continue"
    assert "planned files" not in ended.out


@pytest.mark.slow
def test_code_that_was_not_accepted_may_be_given_to_another_model(command: Command) -> None:
    with LlmServer(always(Says("I am done."))) as server:
        served = ("--code-model", "vllm:x", "--base-url", server.base_url, "--review", "auto")
        ended = command("run", "--fast", "paper.md", *served)
    assert ended.code == 3, ended.err
    assert "ot accepted, no attempts are left" in ended.out
    assert "resume paper --code-model NAME have another model continue the code" in following(ended), ended.out


@pytest.mark.slow
def test_the_offline_model_is_not_told_to_be_replaced(command: Command) -> None:
    assert "--code-model" not in command("run", "--fast", "paper.md").out
