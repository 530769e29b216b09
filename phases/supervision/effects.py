"""What the kernel has to say after a step: lines for the event log, texts for the model, and whether the run must stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phases.supervision.enums import CorrectionKind, StopReason, TimelineEvent
from phases.supervision.facts import WorkspaceSnapshot


@dataclass(frozen=True)
class Injection:
    """A text for the model, said once."""

    kind: CorrectionKind
    text: str


@dataclass(frozen=True)
class Stop:
    """The run must stop here; its work is kept."""

    reason: StopReason
    detail: str


@dataclass
class Effects:
    """Collects, in order. Whoever drives the kernel empties it after each step."""

    entries: list[TimelineEntry] = field(default_factory=list)
    injections: list[Injection] = field(default_factory=list)
    stop: Stop | None = None
    snapshot: WorkspaceSnapshot | None = None
    """What a takeover found."""
    triggers: list[str] = field(default_factory=list)
    """Why a checkpoint should be written now."""

    def note(self, *entries: TimelineEntry) -> None:
        self.entries.extend(entries)

    def end(self, reason: StopReason, detail: str) -> None:
        """Asks for a stop; the first one counts."""
        self.stop = self.stop or Stop(reason, detail)


@dataclass(frozen=True)
class TimelineEntry:
    """One thing that happened. Who writes it down adds the round, the mode, the phase and the clock."""

    event: TimelineEvent
    reason: str
    payload: Mapping[str, Any] = field(default_factory=dict)


def switch_entry(reason: str, **payload: Any) -> TimelineEntry:
    return TimelineEntry(TimelineEvent.SWITCH, reason, payload)


def recovery_entry(reason: str, **payload: Any) -> TimelineEntry:
    return TimelineEntry(TimelineEvent.RECOVER, reason, payload)


def failure_entry(reason: str, **payload: Any) -> TimelineEntry:
    return TimelineEntry(TimelineEvent.FAILURE, reason, payload)
