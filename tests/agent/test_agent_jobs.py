"""Jobs of the agent: what they count for, and what a run without them looks like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phases.agent.kernel_facts import FactExtractor
from phases.llm.model import Reply, ToolCall
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.jobs import JobState
from tests.agents import CONTRACTS, call, carry_out, says, small_plan, tool_kinds, tree, write

needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")


def test_a_check_that_was_started_as_a_job_verifies_nothing() -> None:
    facts = FactExtractor(("a.py",), {}, (), ("pytest -q",), tool_kinds())
    row = {"failed": False, "text": "started as job 1", "touched": [], "seen": {}, "files": {}}
    check = ToolCall("c1", "Bash", {"command": "pytest -q"})
    assert facts.call(check).checks
    job = ToolCall("c2", "Bash", {"command": "pytest -q", "background": True})
    assert not facts.call(job).checks
    assert facts.result(job, {**row, "job": JobState(1, "pytest -q")._asdict()}).background
    waited = ToolCall("c3", "Job", {"number": 1, "action": "wait"})
    assert not facts.result(waited, {**row, "job": JobState(1, "pytest -q")._asdict()}).background


@needs_a_sandbox
def test_a_job_is_told_of_in_the_journal_and_in_the_implementation_and_leaves_the_workspace_alone(
    tmp_path: Path,
) -> None:
    none = carry_out(tmp_path / "none", says(write("a.py", "x = 1\n", "w")), small_plan("a.py"))["implementation"]
    assert ("jobs" in none, (tmp_path / "none" / "jobs").exists()) == (False, False)
    replies = [
        write("a.py", "x = 1\n", "w"),
        call("Bash", {"command": "python a.py; echo more > b.py; exit 3", "background": True}, "b"),
        call("Job", {"number": 1, "action": "wait"}, "j1"),
        call("Job", {"number": 2, "action": "tail"}, "j2"),
        call("Bash", {"command": "sleep 60", "background": True}, "b2"),
        Reply("ok", "done"),
    ]
    made = carry_out(tmp_path / "task", says(*replies), small_plan("a.py"))["implementation"]
    CONTRACTS.serialise("implementation.json", made, writer="a test")
    assert made["jobs"] == [
        {"number": 1, "command": "python a.py; echo more > b.py; exit 3", "starts": 1, "exit_code": 3, "why": ""},
        {"number": 2, "command": "sleep 60", "starts": 1, "exit_code": None, "why": "it was told to stop"},
    ]
    assert list(tree(tmp_path / "task")) == ["a.py"]
    lines = (tmp_path / "task" / "journal.jsonl").read_text().splitlines()
    results = {row["key"]["call"]: row["result"] for row in map(json.loads, lines) if row["kind"] == "result"}
    assert results["b"]["job"] == JobState(1, "python a.py; echo more > b.py; exit 3")._asdict()
    assert (results["j1"]["failed"], results["j1"]["job"]["exit_code"]) == (True, 3)
    assert "there is no job 2" in results["j2"]["text"]
