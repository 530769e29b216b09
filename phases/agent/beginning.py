"""How work on a plan begins: anew, where it was cut off, or on the code of the plan before, of which only a part is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.agent.assignment import Assignment
from phases.agent.hands import interfaces_of
from phases.agent.journal import Journal, goes_on, recorded_rows
from phases.agent.model import Model
from phases.agent.plan_changes import touched_files
from phases.agent.workspace import Workspace, WorkspaceError
from pipeline.errors import PipelineError
from pipeline.files import failure, make_folder, next_aside, read_bytes, set_aside, sha256, sync_folder

RULES = "offline"
"""The model that writes scaffolds: what it wrote is no beginning for another model, nor the other way round."""


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
    """The sha256 of files to be written that were there at the beginning."""
    packages: tuple[str, ...]
    """Which of the plan's packages were installed at the beginning."""
    window: int
    """The model's at the beginning: what was shown then must be shown again on a resume, whatever model goes on."""

    def untouched(self, workspace: Workspace) -> list[str]:
        """Files that were to be changed, were written by no tool, and are as they were."""
        written = {
            path
            for row in self.journal.all_rows()
            if row["kind"] == "result"
            for path in row["result"].get("files", ())
        }
        return [
            path for path, digest in self.before.items() if path not in written and _digest(workspace, path) == digest
        ]


def begin(work: Assignment, model: Model, run: int, installed: Sequence[str], tell: Callable[[str], None]) -> Begun:
    """Goes on with the journal on the disk where it is of this work, and begins anew otherwise: nothing that was made is lost.

    `run` counts how often this was begun, this time included; `installed` are packages; `tell` says what is not plain.
    """
    header = {"thread": "implement", "plan_sha256": work.plan_sha256, "version": work.version}
    fixed = {"packages": list(installed), "window": model.window}
    work.in_place()
    if not goes_on(work.places.journal, header, lambda rows: _same_hand(rows, model.name)):
        begun = _make_way(work, model.name, tell)
        if begun:
            Journal(work.places.journal, header, run, work.in_place, begun={**begun, **fixed})
    work.in_place()
    make_folder(work.places.workspace)
    planned = order_of(work.plan)
    everything = {"write": list(planned), "kept": {}, "before": {}, **fixed}
    journal = Journal(work.places.journal, header, run, work.in_place, begun=everything)
    begun = journal.begun
    return Begun(
        journal,
        planned,
        tuple(begun["write"]),
        begun["kept"],
        begun["before"],
        tuple(begun["packages"]),
        begun["window"],
    )


def order_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Every planned file: the strategy's order, then whatever it forgot."""
    planned = [row["path"] for row in plan["file_structure"]]
    first = [path for path in plan["implementation_strategy"] if path in planned]
    return tuple(dict.fromkeys([*first, *planned]))


def _same_hand(rows: Sequence[Mapping[str, Any]], model: str) -> bool:
    """Whether this model may go on with what is recorded: work that ended is another model's to begin anew."""
    last = next((row["result"]["model"] for row in reversed(rows) if row["kind"] == "reply"), model)
    return bool(last == model or (rows[-1]["kind"] != "ending" and RULES not in (last, model)))


def _make_way(work: Assignment, model: str, tell: Callable[[str], None]) -> dict[str, Any] | None:
    """Sets the record of other work aside, and its code too, unless a part of that can stay: then, how to begin on it."""
    begun = _on_the_code_before(work, model)
    if begun is None:
        kept = set_aside(work.places.workspace)
        tell(f"begins anew; the earlier code is kept in {os.path.basename(kept)}")
    else:
        tell(f"the plan changed: {len(begun['write'])} of {len(work.plan['file_structure'])} files are touched by it")
    set_aside(work.places.explorations)
    set_aside(work.places.journal)
    return begun


def _on_the_code_before(work: Assignment, model: str) -> dict[str, Any] | None:
    """What a change of the plan leaves to do on the code of the plan before; None where that is everything."""
    rows, root = recorded_rows(work.places.journal), work.places.workspace
    hands = {model, *(row["result"]["model"] for row in rows if row["kind"] == "reply")}
    if rows[0].get("plan_sha256") == work.plan_sha256 or (RULES in hands and len(hands) > 1) or not os.path.isdir(root):
        return None
    before = _plan_of(work, str(rows[0].get("plan_sha256")))
    if before is None:
        return None
    workspace, touched = Workspace(root), touched_files(before, work.plan)
    there = [path for path in touched.keep if workspace.exists(path)]
    if not there:
        return None
    _keep_a_copy(root)
    for path in touched.remove:
        workspace.remove(path)
    gone = [path for path in touched.keep if path not in there]
    write = [path for path in order_of(work.plan) if path in {*touched.write, *gone}]
    digests = {path: _digest(workspace, path) for path in write}
    return {
        "write": write,
        "kept": interfaces_of(workspace, order_of(work.plan)),
        "before": {path: digest for path, digest in digests.items() if digest},
    }


def _plan_of(work: Assignment, digest: str) -> dict[str, Any] | None:
    """The plan of that digest, as it was approved once."""
    path = os.path.join(work.places.plan_versions, f"{digest[:16]}.txt")
    try:
        return work.parse_plan(read_bytes(path)) if os.path.exists(path) else None
    except PipelineError:
        return None


def _keep_a_copy(workspace: str) -> None:
    """The code as it is, under the next free name. Links are copied as links; pipes, devices and sockets are left out."""
    copy = f"{workspace}.copy"
    try:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(workspace, copy, symlinks=True, ignore=_not_copied)
        os.rename(copy, next_aside(workspace))
        sync_folder(os.path.dirname(workspace))
    except (OSError, shutil.Error) as error:
        cause = error if isinstance(error, OSError) and error.errno else OSError(5, str(error))
        raise failure("copy", workspace, cause) from error


def _not_copied(folder: str, names: list[str]) -> list[str]:
    paths = ((name, os.path.join(folder, name)) for name in names)
    return [name for name, path in paths if not (os.path.islink(path) or os.path.isfile(path) or os.path.isdir(path))]


def _digest(workspace: Workspace, path: str) -> str:
    try:
        return sha256(workspace.read_bytes(path))
    except WorkspaceError:
        return ""
