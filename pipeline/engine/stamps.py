"""state.json: what each phase read and wrote, by digest, and from that the reason why a phase must run again, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pipeline.engine.phase import Phase

DONE, RUNNING, PENDING = "done", "running", "pending"
FINISHED = (DONE, "skipped", "degraded")


class Stamp(NamedTuple):
    """What is known of one phase of one task."""

    name: str
    status: str = PENDING
    """pending, running, done, skipped, degraded, failed or stopped."""
    attempts: int = 0
    version: int = 1
    settings: Mapping[str, Any] = {}
    read: Mapping[str, str] = {}
    written: Mapping[str, str] = {}
    edited: tuple[str, ...] = ()
    """Documents that somebody changed by hand after the phase wrote them."""
    started: str | None = None
    seconds: float = 0.0
    error: str | None = None


Stamps = dict[str, Stamp]


def stamps_from(document: Mapping[str, Any]) -> Stamps:
    """The stamps of a checked state.json, by phase number."""
    return {number: Stamp(**{**row, "edited": tuple(row["edited"])}) for number, row in document["phases"].items()}


def stamps_to(stamps: Stamps) -> dict[str, Any]:
    """The document that holds these stamps."""
    return {
        "version": 1,
        "phases": {
            number: {**stamp._asdict(), "edited": list(stamp.edited)} for number, stamp in sorted(stamps.items())
        },
    }


def stale_reason(
    phase: Phase, stamp: Stamp | None, settings: Mapping[str, Any], digest: Callable[[str], str | None]
) -> str | None:
    """Why the phase must run, in words, or None when it is up to date.

    `digest` gives the sha256 of a document as it is now, None where it is missing. Outputs that were edited by hand are
    not a reason: the edit is accepted, and the phases that read it become stale instead.
    """
    if stamp is None or (stamp.status == PENDING and not stamp.attempts):
        return "never ran"
    if stamp.status not in FINISHED:
        return f"never finished: {stamp.error}" if stamp.error else "never finished"
    if stamp.version != phase.version:
        return f"version changed from {stamp.version} to {phase.version}"
    return (
        _settings_reason(stamp, settings)
        or _inputs_reason(phase, stamp, digest)
        or _outputs_reason(phase, stamp, digest)
    )


def edited_outputs(stamp: Stamp, digest: Callable[[str], str | None]) -> tuple[str, ...]:
    """The outputs that are no longer what the phase wrote."""
    return tuple(name for name, written in stamp.written.items() if digest(name) != written)


def _settings_reason(stamp: Stamp, settings: Mapping[str, Any]) -> str | None:
    for name in sorted({*settings, *stamp.settings}):
        before, now = stamp.settings.get(name), settings.get(name)
        if before != now:
            return f"{name} changed from {before} to {now}"
    return None


def _inputs_reason(phase: Phase, stamp: Stamp, digest: Callable[[str], str | None]) -> str | None:
    for name in phase.reads:
        if name not in stamp.read:
            return f"it now reads {name} too"
        now = digest(name)
        if now != stamp.read[name]:
            return f"{name} changed" if now else f"{name} is missing"
    return None


def _outputs_reason(phase: Phase, stamp: Stamp, digest: Callable[[str], str | None]) -> str | None:
    for name in (*(name for name in phase.writes if not name.endswith("/")), *stamp.written):
        if name not in stamp.written:
            return f"it now writes {name} too"
        now = digest(name)
        if now is None:
            return f"{name} is missing"
        if now != stamp.written[name] and name.split("/")[0] in phase.owns:
            return f"{name} was edited"  # what a phase keeps by itself it must look at again itself
    return None
