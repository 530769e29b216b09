"""Read the files of supervision in a task directory as one value; a damaged or foreign file is reported, the rest is shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from phases.agent import kernel_files
from phases.supervision import serialization
from phases.supervision.config import Config
from phases.supervision.enums import SupervisorMode, TimelineEvent
from pipeline.base.errors import FormatError, PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json

DIRECTORY, REPORT = "kernel", "kernel-report.json"
CONFIG, GRAPH, EVENTS, TAKE_OVER = (
    f"{DIRECTORY}/{name}"
    for name in (kernel_files.CONFIG, kernel_files.GRAPH, kernel_files.EVENTS, kernel_files.REQUEST)
)
_SCHEMAS = {REPORT: REPORT, CONFIG: "supervisor-config.json", GRAPH: "task-graph.json", EVENTS: "supervisor-event.json"}
Check = Callable[[str, Any], str | None]
"""(name of a schema, value) -> why the value does not fit, or None."""
Document = Mapping[str, Any]


@dataclass(frozen=True)
class View:
    """The files of one task. What is missing is None, or empty."""

    task: str
    config: Config = field(default_factory=Config)
    events: tuple[Document, ...] = ()
    graph: Document | None = None
    report: Document | None = None
    take_over_asked: bool = False
    running: bool = False
    damage: tuple[str, ...] = ()
    """What could not be read: file, line, reason."""

    @property
    def empty(self) -> bool:
        return not (self.events or self.graph or self.report or self.damage)

    @property
    def over(self) -> bool:
        """Whether the report is that of this run, and not of one that was resumed since."""
        last = [line["round"] + (line["reason"] == "checkpoint_resumed") for line in self.events[-1:]]
        return self.report is not None and not self.running and max(last, default=0) <= self.report["rounds"]

    @property
    def mode(self) -> SupervisorMode:
        if self.over and self.report:
            return SupervisorMode(self.report["mode"])
        return SupervisorMode(self.events[-1]["mode"] if self.events else self.config.mode or SupervisorMode.ADAPTIVE)

    @property
    def shadow(self) -> bool:
        noted = any(line["event"] == TimelineEvent.SHADOW_DIAGNOSTIC for line in self.events)
        return bool(self.report["shadow"]) if self.report else self.config.shadow or noted

    @property
    def turns(self) -> int:
        """The last turn that the files know of."""
        known = [line["turn"] for line in self.events[-1:]] + ([self.report["rounds"]] if self.report else [])
        return int(max(known, default=0))


def read_view(root: str, task: str, check: Check, *, running: bool = False) -> View:
    """Read the files of supervision in a task directory."""
    reader = _Reader(root, check)
    return View(
        task,
        reader.config(),
        tuple(reader.lines()),
        reader.graph(),
        reader.document(REPORT),
        os.path.lexists(os.path.join(root, TAKE_OVER)),
        running,
        tuple(reader.damage),
    )


def read_config(root: str, check: Check) -> tuple[Config, str]:
    """Return the settings in force, and what is wrong with their file; empty if nothing is."""
    reader = _Reader(root, check)
    return reader.config(), next(iter(reader.damage), "")


class _Reader:
    """Reads the files of one task, and collects the damage."""

    def __init__(self, root: str, check: Check) -> None:
        self._root, self._check = root, check
        self.damage: list[str] = []

    def document(self, name: str) -> Document | None:
        """A JSON document that fits its schema; None if it is missing or damaged."""
        data = self._bytes(name)
        return None if data is None else self._parse(name, data)

    def config(self) -> Config:
        """The settings; the defaults if there are none, or none that can be used."""
        try:
            return serialization.from_json(Config, self.document(CONFIG) or {})
        except ValueError as error:  # the schema is stricter: this is for a schema and a class that disagree
            self.damage.append(f"{CONFIG}: {error}")
            return Config()

    def graph(self) -> Document | None:
        """The task graph, if every step that it names exists."""
        graph = self.document(GRAPH)
        missing = _missing_step(graph) if graph else ""
        if missing:
            self.damage.append(f"{GRAPH}: {missing}")
        return None if missing else graph

    def lines(self) -> Iterator[Document]:
        """Every sound line of the event log."""
        rows = (self._bytes(EVENTS) or b"").split(b"\n")
        for number, row in enumerate(rows[:-1], 1):
            line = self._parse(EVENTS, row, number) if row.strip() else None
            if line is not None:
                yield line
        if rows[-1].strip():
            self.damage.append(f"{EVENTS}, line {len(rows)}: it is incomplete: still being written, or cut by a crash")

    def _bytes(self, name: str) -> bytes | None:
        path = os.path.join(self._root, *name.split("/"))
        if not os.path.lexists(path):
            return None
        try:
            return read_bytes(path)
        except PipelineError as error:
            self.damage.append(str(error))
            return None

    def _parse(self, name: str, data: bytes, line: int = 0) -> Document | None:
        place = f"{name}, line {line}" if line else name
        try:
            value = parse_json(data)
        except FormatError as error:
            place = f"{name}, line {line or error.line}, column {error.column}" if error.line else place
            self.damage.append(f"{place}: {error}")
            return None
        if wrong := self._check(_SCHEMAS[name], value):
            self.damage.append(f"{place}: {wrong}")
            return None
        return dict(value)


def _missing_step(graph: Document) -> str:
    """The step that the graph names and does not have, in words; empty if it has all."""
    branches = [graph["mainBranch"], *graph["fallbackBranches"]]
    named = [(f"branch {branch['id']}", step) for branch in branches for step in branch["nodeIds"]]
    named.append(("the cursor", graph["cursor"]["nodeId"]))
    lost = [
        f"{where} names the step {step!r}, and there is none" for where, step in named if step not in graph["nodes"]
    ]
    return next(iter(lost), "")
