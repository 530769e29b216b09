"""What a hook would be given in a task as it stands: read from its journal, its plan and its workspace."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from phases.acceptance.hook import (
    BEFORE_TOOL,
    RESUME,
    SESSION_END,
    SESSION_START,
    STARTUP,
    SUBAGENT_STOP,
    TOOL_FAILED,
    Hook,
)
from phases.acceptance.hook_executor import Occasion
from phases.acceptance.payload import (
    EndingFacts,
    RunFacts,
    SessionFacts,
    ToolFacts,
    ToolResponse,
    call_input,
    session_input,
)
from phases.acceptance.protected_files import BASE
from phases.acceptance.todos import apply_change, plan_todos, summarize_todos
from phases.workspace.manifest import Manifest, compare_manifests, manifest_from_json
from pipeline.base.files import sha256

Row = Mapping[str, Any]
_TASK, _TODOS = "Task", "TodoWrite"


def completion_facts(
    plan: Row | None, planned: Collection[str], rows: Sequence[Row], head: Manifest, most: int
) -> EndingFacts:
    """A first completion request. `rows`: the whole journal; `head`: the workspace as it is; `most`: continues allowed."""
    base = next((row["result"]["manifest"] for row in reversed(rows) if row["kind"] == BASE), None)
    start = manifest_from_json(base) if base else Manifest({}, sha256(b""))
    found = compare_manifests(start, head, planned=planned)
    last = next((row for row in reversed(rows) if row["kind"] == "reply"), None)
    return EndingFacts(
        str(last["key"]["turn"] if last else 0),
        str(last["result"].get("text", "")) if last else "",
        found.changed,
        start.sha256,
        head.sha256,
        found.files,
        found.truncated,
        _todo_summary(plan, rows),
        [(call["name"], bool(row["result"]["failed"])) for call, row in _calls_in(rows)],
        max_continues=most,
    )


def occasion_of(hook: Hook, rows: Sequence[Row], run: RunFacts) -> Occasion | None:
    """Another point than the gate: for tools, with the last call on record that the hook would have watched, if any."""
    if hook.point in (SESSION_START, SESSION_END):
        begins = STARTUP if not hook.matcher or re.fullmatch(hook.matcher, STARTUP) else RESUME
        session = SessionFacts(begins if hook.point == SESSION_START else "accepted")
        return Occasion(hook.point, partial(session_input, run=run, session=session))
    for call, row in reversed(_calls_in(rows)):
        result, turn = row["result"], str(row["key"]["turn"])
        if _watches_call(hook, call["name"], failed=result["failed"]):
            answer = None if hook.point == BEFORE_TOOL else ToolResponse(result["text"], result["failed"])
            facts = ToolFacts(turn, call["name"], call["arguments"], call["id"], answer)
            return Occasion(hook.point, partial(call_input, run=run, call=facts), call["name"], call["id"])
    return None


def _watches_call(hook: Hook, tool: str, *, failed: bool) -> bool:
    if hook.point == SUBAGENT_STOP and tool != _TASK:
        return False
    if hook.point == TOOL_FAILED and not failed:
        return False
    return not hook.matcher or re.fullmatch(hook.matcher, tool) is not None


def _calls_in(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The calls of tools that were answered, each with the row of its result."""
    called: dict[tuple[int, str], Row] = {}
    found = []
    for row in rows:
        if row["kind"] == "reply":
            called.update({(row["key"]["turn"], call["id"]): call for call in row["result"]["calls"]})
        elif row["kind"] == "result":
            call = called.get((row["key"]["turn"], row["key"]["call"]))
            found += [(call, row)] if call else []
    return found


def _todo_summary(plan: Row | None, rows: Sequence[Row]) -> dict[str, int]:
    todos = plan_todos(plan) if plan else ()
    for call, row in _calls_in(rows):
        if call["name"] == _TODOS and not row["result"]["failed"]:
            todos = apply_change(todos, call["arguments"])
    return summarize_todos(todos)
