"""What a thing to do is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from pipeline.base.text_escaping import one_line

PENDING, IN_PROGRESS, BLOCKED, COMPLETED, FAILED, CANCELED = (
    "pending", "in_progress", "blocked", "completed", "failed", "canceled",
)  # fmt: skip
STATUSES = (PENDING, IN_PROGRESS, COMPLETED, BLOCKED, FAILED, CANCELED)
FINAL = (COMPLETED, FAILED, CANCELED)
NEXT = MappingProxyType(
    {
        PENDING: (IN_PROGRESS, BLOCKED, FAILED, CANCELED),
        IN_PROGRESS: (COMPLETED, FAILED, BLOCKED, CANCELED),
        BLOCKED: (PENDING, IN_PROGRESS, FAILED, CANCELED),
        **dict.fromkeys(FINAL, ()),
    }
)
"""What may follow a status in one step, beside the status itself."""
WAITS = ("user_input_wait", "permission_wait", "external_resource_wait")
"""Reasons of a blocked todo that nothing which the model does can remove."""
UNKNOWN = "unknown"
BLOCKED_REASONS = ("internal_dependency", *WAITS, UNKNOWN)
AGENT, SUBAGENT, USER, PLAN = "agent", "subagent", "user", "plan"
NOT_FOUND, TRANSITION, CONFLICT, CYCLE, DEPENDENCY, DUPLICATE, PROTECTED, LIMIT, INVALID = (
    "not_found", "invalid_transition", "revision_conflict", "cyclic_dependency", "dependency_violation", "duplicate",
    "protected", "limit", "invalid",
)  # fmt: skip


class TodoError(Exception):
    """A change of the list that is refused, in words for the model; the words begin with the code."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code


@dataclass(frozen=True)
class Todo:
    """One thing to do. Times are turns: a run that is walked again must come to the same list."""

    id: str
    content: str
    status: str = PENDING
    required: bool | None = None
    """Nothing said counts as required."""
    blocked_reason: str = ""
    dependencies: tuple[str, ...] = ()
    priority: int = 0
    executor: str = AGENT
    """agent or subagent: who does it."""
    owner_type: str = AGENT
    """plan, user, agent or subagent: who wrote it. It never changes, because what it protects must not either."""
    owner_id: str = ""
    """Who has claimed it."""
    acceptance: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    """Todos in whose place it stands."""
    failure_reason: str = ""
    revision: int = 1
    created: int = 0
    updated: int = 0

    @property
    def counts(self) -> bool:
        """Whether it is required."""
        return self.required is not False

    @property
    def open(self) -> bool:
        """Whether it is required, and neither done nor given up."""
        return self.counts and self.status not in FINAL

    @property
    def waits(self) -> bool:
        """Whether it waits for somebody or something outside."""
        return self.status == BLOCKED and self.blocked_reason in WAITS


def clear_reasons(todo: Todo) -> Todo:
    """With no reason that does not go with its status."""
    blocked = (todo.blocked_reason or UNKNOWN) if todo.status == BLOCKED else ""
    failure = todo.failure_reason if todo.status in (FAILED, PENDING, BLOCKED) else ""
    return replace(todo, blocked_reason=blocked, failure_reason=failure)


def fresh_id(taken: set[str]) -> str:
    """An id that nothing has; it is taken then."""
    name = next(name for name in (f"t{number}" for number in range(1, 10**6)) if name not in taken)
    taken.add(name)
    return name


def is_superseded(todos: Sequence[Todo], todo: Todo) -> bool:
    """Whether another required todo that is not canceled stands in its place, directly or by way of canceled ones."""
    names = {todo.id}
    while True:
        standing = [row for row in todos if row.counts and row.id not in names and names.intersection(row.supersedes)]
        if any(row.status != CANCELED for row in standing):
            return True
        if not standing:
            return False
        names |= {row.id for row in standing}


