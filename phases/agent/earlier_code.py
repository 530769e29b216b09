"""What becomes of code that an earlier start left: which of it stays, what is set aside, and what is written again.

A decision is written down before it is carried out, as the header of the journal that is to come. It is carried out in steps
that may be repeated, so a run that was killed in between is gone on with by the next.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.acceptance.stop_reasons import ACCEPTED
from phases.agent.assignment import Assignment
from phases.agent.interfaces import interfaces_of
from phases.agent.kernel_files import set_kernel_aside
from phases.agent.reference_context import excerpts_shown
from phases.agent.tools.edit import EditError, Replacement, apply_replacement
from phases.llm.journal import Journal, is_header_of, read_journal
from phases.llm.model import ToolCall, reply_from_json
from phases.planning.changes import compare_files, plan_difference
from phases.workspace.backup_tree import back_up_tree, carry_directory_over, carry_file_over
from phases.workspace.manifest import tree_digest
from phases.workspace.syntax import planned_file_fault
from phases.workspace.task_paths import TaskPaths
from phases.workspace.workspace import CONTROL, Workspace, WorkspaceError
from pipeline.base.errors import PhaseError, PipelineError
from pipeline.base.files import next_aside, read_bytes, set_aside, sha256, sync_directory, sync_tree
from pipeline.base.logs import logger

OFFLINE = "offline"
"""The model that writes scaffolds: what it wrote is no beginning for another model, nor the other way round."""
Rows = Sequence[Mapping[str, Any]]
CHANGED = "changed"
"""In how work began: what another plan changed, a line a change."""
MAY_CHANGE = "may_change"
"""In how work began: the files that use or test what another plan changed."""
_MOST_CHANGES = 60


def order_files(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Every planned file: the strategy's order, then whatever it forgot."""
    planned = [row["path"] for row in plan["file_structure"]]
    first = [path for path in plan["implementation_strategy"] if path in planned]
    return tuple(dict.fromkeys([*first, *planned]))


def untouched_files(begun: Mapping[str, Any], rows: Rows, workspace: Workspace) -> list[str]:
    """Files that work was to change and did not come to: written by no tool, and as they were. `begun` is of its header."""
    before = begun.get("before", {})
    written = {path for row in rows if row["kind"] == "result" for path in row["result"].get("files", ())}
    there = [path for path in begun.get("write", ()) if path in before and path not in written]
    return [path for path in there if workspace.digest_of(path) == before[path]]


def read_decision(coming: str, header: Mapping[str, Any], hand: str) -> dict[str, Any] | None:
    """What a run before this one decided and did not carry out; None where there is nothing of the kind, or of other work."""
    try:
        rows = read_journal(coming)
    except PhaseError:
        return None
    if len(rows) != 1 or not is_header_of(rows[0], header) or rows[0]["begun"].get("hand") != hand:
        return None
    return dict(rows[0]["begun"])


def undo_decision(work: Assignment, coming: str) -> None:
    """Takes back a decision for other work that was not carried out, as far as it was."""
    if not os.path.lexists(coming):
        return
    with contextlib.suppress(PhaseError, IndexError, KeyError):
        aside = _sibling_path(work, read_journal(coming)[0]["begun"]["aside"])
        if not os.path.lexists(work.places.workspace) and os.path.isdir(aside):
            os.rename(aside, work.places.workspace)
    os.unlink(coming)
    sync_directory(os.path.dirname(coming))


def is_unrecorded_code(places: TaskPaths) -> bool:
    """Whether there is code that no journal tells of: it is kept, and not written over."""
    there = os.path.isdir(places.workspace) and bool(set(os.listdir(places.workspace)) - {CONTROL})
    return there and not read_journal(places.journal)


def is_same_author(rows: Rows, model: str) -> bool:
    """Whether this model may go on with what is recorded: work that ended is another model's to begin anew."""
    # Work that is not ended goes on with any model: to switch because one is busy must cost nothing (decision 47).
    begun_by = OFFLINE if rows[0].get("begun", {}).get("hand") == OFFLINE else ""
    last = next((row["result"]["model"] for row in reversed(rows) if row["kind"] == "reply"), begun_by or model)
    return bool(last == model or (rows[-1]["kind"] != "ending" and OFFLINE not in (last, model)))


