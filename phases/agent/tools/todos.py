"""TodoWrite: the list that a model keeps for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.agent.tools.shown import one_line
from phases.agent.tools.tool import Tool, closed

_MOST = 100
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


def todo_tool() -> Tool:
    """TodoWrite. The list is kept where the call and its answer are: in the conversation."""
    row = closed({"content": {"type": "string", "minLength": 1, "maxLength": 1000}, "status": {"enum": list(_MARKS)}})
    return Tool(
        "TodoWrite",
        "Replaces your list of things to do. Keep one thing in_progress.",
        closed({"todos": {"type": "array", "maxItems": _MOST, "items": row}}),
        _answer,
        reads_only=False,
    )


def _answer(todos: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"{_MARKS[row['status']]} {one_line(row['content'])}" for row in todos]
    return "\n".join(["the list is kept:", *lines]) if lines else "the list is kept, and it is empty"
