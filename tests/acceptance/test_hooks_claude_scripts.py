"""Hooks as people write them for Claude Code, imported from their settings file and run without an edit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.administration.import_hooks import import_file
from phases.llm.model import Reply
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.errors import Paused
from pipeline.base.plain_yaml import parse_yaml
from tests.agents import Scripted, call, carry_out, says, small_plan, write
from tests.hooks import events, feedback_in, item, mounting, script

needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")
CODE = 'def meet() -> int:\n    """R1, section 1, page 1."""\n    return 4\n'
DONE = Reply("ok", "done, and I ran the tests")

VALIDATOR = """
import json, re, sys
data = json.load(sys.stdin)
if data.get("tool_name", "") != "Bash":
    sys.exit(0)
command = data.get("tool_input", {}).get("command", "")
if re.search(r"^find\\s+\\S+\\s+-name\\b", command):
    print("- use rg --files instead of find -name", file=sys.stderr)
    sys.exit(2)
"""
FORMATTER = """
import json, os, sys
data = json.load(sys.stdin)
path = data.get("tool_input", {}).get("file_path", "")
if not path.endswith(".py"):
    sys.exit(0)
path = os.path.join(data["cwd"], path)
with open(path) as file:
    text = file.read()
tidy = "".join(line.rstrip() + "\\n" for line in text.splitlines())
if tidy != text:
    with open(path, "w") as file:
        file.write(tidy)
    print(json.dumps({"decision": "block", "reason": f"{os.path.basename(path)} had spaces at line ends; they are gone"}))
"""
READS_THE_TRANSCRIPT = """
import json, sys
data = json.load(sys.stdin)
if data.get("stop_hook_active"):
    sys.exit(0)
said, ran = "", []
with open(data["transcript_path"]) as file:
    for line in file:
        entry = json.loads(line)
        if entry.get("type") != "assistant":
            continue
        for block in entry["message"]["content"]:
            if block["type"] == "text":
                said = block["text"]
            elif block["type"] == "tool_use" and block["name"] == "Bash":
                ran.append(block["input"]["command"])
if "ran the tests" in said and not any("pytest" in command for command in ran):
    print(json.dumps({"decision": "block", "reason": "You say that the tests were run, and no command ran them."}))
"""
START = """#!/usr/bin/env bash
set -euo pipefail
session=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["session_id"])')
if [ -n "${CLAUDE_ENV_FILE:-}" ]; then
  echo "export TASK='$session'" >> "$CLAUDE_ENV_FILE"
  echo 'export PATH="$PATH:/opt/mine/bin"' >> "$CLAUDE_ENV_FILE"
