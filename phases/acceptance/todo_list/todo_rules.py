"""What no list of todos may be, and what may not become of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from phases.acceptance.todo_list.todo import (
    CANCELED,
    COMPLETED,
    CYCLE,
    DEPENDENCY,
    DUPLICATE,
    FAILED,
    IN_PROGRESS,
    LIMIT,
    MOST_TODOS,
    NOT_FOUND,
    PLAN,
    PROTECTED,
    TRANSITION,
    USER,
    Todo,
    TodoError,
    is_superseded,
)
from pipeline.base.text_escaping import one_line


def check_list(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    """Raises TodoError where the list must not become this one."""
    names = [row.id for row in new]
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise TodoError(DUPLICATE, f"an id must stand once: {', '.join(twice)}")
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
                f"{row.id} is of the plan or the user, and its content stays: {one_line(row.content, 120)}; give a todo of "
                "your own another id",
            )
        if given_up.intersection(row.supersedes) - set(made.supersedes):
            raise TodoError(PROTECTED, f"{row.id} stands in the place of a required todo and cannot stop doing so")
        if made.status == CANCELED != row.status and not is_superseded(new, made):
            raise TodoError(
                PROTECTED, f"{row.id} cannot be canceled unless a required todo with `supersedes` replaces it"
            )


def _check_links(old: Sequence[Todo], new: Sequence[Todo]) -> None:
    names, before = {row.id for row in new}, {row.id for row in old}
    for row in new:
        for field, links in (("dependencies", row.dependencies), ("supersedes", row.supersedes)):
            if row.id in links:
                raise TodoError(CYCLE, f"{row.id} cannot stand in its own {field}")
            if missing := sorted(set(links) - names):
                gone = [name for name in missing if name in before]
                if gone:
                    raise TodoError(DEPENDENCY, f"{', '.join(gone)} cannot go: {row.id} has it in its {field}")
                raise TodoError(NOT_FOUND, f"{row.id} names {', '.join(missing)} in its {field}, and there is none")
    for field, graph in (
        ("dependencies", {row.id: row.dependencies for row in new}),
        ("supersedes", {row.id: row.supersedes for row in new}),
    ):
        if circle := _find_circle(graph):
            raise TodoError(CYCLE, f"the {field} of these go in a circle: {', '.join(circle)}")


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
