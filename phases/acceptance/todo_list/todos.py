"""The list of things to do: one change after another, each allowed or refused. Pure, so that a journal can be walked again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from phases.acceptance.todo_list.replace_list import replace_list
from phases.acceptance.todo_list.todo import (
    BLOCKED,
    BLOCKED_REASONS,
    COMPLETED,
    CONFLICT,
    DUPLICATE,
    FAILED,
    IN_PROGRESS,
    INVALID,
    LONGEST,
    NEXT,
    NOT_FOUND,
    PLAN,
    PROTECTED,
    TRANSITION,
    Todo,
    TodoError,
    check_kept,
    check_list,
    check_size,
    clear_reasons,
    find_failed,
    fresh_id,
    parse_fields,
    parse_id,
    parse_status,
    parse_text,
)
from pipeline.base.errors import PhaseError
from pipeline.base.text_escaping import one_line

__all__ = [
    "ACTIONS",
    "Todo",
    "TodoError",
    "apply_change",
    "find_refused_changes",
    "plan_todos",
    "summarize_todos",
    "todo_rows",
]
_ADD, _UPDATE, _SET, _REMOVE = "add", "update", "set_status", "remove"
_STEPS = {"claim": IN_PROGRESS, "complete": COMPLETED, "fail": FAILED}
ACTIONS = (_ADD, _UPDATE, _SET, _REMOVE, *_STEPS)
_ARGUMENTS = ("todos", "action", "id", "patch", "expected_revision", "status", "reason")
_NOT_KEPT = "explanation"
_Row = Mapping[str, Any]


def apply_change(todos: tuple[Todo, ...], arguments: Mapping[str, Any]) -> tuple[Todo, ...]:
    """Return the list after a call of TodoWrite. Raises TodoError where the call is refused; then the list stays as it is.

    `todos` replaces the list; `action` changes one thing of it. (acceptance chain, section 9)
    """
    check_size(arguments)
    given = {name: value for name, value in arguments.items() if value is not None and name != _NOT_KEPT}
    if unknown := [name for name in given if name not in _ARGUMENTS]:
        raise TodoError(INVALID, f"{one_line(repr(unknown[0]), 80)} is none of: {', '.join(_ARGUMENTS)}")
    if ("todos" in given) == ("action" in given):
        raise TodoError(INVALID, "give either `todos`, the whole list, or `action`, one change")
    made = replace_list(todos, given["todos"]) if "todos" in given else _change_one(todos, given)
    check_list(todos, made)
    check_kept(todos, made)
    return made


def plan_todos(plan: _Row) -> tuple[Todo, ...]:
    """What the plan itself wants done. Raises PhaseError where an id stands twice, and where nothing is said."""
    todos: dict[str, Todo] = {}
    for index, row in enumerate(plan.get("todos", ())):
        content = one_line(row["content"], LONGEST)
        fault = "the content is empty" if not content else f"the id {row['id']!r} appears twice"
        # Decision 83: a person adds these by hand, so the fault names the place in the plan.
        if not content or row["id"] in todos:
            raise PhaseError(f"initial_plan.txt at $.todos[{index}]: {fault}; fix it with: pipeline review")
        todos[row["id"]] = Todo(row["id"], content, required=row.get("required"), owner_type=PLAN)
    return tuple(todos.values())


def todo_rows(todos: Iterable[Todo]) -> list[dict[str, Any]]:
    """The list as implementation.json has it."""
    return [{"id": row.id, "content": row.content, "status": row.status, "required": row.counts} for row in todos]


def summarize_todos(todos: Sequence[Todo]) -> dict[str, int]:
    """How many there are, and how the required ones stand. What another stands in the place of has not failed."""
    required = [row for row in todos if row.counts]
    return {
        "total": len(todos),
        "required_total": len(required),
        "required_completed": sum(row.status == COMPLETED for row in required),
        "required_failed": len(find_failed(todos)),
        "required_open": sum(row.open for row in required),
    }


def find_refused_changes(rows: Iterable[_Row]) -> list[dict[str, Any]]:
    """Every attempt to drop or weaken what the plan or the user requires, from the rows of a journal: turn, why."""
    asked: set[tuple[int, str]] = set()
    refused = []
    for row in rows:
        if row["kind"] == "reply":
            calls = (call for call in row["result"]["calls"] if call["name"] == "TodoWrite")
            asked |= {(row["key"]["turn"], call["id"]) for call in calls}
        elif row["kind"] == "result" and (row["key"]["turn"], row["key"]["call"]) in asked:
            why = row["result"]["text"].partition(": ")[2]
            if row["result"]["failed"] and row["result"].get("code") == PROTECTED:
                refused.append({"turn": row["key"]["turn"], "why": one_line(why, 400)})
    return refused


def _change_one(todos: tuple[Todo, ...], given: _Row) -> tuple[Todo, ...]:
    """One change, by the strict rules of one step."""
    action, patch = given["action"], parse_fields(given.get("patch", {}))
    if not isinstance(action, str) or action not in ACTIONS:
        raise TodoError(INVALID, f"`action` must be one of: {', '.join(ACTIONS)}")
    if action == _ADD:
        return (*todos, _add_todo(todos, given, patch))
    old = _find_todo(todos, given)
    if action == _REMOVE:
        return tuple(row for row in todos if row is not old)
    if patch.pop("id", old.id) != old.id:
        raise TodoError(INVALID, "an id never changes")
    new = _step_todo(old, {**patch, **_read_arguments(action, given, patch)})
    new = replace(new, revision=old.revision + 1)
    return tuple(new if row is old else row for row in todos)


def _add_todo(todos: tuple[Todo, ...], given: _Row, patch: dict[str, Any]) -> Todo:
    taken = {row.id for row in todos}
    name = parse_id("id", given["id"]) if "id" in given else patch.get("id") or fresh_id({*taken})
    if name in taken:
        raise TodoError(DUPLICATE, f"there is a todo {name} already; leave `id` out to get a new one")
    if "content" not in patch:
        raise TodoError(INVALID, "`add` needs `patch` with `content`")
    fields = {**patch, **_read_arguments(_UPDATE, given, patch), "id": name}
    return _step_todo(Todo(name, patch["content"]), fields)


def _find_todo(todos: tuple[Todo, ...], given: _Row) -> Todo:
    if "id" not in given:
        raise TodoError(INVALID, f"`{given['action']}` needs the `id` of a todo")
    name, expected = parse_id("id", given["id"]), given.get("expected_revision", 0)
    found = next((row for row in todos if row.id == name), None)
    if found is None:
        there = ", ".join(row.id for row in todos) or "none, the list is empty"
        raise TodoError(NOT_FOUND, f"there is no todo {name}; there are: {there}")
    if not isinstance(expected, (int, float)) or isinstance(expected, bool):
        raise TodoError(INVALID, "`expected_revision` must be a whole number")
    if expected > 0 and expected != found.revision:
        raise TodoError(CONFLICT, f"{name} has revision {found.revision} by now, not {expected}; look at it again")
    return found


def _read_arguments(action: str, given: _Row, patch: _Row) -> dict[str, Any]:
    """What the arguments beside the patch say."""
    if action == _SET and "status" not in given:
        raise TodoError(INVALID, "`set_status` needs a `status`")
    told: dict[str, Any] = {"status": parse_status("status", given["status"])} if "status" in given else {}
    if action in _STEPS:
        told = {"status": _STEPS[action]}
    if "reason" in given:
        reason = parse_text("reason", given["reason"])
        is_wait = {**patch, **told}.get("status") == BLOCKED and reason in BLOCKED_REASONS
        told["blocked_reason" if is_wait else "failure_reason"] = reason
    return told


def _step_todo(old: Todo, fields: _Row) -> Todo:
    new = clear_reasons(replace(old, **fields))
    if new.status not in (old.status, *NEXT[old.status]):
        after = ", ".join(NEXT[old.status]) or "nothing: that is final; add a new todo that `supersedes` it"
        raise TodoError(
            TRANSITION, f"{old.id} is {old.status} and cannot become {new.status}; what may follow: {after}"
        )
    return new
