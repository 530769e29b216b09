"""The gate: whether the work is finished by its own account. It judges no file, no command, no right or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from phases.acceptance.stop_reasons import ACCEPT_CONTINUE, ACCEPTED, TODO_FAILED, TODO_WAITING
from phases.acceptance.todo_list.todo import Todo, failed_required
from pipeline.base.text_escaping import escaped, one_line

CONTINUED, FAILED = "continued", "failed"
OUTPUT, NONE_FAILED, CONVERGENCE = "output_only", "required_todo_failed", "required_todo_convergence"
_EMPTY_HINT = "You gave no visible reply just now; continue the task and give a clear result."
_OPEN_HINT = "Required todos are still unfinished; keep working on them before finishing:"


class Check(NamedTuple):
    """One of the three checks."""

    name: str
    passed: bool
    reason: str = ""
    """Why it does not pass."""


class Report(NamedTuple):
    """What the gate says of one ending."""

    status: str
    """accepted, continued or failed. What is failed ends the run, and `stop_reason` says how."""
    stop_reason: str
    """accepted, accept_continue, required_todo_failed or todo_waiting_external."""
    summary: str
    continue_hint: str
    """For the model: every check that continued work could mend."""
    results: list[Check]
    """Always all three, in one order."""


def gate(todos: Sequence[Todo], text: str) -> Report:
    """The three checks on the todos and on the visible text of the ending. (acceptance chain, section 8)

    Where nothing but waiting is left, the run ends at once: to continue would only use up the attempts (section 9).
    """
    failed, left = failed_required(todos), [row for row in todos if row.open]
    results = [
        _check(OUTPUT, "" if _visible(text) else "the reply has no visible text"),
        _check(NONE_FAILED, f"required todos failed: {_listed(failed)}" if failed else ""),
        _check(CONVERGENCE, f"required todos are open: {_listed(left)}" if left else ""),
    ]
    waiting = bool(left) and all(row.waits for row in left)
    if failed:
        status, stop = FAILED, TODO_FAILED
    elif waiting:
        status, stop = FAILED, TODO_WAITING
    else:
        status, stop = (ACCEPTED, ACCEPTED) if all(row.passed for row in results) else (CONTINUED, ACCEPT_CONTINUE)
    return Report(status, stop, _summary(results), _hint(results, left), results)


def _check(name: str, reason: str) -> Check:
    return Check(name, not reason, reason)


def _visible(text: str) -> bool:
    """Whether anything of it would be seen: spaces, controls and what has no width would not."""
    return any(mark.isprintable() and not mark.isspace() and escaped(mark) == mark for mark in text)


def _listed(todos: Sequence[Todo]) -> str:
    return ", ".join(f"{one_line(row.id)} ({row.blocked_reason})" if row.waits else one_line(row.id) for row in todos)


def _summary(results: Sequence[Check]) -> str:
    return "; ".join(f"{row.name}: {row.reason}" for row in results if not row.passed) or "acceptance prechecks passed"


def _hint(results: Sequence[Check], left: Sequence[Todo]) -> str:
    """What continued work could mend, all of it."""
    parts = [_EMPTY_HINT] if not results[0].passed else []
    if left:
        parts.append("\n".join([_OPEN_HINT, *(f"- {one_line(row.id)}: {one_line(row.content)}" for row in left)]))
    return "\n".join(parts)
