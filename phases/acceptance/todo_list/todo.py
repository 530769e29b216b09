"""A todo: its fields, what a model may say of them, and what a list of todos may become."""

from __future__ import annotations

import json
import re
from collections import Counter
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
    """One thing to do."""

    id: str
    content: str
    status: str = PENDING
    required: bool | None = None
    """Nothing said counts as required."""
    blocked_reason: str = ""
    dependencies: tuple[str, ...] = ()
    owner_type: str = AGENT
    """plan, user, agent or subagent: who wrote it. It never changes, because what it protects must not either."""
    acceptance: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    """Todos in whose place it stands."""
    failure_reason: str = ""
    revision: int = 1

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
ALIASES = MappingProxyType(
    {
        **dict.fromkeys(("todo", "to_do", "open", "not_started"), PENDING),
        **dict.fromkeys(("doing", "running", "started"), IN_PROGRESS),
        **dict.fromkeys(("done", "complete", "finished"), COMPLETED),
        **dict.fromkeys(("cancelled", "cancel"), CANCELED),
    }
)
"""Other words for a status, in small letters and with `_` between words."""
NOT_KEPT = ("activeForm", "active_form", "priority", "executor", "owner_id")
"""What models are used to say of a todo, and nothing here has a use for."""


def check_size(arguments: Mapping[str, Any]) -> None:
    """Raises TodoError for arguments that are too long as a whole."""
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    except (TypeError, ValueError, RecursionError) as error:
        raise TodoError(INVALID, "the arguments are not valid JSON") from error
    if size > MOST_BYTES:
        raise TodoError(LIMIT, f"the arguments have {size:,} bytes, over the limit of {MOST_BYTES:,}")


def parse_fields(given: Any) -> dict[str, Any]:
    """The fields as a Todo has them. A null is taken for a field that was left out. Raises TodoError."""
    if not isinstance(given, Mapping):
        raise TodoError(INVALID, "a todo is an object of fields")
    told = {name: value for name, value in given.items() if name not in NOT_KEPT}
    for name in told:
        if name == "title":
            raise TodoError(INVALID, "`title` is no longer used; write `content`")
        if not isinstance(name, str) or name not in _READ:
            raise TodoError(INVALID, f"{one_line(repr(name), 80)} cannot be set; what can: {', '.join(_READ)}")
    return {name: _READ[name](name, value) for name, value in told.items() if not _is_blank(name, value)}


