"""Work that has begun: what was fixed at its beginning, as the header of its journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.llm.journal import Journal
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.files import sha256

Rows = Sequence[Mapping[str, Any]]


class Session(NamedTuple):
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
    references: Mapping[str, Any] | None
    """Planned file -> what of other people's code helps with it, as it was at the beginning; None: there was no such code."""

    def untouched(self, workspace: Workspace) -> list[str]:
        """Files that were to be changed, were written by no tool, and are as they were."""
        begun = {"write": self.write, "before": self.before}
        return untouched_files(begun, self.journal.all_rows(), workspace)


def session_from(journal: Journal, planned: Sequence[str]) -> Session:
    """What the header of a journal says. Raises KeyError where it says too little."""
    told = journal.begun
    return Session(
        journal,
        tuple(planned),
        tuple(told["write"]),
        told["kept"],
        told["before"],
        tuple(told["packages"]),
        told["window"],
        told.get("references"),
    )


def untouched_files(begun: Mapping[str, Any], rows: Rows, workspace: Workspace) -> list[str]:
    """Files that work was to change and did not come to: written by no tool, and as they were. `begun` is of its header."""
    before = begun.get("before", {})
    written = {path for row in rows if row["kind"] == "result" for path in row["result"].get("files", ())}
    there = [path for path in begun.get("write", ()) if path in before and path not in written]
    return [path for path in there if digest_of_file(workspace, path) == before[path]]


def digest_of_file(workspace: Workspace, path: str) -> str:
    """The sha256 of a file of the workspace; empty where it cannot be read."""
    try:
        return sha256(workspace.read_bytes(path))
    except WorkspaceError:
        return ""
