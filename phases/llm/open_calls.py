"""Calls that are under way: noted beside the ledger before they are made, so that a run that ends in one has it counted."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Mapping
from typing import Any

from pipeline.base.errors import PipelineError
from pipeline.base.files import make_folder, read_bytes, write_soon
from pipeline.base.formats import parse_json

_LARGEST = 65536
_LIVE: set[str] = set()
"""The notes of calls that this very process makes."""


def note_call(ledger: str, row: Mapping[str, Any]) -> None:
    """Notes one. A thread of questions has one call at a time; the note goes with forget_call()."""
    make_folder(_folder(ledger))
    path = _path(ledger, str(row["thread"]))
    _LIVE.add(path)
    write_soon(path, json.dumps(dict(row)).encode())


def forget_call(ledger: str, thread: str) -> None:
    """Takes the note back: what the call cost is in the ledger."""
    path = _path(ledger, thread)
    if path in _LIVE:
        _LIVE.discard(path)
        with contextlib.suppress(OSError):
            os.unlink(path)


def noted_calls(ledger: str, *, left: bool = False) -> dict[str, dict[str, Any]]:
    """The notes by their paths; `left`: those alone that a run before this one left. What is no note is nothing."""
    folder = _folder(ledger)
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(os.listdir(folder)) if _is_folder(folder) else ():
        path = os.path.join(folder, name)
        if not name.endswith(".json") or (left and path in _LIVE):
            continue
        with contextlib.suppress(PipelineError):
            row = parse_json(read_bytes(path, limit=_LARGEST))
            if isinstance(row, dict) and path == _path(ledger, str(row.get("thread"))):
                found[path] = row  # nothing else is ours, and nothing else is ever taken away
    return found


def _is_folder(path: str) -> bool:
    """A link is none: the task directory may come from anybody."""
    return os.path.lexists(path) and stat.S_ISDIR(os.lstat(path).st_mode)


def _folder(ledger: str) -> str:
    return os.path.join(os.path.dirname(ledger), "open_calls")


def _path(ledger: str, thread: str) -> str:
    plain = "".join(sign if sign.isalnum() else "-" for sign in thread)[:80]
    return os.path.join(_folder(ledger), f"{plain}.json")
