"""What a thing to do is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

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


def settled(todo: Todo) -> Todo:
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


def failed_required(todos: Sequence[Todo]) -> list[Todo]:
    """The required todos that have failed, and nothing stands in their place."""
    return [row for row in todos if row.counts and row.status == FAILED and not is_superseded(todos, row)]
