"""Build the input of hooks: one flat JSON object, a superset of Claude Code's and Codex's (acceptance chain, 5.2).

The `cwd` is in every one, and nothing secret is in any: no key and no environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.hook import POINTS, REPO, SESSION_START, SUBAGENT_STOP, TOOL_FAILED, Hook
from phases.workspace.workspace import CONTROL

SCHEMA_VERSION = 1
MOST_FILES, MOST_TOOLS, LONGEST_MESSAGE = 500, 20, 32 * 1024
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


class RunFacts(NamedTuple):
    """The same for every hook of a run."""

    session_id: str
    run_id: str
    cwd: str
    """The workspace."""
    model: str
    transcript: str = ""
    """The file of it, brought up to date before a hook is run; empty where there is none."""
    settings_directory: str = ""
    """Directory of the user's settings; empty if there are none."""


class EndingFacts(NamedTuple):
    """One ending of the agent: what it said, and what it has changed so far."""

    turn_id: str
    last_message: str
    changed: bool
    base: str
    """The digest of the workspace when the run began."""
    head: str
    """The digest of the workspace now."""
    files: Sequence[Sequence[str]] = ()
    """Path, and added, modified or deleted."""
    truncated: bool = False
    todo_summary: Mapping[str, int] = {}
    recent_tools: Sequence[tuple[str, bool]] = ()
    """Name, and whether it failed; the latest last."""
    continue_count: int = 0
    max_continues: int = 3
    last_block: tuple[str, str] | None = None
    """The hook that did not accept the last ending, and why."""
    attempt: int = 1


class ToolResponse(NamedTuple):
    """Answer of a tool."""

    text: str
    failed: bool


class ToolFacts(NamedTuple):
    """One tool call. Before it there is no response."""

    turn_id: str
    name: str
    arguments: Mapping[str, Any]
    call_id: str
    response: ToolResponse | None = None


class SessionFacts(NamedTuple):
    """Reason why a run begins (startup or resume), or its stop reason."""

    why: str
    detail: str = ""


class SubagentFacts(NamedTuple):
    """A sub-agent that ended."""

    turn_id: str
    task_id: str
    role: str
    state: str
    last_message: str = ""


def stop_input(hook: Hook, run: RunFacts, ending: EndingFacts) -> dict[str, Any]:
    """For accept_gate: Claude's `Stop`, with the workspace, the todos and the state of acceptance."""
    block = ending.last_block
    return {
        **_common_fields(hook, run, ending.turn_id),
        "stop_hook_active": ending.continue_count > 0,
        "last_assistant_message": _cut_message(ending.last_message),
        "hook": _hook_fields(hook, ending.attempt),
        "workspace": {
            "root": run.cwd,
            "changed": ending.changed,
            "base": ending.base,
            "head": ending.head,
            "changed_files": [{"path": path, "change": change} for path, change in ending.files[:MOST_FILES]],
            "truncated": ending.truncated or len(ending.files) > MOST_FILES,
        },
        "todo_summary": dict(ending.todo_summary),
        "recent_tools": [{"name": name, "is_error": failed} for name, failed in ending.recent_tools[-MOST_TOOLS:]],
        "acceptance": {
            "continue_count": ending.continue_count,
            "max_continues": ending.max_continues,
            "last_block": {"hook": block[0], "reason": block[1]} if block else None,
        },
    }


def call_input(hook: Hook, run: RunFacts, call: ToolFacts) -> dict[str, Any]:
    """For any point at a call of a tool; at subagent_stop the call is the one that started the sub-agent."""
    if hook.point != SUBAGENT_STOP or call.response is None:
        return tool_input(hook, run, call)
    state = "failed" if call.response.failed else "succeeded"
    task = f"{call.turn_id}-{call.call_id}"
    return subagent_input(hook, run, SubagentFacts(call.turn_id, task, "explore", state, call.response.text))


def tool_input(hook: Hook, run: RunFacts, call: ToolFacts) -> dict[str, Any]:
    """For the three points at a tool call. The input is whole: a hook that watches over calls must see all of one."""
    body = {
        **_common_fields(hook, run, call.turn_id),
        "hook": _hook_fields(hook, 1),
        "tool_name": call.name,
        "tool_input": dict(call.arguments),
        "tool_use_id": call.call_id,
    }
    if call.response is not None:
        body["tool_response"] = {"text": call.response.text, "is_error": call.response.failed}
        if hook.point == TOOL_FAILED:  # where Claude's own scripts look for it
            body["error"] = call.response.text
    return body


def session_input(hook: Hook, run: RunFacts, session: SessionFacts) -> dict[str, Any]:
    """For session_start (`source`) and session_end (`reason`)."""
    why = "source" if hook.point == SESSION_START else "reason"
    return {**_common_fields(hook, run), "hook": _hook_fields(hook, 1), why: session.why, "detail": session.detail}


def subagent_input(hook: Hook, run: RunFacts, ended: SubagentFacts) -> dict[str, Any]:
    """For subagent_stop."""
    return {
        **_common_fields(hook, run, ended.turn_id),
        "stop_hook_active": False,
        "last_assistant_message": _cut_message(ended.last_message),
        "hook": _hook_fields(hook, 1),
        "agent_id": ended.task_id,
        "agent_type": ended.role,
        "state": ended.state,
    }


def payload_bytes(body: Mapping[str, Any]) -> bytes:
    """Encode the object as one line of UTF-8 without spaces: scripts look for `"tool_name":"Bash"`.

    Half a surrogate pair, which no reader accepts, is replaced.
    """
    # Without spaces, as Claude Code writes it: scripts grep for `"tool_name":"Bash"`.
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=_plain_mapping)
    return _HALF_A_PAIR.sub("\ufffd", text).encode("utf-8") + b"\n"


def variables_for(hook: Hook, run: RunFacts) -> dict[str, str]:
    """Return the variables that every command hook gets."""
    root = os.path.join(run.cwd, CONTROL) if hook.source == REPO else run.settings_directory
    return {
        "CLAUDE_PROJECT_DIR": run.cwd,
        **({"CLAUDE_PLUGIN_ROOT": root} if root and "CLAUDE_PLUGIN_ROOT" not in hook.env else {}),
        "PIPELINE_PROJECT_DIR": run.cwd,
        "PIPELINE_RUN_ID": run.run_id,
        "PIPELINE_HOOK_ID": hook.id,
        "CI": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _common_fields(hook: Hook, run: RunFacts, turn_id: str = "") -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "hook_event_name": POINTS[hook.point].claude,
        "hook_point": hook.point,
        "session_id": run.session_id,
        "run_id": run.run_id,
        **({"turn_id": turn_id} if turn_id else {}),
        "transcript_path": run.transcript or None,
        "cwd": run.cwd,
        "permission_mode": "default",
        "model": run.model,
    }


def _hook_fields(hook: Hook, attempt: int) -> dict[str, Any]:
    return {"id": hook.id, "source": hook.source, "attempt": attempt}


def _cut_message(text: str) -> str:
    """At most 32 KiB of it, and no half character at the end."""
    data = _HALF_A_PAIR.sub("\ufffd", text).encode("utf-8")
    return text if len(data) <= LONGEST_MESSAGE else data[:LONGEST_MESSAGE].decode("utf-8", "ignore")


def _plain_mapping(value: object) -> Any:
    """Read-only mappings as JSON knows them; anything else is a bug of ours and raises."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is not JSON")
