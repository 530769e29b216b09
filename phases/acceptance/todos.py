"""Apply changes to the todo list. The functions are pure, so that a journal can be replayed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from pipeline.base.errors import FormatError, PhaseError
from pipeline.base.formats import parse_json
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
_Row = Mapping[str, Any]
_Fields = dict[str, Any]
_STAYS = ("required", "acceptance", "supersedes")
"""Fields that a restarted todo inherits unless they are given."""
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
"""Statuses that may follow a status in one step, besides itself."""
WAITS = ("user_input_wait", "permission_wait", "external_resource_wait")
"""Reasons of a blocked todo that nothing which the model does can remove."""
UNKNOWN = "unknown"
BLOCKED_REASONS = ("internal_dependency", *WAITS, UNKNOWN)
AGENT, SUBAGENT, USER, PLAN = "agent", "subagent", "user", "plan"
_ADD, _UPDATE, _SET, _REMOVE = "add", "update", "set_status", "remove"
_STEPS = {"claim": IN_PROGRESS, "complete": COMPLETED, "fail": FAILED}
ACTIONS = (_ADD, _UPDATE, _SET, _REMOVE, *_STEPS)
_ARGUMENTS = ("todos", "action", "id", "patch", "expected_revision", "status", "reason")
_NOT_KEPT = "explanation"
NOT_FOUND, TRANSITION, CONFLICT, CYCLE, DEPENDENCY, DUPLICATE, PROTECTED, LIMIT, INVALID = (
    "not_found", "invalid_transition", "revision_conflict", "cyclic_dependency", "dependency_violation", "duplicate",
    "protected", "limit", "invalid",
)  # fmt: skip


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
    """Return the todos of the plan. Raises PhaseError for a repeated id or empty content."""
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
    """Return the list for implementation.json."""
    return [{"id": todo.id, "content": todo.content, "status": todo.status, "required": todo.counts} for todo in todos]


def summarize_todos(todos: Sequence[Todo]) -> dict[str, int]:
    """Count the todos and the states of the required ones. A replaced todo does not count as failed."""
    required = [todo for todo in todos if todo.counts]
    return {
        "total": len(todos),
        "required_total": len(required),
        "required_completed": sum(todo.status == COMPLETED for todo in required),
        "required_failed": len(find_failed(todos)),
        "required_open": sum(todo.open for todo in required),
    }


def find_refused_changes(rows: Iterable[_Row]) -> list[dict[str, Any]]:
    """Return every attempt to drop or weaken a required todo of the plan or the user, with its turn and reason."""
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
    """Apply one change by the strict rules of one step."""
    action, patch = given["action"], parse_fields(given.get("patch", {}))
    if not isinstance(action, str) or action not in ACTIONS:
        raise TodoError(INVALID, f"`action` must be one of: {', '.join(ACTIONS)}")
    if action == _ADD:
        return (*todos, _add_todo(todos, given, patch))
    old = _find_todo(todos, given)
    if action == _REMOVE:
        return tuple(todo for todo in todos if todo is not old)
    if patch.pop("id", old.id) != old.id:
        raise TodoError(INVALID, "an id never changes")
    new = _step_todo(old, {**patch, **_read_arguments(action, given, patch)})
    new = replace(new, revision=old.revision + 1)
    return tuple(new if todo is old else todo for todo in todos)


def _add_todo(todos: tuple[Todo, ...], given: _Row, patch: dict[str, Any]) -> Todo:
    taken = {todo.id for todo in todos}
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
    found = next((todo for todo in todos if todo.id == name), None)
    if found is None:
        there = ", ".join(todo.id for todo in todos) or "none, the list is empty"
        raise TodoError(NOT_FOUND, f"there is no todo {name}; there are: {there}")
    if not isinstance(expected, (int, float)) or isinstance(expected, bool):
        raise TodoError(INVALID, "`expected_revision` must be a whole number")
    if expected > 0 and expected != found.revision:
        raise TodoError(CONFLICT, f"{name} has revision {found.revision} by now, not {expected}; look at it again")
    return found


def _read_arguments(action: str, given: _Row, patch: _Row) -> dict[str, Any]:
    """Read the arguments other than the patch."""
    if action == _SET and "status" not in given:
        raise TodoError(INVALID, "`set_status` needs a `status`")
    fields: dict[str, Any] = {"status": parse_status("status", given["status"])} if "status" in given else {}
    if action in _STEPS:
        fields = {"status": _STEPS[action]}
    if "reason" in given:
        reason = parse_text("reason", given["reason"])
        is_wait = {**patch, **fields}.get("status") == BLOCKED and reason in BLOCKED_REASONS
        fields["blocked_reason" if is_wait else "failure_reason"] = reason
    return fields


def _step_todo(old: Todo, fields: _Row) -> Todo:
    new = clear_reasons(replace(old, **fields))
    if new.status not in (old.status, *NEXT[old.status]):
        after = ", ".join(NEXT[old.status]) or "nothing: that is final; add a new todo that `supersedes` it"
        raise TodoError(
            TRANSITION, f"{old.id} is {old.status} and cannot become {new.status}; what may follow: {after}"
        )
    return new


def replace_list(todos: tuple[Todo, ...], given: Any) -> tuple[Todo, ...]:
    """Replace the whole list. Raises TodoError.

    It shows no single steps, so any are taken for done but those out of an end: there a todo of the agent's own is left as it
    was, and a new one begins. What still has links to the one that ended keeps it on the list.
    """
    rows = _parse_rows(given)
    ended = _find_ended(todos)
    # Decision 84: a whole list shows no single steps, so pending may be completed in it.
    matched = _match_rows(todos, rows, ended)
    names = _assign_ids(todos, rows, matched, ended)
    known = {row["id"]: name for row, name in zip(rows, names, strict=True) if "id" in row}
    made = []
    for old, row, name in zip(matched, rows, names, strict=True):
        links: _Fields = {
            field: tuple(known.get(link, link) for link in row[field])
            for field in ("dependencies", "supersedes")
            if field in row
        }
        made.append(_update_todo(old, {**row, **links, "id": name}))
    return (*made, *_still_linked(todos, ended, made))


def _parse_rows(given: Any) -> list[_Fields]:
    if isinstance(given, str):
        try:
            given = parse_json(given.encode("utf-8", "surrogatepass"))
        except FormatError as error:
            raise TodoError(INVALID, f"`todos` must be a list; as a string it is {one_line(str(error))}") from error
    if not isinstance(given, (list, tuple)):
        raise TodoError(INVALID, "`todos` must be a list")
    if len(given) > MOST_TODOS:
        raise TodoError(LIMIT, f"{len(given):,} todos are over the limit of {MOST_TODOS}")
    rows = [parse_fields(row) for row in given]
    if any("content" not in row or "status" not in row for row in rows):
        raise TodoError(INVALID, "every todo of the list needs `content` and `status`")
    names = [row["id"] for row in rows if "id" in row]
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise TodoError(DUPLICATE, f"an id may appear only once: {', '.join(twice)}")
    return rows


def _find_ended(todos: Sequence[Todo]) -> dict[str, Todo]:
    """Return the ended todos of the agent that may be restarted: those that replace nothing required."""
    protected = find_protected(todos)
    own = (todo for todo in todos if todo.owner_type in (AGENT, SUBAGENT) and todo.id not in protected)
    return {todo.id: todo for todo in own if todo.status in FINAL}


def _match_rows(todos: Sequence[Todo], rows: Sequence[_Fields], ended: Collection[str]) -> list[Todo | None]:
    """Match each row to a todo: by id, else by content, with the same status first, then open ones.

    The id of what has ended says little: models count from 1 again.
    """
    by_id, contents = {row.id: row for row in todos}, {row.content for row in todos}
    found = [by_id.get(row.get("id", "")) for row in rows]
    for index, (old, row) in enumerate(zip(found, rows, strict=True)):
        if old and old.id in ended and (old.status != row["status"] or old.content != row["content"] in contents):
            found[index] = None
    free = [row for row in todos if row not in found]
    for statuses in (lambda row: (row["status"],), lambda row: set(STATUSES) - set(FINAL), lambda row: STATUSES):
        for index, row in enumerate(rows):
            same = (todo for todo in free if todo.content == row["content"] and todo.status in statuses(row))
            if found[index] is None and (todo := next(same, None)):
                found[index] = todo
                free.remove(todo)
    return found


def _assign_ids(
    todos: Sequence[Todo], rows: Sequence[_Fields], matched: Sequence[Todo | None], ended: Collection[str]
) -> list[str]:
    """Return the id for each row; a new todo gets the row's id unless it was used before."""
    before = {row.id for row in todos}
    taken, names = before | {row["id"] for row in rows if "id" in row}, []
    for old, row in zip(matched, rows, strict=True):
        if old and (old.id not in ended or old.status == row["status"]):
            names.append(old.id)
        else:
            names.append(row["id"] if row.get("id", "") not in before and "id" in row else fresh_id(taken))
    return names


