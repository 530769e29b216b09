"""state.json: digests of each phase's inputs and outputs, and from them the reason why a phase must run again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pipeline.base.files import read_bytes, storage_error, write_durable
from pipeline.base.jsonl import append_durable
from pipeline.engine.contract import Contracts
from pipeline.engine.phase import Phase

DONE, RUNNING, PENDING = "done", "running", "pending"
FINISHED = (DONE, "skipped", "degraded")


class Stamp(NamedTuple):
    name: str
    status: str = PENDING
    """pending, running, done, skipped, degraded, failed or stopped."""
    attempts: int = 0
    version: int = 1
    edition: int = 1
    settings: Mapping[str, Any] = {}
    read: Mapping[str, str] = {}
    written: Mapping[str, str] = {}
    edited: tuple[str, ...] = ()
    """Documents edited by hand after the phase wrote them."""
    started: str | None = None
    seconds: float = 0.0
    error: str | None = None


Stamps = dict[str, Stamp]


def stamps_from(document: Mapping[str, Any]) -> Stamps:
    """Return the stamps of a valid state.json, by phase number."""
    return {
        number: Stamp(**{**stamp, "edited": tuple(stamp["edited"])}) for number, stamp in document["phases"].items()
    }


def stamps_to(stamps: Stamps) -> dict[str, Any]:
    rows = {number: {**stamp._asdict(), "edited": list(stamp.edited)} for number, stamp in sorted(stamps.items())}
    return {"version": 1, "phases": rows}


def stale_reason(
    phase: Phase, stamp: Stamp | None, settings: Mapping[str, Any], digest: Callable[[str], str | None]
) -> str | None:
    """Return why the phase must run, in words, or None if it is up to date.

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


def is_of_older_edition(phase: Phase, stamp: Stamp | None) -> bool:
    """Return whether an older edition of the phase wrote its result, which is not a reason to run again."""
    return stamp is not None and stamp.status == DONE and stamp.edition < phase.edition


def find_edited_outputs(stamp: Stamp, digest: Callable[[str], str | None]) -> tuple[str, ...]:
    """Return the outputs that differ from what the phase wrote."""
    return tuple(name for name, written in stamp.written.items() if digest(name) != written)


def _settings_reason(stamp: Stamp, settings: Mapping[str, Any]) -> str | None:
    # decision 226: a setting that came later is empty by default, and a stamp from before it says just that
    for name in sorted({*settings, *stamp.settings}):
        before, now = stamp.settings.get(name, ""), settings.get(name, "")
        if before != now:
            return f"{name} changed from {before or 'nothing'} to {now or 'nothing'}"
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
        # decision 26: what a phase keeps by itself it must look at again itself.
        if now != stamp.written[name] and name.split("/")[0] in phase.owns:
            return f"{name} was edited"
    return None


NAME = "state.json"
LINES = "state.jsonl"
_WRITER = "the pipeline command"


def read_state(root: str, contracts: Contracts) -> Stamps:
    """Return the stamps of a task. Raises ContractError for a damaged document or line; a torn last line does not count."""
    stamps: Stamps = {}
    path, lines = os.path.join(root, NAME), os.path.join(root, LINES)
    if os.path.lexists(path):
        stamps.update(stamps_from(contracts.parse(NAME, read_bytes(path), writer=_WRITER)))
    if os.path.lexists(lines):
        for number, line in enumerate(read_bytes(lines).split(b"\n")[:-1], 1):
            stamps.update(stamps_from(contracts.parse(f"{LINES}, entry {number}", line, writer=_WRITER)))
    return stamps


# decision 10: one line and one sync for a phase; the whole document grew with the phases and cost two.
def add_to_state(root: str, changed: Stamps, contracts: Contracts) -> None:
    """Make changed stamps durable as one line."""
    line = contracts.serialise_line(NAME, stamps_to(changed), writer=_WRITER)
    append_durable(os.path.join(root, LINES), line)


def write_state(root: str, stamps: Stamps, contracts: Contracts) -> None:
    """Make all stamps durable as one document, which takes the lines in."""
    data = contracts.serialise(NAME, stamps_to(stamps), writer=_WRITER)
    write_durable(os.path.join(root, NAME), data)
    try:
        os.unlink(os.path.join(root, LINES))
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error("remove", os.path.join(root, LINES), error) from error


def has_lines(root: str) -> bool:
    """Return whether a run added lines without writing the document: it was killed, or is still running."""
    return os.path.lexists(os.path.join(root, LINES))
