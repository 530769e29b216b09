"""Hooks that people have already: pytest, pre-commit, and scripts for Claude Code and Codex, unchanged, in real runs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.administration.import_hooks import import_hooks
from phases.llm.model import Reply
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.plain_yaml import dump_yaml
from tests.agents import Scripted, call, carry_out, says, small_plan, tree, write
from tests.hooks import PATH, events, feedback_in, item, mounting, script

BIN = os.path.dirname(sys.executable)
DONE = Reply("ok", "done")
PLAN = small_plan("mean.py", "test_mean.py")
WRONG = 'def mean(rows: list[float]) -> float:\n    """R1, section 1, page 1."""\n    return sum(rows)\n'
RIGHT = WRONG.replace("sum(rows)", "sum(rows) / len(rows)")
TEST = '''"""R2, section 1, page 1."""

import unittest

from mean import mean


class MeanTest(unittest.TestCase):
    def test_the_mean_of_two(self) -> None:
        """R2."""
        self.assertEqual(mean([1.0, 3.0]), 2.0)
'''
MEND = call(
    "Edit", {"file_path": "mean.py", "old_string": "sum(rows)\n", "new_string": "sum(rows) / len(rows)\n"}, "e1"
)
WRITTEN = (write("mean.py", WRONG), write("test_mean.py", TEST, "w2"))
needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")
needs_pytest = pytest.mark.skipif(not os.path.exists(f"{BIN}/pytest"), reason="pytest is not installed as a command")
needs_pre_commit = pytest.mark.skipif(
    not (os.path.exists(f"{BIN}/pre-commit") and shutil.which("git")), reason="pre-commit or git is not on this machine"
)
needs_jq = pytest.mark.skipif(
    not shutil.which("jq"), reason="jq is not on this machine, and these scripts read with it"
)
needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="bash is not on this machine")


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": f"{BIN}:{PATH['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8"}


def made(
    task: Path, model: Scripted, *items: dict[str, Any], plan: dict[str, Any] = PLAN, **more: Any
) -> dict[str, Any]:
    """implementation.json of a run with these hooks, with its attempts."""
    documents = carry_out(task, model, plan, hooks=mounting(*items, environment=environment(task.parent), **more))
    return {**documents["implementation"], "attempts": documents["acceptance"]["attempts"]}


# pytest


@pytest.mark.slow
@needs_pytest
def test_a_failing_test_goes_back_to_the_model_and_its_repair_is_verified(tmp_path: Path) -> None:
    model = says(*WRITTEN, DONE, MEND, DONE)
    ended = made(tmp_path / "task", model, item("tests", "pytest -q"))
    assert (ended["stop_reason"], ended["verification"]["verified"]) == ("accepted", True)
    assert [row["decision"] for row in ended["attempts"]] == ["continued", "accepted"]
    [told] = feedback_in(list(model.requests[3].messages))
    assert "The command `pytest -q` exited with code 1." in told
    assert "FAILED test_mean.py::MeanTest::test_the_mean_of_two" in told
    assert "Full output: hooks/1-user-tests.log in the directory of the task." in told
    log = (tmp_path / "task" / "hooks" / "1-user-tests.log").read_text()
    assert "def mean" in log or "test_the_mean_of_two" in log
    assert sorted(path for path in tree(tmp_path / "task") if "cache" not in path) == ["mean.py", "test_mean.py"]


@pytest.mark.slow
@needs_pytest
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param("-q -k nothing_of_that_name", 5, "deselected", id="no test is left"),
        pytest.param("-q --no-such-option", 4, "unrecognized arguments", id="a mistyped option"),
        pytest.param("-q missing_folder", 4, "not found", id="no such folder"),
    ],
)
def test_a_pytest_that_tests_nothing_is_no_pass(arguments: str, code: int, said: str, tmp_path: Path) -> None:
    model = says(write("mean.py", RIGHT), WRITTEN[1])
    ended = made(tmp_path / "task", model, item("tests", f"pytest {arguments}"), most_continues=0)
    assert ended["stop_reason"] == "accept_continue_exhausted"
    [row] = ended["attempts"][0]["hooks"][1:]
    assert row["exit_code"] == code
    assert said in row["reason"]


@needs_pytest
@needs_a_sandbox
def test_an_agent_that_deletes_the_test_that_fails_is_refused_by_the_plan(tmp_path: Path) -> None:
    """pytest alone would say 5 then; the built-in check says which planned file is gone, in the same breath."""
    model = says(*WRITTEN, call("Bash", command="rm test_mean.py"))
    ended = made(tmp_path / "task", model, item("tests", "pytest -q"), most_continues=0)
    assert ended["status"] == "incomplete"
    assert [row["status"] for row in ended["attempts"][0]["hooks"]] == ["block", "block"]
    assert "test_mean.py is planned and not there" in ended["attempts"][0]["reason"]


# pre-commit

TRIM = {
    "id": "trim", "name": "trim trailing blanks", "language": "system", "entry": "sed -i 's/[ ]*$//'", "types": ["python"],
}  # fmt: skip
FORBID = {"id": "forbid", "name": "no debugger", "language": "pygrep", "entry": "breakpoint\\(", "types": ["python"]}
RUN = "git init -q && git add -A && pre-commit run --all-files --color never"


def configured(*hooks: dict[str, Any]) -> Reply:
    config = dump_yaml({"repos": [{"repo": "local", "hooks": list(hooks)}]}).decode()
    return write(".pre-commit-config.yaml", config, "c0")


def pre_commit(folder: Path, **more: Any) -> dict[str, Any]:
    return item("pre-commit", RUN, env={"PRE_COMMIT_HOME": str(folder / "pre-commit")}, **more)


@pytest.mark.slow
@needs_pre_commit
def test_pre_commit_that_modifies_files_refuses_and_passes_the_second_time(tmp_path: Path) -> None:
    """Its own rule and ours are the same: a file that was modified is a failure, and the next run finds it mended."""
    untidy = RIGHT.replace("rows)\n", "rows)   \n")
    model = says(configured(TRIM), write("mean.py", untidy), WRITTEN[1], DONE, DONE)
    ended = made(tmp_path / "task", model, pre_commit(tmp_path))
    assert [row["decision"] for row in ended["attempts"]] == ["continued", "accepted"], ended["attempts"]
    [told] = feedback_in(list(model.requests[4].messages))
    assert "files were modified by hook user:pre-commit: mean.py" in told
    assert "trim trailing blanks" in told
    assert tree(tmp_path / "task")["mean.py"].decode() == RIGHT
    assert ended["attempts"][0]["hooks"][-1]["wrote"] == ["mean.py"]


@pytest.mark.slow
@needs_pre_commit
def test_pre_commit_says_what_it_wants_mended(tmp_path: Path) -> None:
    broken = RIGHT.replace("    return", "    breakpoint()\n    return")
    model = says(configured(FORBID), write("mean.py", broken), WRITTEN[1], DONE, write("mean.py", RIGHT, "w3"), DONE)
    ended = made(tmp_path / "task", model, pre_commit(tmp_path))
    assert [row["decision"] for row in ended["attempts"]] == ["continued", "accepted"], ended["attempts"]
    [told] = feedback_in(list(model.requests[4].messages))
    assert "no debugger" in told
    assert "mean.py:3:" in told
    assert ended["attempts"][0]["hooks"][-1]["exit_code"] == 1


@needs_pre_commit
def test_pre_commit_that_is_not_configured_is_no_pass(tmp_path: Path) -> None:
    model = says(write("mean.py", RIGHT), WRITTEN[1])
    ended = made(tmp_path / "task", model, pre_commit(tmp_path), most_continues=0)
    assert ended["stop_reason"] == "accept_continue_exhausted"
    assert ".pre-commit-config.yaml" in ended["attempts"][0]["reason"]


# Scripts as people have them

CLAUDE_SCRIPT = """#!/bin/bash
# Stop hook: does not let the agent end while the tests fail.
set -u
INPUT=$(cat)
if [ "$(echo "$INPUT" | jq -r '.stop_hook_active')" = "true" ]; then
  exit 0  # it was sent back once: do not send it round for ever
