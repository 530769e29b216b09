"""What a hook would be given in a task as it stands: read from its journal, its plan and its workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from phases.acceptance.hook import BEFORE_TOOL, SESSION_END, SESSION_START, SUBAGENT_STOP, TOOL_FAILED, Hook
from phases.acceptance.hook_executor import Occasion
from phases.acceptance.payload import (
    EndingFacts,
    FileChange,
    RecentTool,
    RunFacts,
    SessionFacts,
    SubagentFacts,
    ToolFacts,
    ToolResponse,
    session_input,
    subagent_input,
    tool_input,
)
from phases.acceptance.protected_files import BASE
from phases.acceptance.subagents import task_id_of
from phases.acceptance.todo_list.todos import apply_change, plan_todos, summarize_todos
from phases.agent.earlier_code import order_files
from phases.workspace.manifest import Manifest, compare_manifests, manifest_from_json
from pipeline.base.files import sha256

Row = Mapping[str, Any]
_TASK, _TODOS = "Task", "TodoWrite"


def completion_facts(plan: Row | None, rows: Sequence[Row], head: Manifest) -> EndingFacts:
    """A first claim to be done. `rows`: the whole journal; `head`: the workspace as it is."""
    base = next((row["result"]["manifest"] for row in reversed(rows) if row["kind"] == BASE), None)
    start = manifest_from_json(base) if base else Manifest({}, sha256(b""))
    found = compare_manifests(start, head, planned=order_files(plan) if plan else ())
    last = next((row for row in reversed(rows) if row["kind"] == "reply"), None)
    return EndingFacts(
        str(last["key"]["turn"] if last else 0),
        str(last["result"].get("text", "")) if last else "",
        found.changed,
        start.sha256,
        head.sha256,
        [FileChange(path, change) for path, change in found.files],
        found.truncated,
        _todo_summary(plan, rows),
        [RecentTool(call["name"], bool(row["result"]["failed"])) for call, row in _calls_in(rows)],
    )


def occasion_of(hook: Hook, rows: Sequence[Row], run: RunFacts) -> Occasion | None:
    """Another point than the gate: for tools, with the last call on record that the hook would have watched, if any."""
    if hook.point in (SESSION_START, SESSION_END):
        session = SessionFacts("startup" if hook.point == SESSION_START else "accepted")
        return Occasion(hook.point, partial(session_input, run=run, session=session))
    for call, row in reversed(_calls_in(rows)):
        if _watches_call(hook, call["name"], failed=row["result"]["failed"]):
            return Occasion(hook.point, partial(_tool_body, run=run, call=call, row=row), call["name"], call["id"])
    return None


def _tool_body(hook: Hook, run: RunFacts, call: Row, row: Row) -> dict[str, Any]:
    turn, result = row["key"]["turn"], row["result"]
    response = ToolResponse(result["text"], result["failed"])
    if hook.point == SUBAGENT_STOP:
        state = "failed" if response.failed else "succeeded"
        ended = SubagentFacts(str(turn), task_id_of(turn, call["id"]), "explore", state, response.text)
        return subagent_input(hook, run, ended)
    said = None if hook.point == BEFORE_TOOL else response
    return tool_input(hook, run, ToolFacts(str(turn), call["name"], call["arguments"], call["id"], said))


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
            todos = apply_change(todos, call["arguments"], row["key"]["turn"], recorded=True)
    return summarize_todos(todos)