def find_failed(todos: Sequence[Todo]) -> list[Todo]:
    """The required todos that have failed, and nothing stands in their place."""
    return [row for row in todos if row.counts and row.status == FAILED and not is_superseded(todos, row)]


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


def parse_fields(given: Any) -> dict[str, Any]:
    """The fields as a Todo has them. A null is taken for a field that was left out. Raises TodoError."""
    if not isinstance(given, Mapping):
        raise TodoError(INVALID, "a todo is an object of fields")
    told = {name: value for name, value in given.items() if name not in NOT_KEPT}
    for name in told:
        if name == "title":
            raise TodoError(INVALID, "`title` is not used any more; say `content`")
        if not isinstance(name, str) or name not in _READ:
            raise TodoError(INVALID, f"{one_line(repr(name), 80)} cannot be set; what can: {', '.join(_READ)}")
    return {name: _READ[name](name, value) for name, value in told.items() if not _is_blank(name, value)}


def parse_id(name: str, value: Any) -> str:
    """An id; a number becomes text."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**LONGEST_ID else ""
    text = parse_text(name, value, LONGEST_ID)
    if not text:
        raise TodoError(INVALID, f"`{name}` must be a text or a whole number of up to {LONGEST_ID} characters")
    return text


def parse_status(name: str, value: Any) -> str:
    """A status, by whatever word models use for it, however they write it."""
    word = "_".join(re.split(r"[\s_-]+", value.strip().casefold())) if isinstance(value, str) else value
    return parse_choice(name, ALIASES.get(word, word) if isinstance(word, str) else word, STATUSES)


def parse_text(name: str, value: Any, most: int = LONGEST) -> str:
    """A text as one line in which nothing is hidden."""
    if not isinstance(value, str):
        raise TodoError(INVALID, f"`{name}` must be a text")
    if len(value) > most:
        raise TodoError(LIMIT, f"`{name}` has {len(value):,} characters, over the limit of {most:,}")
    return one_line(value, most)


def parse_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise TodoError(INVALID, f"`{name}` must be one of: {', '.join(choices)}")
    return value


def _is_blank(name: str, value: Any) -> bool:
    return value is None or (name == "blocked_reason" and value == "")


def _parse_content(name: str, value: Any) -> str:
    text = parse_text(name, value)
    if not text:
        raise TodoError(INVALID, f"`{name}` is empty: say what is to be done")
    return text


def _parse_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TodoError(INVALID, f"`{name}` must be true or false")
    return value


def _parse_priority(name: str, value: Any) -> int:
    if isinstance(value, str):
        value = PRIORITIES.get(value.strip().casefold())
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MOST_PRIORITY:
        raise TodoError(
            INVALID, f"`{name}` must be a whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}, or high, medium, low"
        )
    return value


def _list_parser(read: Callable[[str, Any], str]) -> Callable[[str, Any], tuple[str, ...]]:
    def entries(name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise TodoError(INVALID, f"`{name}` must be a list")
        if len(value) > MOST_ENTRIES:
            raise TodoError(LIMIT, f"`{name}` has {len(value):,} entries, over the limit of {MOST_ENTRIES}")
        return tuple(dict.fromkeys(read(f"{name} entry", entry) for entry in value))

    return entries


_READ: dict[str, Callable[[str, Any], Any]] = {
    "id": parse_id,
    "content": _parse_content,
    "status": parse_status,
    "required": _parse_flag,
    "blocked_reason": lambda name, value: parse_choice(name, value, BLOCKED_REASONS),
    "failure_reason": parse_text,
    "dependencies": _list_parser(parse_id),
    "supersedes": _list_parser(parse_id),
    "acceptance": _list_parser(parse_text),
    "artifacts": _list_parser(parse_text),
    "priority": _parse_priority,
    "executor": lambda name, value: parse_choice(name, value, EXECUTORS),
    "owner_id": parse_text,
}
