"""Define the kernel's output after a step: event log lines, texts for the model, and a stop of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phases.supervision.enums import CorrectionKind, StopReason, TimelineEvent
from phases.supervision.facts import WorkspaceSnapshot


@dataclass(frozen=True)
class Injection:
    """A text for the model, sent once."""

    kind: CorrectionKind
    text: str


@dataclass(frozen=True)
class Stop:
    """A stop of the run; its work is kept."""

    reason: StopReason
    detail: str


@dataclass
class Effects:
    """Collect effects in order. The caller empties it after each step."""

    entries: list[TimelineEntry] = field(default_factory=list)
    injections: list[Injection] = field(default_factory=list)
    stop: Stop | None = None
    snapshot: WorkspaceSnapshot | None = None
    """The workspace at the start of a takeover."""
    triggers: list[str] = field(default_factory=list)
    """Reasons to write a checkpoint now."""

    def note(self, *entries: TimelineEntry) -> None:
        self.entries.extend(entries)

    def end(self, reason: StopReason, detail: str) -> None:
        """Request a stop; the first one counts."""
        self.stop = self.stop or Stop(reason, detail)


@dataclass(frozen=True)
class TimelineEntry:
    """One event. Its writer adds the round, the mode, the phase and the time."""

    event: TimelineEvent
    reason: str
    payload: Mapping[str, Any] = field(default_factory=dict)


def switch_entry(reason: str, **payload: Any) -> TimelineEntry:
    return TimelineEntry(TimelineEvent.SWITCH, reason, payload)


def recovery_entry(reason: str, **payload: Any) -> TimelineEntry:
    return TimelineEntry(TimelineEvent.RECOVER, reason, payload)


def failure_entry(reason: str, **payload: Any) -> TimelineEntry:
    return TimelineEntry(TimelineEvent.FAILURE, reason, payload)
