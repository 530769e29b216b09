"""What a whole list, sent in the place of the one before, makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from phases.acceptance.todo_list.todo import (
    AGENT,
    DUPLICATE,
    FINAL,
    INVALID,
    LIMIT,
    MOST_TODOS,
    SUBAGENT,
    TRANSITION,
    Todo,
    TodoError,
    clear_reasons,
    find_protected,
    fresh_id,
    parse_fields,
)
from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json
from pipeline.base.text_escaping import one_line

_Row = dict[str, Any]
_STAYS = ("required", "acceptance", "supersedes")
"""What a todo has of the one that it begins anew, where nothing else is said."""


def replace_list(todos: tuple[Todo, ...], given: Any) -> tuple[Todo, ...]:
    """The list that a whole list asks for. Raises TodoError.

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
        links: _Row = {
            field: tuple(known.get(link, link) for link in row[field])
            for field in ("dependencies", "supersedes")
            if field in row
        }
        made.append(_update_todo(old, {**row, **links, "id": name}))
    return (*made, *_still_linked(todos, ended, made))


def _parse_rows(given: Any) -> list[_Row]:
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
    """Those in whose place another may begin: at an end, the agent's own, and in the place of nothing that is required."""
    kept = find_protected(todos)
    own = (row for row in todos if row.owner_type in (AGENT, SUBAGENT) and row.id not in kept)
    return {row.id: row for row in own if row.status in FINAL}


def _match_rows(todos: Sequence[Todo], rows: Sequence[_Row], ended: Collection[str]) -> list[Todo | None]:
    """The todo that each row speaks of: by its id, else by the same content; there the same status first, then what is open.

    The id of what has ended says little: models count from 1 again.
    """
    by_id, contents = {row.id: row for row in todos}, {row.content for row in todos}
    found = [by_id.get(row.get("id", "")) for row in rows]
    for index, (old, row) in enumerate(zip(found, rows, strict=True)):
        if old and old.id in ended and (_starts_again(old, row, ended) or old.content != row["content"] in contents):
            found[index] = None
    free = [row for row in todos if row not in found]
    for is_meant in (_has_its_status, _is_open, _is_any):
        for index, row in enumerate(rows):
            same = (todo for todo in free if todo.content == row["content"] and is_meant(todo, row))
            if found[index] is None and (todo := next(same, None)):
                found[index] = todo
                free.remove(todo)
    return found


def _has_its_status(todo: Todo, row: _Row) -> bool:
    return bool(todo.status == row["status"])


def _is_open(todo: Todo, _: _Row) -> bool:
    return todo.status not in FINAL


def _is_any(_: Todo, __: _Row) -> bool:
    return True


def _assign_ids(
    todos: Sequence[Todo], rows: Sequence[_Row], matched: Sequence[Todo | None], ended: Collection[str]
) -> list[str]:
    """What each row's todo is called: a new one as the row says, unless something was called so before."""
    before = {row.id for row in todos}
    taken, names = before | {row["id"] for row in rows if "id" in row}, []
    for old, row in zip(matched, rows, strict=True):
        if old and not _starts_again(old, row, ended):
            names.append(old.id)
        else:
            names.append(row["id"] if row.get("id", "") not in before and "id" in row else fresh_id(taken))
    return names


def _starts_again(old: Todo, row: _Row, ended: Collection[str]) -> bool:
    return old.id in ended and old.status != row["status"]


def _update_todo(old: Todo | None, fields: _Row) -> Todo:
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
    """What has ended, is not on the new list, and is linked to from there."""
    there, kept = {row.id for row in made}, list[Todo]()
    while True:
        links = {link for row in (*made, *kept) for link in (*row.dependencies, *row.supersedes)} - there
        more = [row for row in todos if row.id in links and row.id in ended]
        if not more:
            return kept
        kept += more
        there |= {row.id for row in more}