def parse_id(name: str, value: Any) -> str:
    """An id; a number becomes text."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**LONGEST_ID else ""
    text = parse_text(name, value, LONGEST_ID)
    if not text:
        raise TodoError(INVALID, f"`{name}` must be a string or a whole number of up to {LONGEST_ID} characters")
    return text


def parse_status(name: str, value: Any) -> str:
    """A status, by whatever word models use for it, however they write it."""
    word = "_".join(re.split(r"[\s_-]+", value.strip().casefold())) if isinstance(value, str) else value
    return parse_choice(name, ALIASES.get(word, word) if isinstance(word, str) else word, STATUSES)


def parse_text(name: str, value: Any, most: int = LONGEST) -> str:
    """A text as one line in which nothing is hidden."""
    if not isinstance(value, str):
        raise TodoError(INVALID, f"`{name}` must be a string")
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
}


def check_list(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    """Raises TodoError where the list must not become this one."""
    names = [row.id for row in new]
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise TodoError(DUPLICATE, f"an id may appear only once: {', '.join(twice)}")
    _check_protected(old, new)
    if len(new) > MOST_TODOS:
        raise TodoError(LIMIT, f"{len(new)} todos are over the limit of {MOST_TODOS}")
    _check_links(old, new)
    _check_order(new)
    _check_canceled(old, new)


def check_kept(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    """Raises TodoError where a required todo that is open would not count any more: to leave it out, or to make it optional, is
    to cancel it.
    """
    # A model that drops what is open would pass the gate without doing it.
    now = {row.id: row for row in new}
    open_before = [row for row in old if row.open]
    if gone := [row for row in open_before if row.id not in now]:
        listed = "; ".join(f"{row.id} ({row.status}): {one_line(row.content, 120)}" for row in gone)
        raise TodoError(
            TRANSITION,
            f"required todos that are open stay on the list; send these too, canceled where another required todo names them in "
            f"`supersedes`: {listed}",
        )
    for row in open_before:
        if not now[row.id].counts and not is_superseded(new, row):
            raise TodoError(
                TRANSITION,
                f"{row.id} is required and open: it can be made optional when another required todo names it in `supersedes`",
            )


def find_protected(todos: Sequence[Todo]) -> set[str]:
    """Those that a model may neither drop nor make optional: required ones of the plan and of the user.

    What stands in the place of one that failed or was canceled is one of them: else it would be dropped in its turn.
    """
    kept = {row.id for row in todos if row.counts and row.owner_type in (PLAN, USER)}
    while True:
        given_up = _find_given_up(todos, kept)
        more = {row.id for row in todos if row.counts and given_up.intersection(row.supersedes)} - kept
        if not more:
            return kept
        kept |= more


def _find_given_up(todos: Sequence[Todo], among: set[str]) -> set[str]:
    return {row.id for row in todos if row.id in among and row.status in (FAILED, CANCELED)}


def _check_protected(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    kept, now = find_protected(old), {row.id: row for row in new}
    given_up = _find_given_up(old, kept)
    rows = [row for row in old if row.id in kept]
    if gone := [row for row in rows if row.id not in now]:
        listed = "; ".join(f"{row.id}: {one_line(row.content, 120)}" for row in gone)
        raise TodoError(PROTECTED, f"required todos of the plan or the user stay on the list; send these too: {listed}")
    for row in rows:
        made = now[row.id]
        if not made.counts:
            raise TodoError(PROTECTED, f"{row.id} was required by the plan or the user and cannot be made optional")
        if made.content != row.content:
            raise TodoError(
                PROTECTED,
                f"{row.id} comes from the plan or the user, and its content stays: {one_line(row.content, 120)}; give a todo of "
                "your own another id",
            )
        if given_up.intersection(row.supersedes) - set(made.supersedes):
            raise TodoError(PROTECTED, f"{row.id} replaces a required todo and cannot stop doing so")
        if made.status == CANCELED != row.status and not is_superseded(new, made):
            raise TodoError(
                PROTECTED, f"{row.id} cannot be canceled unless a required todo with `supersedes` replaces it"
            )


def _check_links(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    names, before = {row.id for row in new}, {row.id for row in old}
    for row in new:
        for field, links in (("dependencies", row.dependencies), ("supersedes", row.supersedes)):
            if row.id in links:
                raise TodoError(CYCLE, f"{row.id} cannot name itself in its {field}")
            if missing := sorted(set(links) - names):
                gone = [name for name in missing if name in before]
                if gone:
                    raise TodoError(
                        DEPENDENCY, f"{', '.join(gone)} cannot be removed: {row.id} names it in its {field}"
                    )
                raise TodoError(NOT_FOUND, f"{row.id} names {', '.join(missing)} in its {field}, and there is none")
    for field, graph in (
        ("dependencies", {row.id: row.dependencies for row in new}),
        ("supersedes", {row.id: row.supersedes for row in new}),
    ):
        if circle := _find_circle(graph):
            raise TodoError(CYCLE, f"the {field} of these form a circle: {', '.join(circle)}")


def _find_circle(graph: Mapping[str, Sequence[str]]) -> list[str]:
    """What is left when again and again everything is taken away that leads to nothing left."""
    left = dict(graph)
    while free := [name for name, links in left.items() if not any(link in left for link in links)]:
        for name in free:
            del left[name]
    return list(left)


def _check_order(new: Sequence[Todo]) -> None:
    done = {row.id for row in new if row.status == COMPLETED}
    for row in new:
        waits_for = [name for name in row.dependencies if name not in done]
        if waits_for and row.status in (IN_PROGRESS, COMPLETED):
            raise TodoError(
                DEPENDENCY, f"{row.id} cannot be {row.status} before these are completed: {', '.join(waits_for)}"
            )


def _check_canceled(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    before = {row.id for row in old if row.status == CANCELED}
    for row in new:
        if row.counts and row.status == CANCELED and row.id not in before and not is_superseded(new, row):
            raise TodoError(
                TRANSITION,
                f"{row.id} is required: it can be canceled when another required todo names it in `supersedes`",
            )
