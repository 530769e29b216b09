"""The whole command against the real llama.cpp server: a model that babbles drives it, and every run ends honestly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills.scenes import PAPER
from tests.papers import Command
from tests.tiny_model import llama, write_tiny_model

pytest.importorskip("openai", reason="the openai package is not installed")
pytest.importorskip("gguf", reason="the gguf package is not installed")
CONTEXT = 65_536
MODEL = "llamacpp:tiny"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama(
        write_tiny_model(tmp_path_factory.mktemp("model") / "m.gguf", calls=True, context=CONTEXT), CONTEXT
    ) as url:
        yield url


def command_in(folder: Path, url: str) -> Command:
    (folder / "paper.md").write_text(PAPER)
    return Command(folder, PIPELINE_BASE_URL=url, PIPELINE_CONTEXT_TOKENS="32000", PIPELINE_REVIEW="auto")


@pytest.mark.slow
def test_nonsense_that_fits_the_schema_of_a_plan_is_refused_by_what_is_wrong_with_it(
    server: str, tmp_path: Path
) -> None:
    command = command_in(tmp_path, server)
    ended = command("run", "--fast", "paper.md", "--model", MODEL)
    assert ended.code == 1, ended.err
    assert re.search(
        r"gave no (?:plan|part . of 4 of the plan) that can be used; it was told 3 times", ended.complaints[0]
    )
    asked = [json.loads(line) for line in (command.task("paper") / "logs" / "llm.jsonl").read_text().splitlines()]
    assert len(asked) >= 4  # one more where the first reply is cut off, and parts are asked for
    assert all(row["tokens_in"] > 1000 for row in asked)
    assert not (command.task("paper") / "initial_plan.txt").exists()
    assert command("cost", "paper").code == 0
    assert command("resume").code == 1  # it may be asked again, and is


@pytest.mark.slow
def test_code_by_a_model_that_babbles_is_never_completed(server: str, tmp_path: Path) -> None:
    command = command_in(tmp_path, server)
    ended = command("run", "--fast", "paper.md", "--plan-model", "offline", "--code-model", MODEL, "--max-turns", "60")
    assert ended.code in (1, 3, 5), ended.err
    report = command.document("paper", "report.json")
    assert report["status"] in ("error", "incomplete", "paused")
    assert report["usage"]["calls"] > 3
    if ended.code != 3:
        assert "pipeline resume" in report["reason"]
    asked = report["usage"]["calls"]
    again = command("resume", "paper", "--until", "plan_review")
    assert again.code in (0, 3, 5), again.err
    assert command.document("paper", "report.json")["usage"]["calls"] == asked


@pytest.mark.slow
def test_a_run_against_a_real_server_that_is_killed_goes_on(server: str, tmp_path: Path) -> None:
    command = command_in(tmp_path, server)
    words = ("run", "--fast", "paper.md", "--plan-model", "offline", "--code-model", MODEL, "--max-turns", "12")
    journal = command.task("paper") / "journal.jsonl"
    with command.start(*words) as process:
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b'"kind": "reply"') >= 2):
            pass
        process.kill()
        process.communicate()
    before = journal.read_bytes()
    ended = command("resume", "paper")
    assert ended.code in (1, 3, 5), ended.err
    assert journal.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