fi
echo "Use float64."
"""
NAMES_THE_SESSION = """#!/usr/bin/env bash
echo "$TASK ${PATH##*:} ${CLAUDE_ENV_FILE:-none}" >> "$CLAUDE_PROJECT_DIR/../seen.txt"
"""


def settings(project: Path) -> Path:
    """A project with its settings file and its scripts."""
    folder = project / ".claude" / "hooks"
    texts = {"validate.py": VALIDATOR, "tidy.py": FORMATTER, "stop.py": READS_THE_TRANSCRIPT, "start.sh": START}
    for name, text in {**texts, "session.sh": NAMES_THE_SESSION}.items():
        Path(script(folder, name, "")).write_text(text)
    python = f'{sys.executable} "$CLAUDE_PROJECT_DIR"/.claude/hooks'
    shell = "$CLAUDE_PROJECT_DIR/.claude/hooks"
    groups: dict[str, list[tuple[str | None, str]]] = {
        "SessionStart": [("startup", f"{shell}/start.sh")],
        "PreToolUse": [("Bash", f"{python}/validate.py"), ("*", f"bash {shell}/session.sh")],
        "PostToolUse": [("Edit|MultiEdit|Write", f"{python}/tidy.py")],
        "Stop": [(None, f"{python}/stop.py")],
    }
    hooks = {
        event: [
            {
                **({"matcher": matcher} if matcher else {}),
                "hooks": [{"type": "command", "command": command, "timeout": 60}],
            }
            for matcher, command in rows
        ]
        for event, rows in groups.items()
    }
    path = project / ".claude" / "settings.json"
    path.write_text(json.dumps({"permissions": {"allow": ["Bash(ls:*)"]}, "hooks": hooks}))
    return path


def imported(path: Path) -> list[dict[str, Any]]:
    """The items as they are pasted from what the command prints."""
    found = import_file("claude", str(path), lambda text: text)
    value: dict[str, Any] = parse_yaml(found.to_yaml("user").encode())
    items: list[dict[str, Any]] = value["runtime"]["hooks"]["items"]
    return items


def run(task: Path, model: Scripted, *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    documents = carry_out(task, model, small_plan("a.py"), hooks=mounting(*items), **more)
    return {**documents["acceptance"], **documents["implementation"]}


@needs_a_sandbox
def test_a_settings_file_is_imported_and_its_scripts_work_without_an_edit(tmp_path: Path) -> None:
    items = imported(settings(tmp_path / "project"))
    points = ["session_start", "before_tool_call", "before_tool_call", "after_tool_result", "accept_gate"]
    assert [row["point"] for row in items] == points
    find = call("Bash", {"command": "find . -name x"}, "b1")
    model = says(write("a.py", CODE.replace("4\n", "4   \n")), find, DONE, Reply("ok", "done"))
    ended = run(tmp_path / "task", model, *items)
    told = [message.text for message in model.requests[1].messages]
    assert any(text.endswith(": Use float64.") for text in told), "what a hook prints at the start is for the model"
    assert any(text.endswith(": a.py had spaces at line ends; they are gone") for text in told), "and after an edit"
    assert (tmp_path / "task" / "generate_code" / "a.py").read_text() == CODE
    assert "- use rg --files instead of find -name" in "\n".join(message.text for message in model.requests[2].messages)
    assert (
        "You say that the tests were run, and no command ran them." in feedback_in(list(model.requests[3].messages))[0]
    )
    assert [row["decision"] for row in ended["attempts"]] == ["continued", "accepted"]
    seen = (tmp_path / "task" / "seen.txt").read_text().splitlines()
    assert seen == ["task /opt/mine/bin none"], "a hook after the start has what that hook has set"
    assert [row for row in events(tmp_path / "task") if row["event"] == "hook_failed"] == []


def test_what_a_hook_sets_at_the_start_is_set_anew_when_the_run_goes_on(tmp_path: Path) -> None:
    sets = item("sets", 'echo "export A=$(date +%s%N)" >> "$CLAUDE_ENV_FILE"', point="session_start")
    wants = item("wants", f'echo "$A" >> {tmp_path}/seen', point="before_tool_call", matcher="Write")
    model = says(write("a.py", CODE), write("a.py", CODE + "# more\n"), DONE)
    with pytest.raises(Paused):
        run(tmp_path / "task", model, sets, wants, max_turns=1)
    run(tmp_path / "task", model, sets, wants)
    first, second = (tmp_path / "seen").read_text().split()
    assert first != second
    assert not (tmp_path / "task" / "hooks" / "session.env").exists(), "and nothing of it stays on the disk"


@pytest.mark.parametrize(
    ("matcher", "starts"), [("startup", 1), ("resume", 1), pytest.param("", 2, marks=pytest.mark.slow)]
)
def test_a_hook_at_the_start_may_be_for_new_runs_or_for_those_that_go_on(
    matcher: str, starts: int, tmp_path: Path
) -> None:
    hello = item("hello", f"echo x >> {tmp_path}/ran", point="session_start", matcher=matcher)
    model = says(write("a.py", CODE), call("Read", file_path="a.py"), DONE)
    with pytest.raises(Paused):
        run(tmp_path / "task", model, hello, max_turns=1)
    run(tmp_path / "task", model, hello)
    assert (tmp_path / "ran").read_text() == "x\n" * starts


def test_a_line_in_the_file_of_variables_that_no_shell_takes_leaves_the_others(tmp_path: Path) -> None:
    lines = 'nonsense here; export A=1; declare -x B="two words"; export X_API_KEY=k; export CI=0'
    sets = item("sets", f"printf '%s\\n' '{lines}' > $CLAUDE_ENV_FILE", point="session_start")
    seen = item("seen", f'echo "$A,$B,$X_API_KEY,$CI" > {tmp_path}/seen', when="always")
    run(tmp_path / "task", says(write("a.py", CODE), DONE), sets, seen)
    assert (tmp_path / "seen").read_text() == "1,two words,,1\n", "keys and what is set for every hook stay as they are"