def _update_todo(old: Todo | None, fields: _Fields) -> Todo:
    if old is None or fields["id"] != old.id:
        stays = {name: getattr(old, name) for name in _STAYS} if old else {}
        return clear_reasons(Todo(**{**stays, **fields}))
    new = clear_reasons(replace(old, **fields))
    # Decision 93: only todos of the agent itself begin anew after an end.
    if old.status in FINAL and new.status != old.status:
        raise TodoError(
            TRANSITION,
            f"{old.id} is {old.status}, and that is final: it cannot become {new.status}; add a new todo for what is left",
        )
    return old if new == old else replace(new, revision=old.revision + 1)


def _still_linked(todos: Sequence[Todo], ended: Mapping[str, Todo], made: Sequence[Todo]) -> list[Todo]:
    """Return the ended todos that are missing from the new list but linked from it."""
    there, linked = {todo.id for todo in made}, list[Todo]()
    while True:
        links = {link for todo in (*made, *linked) for link in (*todo.dependencies, *todo.supersedes)} - there
        more = [todo for todo in todos if todo.id in links and todo.id in ended]
        if not more:
            return linked
        linked += more
        there |= {todo.id for todo in more}


class TodoError(Exception):
    """A change of the list that is refused, in words for the model; the words begin with the code."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code


@dataclass(frozen=True)
class Todo:
    """One todo."""

    id: str
    content: str
    status: str = PENDING
    required: bool | None = None
    """None counts as required."""
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
        return self.required is not False

    @property
    def open(self) -> bool:
        """Return whether it is required and unfinished."""
        return self.counts and self.status not in FINAL

    @property
    def waits(self) -> bool:
        """Return whether it waits for something outside."""
        return self.status == BLOCKED and self.blocked_reason in WAITS


def clear_reasons(todo: Todo) -> Todo:
    """Return the todo without reasons that do not fit its status."""
    blocked = (todo.blocked_reason or UNKNOWN) if todo.status == BLOCKED else ""
    failure = todo.failure_reason if todo.status in (FAILED, PENDING, BLOCKED) else ""
    return replace(todo, blocked_reason=blocked, failure_reason=failure)


def fresh_id(taken: set[str]) -> str:
    name = next(name for name in (f"t{number}" for number in range(1, 10**6)) if name not in taken)
    taken.add(name)
    return name


def is_superseded(todos: Sequence[Todo], todo: Todo) -> bool:
    """Return whether a required todo that is not canceled replaces it, directly or through canceled ones."""
    names = {todo.id}
    while True:
        standing = [new for new in todos if new.counts and new.id not in names and names.intersection(new.supersedes)]
        if any(new.status != CANCELED for new in standing):
            return True
        if not standing:
            return False
        names |= {new.id for new in standing}


def find_failed(todos: Sequence[Todo]) -> list[Todo]:
    """Return the required todos that failed and are not replaced."""
    return [todo for todo in todos if todo.counts and todo.status == FAILED and not is_superseded(todos, todo)]


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
"""Fields that models send and nothing here uses."""


def check_size(arguments: Mapping[str, Any]) -> None:
    """Raise TodoError if the arguments are too long as a whole."""
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    except (TypeError, ValueError, RecursionError) as error:
        raise TodoError(INVALID, "the arguments are not valid JSON") from error
    if size > MOST_BYTES:
        raise TodoError(LIMIT, f"the arguments have {size:,} bytes, over the limit of {MOST_BYTES:,}")


def parse_fields(given: Any) -> dict[str, Any]:
    """Parse the fields of a Todo; null counts as absent. Raises TodoError."""
    if not isinstance(given, Mapping):
        raise TodoError(INVALID, "a todo is an object of fields")
    fields = {name: value for name, value in given.items() if name not in NOT_KEPT}
    for name in fields:
        if name == "title":
            raise TodoError(INVALID, "`title` is no longer used; write `content`")
        if not isinstance(name, str) or name not in _READ:
            raise TodoError(INVALID, f"{one_line(repr(name), 80)} cannot be set; what can: {', '.join(_READ)}")
    return {
        name: _READ[name](name, value)
        for name, value in fields.items()
        if value is not None and (name, value) != ("blocked_reason", "")
    }


def parse_id(name: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**LONGEST_ID else ""
    text = parse_text(name, value, LONGEST_ID)
    if not text:
        raise TodoError(INVALID, f"`{name}` must be a string or a whole number of up to {LONGEST_ID} characters")
    return text


def parse_status(name: str, value: Any) -> str:
    """Parse a status, including the synonyms that models use."""
    word = "_".join(re.split(r"[\s_-]+", value.strip().casefold())) if isinstance(value, str) else value
    return parse_choice(name, ALIASES.get(word, word) if isinstance(word, str) else word, STATUSES)


def parse_text(name: str, value: Any, most: int = LONGEST) -> str:
    """Return a text as one line without hidden characters."""
    if not isinstance(value, str):
        raise TodoError(INVALID, f"`{name}` must be a string")
    if len(value) > most:
        raise TodoError(LIMIT, f"`{name}` has {len(value):,} characters, over the limit of {most:,}")
    return one_line(value, most)


def parse_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise TodoError(INVALID, f"`{name}` must be one of: {', '.join(choices)}")
    return value


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
    """Raise TodoError if the list must not become this one."""
    names = [todo.id for todo in new]
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise TodoError(DUPLICATE, f"an id may appear only once: {', '.join(twice)}")
    _check_protected(old, new)
    if len(new) > MOST_TODOS:
        raise TodoError(LIMIT, f"{len(new)} todos are over the limit of {MOST_TODOS}")
    _check_links(old, new)
    _check_order(new)
    _check_canceled(old, new)


def check_kept(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    """Raise TodoError if an open required todo would no longer count: dropping it or making it optional cancels it."""
    # A model that drops what is open would pass the gate without doing it.
    now = {todo.id: todo for todo in new}
    open_before = [todo for todo in old if todo.open]
    if gone := [todo for todo in open_before if todo.id not in now]:
        listed = "; ".join(f"{todo.id} ({todo.status}): {one_line(todo.content, 120)}" for todo in gone)
        raise TodoError(
            TRANSITION,
            f"required todos that are open stay on the list; send these too, canceled where another required todo names them in "
            f"`supersedes`: {listed}",
        )
    for todo in open_before:
        if not now[todo.id].counts and not is_superseded(new, todo):
            raise TodoError(
                TRANSITION,
                f"{todo.id} is required and open: it can be made optional when another required todo names it in `supersedes`",
            )


def find_protected(todos: Sequence[Todo]) -> set[str]:
    """Return the ids that a model may neither drop nor make optional: required todos of the plan and of the user.

    What replaces one of them that failed or was canceled is protected too: otherwise it could be dropped in its turn.
    """
    protected = {todo.id for todo in todos if todo.counts and todo.owner_type in (PLAN, USER)}
    while True:
        given_up = _find_given_up(todos, protected)
        more = {todo.id for todo in todos if todo.counts and given_up.intersection(todo.supersedes)} - protected
        if not more:
            return protected
        protected |= more


def _find_given_up(todos: Sequence[Todo], among: set[str]) -> set[str]:
    return {todo.id for todo in todos if todo.id in among and todo.status in (FAILED, CANCELED)}


def _check_protected(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    protected, now = find_protected(old), {todo.id: todo for todo in new}
    given_up = _find_given_up(old, protected)
    rows = [todo for todo in old if todo.id in protected]
    if gone := [todo for todo in rows if todo.id not in now]:
        listed = "; ".join(f"{todo.id}: {one_line(todo.content, 120)}" for todo in gone)
        raise TodoError(PROTECTED, f"required todos of the plan or the user stay on the list; send these too: {listed}")
    for todo in rows:
        made = now[todo.id]
        if not made.counts:
            raise TodoError(PROTECTED, f"{todo.id} was required by the plan or the user and cannot be made optional")
        if made.content != todo.content:
            raise TodoError(
                PROTECTED,
                f"{todo.id} comes from the plan or the user, and its content stays: {one_line(todo.content, 120)}; "
                "give a todo of your own another id",
            )
        if given_up.intersection(todo.supersedes) - set(made.supersedes):
            raise TodoError(PROTECTED, f"{todo.id} replaces a required todo and cannot stop doing so")
        if made.status == CANCELED != todo.status and not is_superseded(new, made):
            raise TodoError(
                PROTECTED, f"{todo.id} cannot be canceled unless a required todo with `supersedes` replaces it"
            )


def _check_links(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    names, before = {todo.id for todo in new}, {todo.id for todo in old}
    for todo in new:
        for field, links in (("dependencies", todo.dependencies), ("supersedes", todo.supersedes)):
            if todo.id in links:
                raise TodoError(CYCLE, f"{todo.id} cannot name itself in its {field}")
            if missing := sorted(set(links) - names):
                gone = [name for name in missing if name in before]
                if gone:
                    raise TodoError(
                        DEPENDENCY, f"{', '.join(gone)} cannot be removed: {todo.id} names it in its {field}"
                    )
                raise TodoError(NOT_FOUND, f"{todo.id} names {', '.join(missing)} in its {field}, and there is none")
    for field in ("dependencies", "supersedes"):
        if circle := _find_circle({todo.id: getattr(todo, field) for todo in new}):
            raise TodoError(CYCLE, f"the {field} of these form a circle: {', '.join(circle)}")


def _find_circle(graph: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the ids of a cycle, by removing what leads to nothing left."""
    left = dict(graph)
    while free := [name for name, links in left.items() if not any(link in left for link in links)]:
        for name in free:
            del left[name]
    return list(left)


def _check_order(new: Sequence[Todo]) -> None:
    done = {todo.id for todo in new if todo.status == COMPLETED}
    for todo in new:
        waits_for = [name for name in todo.dependencies if name not in done]
        if waits_for and todo.status in (IN_PROGRESS, COMPLETED):
            raise TodoError(
                DEPENDENCY, f"{todo.id} cannot be {todo.status} before these are completed: {', '.join(waits_for)}"
            )


def _check_canceled(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    before = {todo.id for todo in old if todo.status == CANCELED}
    for todo in new:
        if todo.counts and todo.status == CANCELED and todo.id not in before and not is_superseded(new, todo):
            raise TodoError(
                TRANSITION,
                f"{todo.id} is required: it can be canceled when another required todo names it in `supersedes`",
            )
