"""The lines of the event log (section 9), as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phases.supervision.words import TimelineEvent


@dataclass(frozen=True)
class Entry:
    """One thing that happened. Who writes it down adds the round, the mode, the phase and the clock."""

    event: TimelineEvent
    reason: str
    payload: Mapping[str, Any] = field(default_factory=dict)


def switch(reason: str, **payload: Any) -> Entry:
    """L1 changed, or did not for another reason than before."""
    return Entry(TimelineEvent.SWITCH, reason, payload)


def recover(reason: str, **payload: Any) -> Entry:
    """A correction was made."""
    return Entry(TimelineEvent.RECOVER, reason, payload)


def failure(reason: str, **payload: Any) -> Entry:
    """Something did not go as it should."""
    return Entry(TimelineEvent.FAILURE, reason, payload)
