"""What a model may say of a todo: the fields, their limits, other words for the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from phases.acceptance.todo_list.todo import (
    AGENT,
    BLOCKED_REASONS,
    CANCELED,
    COMPLETED,
    IN_PROGRESS,
    INVALID,
    LIMIT,
    PENDING,
    STATUSES,
    SUBAGENT,
    TodoError,
)
from pipeline.base.text_escaping import one_line

MOST_TODOS = MOST_ENTRIES = 64
LONGEST, LONGEST_ID, MOST_BYTES = 1024, 64, 64 * 1024
MOST_PRIORITY = 1000
ALIASES = MappingProxyType(
    {
        **dict.fromkeys(("todo", "to_do", "open", "not_started"), PENDING),
        **dict.fromkeys(("doing", "running", "started"), IN_PROGRESS),
        **dict.fromkeys(("done", "complete", "finished"), COMPLETED),
        **dict.fromkeys(("cancelled", "cancel"), CANCELED),
    }
)
"""Other words for a status, in small letters and with `_` between words."""
PRIORITIES = MappingProxyType({"high": 100, "medium": 0, "low": -100})
NOT_KEPT = ("activeForm", "active_form")
"""What models are used to say of a todo, and nothing here has a use for."""
EXECUTORS = (AGENT, SUBAGENT)


def check_size(arguments: Mapping[str, Any]) -> None:
    """Raises TodoError for arguments that are too long as a whole."""
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    except (TypeError, ValueError, RecursionError) as error:
        raise TodoError(INVALID, "the arguments are no JSON") from error
    if size > MOST_BYTES:
        raise TodoError(LIMIT, f"the arguments have {size:,} bytes, over the limit of {MOST_BYTES:,}")


def fields_of(given: Any) -> dict[str, Any]:
    """The fields as a Todo has them. A null is taken for a field that was left out. Raises TodoError."""
    if not isinstance(given, Mapping):
        raise TodoError(INVALID, "a todo is an object of fields")
    told = {name: value for name, value in given.items() if name not in NOT_KEPT}
    for name in told:
        if name == "title":
            raise TodoError(INVALID, "`title` is not used any more; say `content`")
        if not isinstance(name, str) or name not in _READ:
            raise TodoError(INVALID, f"{one_line(repr(name), 80)} cannot be set; what can: {', '.join(_READ)}")
    return {name: _READ[name](name, value) for name, value in told.items() if not _is_nothing(name, value)}


def id_of(name: str, value: Any) -> str:
    """An id; a number becomes text."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**LONGEST_ID else ""
    text = text_of(name, value, LONGEST_ID)
    if not text:
        raise TodoError(INVALID, f"`{name}` must be a text or a whole number of up to {LONGEST_ID} characters")
    return text


def status_of(name: str, value: Any) -> str:
    """A status, by whatever word models use for it, however they write it."""
    word = "_".join(re.split(r"[\s_-]+", value.strip().casefold())) if isinstance(value, str) else value
    return choice_of(name, ALIASES.get(word, word) if isinstance(word, str) else word, STATUSES)


def text_of(name: str, value: Any, most: int = LONGEST) -> str:
    """A text as one line in which nothing is hidden."""
    if not isinstance(value, str):
        raise TodoError(INVALID, f"`{name}` must be a text")
    if len(value) > most:
        raise TodoError(LIMIT, f"`{name}` has {len(value):,} characters, over the limit of {most:,}")
    return one_line(value, most)


def choice_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise TodoError(INVALID, f"`{name}` must be one of: {', '.join(choices)}")
    return value


def _is_nothing(name: str, value: Any) -> bool:
    return value is None or (name == "blocked_reason" and value == "")


def _content(name: str, value: Any) -> str:
    text = text_of(name, value)
    if not text:
        raise TodoError(INVALID, f"`{name}` is empty: say what is to be done")
    return text


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TodoError(INVALID, f"`{name}` must be true or false")
    return value


def _priority(name: str, value: Any) -> int:
    if isinstance(value, str):
        value = PRIORITIES.get(value.strip().casefold())
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MOST_PRIORITY:
        raise TodoError(
            INVALID, f"`{name}` must be a whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}, or high, medium, low"
        )
    return value


def _list_of(read: Callable[[str, Any], str]) -> Callable[[str, Any], tuple[str, ...]]:
    def entries(name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise TodoError(INVALID, f"`{name}` must be a list")
        if len(value) > MOST_ENTRIES:
            raise TodoError(LIMIT, f"`{name}` has {len(value):,} entries, over the limit of {MOST_ENTRIES}")
        return tuple(dict.fromkeys(read(f"{name} entry", entry) for entry in value))

    return entries


_READ: dict[str, Callable[[str, Any], Any]] = {
    "id": id_of,
    "content": _content,
    "status": status_of,
    "required": _flag,
    "blocked_reason": lambda name, value: choice_of(name, value, BLOCKED_REASONS),
    "failure_reason": text_of,
    "dependencies": _list_of(id_of),
    "supersedes": _list_of(id_of),
    "acceptance": _list_of(text_of),
    "artifacts": _list_of(text_of),
    "priority": _priority,
    "executor": lambda name, value: choice_of(name, value, EXECUTORS),
    "owner_id": text_of,
}
