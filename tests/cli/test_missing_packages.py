"""A plan that names packages which are not installed: its user hears of it at the review, at the start, and at the end."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from phases.llm.model import Reply, ToolCall, reply_to_json
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from tests.drills import looping, scenes
from tests.papers import Command, paper

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
TEST = scenes.CODE["tests/test_decay.py"].replace("import unittest\n", "import unittest\n\nimport torchless\n")


@pytest.fixture
def run(tmp_path: Path) -> tuple[Command, list[str]]:
    """A recorded model whose plan names a package that no machine has, and whose test imports it."""
    plan = copy.deepcopy(scenes.PLAN)
    plan["environment_setup"]["packages"] = ["torchless>=2.0"]
    files = {**scenes.CODE, "decay.py": looping.RIGHT, "tests/test_decay.py": TEST}
    calls = [
        ToolCall(f"w{at}", "Write", {"file_path": path, "content": text})
        for at, (path, text) in enumerate(files.items())
    ]
    replies = [("plan", 1, Reply("ok", json.dumps(plan))), ("implement", 1, Reply("ok", "", tuple(calls)))]
    replies += [("implement", turn, Reply("ok", "Done.")) for turn in (2, 3)]
    rows = [
        {"kind": "reply", "key": {"thread": thread, "turn": turn}, "result": reply_to_json(said)}
        for thread, turn, said in replies
    ]
    (tmp_path / "recording.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["run", "--fast", str(paper(tmp_path, scenes.PAPER)), "--model", f"replay:{tmp_path / 'recording.jsonl'}"]
    return Command(tmp_path), words


def test_a_missing_package_is_told_three_times_and_ends_as_a_warning_that_costs_no_attempt(
    run: tuple[Command, list[str]],
) -> None:
    command, words = run
    assert command(*words, "--review", "file").code == 5
    shown = command("review", "paper").out
    assert "note: torchless is not installed here, so what needs it cannot be checked" in shown
    assert "pipeline resume paper --install allowed" in shown
    assert command("review", "paper", "--approve").code == 0
    ended = command("resume", "paper")
    assert ended.code == 0, ended.err
    assert "torchless is not installed here: what needs it cannot be checked" in ended.err
    assert "Task paper: warning." in ended.out
    assert "with doubts: not checked: torchless is not installed here." in " ".join(ended.out.split())
    assert "located, test coverage was not measured" in ended.out
    assert "resume paper --install allowed" in ended.out
    report = command.document("paper", "report.json")
    assert (report["status"], report["verified"], report["missing_packages"]) == ("warning", False, ["torchless"])
    (attempt,) = command.document("paper", "acceptance.json")["attempts"]
    assert attempt["decision"] == "accepted"


@pytest.mark.slow
def test_a_plan_without_packages_says_nothing_of_them(tmp_path: Path) -> None:
    command = Command(tmp_path)
    looping.looping(tmp_path / "scene", looping.SOUND)
    model = f"replay:{tmp_path / 'scene' / 'recording.jsonl'}"
    ended = command("run", "--fast", paper(tmp_path, scenes.PAPER), "--review", "auto", "--model", model)
    assert (ended.code, "install" in ended.out + ended.err) == (0, False)
