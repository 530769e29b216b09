"""The files of the supervision in a task directory. All of them follow from the journal, so none is waited for."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pipeline.base.errors import PipelineError, StorageError
from pipeline.base.files import make_directory, read_bytes, set_aside, storage_error, write_durable, write_without_sync
from pipeline.base.jsonl import append_without_sync, drop_torn_tail, row_line

CONFIG, EVENTS, GRAPH, CHECKPOINT = (
    "supervisor-config.json", "supervisor-events.jsonl", "task-graph.json", "checkpoint.json",
)  # fmt: skip
SNAPSHOTS, REQUEST = "snapshots", "take-over"
OWN = (EVENTS, GRAPH, CHECKPOINT, SNAPSHOTS)
"""Files of one run, set aside when another begins. The settings are the user's and stay."""


class KernelFiles:
    """The directory `kernel` of one task, and kernel-report.json beside it.

    A disk that takes no file is told of once, and stops no work: the journal holds all that these files say, and `settle` says at
    the end whether a resume is to write them again.
    """

    def __init__(self, directory: str, report: str, in_place: Callable[[], None], tell: Callable[[str], None]) -> None:
        self.directory, self._report, self._in_place, self._tell = directory, report, in_place, tell
        self._graph, self._told, self._written = b"", False, 0
        self._lost: dict[str, StorageError] = {}
        """By name: the files whose last writing failed."""
        self._try(EVENTS, self._count)

    # But for the report nothing here is synced: what can be made again from the journal need not be waited for (decision 55).

    def request(self) -> bool:
        """Return whether the user asked for a takeover."""
        return os.path.isfile(self._path(REQUEST))

    def request_is_met(self) -> None:
        """Remove the request once it is on record."""
        self._try(REQUEST, lambda: os.unlink(self._path(REQUEST)))

    def last_stop(self) -> str:
        """Return the stop reason in the report of the last run; empty if there is none."""
        try:
            report = json.loads(read_bytes(self._report)) if os.path.lexists(self._report) else {}
        except (PipelineError, OSError, ValueError):
            return ""
        return str(report.get("stopReason", "")) if isinstance(report, dict) else ""

    def note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Append lines to the event log, each with its `seq`; skip those of an earlier run."""
        new = [line for line in lines if line["seq"] > self._written]
        if new:
            now = int(time.time() * 1000)
            data = b"\n".join(row_line({**line, "ts": now}) for line in new)
            self._try(EVENTS, lambda: append_without_sync(self._ready(EVENTS), data))
            self._written = new[-1]["seq"]

    def graph(self, graph: Mapping[str, Any]) -> None:
        """Writes the task graph, where it is another one than before."""
        data = _json_bytes(graph)
        if data != self._graph:
            self._try(GRAPH, lambda: write_without_sync(self._ready(GRAPH), data))
            self._graph = data

    def checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        """Write the checkpoint on one line: it is large, and indenting costs ten times as much."""
        data = row_line(checkpoint) + b"\n"
        self._try(CHECKPOINT, lambda: write_without_sync(self._ready(CHECKPOINT), data))

    def snapshot(self, snapshot: Mapping[str, Any]) -> None:
        """Write the workspace snapshot of a takeover."""
        self._try(SNAPSHOTS, lambda: make_directory(self._ready(SNAPSHOTS)))
        name = os.path.join(SNAPSHOTS, f"{snapshot['snapshotId']}.json")
        self._try(name, lambda: write_without_sync(self._ready(name), _json_bytes(snapshot)))

    def report(self, report: Mapping[str, Any]) -> None:
        self._in_place()
        # people look here for how a run ended, after a power cut too; it is written once
        self._try(self._report, lambda: write_durable(self._report, _json_bytes(report)))

    def settle(self) -> None:
        """Raise StorageError where a file is not as it should be: a phase that ended well never writes it again."""
        self._lost.pop(REQUEST, None)  # whoever took it away has met it
        for error in self._lost.values():
            raise error

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _ready(self, name: str) -> str:
        self._in_place()
        make_directory(self.directory)
        return self._path(name)

    def _try(self, name: str, write: Callable[[], None]) -> None:
        try:
            write()
        except (StorageError, OSError) as error:
            if not self._told:
                self._tell(f"supervision cannot keep its files: {error}")
            self._told = True
            self._lost.setdefault(
                name, error if isinstance(error, StorageError) else storage_error("write", name, error)
            )
        else:
            if name != EVENTS:  # a later line does not bring back one that was lost
                self._lost.pop(name, None)

    def _count(self) -> None:
        """Count the lines of the event log, without one torn by a crash."""
        if os.path.lexists(self._path(EVENTS)):
            drop_torn_tail(self._path(EVENTS))
            self._written = read_bytes(self._path(EVENTS)).count(b"\n")


def set_kernel_aside(directory: str, report: str) -> None:
    """Set the files of an earlier run aside."""
    for path in (*(os.path.join(directory, name) for name in OWN), report):
        if os.path.lexists(path):
            set_aside(path)


def read_settings(directory: str, parse: Callable[[bytes], Any]) -> tuple[dict[str, Any] | None, str]:
    """Return supervisor-config.json and its fault: {} if there is no file, None if it cannot be used."""
    path = os.path.join(directory, CONFIG)
    if not os.path.lexists(path):
        return {}, ""
    try:
        return dict(parse(read_bytes(path))), ""
    except PipelineError as error:
        return None, unusable_text(directory, str(error))


def unusable_text(directory: str, why: str) -> str:
    """Return the message about settings that cannot be used."""
    return f"{why}; the agent is not supervised until {os.path.join(directory, CONFIG)} is mended or removed"


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"
