"""A finished task run again from its own journals: offline, for nothing, and the same to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phases.llm.model import Reply
from phases.sandbox.commands import kind_of_sandbox
from tests.agents import call, check_of, tree, write, write_recording
from tests.papers import Command, paper

needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")


def recording(folder: Path, plan: str) -> Path:
    """A plan, and a session with two calls in one turn, a command, a sub-agent, a useless reply and a repair."""
    first, second = write("a.py", "A = 1\n", "w1"), write("b.py", "import a\n\nB = a.A\n", "w2")
    session = [
        call("TodoWrite", todos=[{"content": "write", "status": "completed"}]),
        Reply("truncated", "half a", detail="cut off"),
        Reply("ok", "both at once", (*first.calls, *second.calls)),
        call("Task", identifier="t1", description="look", prompt="what is B?"),
        Reply("ok", "done"),
        call(
            "Edit", identifier="e1", file_path="a.py", old_string="A = 1", new_string="A = 2  # R1, section 2, page 1"
        ),
        call("Bash", identifier="b1", command="echo noted >> log.txt; python -m unittest 2>&1 | tail -1"),
        Reply("ok", "done"),
    ]
    threads = {"plan": [Reply("ok", plan)], "implement": session, "explore-4-0": [Reply("ok", "B is A")]}
    return write_recording(folder, threads)


def plan_for(command: Command, source: Path) -> str:
    """The plan by rules, cut down to two files and one requirement."""
    command("run", "--fast", source, "--id", "rules", "--until", "plan")
    plan: dict[str, Any] = command("show", "rules", "plan", "--json").json()
    first = {name: value for name, value in plan["requirements"][0].items() if name != "component"}
    plan["requirements"] = [{**first, "id": "R1", "kind": "artifact"}]
    plan.update(
        {
            name: []
            for name in ("values", "datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain")
        }
    )
    plan["file_structure"] = [
        {"path": "a.py", "purpose": "the value", "implements": ["R1"]},
        {"path": "b.py", "purpose": "uses it", "depends_on": ["a.py"]},
    ]
    plan["components"] = [{**plan["components"][0], "id": "C1", "requirements": ["R1"]}]
    plan["implementation_strategy"] = ["a.py", "b.py"]
    plan["validation_approach"] = {
        "verify_commands": ["python -c 'import b; assert b.B == 2, b.B'", check_of("b.py")],
    }
    return json.dumps(plan)


def comparable(journal: Path) -> list[dict[str, Any]]:
    """The rows of a journal, without the name of who gave the replies."""
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    return [{**row, "result": {**row.get("result", {}), "model": ""}} for row in rows]


@pytest.mark.slow
@needs_a_sandbox
def test_a_finished_task_is_run_again_from_its_journals_to_the_same_byte(tmp_path: Path) -> None:
    command, source = Command(tmp_path), paper(tmp_path)
    replies = recording(tmp_path, plan_for(command, source))
    common = ("run", "--fast", source, "--review", "auto")
    first = command(*common, "--id", "first", "--model", f"replay:{replies}")
    assert first.code == 0, first.err
    again = command(*common, "--id", "again", "--model", f"replay:{command.task('first')}")
    assert again.code == 0, again.err
    one, two = command.task("first"), command.task("again")
    assert tree(one) == tree(two)
    assert tree(one)["log.txt"] == b"noted\n"
    for name in ("initial_plan.txt", "implement_code_summary.md", "traceability.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
    for name in ("journal.jsonl", "explorations/1-4-0.jsonl"):
        assert comparable(one / name) == comparable(two / name), name
    assert command.document("again", "report.json")["usage"]["usd"] == 0
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in two.iterdir())


@needs_a_sandbox
def test_the_last_phase_is_done_again_from_the_journal_that_was_set_aside(tmp_path: Path) -> None:
    command, source = Command(tmp_path), paper(tmp_path)
    replies = recording(tmp_path, plan_for(command, source))
    command("run", "--fast", source, "--id", "task", "--review", "auto", "--model", f"replay:{replies}")
    task = command.task("task")
    before, journal = tree(task), comparable(task / "journal.jsonl")
    ended = command("run", task, "--redo", "implement", "--code-model", f"replay:{task}")
    assert ended.code == 0, ended.err
    assert tree(task) == before
    assert comparable(task / "journal.jsonl")[1:] == journal[1:]
    assert (task / "journal.jsonl.prev").exists()
    assert command.attempts("task")["plan"] == 1
