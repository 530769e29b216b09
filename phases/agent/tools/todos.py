"""TodoWrite: the list that a model keeps for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.agent.tools.shown import one_line
from phases.agent.tools.tool import Tool, closed

STATUSES = ("pending", "in_progress", "completed")
_MOST = 100
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Todos:
    """The list of one conversation. `replace` puts it back on a resume, with the arguments of the last call."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str]] = []

    def replace(self, todos: Sequence[Mapping[str, Any]]) -> None:
        self._rows = [(row["content"], row["status"]) for row in todos]

    def text(self) -> str:
        """The list, a line each."""
        return "\n".join(f"{_MARKS[status]} {one_line(content)}" for content, status in self._rows)


def todo_tool(todos: Todos) -> Tool:
    """TodoWrite."""

    def act(**arguments: Any) -> str:
        todos.replace(arguments["todos"])
        return f"the list is kept:\n{todos.text()}" if todos.text() else "the list is kept, and it is empty"

    row = closed({"content": {"type": "string", "minLength": 1, "maxLength": 1000}, "status": {"enum": list(STATUSES)}})
    return Tool(
        "TodoWrite",
        "Replaces your list of things to do. Keep one thing in_progress.",
        closed({"todos": {"type": "array", "maxItems": _MOST, "items": row}}),
        act,
        reads_only=False,
    )
