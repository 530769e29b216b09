"""Go back to a refused attempt: restore its files and the journal up to it.

A stage directory is prepared first, and its last file decides. From then on the way back is a series of renames, each of
which may be done already: the next start finishes them after a kill. The replaced files are kept as `.prev`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable
from shlex import quote
from typing import Any, NamedTuple

from phases.agent.kernel_files import OWN
from phases.llm.journal import PAID, find_journals, read_journal, read_journal_lines, run_of
from phases.llm.ledger_rows import read_ledger
from phases.workspace.backup_tree import back_up_tree, carry_directory_over
from phases.workspace.rejected_snapshots import (
    Refusal,
    digest_of_tree,
    read_refusals,
    remove_leftovers,
)
from phases.workspace.task_paths import TaskPaths
from phases.workspace.workspace import CONTROL
from pipeline.base.errors import FormatError, PhaseError, PipelineError, StorageError
from pipeline.base.files import (
    make_directory,
    read_bytes,
    set_aside,
    storage_error,
    sync_directory,
    sync_tree,
    write_durable,
)
from pipeline.base.formats import parse_json
from pipeline.base.jsonl import repair_tail, row_line

STAGE, DECIDED = "rewinding", "decided.json"
_DECIDED_KEYS = {"number", "turn", "last", "suffix", "aside"}


class Rewind(NamedTuple):
    number: int
    turn: int
    last: bool
    """The attempt ended the run and is judged again."""
    suffix: str
    """Suffix of what was set aside."""
    aside: tuple[str, ...]
    """Paths set aside, relative to the task directory."""
    names: tuple[str, ...]
    """Paths that a rewind replaces, whether they existed or not."""


def rewind_to(places: TaskPaths, number: int, in_place: Callable[[], None]) -> Rewind:
    """Go back to a refused attempt, or finish going back. Raises PipelineError if there is no such attempt or no copy of it,
    and then has changed nothing.
    """
    if unfinished_rewind(places) != number:
        repair_tail(places.journal)
        refusal = find_refusal(places, number)
        in_place()
        _stage_rewind(places, refusal)
    return _carry_out(places, in_place)


def finish_rewind(places: TaskPaths, in_place: Callable[[], None]) -> Rewind | None:
    """Finish a rewind that was cut off; None if there is none."""
    return None if unfinished_rewind(places) is None else _carry_out(places, in_place)


def unfinished_rewind(places: TaskPaths) -> int | None:
    """Return the attempt that an interrupted rewind leads to; None if there is none."""
    decided = _read_decision(places)
    return int(decided["number"]) if decided else None


def find_refusal(places: TaskPaths, number: int) -> Refusal:
    """Return the attempt with a number. Raises PipelineError if it cannot be restored."""
    task = quote(os.path.basename(os.path.dirname(places.journal)))
    if (unfinished := unfinished_rewind(places)) is not None:
        raise PipelineError(
            f"going back to attempt {unfinished} was cut off; finish it first: pipeline rewind {task} {unfinished}"
        )
    if os.path.lexists(f"{places.journal}.next"):
        raise PipelineError(
            f"{places.journal}.next: the work was about to start over and was cut off there; let it do so first: "
            f"pipeline resume {task}"
        )
    refusals = read_refusals(places)
    if not 1 <= number <= len(refusals):
        there = {0: "no attempt was rejected", 1: "the only one is 1"}.get(
            len(refusals), f"there are 1 to {len(refusals)}"
        )
        raise PipelineError(f"there is no rejected attempt {number}; {there}")
    refusal = refusals[number - 1]
    if not refusal.copy:
        others = ", ".join(str(other.number) for other in refusals if other.copy)
        raise PipelineError(
            f"no copy of the code of attempt {number} (turn {refusal.turn}) was kept; "
            + (f"there are copies of: {others}" if others else "nor was one of any other")
        )
    return refusal


def _stage_rewind(places: TaskPaths, refusal: Refusal) -> None:
    """Stage the restored files in one directory, and write the decision last."""
    stage = os.path.join(places.endings, STAGE)
    remove_leftovers(places.endings)
    make_directory(stage)
    _copy_code(refusal, places.workspace, os.path.join(stage, os.path.basename(places.workspace)))
    rows = read_journal_lines(places.journal)[: refusal.rows]
    _copy_logs(places, [row for _, row in rows], stage)
    header = row_line(_next_header(places, rows[0][1], refusal.turn))
    data = b"\n".join([header, *(line for line, _ in rows[1:]), b""])
    write_durable(os.path.join(stage, os.path.basename(places.journal)), data)
    # Last of all: only with this file is anything moved, so a kill before it changes nothing.
    decided = {
        "number": refusal.number,
        "turn": refusal.turn,
        "last": refusal.last,
        "suffix": _free_suffix(places),
        "aside": [name for name in _names_of(places) if os.path.lexists(_path_of(places, name))],
    }
    write_durable(os.path.join(stage, DECIDED), row_line(decided) + b"\n")


def _copy_code(refusal: Refusal, workspace: str, target: str) -> None:
    """Stage the code of the attempt, with the user's present hooks."""
    if not back_up_tree(refusal.copy, target):
        raise StorageError(f"cannot copy {refusal.copy}: something in it cannot be read, or the disk is full")
    os.chmod(target, stat.S_IMODE(os.stat(target).st_mode) | stat.S_IRWXU)  # only who may write in a directory moves it
    if digest_of_tree(target) != refusal.tree:
        raise PhaseError(
            f"{refusal.copy} has changed since attempt {refusal.number} was rejected, so there is no way back to it"
        )
    shutil.rmtree(os.path.join(target, CONTROL), ignore_errors=True)
    carry_directory_over(CONTROL, workspace, target)
    sync_tree(target)


