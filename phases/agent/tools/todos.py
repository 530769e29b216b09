"""TodoWrite: the list of things to do, which decides with others whether the work is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from phases.acceptance.todos import (
    ACTIONS,
    BLOCKED_REASONS,
    LONGEST,
    LONGEST_ID,
    MOST_ENTRIES,
    MOST_TODOS,
    NOT_KEPT,
    STATUSES,
    Todo,
    TodoError,
    apply_change,
)
from phases.agent.tools.toolbox import Tool, ToolError, ToolKind, ToolResult, object_schema
from pipeline.base.text_escaping import one_line

_MARKS = {
    "pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "blocked": "[~]", "failed": "[!]", "canceled": "[-]",
}  # fmt: skip
_NOT_KEPT = "not kept"
_DESCRIPTION = (
    "Replaces your list of things to do by `todos`, or changes one thing of it: `action` with its `id`, like "
    '{"action": "complete", "id": "2"} (add and update: with `patch`). Keep one thing in_progress. The work is finished when '
    "every todo is completed that is required (all, unless `required` is false). Also: dependencies and supersedes (ids), "
    "blocked_reason, failure_reason."
)
_ROW = {"content": {"type": "string"}, "status": {"enum": list(STATUSES)}}
_SHOWN = {
    "type": "object",
    "additionalProperties": False,
    "required": [],
    "properties": {
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["content", "status"],
                "properties": {"id": {"type": "string"}, **_ROW, "required": {"type": "boolean"}},
            },
        },
        "action": {"enum": ["complete", "fail", "add", "update", "remove"]},
        "id": {"type": "string"},
        "patch": {"type": "object"},
        "reason": {"type": "string"},
    },
}
"""Short, for the model; what is taken is wider."""


def todo_tool(current: Callable[[], tuple[Todo, ...]]) -> Tool:
    """TodoWrite. `current` is the list as it is.

    It computes and answers: the list is kept by whoever records the answer, by apply_change with the same arguments.
    """

    def answer(**arguments: Any) -> str:
        try:
            return _render_list(apply_change(current(), arguments))
        except TodoError as error:
            raise ToolError(str(error), ToolResult(str(error), code=error.code)) from error

    return Tool("TodoWrite", _DESCRIPTION, _todo_schema(), answer, ToolKind.NEUTRAL, shown=_SHOWN)


def _todo_schema() -> dict[str, Any]:
    """Wider than what is meant, where models are used to say more: what a word may be is told, and checked by apply_change."""
    name = {"type": ["string", "integer"], "minLength": 1, "maxLength": LONGEST_ID}
    text = {"type": "string", "maxLength": LONGEST}
    content = {**text, "minLength": 1}
    status = {**text, "description": _one_of(STATUSES)}
    fields = _optional_fields(name, text)
    patch = {**object_schema({}), "properties": {"content": content, "status": status, **fields}}
    row = {
        **object_schema({"content": content, "status": status}),
        "properties": {"id": _or_null(name), **patch["properties"]},
    }
    return object_schema(
        {},
        todos={"type": ["array", "string"], "maxItems": MOST_TODOS, "items": row},
        action={"enum": list(ACTIONS)},
        id=name,
        patch=patch,
        status=status,
        reason=text,
        expected_revision={"type": "integer", "minimum": 0, "maximum": 10**6},
        explanation={"type": "string", "description": _NOT_KEPT},
    )


def _optional_fields(name: dict[str, Any], text: dict[str, Any]) -> dict[str, Any]:
    """Return the optional fields; many models send null for them."""
    fields: dict[str, Any] = {
        "required": {"type": "boolean"},
        "dependencies": _list_of(name),
        "supersedes": _list_of(name),
        "blocked_reason": {**text, "description": _one_of(BLOCKED_REASONS)},
        "failure_reason": text,
        "acceptance": _list_of(text),
        **{field: {"type": ["string", "integer"], "description": _NOT_KEPT} for field in NOT_KEPT},
    }
    return {field: _or_null(schema) for field, schema in fields.items()}


def _one_of(words: Iterable[str]) -> str:
    return " | ".join(words)


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]}


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "maxItems": MOST_ENTRIES, "items": items}


def _render_list(todos: tuple[Todo, ...]) -> str:
    return "\n".join(["the list is kept:", *map(_render_todo, todos)]) if todos else "the list is kept, and it is empty"


def _render_todo(todo: Todo) -> str:
    notes = [
        *([] if todo.counts else ["optional"]),
        *([todo.blocked_reason] if todo.blocked_reason else []),
        *([f"after {', '.join(todo.dependencies)}"] if todo.dependencies else []),
        *([f"revision {todo.revision}"] if todo.revision > 1 else []),
    ]
    line = f"{_MARKS[todo.status]} {todo.id}: {one_line(todo.content)}"
    return f"{line} ({'; '.join(notes)})" if notes else line
