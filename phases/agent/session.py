"""How work on a plan begins: anew, where it was cut off, or on code that is there and of which only a part is touched.

What is decided is written down first, as the header of the journal that is to come, under a name of its own. Then it is
done, in steps that may be repeated, and the last one gives the journal its name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.acceptance.checks.planned_files import planned_file_fault
from phases.acceptance.protected_files import read_checksums
from phases.agent.assignment import Assignment
from phases.agent.begun import Rows, Session, digest_of_file, session_from, untouched_files
from phases.agent.kernel_files import set_kernel_aside
from phases.agent.kernel_setting import RULES_KEY, read_wanted
from phases.agent.reference_context import excerpts_shown
from phases.agent.tool_runner import interfaces_of
from phases.llm.journal import Journal, can_continue, header_row, is_header_of, read_journal
from phases.llm.model import Model
from phases.planning.changes import compare_files
from phases.supervision.config import RULES as SUPERVISION_RULES
from phases.workspace.backup_tree import back_up_tree, carry_directory_over, carry_file_over, latest_aside
from phases.workspace.manifest import tree_digest
from phases.workspace.task_paths import TaskPaths
from phases.workspace.workspace import CONTROL, Workspace
from pipeline.base.errors import PhaseError, PipelineError
from pipeline.base.files import (
    make_directory,
    next_aside,
    read_bytes,
    replace_file,
    set_aside,
    sync_directory,
    sync_tree,
    write_durable,
)
from pipeline.base.jsonl import row_line

RULES = "offline"
"""The model that writes scaffolds: what it wrote is no beginning for another model, nor the other way round."""
_NEXT = ".next"


def begin_session(
    work: Assignment,
    model: Model,
    run: int,
    installed: Sequence[str],
    tell: Callable[[str], None],
    clean: Callable[[Any], Any],
) -> Session:
    """Goes on with the journal on the disk where it is of this work, and begins anew otherwise: nothing that was made is lost.

    `run` counts how often this was begun, this time included; `installed` are packages; `tell` says what is not plain;
    `clean` takes out of the journal what may be in no file.
    """
    places, header = work.places, {"thread": "implement", "plan_sha256": work.plan_sha256, "version": work.version}
    fixed = {**_start_facts(work, model, installed), "first": run == 1, "pins": dict(read_checksums(places.journal))}
    planned = order_files(work.plan)
    coming = places.journal + _NEXT
    work.in_place()
    decided = _read_decision(coming, header, fixed["hand"])
    if decided is None:
        _undo_decision(work, coming)
        if not can_continue(
            places.journal, header, lambda rows: _is_same_author(rows, model.name)
        ) or _is_unrecorded_code(places):
            begun = _decide_remaining(work, model.name) or {"aside": os.path.basename(next_aside(places.workspace))}
            decided = {**_write_all(planned), **begun, **fixed}
            write_durable(coming, row_line(header_row(header, run, decided)) + b"\n")
    if decided is not None:
        _carry_out(work, decided, tell)
        replace_file(coming, places.journal)
        sync_directory(os.path.dirname(places.journal))
    work.in_place()
    if not os.path.lexists(places.workspace) and (before := latest_aside(places.workspace)):
        carry_directory_over(CONTROL, before, places.workspace)  # it was set aside by a redo
    make_directory(places.workspace)
    journal = Journal(places.journal, header, run, work.in_place, begun={**_write_all(planned), **fixed}, clean=clean)
    told = journal.begun
    if not told.keys() >= {*_write_all(()), *_start_facts(work, model, installed)} - {"references", RULES_KEY}:
        raise PhaseError(
            f"{places.journal}, line 1: does not say how the work began; start afresh with --redo implement"
        )
    return session_from(journal, planned)


def _start_facts(work: Assignment, model: Model, installed: Sequence[str]) -> dict[str, Any]:
    """What stays as it was at the beginning."""
    hand = RULES if model.name == RULES else "model"
    supervisor, _ = read_wanted(work)
    helps = {"references": work.library.relations} if work.library else {}
    return {
        "packages": list(installed),
        "window": model.window,
        "hand": hand,
        "supervisor": supervisor,
        RULES_KEY: SUPERVISION_RULES,
        **helps,
    }


def order_files(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Every planned file: the strategy's order, then whatever it forgot."""
    planned = [row["path"] for row in plan["file_structure"]]
    first = [path for path in plan["implementation_strategy"] if path in planned]
    return tuple(dict.fromkeys([*first, *planned]))


def _read_decision(coming: str, header: Mapping[str, Any], hand: str) -> dict[str, Any] | None:
    """What a run before this one decided and did not carry out; None where there is nothing of the kind, or of other work."""
    try:
        rows = read_journal(coming)
    except PhaseError:
        return None
    if len(rows) != 1 or not is_header_of(rows[0], header) or rows[0]["begun"].get("hand") != hand:
        return None
    return dict(rows[0]["begun"])