def decide_remaining(work: Assignment, model: str) -> dict[str, Any] | None:
    """What there is left to do on the code that is there; None where that is everything."""
    rows, root = read_journal(work.places.journal), work.places.workspace
    givers = [row["result"]["model"] for row in rows if row["kind"] == "reply"]
    # What a scaffold wrote is no beginning for a model, nor the other way round.
    if not rows or (OFFLINE in {model, *givers} and {model, *givers} != {OFFLINE}) or not os.path.isdir(root):
        return None
    workspace, planned = Workspace(root), order_files(work.plan)
    # Files that the model left as they were in work that was accepted need no change.
    is_accepted = rows[-1].get("result", {}).get("stop_reason") == ACCEPTED
    owed = set() if is_accepted else set(untouched_files(rows[0].get("begun", {}), rows, workspace))
    kept = [path for path in planned if path not in owed and not planned_file_fault(workspace, path)]
    remove: Sequence[str] = ()
    changed, may_change = list[str](), list[str]()
    if rows[0].get("plan_sha256") != work.plan_sha256:
        # Another plan touches only what it changes, whoever changed it (decision 48).
        before = _read_plan(work, str(rows[0].get("plan_sha256")))
        touched = compare_files(before, work.plan) if before else None
        kept = [path for path in kept if touched and path in touched.keep]
        remove = touched.remove if touched else ()
        may_change = [path for path in kept if touched and path in touched.may_change]
        changed = plan_difference(before, work.plan)[:_MOST_CHANGES] if before else []
    elif givers[-1:] != [model] and _is_accepted_unchanged(rows, workspace):
        return None  # another model is asked to do better, and not to look at what is right
    logger.debug("of {} planned files {} stay as they are; {} were not come to", len(planned), len(kept), len(owed))
    copy = next_aside(root)
    if not kept or not back_up_tree(root, copy):
        return None
    digests = {path: workspace.digest_of(path) for path in planned}
    return {
        "write": [path for path in planned if path not in kept],
        "kept": interfaces_of(workspace, planned),
        "before": {path: digest for path, digest in digests.items() if digest},
        "remove": list(remove),
        **({CHANGED: changed} if changed else {}),
        **({MAY_CHANGE: may_change} if may_change else {}),
        "shown": excerpts_shown(rows[0].get("begun", {}), rows),
    }


def carry_out_decision(work: Assignment, begun: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    """Sets aside what is of other work. Every step may come a second time, after a kill."""
    workspace = work.places.workspace
    if "aside" in begun:
        aside = _sibling_path(work, begun["aside"])
        if os.path.lexists(workspace) and not os.path.lexists(aside):
            os.rename(workspace, aside)
            sync_directory(os.path.dirname(workspace))
            tell(f"begins anew; the earlier code is kept in {os.path.basename(aside)}")
        carry_directory_over(CONTROL, aside, workspace)
        # Protected files outlive every new beginning: nothing is accepted by a hook that was swapped meanwhile (decision 79).
        for path in begun.get("pins", ()):
            carry_file_over(path, aside, workspace)
        if os.path.isdir(workspace):
            sync_tree(workspace)
    else:
        for path in begun["remove"]:
            if os.path.lexists(os.path.join(workspace, path)):
                Workspace(workspace).remove(path)
        total = len(work.plan["file_structure"])
        told = f"continues with the existing code: {len(begun['write'])} of {total} files are to be written or changed"
        near = begun.get(MAY_CHANGE, ())
        tell(f"{told}; may need a change, too: {', '.join(near)}" if near else told)
    for directory in (work.places.explorations, work.places.hooks, work.places.endings):
        set_aside(directory)
    set_kernel_aside(work.places.kernel, work.places.kernel_report)
    set_aside(work.places.journal)


def restore_missing(journal: Journal, workspace: Workspace) -> None:
    """Writes back what is missing. A file that is there is left as it is; one that the work itself removed stays away."""
    last = {
        path: state["sha256"]
        for row in journal.rows()
        if row["kind"] == "result"
        for path, state in row["result"]["files"].items()
    }
    for path, text in _last_texts(journal).items():
        if last.get(path) == sha256(text.encode("utf-8", "replace")) and not workspace.exists(path):
            with contextlib.suppress(WorkspaceError):
                workspace.write(path, text)


def _last_texts(journal: Journal) -> dict[str, str]:
    """What Write and Edit left of each file. Edits on top of what a command made cannot be followed, and are left out."""
    texts: dict[str, str] = {}
    calls: dict[tuple[int, str], ToolCall] = {}
    for row in journal.rows():
        if row["kind"] == "reply":
            turn = row["key"]["turn"]
            calls.update({(turn, call.id): call for call in reply_from_json(row["result"]).calls})
        elif row["kind"] == "result":
            call = calls.get((row["key"]["turn"], row["key"]["call"]))
            for path in row["result"]["touched"] if call else ():
                _apply_call(texts, path, call.name if call else "", call.arguments if call else {})
    return texts


def _apply_call(texts: dict[str, str], path: str, name: str, arguments: Mapping[str, Any]) -> None:
    if name == "Write":
        texts[path] = arguments["content"]
    elif name == "Edit" and path in texts:
        replacement = Replacement(
            arguments["old_string"], arguments["new_string"], arguments.get("replace_all") or False
        )
        try:
            texts[path] = apply_replacement(texts[path], replacement)
        except EditError:
            del texts[path]


def _is_accepted_unchanged(rows: Rows, workspace: Workspace) -> bool:
    """Whether the work ended accepted, and nobody touched the code since."""
    verdict = next((row["result"] for row in reversed(rows) if row["kind"] == "verdict"), None)
    accepted = rows[-1].get("result", {}).get("stop_reason") == ACCEPTED
    return bool(accepted and verdict and verdict["verification"]["tree_sha256"] == tree_digest(workspace))


def _read_plan(work: Assignment, digest: str) -> dict[str, Any] | None:
    path = os.path.join(work.places.plan_versions, f"{digest[:16]}.txt")
    try:
        return work.parse_plan(read_bytes(path)) if os.path.exists(path) else None
    except PipelineError:
        return None


def _sibling_path(work: Assignment, name: str) -> str:
    return os.path.join(os.path.dirname(work.places.workspace), os.path.basename(name))
