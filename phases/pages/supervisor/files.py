"""How the files of supervision are read: checked, with whatever is wrong with them kept.

A reader of these files wants to know what happened, most of all after something went wrong. So damage is collected and told
beside what could be read, and never keeps the rest from being shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from phases.agent import kernel_files
from phases.supervision import records
from phases.supervision.graph import Branch, TaskGraph
from phases.supervision.workspace import WorkspaceSnapshot
from pipeline.base.errors import FormatError, PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json

FOLDER, REPORT = "kernel", "kernel-report.json"
CONFIG, GRAPH, CHECKPOINT, EVENTS, SNAPSHOTS, TAKE_OVER = (
    f"{FOLDER}/{name}"
    for name in (
        kernel_files.CONFIG,
        kernel_files.GRAPH,
        kernel_files.CHECKPOINT,
        kernel_files.EVENTS,
        kernel_files.SNAPSHOTS,
        kernel_files.REQUEST,
    )
)
_MOST_SNAPSHOTS = 1000
_GOVERNED_BY = {
    REPORT: "kernel-report.json",
    CONFIG: "supervisor-config.json",
    GRAPH: "task-graph.json",
    CHECKPOINT: "kernel-checkpoint.json",
    EVENTS: "supervisor-event.json",
    SNAPSHOTS: "workspace-snapshot.json",
}
_OLD_PHASES = {"handoff": "handoff_pending"}
Check = Callable[[str, Any], str | None]
"""(name of a document, value) -> why the value does not fit the schema that governs such documents, or None."""
T = TypeVar("T")


class Reader:
    """Reads the files of one task, and keeps what is wrong with them."""

    def __init__(self, root: str, check: Check) -> None:
        self._root, self._check = root, check
        self.damage: list[str] = []

    def document(self, name: str, kind: str = "") -> dict[str, Any] | None:
        """A checked JSON document, or None where it is not there, or damaged."""
        data = self._bytes(name)
        return None if data is None else self._parsed(name, data, _GOVERNED_BY[kind or name])

    def record(self, name: str, kind: type[T], *, governed_as: str = "") -> T | None:
        """The same as a value of the kernel."""
        document = self.document(name, governed_as)
        if document is None:
            return None
        try:
            return records.from_json(kind, document)
        except ValueError as error:  # the schema is stricter; this is for a schema and a class that do not agree
            self.damage.append(f"{name}: {error}")
            return None

    def graph(self) -> TaskGraph | None:
        """The graph, if it hangs together: whatever it names is there."""
        graph = self.record(GRAPH, TaskGraph)
        wrong = _loose_end(graph) if graph else ""
        if wrong:
            self.damage.append(f"{GRAPH}: {wrong}")
        return None if wrong else graph

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Every sound line. A last one without its end is being written right now, or was torn by a crash."""
        rows = (self._bytes(name) or b"").split(b"\n")
        for number, row in enumerate(rows[:-1], 1):
            line = self._parsed(name, row, _GOVERNED_BY[name], number) if row.strip() else None
            if line is not None:
                yield line
        if rows[-1].strip():
            self.damage.append(f"{name}, line {len(rows)}: it is not whole; it is being written, or a crash tore it")

    def snapshots(self) -> Iterator[WorkspaceSnapshot]:
        """The snapshots, by their rounds."""
        folder = os.path.join(self._root, SNAPSHOTS)
        names = os.listdir(folder) if os.path.isdir(folder) and not os.path.islink(folder) else []
        named = sorted(name for name in names if name.endswith(".json") and not name.startswith("."))[:_MOST_SNAPSHOTS]
        found = [self.record(f"{SNAPSHOTS}/{name}", WorkspaceSnapshot, governed_as=SNAPSHOTS) for name in named]
        return iter(sorted((row for row in found if row), key=lambda row: (row.at, row.snapshot_id)))

    def _bytes(self, name: str) -> bytes | None:
        path = os.path.join(self._root, *name.split("/"))
        if not os.path.lexists(path):
            return None
        try:
            return read_bytes(path)
        except PipelineError as error:
            self.damage.append(str(error))
            return None

    def _parsed(self, name: str, data: bytes, governed_by: str, line: int = 0) -> dict[str, Any] | None:
        place = f"{name}, line {line}" if line else name
        try:
            value = parse_json(data)
        except FormatError as error:
            where = f"{name}, line {line or error.line}, column {error.column}" if error.line else place
            self.damage.append(f"{where}: {error}")
            return None
        if name == EVENTS and isinstance(value, dict) and value.get("phase") in _OLD_PHASES:
            value["phase"] = _OLD_PHASES[value["phase"]]
        if wrong := self._check(governed_by, value):
            self.damage.append(f"{place}: {wrong}")
            return None
        return dict(value)


def _loose_end(graph: TaskGraph) -> str:
    """What a graph names that is not there; empty where it hangs together."""
    branches: tuple[Branch, ...] = (graph.main_branch, *graph.fallback_branches)
    named = [(f"branch {branch.id}", step) for branch in branches for step in branch.node_ids]
    named += [(f"the edge from {edge.source}", step) for edge in graph.edges for step in (edge.source, edge.target)]
    named += [("the cursor", graph.cursor.node_id)]
    for where, step in named:
        if step not in graph.nodes:
            return f"{where} names the step {step!r}, and there is none"
    if graph.cursor.branch_id not in {branch.id for branch in branches}:
        return f"the cursor is on the branch {graph.cursor.branch_id!r}, and there is none"
    return ""
