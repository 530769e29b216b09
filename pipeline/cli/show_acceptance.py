"""Show all attempts to have a task's code accepted, from its journal, also of an unfinished run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.acceptance.attempt_report import format_attempts, read_attempts
from phases.acceptance.stop_reasons import ACCEPTED, EXHAUSTED, describe_reason
from phases.llm.journal import read_journal
from phases.workspace.task_paths import task_paths
from pipeline.base.errors import PhaseError
from pipeline.cli.assembly import command_name
from pipeline.cli.output import Answer, print_advice, print_text, wrap_text
from pipeline.engine.lock import holder_of
from pipeline.engine.stamps import DONE
from pipeline.engine.store import TaskStore

_DOCUMENT = "acceptance.json"
_HANGING = 11
"""Columns of the words before what a hook, a check or an advice says."""
_FINAL = ("stop_reason", "verified", "why_not", "tree_sha256", "max_continues", "refused_todo_changes")
_FAULTS = (KeyError, TypeError, ValueError, AttributeError)
"""Errors in describing a row that a run did not write."""
Row = Mapping[str, Any]


def find_attempts(store: TaskStore) -> Answer:
    """Return all attempts and their result. Raises PhaseError for a damaged journal."""
    path = task_paths(store.root).journal
    rows = read_journal(path)[1:]
    attempts, lines = _report_lines(path, rows)
    stamp = store.stamps.get("09")
    final = store.load(_DOCUMENT) if stamp and stamp.status == DONE and store.exists(_DOCUMENT) else None
    ending = {name: final[name] for name in _FINAL} if final else {}
    return Answer(
        {"task": store.id, "ended": final is not None, "attempts": attempts, **ending},
        lambda: _show_attempts(lines, _verdict_text(store, rows, attempts, final)),
    )


def _show_attempts(lines: Sequence[str], verdict: str) -> None:
    for line in lines:
        print_text(wrap_text(line, hanging=_HANGING))
    print_advice(wrap_text(verdict))


def _report_lines(path: str, rows: Sequence[Row]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the attempts, and their report lines."""
    try:
        attempts = read_attempts(rows)
        return attempts, format_attempts(attempts, "")[:-1]
    except _FAULTS as error:
        line = 1 + next(count for count in range(1, len(rows) + 1) if _row_fails(rows[:count]))
        fault = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        cure = "start afresh with --redo implement"
        raise PhaseError(f"{path}, line {line}: not a record of a run ({fault}); {cure}") from error


def _row_fails(rows: Sequence[Row]) -> bool:
    try:
        format_attempts(read_attempts(rows), "")
    except _FAULTS:
        return True
    return False


def _verdict_text(store: TaskStore, rows: Sequence[Row], attempts: Sequence[Row], final: Row | None) -> str:
    """Describe the result, or what is still to come, in a sentence."""
    if final:
        return _final_text(final)
    if who := holder_of(store.root):
        return f"The run is not over: {who} works on it"
    go_on = f"continue with: pipeline resume {command_name(store)}"
    stopped = next((row["result"] for row in reversed(rows) if row["kind"] == "stop"), None)
    if stopped and rows[-1]["kind"] == "stop":
        why = f"{describe_reason(stopped['stop_reason'])}: {' '.join(stopped['detail'].split())[:400]}"
        return f"The run stopped here ({why}); {go_on}"
    if not attempts:
        return f"The agent has not said yet that task {store.id} is done; {go_on}"
    return f"The run is not finished, and it is not running; {go_on}"


def _final_text(final: Row) -> str:
    if final["stop_reason"] == EXHAUSTED:
        return "Not accepted: no attempts are left"
    if final["stop_reason"] != ACCEPTED:
        return f"Not accepted: {final['stop_reason']}"
    if final["verified"]:
        return "Accepted, and verified"
    return f"Accepted, with doubts: {' '.join(str(final['why_not']).split())[:400]}"