fi
cd "$CLAUDE_PROJECT_DIR" || exit 1
if ! OUTPUT=$(sh ./run_tests.sh 2>&1); then
  echo "Tests are failing, please fix them before you finish:" >&2
  echo "$OUTPUT" | tail -n 20 >&2
  exit 2
fi
exit 0
"""
CODEX_SCRIPT = """#!/bin/sh
payload=$(cat)
if [ "$(printf '%s' "$payload" | jq -r '.hook_event_name')" != "Stop" ]; then echo '{}'; exit 0; fi
cd "$(printf '%s' "$payload" | jq -r '.cwd')"
if out=$(sh ./run_tests.sh 2>&1); then
  echo '{}'
else
  jq -n --arg reason "tests failed: $out" '{decision: "block", reason: $reason}'
fi
"""
GUARD_SCRIPT = """#!/usr/bin/env bash
# PreToolUse: nothing is deleted by force.
if jq -e '.tool_name == "Bash" and (.tool_input.command | test("rm -rf"))' > /dev/null; then
  echo "rm -rf is not allowed here" >&2
  exit 2
fi
"""
CLAUDE_SETTINGS = {
    "permissions": {"allow": ["Bash(npm run lint)"]},
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "~/.claude/hooks/stop.sh", "timeout": 120}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "$HOME/.claude/hooks/guard.sh"}]}],
        "PostToolUse": [
            {
                "matcher": "Write|Edit|MultiEdit",
                "hooks": [{"type": "command", "command": "jq -r .tool_input.file_path >> ~/touched.txt"}],
            }
        ],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send 'Claude Code'"}]}],
    },
}
RUN_TESTS = write("run_tests.sh", "grep -q len mean.py || { echo 'FAILED test_mean'; exit 1; }\n", "r0")


def imported(kind: str, settings: dict[str, Any], name: str) -> tuple[list[dict[str, Any]], list[str]]:
    found = import_hooks(kind, json.dumps(settings).encode(), name)
    return found.items, found.untranslated


@pytest.mark.slow
@needs_jq
@needs_bash
def test_the_settings_of_claude_code_with_their_scripts_unchanged_check_a_run(tmp_path: Path) -> None:
    scripts = {"stop.sh": CLAUDE_SCRIPT, "guard.sh": GUARD_SCRIPT}
    for name, text in scripts.items():
        path = Path(script(tmp_path / ".claude" / "hooks", name, ""))
        path.write_text(text)
    items, untranslated = imported("claude", CLAUDE_SETTINGS, "settings.json")
    assert [row["point"] for row in items] == ["accept_gate", "before_tool_call", "after_tool_result"]
    assert any("Notification" in line for line in untranslated)
    model = says(*WRITTEN, RUN_TESTS, call("Bash", {"command": "rm -rf *"}, "b1"), DONE, MEND, DONE)
    ended = made(tmp_path / "task", model, *items)
    assert [row["decision"] for row in ended["attempts"]] == ["continued", "accepted"], ended["attempts"]
    [told] = feedback_in(list(model.requests[5].messages))
    assert "Tests are failing, please fix them before you finish:\nFAILED test_mean" in told
    refused = model.requests[4].messages[-1].text
    assert refused.startswith("error: hook_blocked: user:")
    assert "rm -rf is not allowed here" in refused
    assert (tmp_path / "touched.txt").read_text().split() == ["mean.py", "test_mean.py", "run_tests.sh", "mean.py"]
    assert tree(tmp_path / "task")["mean.py"].decode() == RIGHT
    assert [row["hook_id"] for row in events(tmp_path / "task") if row["event"] == "hook_failed"] == []


@pytest.mark.slow
@needs_jq
@needs_bash
def test_the_guard_of_a_claude_code_script_against_endless_rounds_holds_here_too(tmp_path: Path) -> None:
    """It lets the second ending through, whatever the tests say: so the script says, and so it is taken."""
    path = Path(script(tmp_path / ".claude" / "hooks", "stop.sh", ""))
    path.write_text(CLAUDE_SCRIPT)
    items, _ = imported("claude", CLAUDE_SETTINGS, "settings.json")
    items = [row for row in items if row["point"] == "accept_gate"]
    ended = made(tmp_path / "task", says(*WRITTEN, RUN_TESTS, DONE, DONE), *items)
    told = [{row["hook"]: row["status"] for row in attempt["hooks"]} for attempt in ended["attempts"]]
    [name] = (name for name in told[0] if name.startswith("user:"))
    assert [attempt[name] for attempt in told[:2]] == ["block", "pass"]
    assert told[1]["internal:code"] == "block"  # which runs the same tests itself


@pytest.mark.slow
@needs_jq
def test_a_codex_script_unchanged_checks_a_run(tmp_path: Path) -> None:
    """It answers `{}` when all is well, which is a pass and no note."""
    path = Path(script(tmp_path / ".codex", "stop.sh", ""))
    path.write_text(CODEX_SCRIPT)
    settings = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": str(path), "timeout": 60}]}]}}
    items, untranslated = imported("codex", settings, "hooks.json")
    assert untranslated == []
    model = says(*WRITTEN, RUN_TESTS, DONE, DONE, MEND, DONE)
    ended = made(tmp_path / "task", model, *items)
    assert [row["decision"] for row in ended["attempts"]] == ["continued", "continued", "accepted"], ended["attempts"]
    assert "tests failed: FAILED test_mean" in feedback_in(list(model.requests[4].messages))[0]
    assert ended["attempts"][2]["hooks"][-1]["notes"] == []
    assert ended["stop_reason"] == "accepted"
