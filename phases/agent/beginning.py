"""How work on a plan begins: anew, where it was cut off, or on code that is there and of which only a part is touched.

What is decided is written down first, as the header of the journal that is to come, under a name of its own. Then it is
done, in steps that may be repeated, and the last one gives the journal its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.agent.acceptance import fault_of
from phases.agent.assignment import Assignment
from phases.agent.copies import keep_a_copy
from phases.agent.hands import interfaces_of
from phases.agent.journal import Journal, goes_on, recorded_rows
from phases.agent.model import Model
from phases.agent.plan_changes import touched_files
from phases.agent.workspace import Workspace, WorkspaceError
from pipeline.errors import PipelineError
from pipeline.files import make_folder, next_aside, read_bytes, replace_file, set_aside, sha256, sync_folder

RULES = "offline"
"""The model that writes scaffolds: what it wrote is no beginning for another model, nor the other way round."""
_NEXT = ".next"
Rows = Sequence[Mapping[str, Any]]


class Begun(NamedTuple):
    """Work that has begun."""

    journal: Journal
    planned: tuple[str, ...]
    """Every planned file, in the order of writing."""
    write: tuple[str, ...]
    """Those that this work is to write."""
    kept: Mapping[str, str]
    """The interfaces of planned files that were there at the beginning."""
    before: Mapping[str, str]
    """The sha256 of planned files that were there at the beginning."""
    packages: tuple[str, ...]
    """Which of the plan's packages were installed at the beginning."""
    window: int
    """The model's at the beginning."""

    def untouched(self, workspace: Workspace) -> list[str]:
        """Files that were to be changed, were written by no tool, and are as they were."""
        rows = (row["result"] for row in self.journal.all_rows() if row["kind"] == "result")
        written = {path for result in rows for path in result["files"]}
        there = [path for path in self.write if path in self.before and path not in written]
        return [path for path in there if _digest(workspace, path) == self.before[path]]


def begin(
    work: Assignment,
    model: Model,
    run: int,
    installed: Sequence[str],
    tell: Callable[[str], None],
    clean: Callable[[Any], Any],
) -> Begun:
    """Goes on with the journal on the disk where it is of this work, and begins anew otherwise: nothing that was made is lost.

    `run` counts how often this was begun, this time included; `installed` are packages; `tell` says what is not plain;
    `clean` takes out of the journal what may be in no file.
    """
    places, header = work.places, {"thread": "implement", "plan_sha256": work.plan_sha256, "version": work.version}
    planned, fixed = order_of(work.plan), {"packages": list(installed), "window": model.window}
    coming = places.journal + _NEXT
    work.in_place()
    if not (os.path.exists(coming) and goes_on(coming, header)):
        set_aside(coming)
        if not goes_on(places.journal, header, lambda rows: _same_hand(rows, model.name)):
            begun = _on_the_code_before(work, model.name) or {"aside": next_aside(places.workspace)}
            Journal(coming, header, run, work.in_place, begun={**_everything(planned), **begun, **fixed})
    if os.path.exists(coming):
        _carry_out(work, recorded_rows(coming)[0]["begun"], tell)
        replace_file(coming, places.journal)
        sync_folder(os.path.dirname(places.journal))
    work.in_place()
    make_folder(places.workspace)
    journal = Journal(places.journal, header, run, work.in_place, begun={**_everything(planned), **fixed}, clean=clean)
    told = journal.begun
    write, packages = tuple(told["write"]), tuple(told["packages"])
    return Begun(journal, planned, write, told["kept"], told["before"], packages, told["window"])


def order_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Every planned file: the strategy's order, then whatever it forgot."""
    planned = [row["path"] for row in plan["file_structure"]]
    first = [path for path in plan["implementation_strategy"] if path in planned]
    return tuple(dict.fromkeys([*first, *planned]))


def _everything(planned: Sequence[str]) -> dict[str, Any]:
    return {"write": list(planned), "kept": {}, "before": {}}


def _same_hand(rows: Rows, model: str) -> bool:
    """Whether this model may go on with what is recorded: work that ended is another model's to begin anew."""
    last = next((row["result"]["model"] for row in reversed(rows) if row["kind"] == "reply"), model)
    return bool(last == model or (rows[-1]["kind"] != "ending" and RULES not in (last, model)))


def _on_the_code_before(work: Assignment, model: str) -> dict[str, Any] | None:
    """What there is left to do on the code that is there; None where that is everything."""
    rows, root = recorded_rows(work.places.journal), work.places.workspace
    hands = {model, *(row["result"]["model"] for row in rows if row["kind"] == "reply")}
    if (RULES in hands and len(hands) > 1) or not os.path.isdir(root):
        return None
    workspace, planned = Workspace(root), order_of(work.plan)
    kept = [path for path in planned if not fault_of(workspace, path)]
    remove: Sequence[str] = ()
    if rows[0].get("plan_sha256") != work.plan_sha256:  # another plan: what it changes is to be written again
        before = _plan_of(work, str(rows[0].get("plan_sha256")))
        touched = touched_files(before, work.plan) if before else None
        kept = [path for path in kept if touched and path in touched.keep]
        remove = touched.remove if touched else ()
    elif rows[-1].get("result", {}).get("stop_reason") == "accepted":
        return None
    copy = next_aside(root)
    if not kept or not keep_a_copy(root, copy):
        return None
    digests = {path: _digest(workspace, path) for path in planned}
    return {
        "write": [path for path in planned if path not in kept],
        "kept": interfaces_of(workspace, planned),
        "before": {path: digest for path, digest in digests.items() if digest},
        "remove": list(remove),
    }


def _carry_out(work: Assignment, begun: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    """Sets aside what is of other work. Every step may come a second time, after a kill."""
    workspace = work.places.workspace
    if "aside" in begun:
        if os.path.lexists(workspace) and not os.path.lexists(begun["aside"]):
            os.rename(workspace, begun["aside"])
            sync_folder(os.path.dirname(workspace))
            tell(f"begins anew; the earlier code is kept in {os.path.basename(begun['aside'])}")
    else:
        for path in begun["remove"]:
            if os.path.lexists(os.path.join(workspace, path)):
                Workspace(workspace).remove(path)
        total = len(work.plan["file_structure"])
        tell(f"goes on with the code that is there: {len(begun['write'])} of {total} files are to be written")
    set_aside(work.places.explorations)
    set_aside(work.places.journal)


def _plan_of(work: Assignment, digest: str) -> dict[str, Any] | None:
    """The plan of that digest, as it was approved once."""
    path = os.path.join(work.places.plan_versions, f"{digest[:16]}.txt")
    try:
        return work.parse_plan(read_bytes(path)) if os.path.exists(path) else None
    except PipelineError:
        return None


def _digest(workspace: Workspace, path: str) -> str:
    try:
        return sha256(workspace.read_bytes(path))
    except WorkspaceError:
        return ""