def _undo_decision(work: Assignment, coming: str) -> None:
    """Takes back a decision for other work that was not carried out, as far as it was."""
    if not os.path.lexists(coming):
        return
    with contextlib.suppress(PhaseError, IndexError, KeyError):
        aside = _sibling_path(work, read_journal(coming)[0]["begun"]["aside"])
        if not os.path.lexists(work.places.workspace) and os.path.isdir(aside):
            os.rename(aside, work.places.workspace)
    os.unlink(coming)
    sync_directory(os.path.dirname(coming))


def _is_unrecorded_code(places: TaskPaths) -> bool:
    """Whether there is code that no journal tells of: it is kept, and not written over."""
    there = os.path.isdir(places.workspace) and bool(set(os.listdir(places.workspace)) - {CONTROL})
    return there and not read_journal(places.journal)


def _sibling_path(work: Assignment, name: str) -> str:
    return os.path.join(os.path.dirname(work.places.workspace), os.path.basename(name))


def _write_all(planned: Sequence[str]) -> dict[str, Any]:
    return {"write": list(planned), "kept": {}, "before": {}}


def _is_same_author(rows: Rows, model: str) -> bool:
    """Whether this model may go on with what is recorded: work that ended is another model's to begin anew."""
    begun_by = RULES if rows[0].get("begun", {}).get("hand") == RULES else ""
    last = next((row["result"]["model"] for row in reversed(rows) if row["kind"] == "reply"), begun_by or model)
    return bool(last == model or (rows[-1]["kind"] != "ending" and RULES not in (last, model)))


def _decide_remaining(work: Assignment, model: str) -> dict[str, Any] | None:
    """What there is left to do on the code that is there; None where that is everything."""
    rows, root = read_journal(work.places.journal), work.places.workspace
    givers = [row["result"]["model"] for row in rows if row["kind"] == "reply"]
    if not rows or (RULES in {model, *givers} and {model, *givers} != {RULES}) or not os.path.isdir(root):
        return None
    workspace, planned = Workspace(root), order_files(work.plan)
    owed = set(untouched_files(rows[0].get("begun", {}), rows, workspace))
    kept = [path for path in planned if path not in owed and not planned_file_fault(workspace, path)]
    remove: Sequence[str] = ()
    if rows[0].get("plan_sha256") != work.plan_sha256:  # another plan: what it changes is to be written again
        before = _read_plan(work, str(rows[0].get("plan_sha256")))
        touched = compare_files(before, work.plan) if before else None
        kept = [path for path in kept if touched and path in touched.keep]
        remove = touched.remove if touched else ()
    elif givers[-1:] != [model] and _is_accepted_unchanged(rows, workspace):
        return None  # another model is asked to do better, and not to look at what is right
    copy = next_aside(root)
    if not kept or not back_up_tree(root, copy):
        return None
    digests = {path: digest_of_file(workspace, path) for path in planned}
    return {
        "write": [path for path in planned if path not in kept],
        "kept": interfaces_of(workspace, planned),
        "before": {path: digest for path, digest in digests.items() if digest},
        "remove": list(remove),
        "shown": excerpts_shown(rows[0].get("begun", {}), rows),
    }


def _is_accepted_unchanged(rows: Rows, workspace: Workspace) -> bool:
    """Whether the work ended accepted, and nobody touched the code since."""
    verdict = next((row["result"] for row in reversed(rows) if row["kind"] == "verdict"), None)
    accepted = rows[-1].get("result", {}).get("stop_reason") == "accepted"
    return bool(accepted and verdict and verdict["verification"]["tree_sha256"] == tree_digest(workspace))


def _carry_out(work: Assignment, begun: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    """Sets aside what is of other work. Every step may come a second time, after a kill."""
    workspace = work.places.workspace
    if "aside" in begun:
        aside = _sibling_path(work, begun["aside"])
        if os.path.lexists(workspace) and not os.path.lexists(aside):
            os.rename(workspace, aside)
            sync_directory(os.path.dirname(workspace))
            tell(f"begins anew; the earlier code is kept in {os.path.basename(aside)}")
        carry_directory_over(CONTROL, aside, workspace)
        for path in begun.get("pins", ()):
            carry_file_over(path, aside, workspace)
        if os.path.isdir(workspace):
            sync_tree(workspace)
    else:
        for path in begun["remove"]:
            if os.path.lexists(os.path.join(workspace, path)):
                Workspace(workspace).remove(path)
        total = len(work.plan["file_structure"])
        tell(f"goes on with the code that is there: {len(begun['write'])} of {total} files are to be written")
    for folder in (work.places.explorations, work.places.hooks, work.places.endings):
        set_aside(folder)
    set_kernel_aside(work.places.kernel, work.places.kernel_report)
    set_aside(work.places.journal)


def _read_plan(work: Assignment, digest: str) -> dict[str, Any] | None:
    """The plan of that digest, as it was approved once."""
    path = os.path.join(work.places.plan_versions, f"{digest[:16]}.txt")
    try:
        return work.parse_plan(read_bytes(path)) if os.path.exists(path) else None
    except PipelineError:
        return None
