"""What supervision left on the disk, as one value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phases.pages.supervisor.files import CHECKPOINT, CONFIG, EVENTS, REPORT, TAKE_OVER, Check, Reader
from phases.supervision.config import Config
from phases.supervision.graph import TaskGraph
from phases.supervision.words import ExecutionMode, SupervisorMode, SupervisorPhase, TimelineEvent
from phases.supervision.workspace import WorkspaceSnapshot

DONE = "model_done"
"""The stop reason of work that was accepted and verified."""


@dataclass(frozen=True)
class Event:
    """One line of the event log."""

    seq: int
    ts: int
    """Milliseconds since 1970."""
    round: int
    turn: int
    mode: SupervisorMode
    phase: SupervisorPhase
    execution_mode: ExecutionMode
    event: TimelineEvent
    reason: str
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """All of it. What is not there is None, or empty."""

    task: str
    config: Config = field(default_factory=Config)
    """With its defaults, where there is no such file."""
    events: tuple[Event, ...] = ()
    lines: tuple[Mapping[str, Any], ...] = ()
    """The events as they stand in the file."""
    graph: TaskGraph | None = None
    checkpoint: Mapping[str, Any] | None = None
    report: Mapping[str, Any] | None = None
    snapshots: tuple[WorkspaceSnapshot, ...] = ()
    """The oldest first."""
    take_over_asked: bool = False
    running: bool = False
    """Whether somebody works on the task right now."""
    damage: tuple[str, ...] = ()
    """What could not be read: the file, the line and the reason."""

    @property
    def empty(self) -> bool:
        """Whether supervision has left nothing to show."""
        return not (self.events or self.graph or self.checkpoint or self.report or self.damage)

    @property
    def mode(self) -> SupervisorMode:
        """The mode of the run, as its files tell it; the settings are asked last."""
        if self.report:
            return SupervisorMode(self.report["mode"])
        return self.events[-1].mode if self.events else self.config.mode or SupervisorMode.ADAPTIVE

    @property
    def shadow(self) -> bool:
        """Whether supervision only looked on."""
        if self.report:
            return bool(self.report["shadow"])
        return self.config.shadow or any(event.event is TimelineEvent.SHADOW_DIAGNOSTIC for event in self.events)

    @property
    def rounds(self) -> int:
        """The last round that is known of."""
        known = [event.round for event in self.events]
        known += [int(self.report["rounds"])] if self.report else []
        known += [int(self.checkpoint["round"])] if self.checkpoint else []
        return max(known, default=0)

    @property
    def over(self) -> bool:
        """Whether the report is of this run, and not of one that has gone on since."""
        if self.report is None or self.running:
            return False
        return not self.events or self.events[-1].round <= self.report["rounds"]


def read_view(root: str, task: str, check: Check, *, running: bool = False) -> View:
    """What the kernel's files in a task directory say."""
    reader = Reader(root, check)
    lines = tuple(reader.lines(EVENTS))
    return View(
        task,
        reader.record(CONFIG, Config) or Config(),
        tuple(_event(line) for line in lines),
        lines,
        reader.graph(),
        reader.document(CHECKPOINT),
        reader.document(REPORT),
        tuple(reader.snapshots()),
        os.path.lexists(os.path.join(root, TAKE_OVER)),
        running,
        tuple(reader.damage),
    )


def read_config(root: str, check: Check) -> tuple[Config, str]:
    """The settings in force, and what is wrong with their file; empty where nothing is."""
    reader = Reader(root, check)
    config = reader.record(CONFIG, Config) or Config()
    return config, next(iter(reader.damage), "")


def _event(line: Mapping[str, Any]) -> Event:
    return Event(
        int(line["seq"]),  # 7.0 is an integer to a schema
        int(line["ts"]),
        int(line["round"]),
        int(line["turn"]),
        SupervisorMode(line["mode"]),
        SupervisorPhase(line["phase"]),
        ExecutionMode(line["executionMode"]),
        TimelineEvent(line["event"]),
        line["reason"],
        line["payload"],
    )