def _copy_logs(places: TaskPaths, rows: list[dict[str, Any]], stage: str) -> None:
    """Stage the hook logs that the journal names up to there."""
    logs = [str(row.get("result", {}).get("log") or "") for row in rows if row["kind"] == "hook"]
    directory = os.path.join(stage, os.path.basename(places.hooks))
    for name in {os.path.basename(log) for log in logs if log}:
        make_directory(directory)
        with contextlib.suppress(StorageError):  # somebody removed it: nothing but a person ever reads it
            write_durable(os.path.join(directory, name), read_bytes(os.path.join(places.hooks, name)))


def _next_header(places: TaskPaths, header: dict[str, Any], turn: int) -> dict[str, Any]:
    """Return the header as that of another run, so that new questions are not taken for paid ones."""
    begun = header.get("begun", {})
    earlier = [[last, run] for last, run in begun.get(PAID, []) if last < turn]
    paid = [*earlier, [turn, run_of(header, turn)]]
    return {**header, "run": 1 + _newest_run(places, header), "begun": {**begun, PAID: paid}}


def _newest_run(places: TaskPaths, header: dict[str, Any]) -> int:
    repair_tail(places.ledger)
    runs: list[int] = [row["run"] for row in read_ledger(places.ledger) if row["thread"] == "implement"]
    for path in find_journals(os.path.dirname(places.journal)):
        with contextlib.suppress(PipelineError):  # a damaged one is named by who works with it
            runs += [row.get("run", 1) for row in read_journal(path)[:1] if row.get("thread") == "implement"]
    return max([int(header.get("run", 1)), *runs])


def _carry_out(places: TaskPaths, in_place: Callable[[], None]) -> Rewind:
    decided = _read_decision(places)
    if decided is None:
        raise StorageError(f"{places.endings} was changed while it was worked in")
    in_place()
    stage, suffix, names = os.path.join(places.endings, STAGE), decided["suffix"], _names_of(places)
    aside = tuple(name for name in names if name in decided["aside"])
    if os.path.lexists(os.path.join(stage, names[0])):  # the journal is the last to come: where it has, all is done
        for name in aside:
            path = _path_of(places, name)
            if os.path.lexists(path) and not os.path.lexists(path + suffix):
                _move_path(path, path + suffix)
        for name in reversed(names):
            staged, path = os.path.join(stage, name), _path_of(places, name)
            if os.path.lexists(staged):
                set_aside(path)
                _move_path(staged, path)
    remove_leftovers(places.endings)
    return Rewind(decided["number"], decided["turn"], decided["last"], suffix, aside, names)


def _move_path(path: str, target: str) -> None:
    try:
        os.rename(path, target)
        sync_directory(os.path.dirname(target))
    except OSError as error:
        raise storage_error("move", path, error) from error


def _read_decision(places: TaskPaths) -> dict[str, Any] | None:
    path = os.path.join(places.endings, STAGE, DECIDED)
    if not os.path.lexists(path):
        return None
    with contextlib.suppress(FormatError):
        decided = parse_json(read_bytes(path))
        if isinstance(decided, dict) and decided.keys() == _DECIDED_KEYS:
            return decided
    raise StorageError(f"{path} is damaged; look at what lies in that folder, then delete it")


def _names_of(places: TaskPaths) -> tuple[str, ...]:
    """Return the paths of one run relative to the task directory, the journal first."""
    task = os.path.dirname(places.journal)
    own = (os.path.join(places.kernel, name) for name in OWN)
    paths = (places.journal, places.workspace, places.explorations, places.hooks, places.snapshot, places.kernel_report)
    return tuple(os.path.relpath(path, task) for path in (*paths, *own))


def _path_of(places: TaskPaths, name: str) -> str:
    return os.path.join(os.path.dirname(places.journal), name)


def _free_suffix(places: TaskPaths) -> str:
    """Return an unused suffix, the same for all paths, so that they can be moved back together."""
    number, suffix = 1, ".prev"
    while any(os.path.lexists(_path_of(places, name) + suffix) for name in _names_of(places)):
        number += 1
        suffix = f".prev{number}"
    return suffix
