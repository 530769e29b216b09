"""The story of all attempts to have a task's code accepted, from its journal: also of a run that did not end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.agent.acceptance.stop_reasons import ACCEPTED
from phases.agent.acceptance.story import attempts_of, lines_of
from phases.agent.assignment import places_in
from phases.agent.journal import recorded_rows
from pipeline.cli.assembly import command_name
from pipeline.cli.console import say, say_json
from pipeline.errors import PhaseError
from pipeline.lock import holder
from pipeline.stamps import DONE
from pipeline.store import TaskStore

_DOCUMENT = "acceptance.json"
_FINAL = ("stop_reason", "verified", "why_not", "tree_sha256", "max_continues", "refused_todo_changes")
Row = Mapping[str, Any]


def show_acceptance(store: TaskStore, *, as_json: bool) -> None:
    """Prints it. Raises PhaseError for a damaged journal."""
    path = places_in(store.root).journal
    rows = recorded_rows(path)[1:]
    attempts = _checked(path, rows, lambda some: attempts_of(some))
    lines = _checked(path, rows, lambda some: lines_of(attempts_of(some), ""))
    stamp = store.stamps.get("09")
    final = store.load(_DOCUMENT) if stamp and stamp.status == DONE and store.exists(_DOCUMENT) else None
    if as_json:
        told = {name: final[name] for name in _FINAL} if final else {}
        say_json({"task": store.id, "ended": final is not None, "attempts": attempts, **told})
        return
    for line in lines[:-1]:
        say(line)
    say(_verdict(store, rows, attempts, final))


def _checked(path: str, rows: Sequence[Row], tell: Callable[[Sequence[Row]], Any]) -> Any:
    """What is told of rows; the first that nothing can be told of is damaged."""
    for count in (len(rows), *range(1, len(rows) + 1)):
        try:
            told = tell(rows[:count])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            if count < len(rows) or len(rows) == 1:
                raise _damaged(path, count, error) from error
        else:
            if count == len(rows):
                return told
    return tell(())


def _verdict(store: TaskStore, rows: Sequence[Row], attempts: Sequence[Row], final: Row | None) -> str:
    """How it ended, or what is yet to come, in a sentence."""
    if final:
        return _of_the_end(final)
    if who := holder(store.root):
        return f"The run is not over: {who} works on it"
    go_on = f"go on with: pipeline resume {command_name(store)}"
    stopped = next((row["result"] for row in reversed(rows) if row["kind"] == "stop"), None)
    if stopped and rows[-1]["kind"] == "stop":
        return f"The run stopped here ({stopped['stop_reason']}: {' '.join(stopped['detail'].split())[:400]}); {go_on}"
    if not attempts:
        return f"The agent has not said yet that task {store.id} is done; {go_on}"
    return f"The run is not over, and nobody works on it; {go_on}"


def _of_the_end(final: Row) -> str:
    if final["stop_reason"] != ACCEPTED:
        return f"Not accepted: {final['stop_reason']}"
    if final["verified"]:
        return "Accepted, and verified"
    return f"Accepted, and not verified: {' '.join(str(final['why_not']).split())[:400]}"


def _damaged(path: str, line: int, error: Exception) -> PhaseError:
    fault = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    return PhaseError(f"{path}, line {line + 1}: a damaged record of a run ({fault}); start afresh with --redo implement")
