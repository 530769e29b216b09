"""The rows of a ledger: read, each call once, added up."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from phases.llm.model import OK, TRUNCATED
from pipeline.base.errors import PipelineError
from pipeline.base.files import make_directory, read_bytes, write_without_sync
from pipeline.base.formats import parse_json
from pipeline.base.jsonl import read_rows

ZERO = {"calls": 0, "tokens_in": 0, "tokens_cached": 0, "tokens_out": 0, "usd": 0.0, "seconds": 0.0}
EXPECTED = "expected"
"""Row key with the expected tokens of the request."""
RESERVED = "reserved"
"""Note key with the dollars reserved for an open call. Rows do not use it."""
_FIRST_REPLY = 500
_UNTRIED, _MARGIN = 1.25, 1.1
_INFINITE = float("inf")


def read_ledger(path: str) -> list[dict[str, Any]]:
    """Return the rows of a ledger, each used reply once; none without a file. Raises PhaseError for a damaged one."""
    rows = read_rows(path, is_row, "a row of what calls cost", "cut that line out by hand")
    first: dict[tuple[Any, ...], int] = {}
    return [
        row for number, row in enumerate(rows) if not row["used"] or first.setdefault(paid_call(row), number) == number
    ]


def rows_by_now(path: str) -> list[dict[str, Any]]:
    """Return the rows of a ledger, and of calls that were open when its run ended, at their least cost."""
    rows = read_ledger(path)
    return [*rows, *(row for row in read_open_calls(path).values() if is_row(row) and not is_noted(row, rows))]


def is_noted(note: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a note's call has its row: the run may have been killed between the two."""
    return any(
        row.get("begun") == note.get("at") or (row["used"] and paid_call(row) == paid_call(note) and "begun" not in row)
        for row in rows
        if row["thread"] == note["thread"]
    )


def paid_call(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key of a used reply, which is paid for once however many rows it has."""
    return row["thread"], row["run"], row["turn"]


def is_row(row: Mapping[str, Any]) -> bool:
    texts = all(isinstance(row.get(name), str) for name in ("thread", "about", "model", "outcome"))
    counts = all(isinstance(row.get(name), int) for name in ("run", "turn", "used"))
    amounts = [row.get(name) for name in ZERO if name != "calls"]
    return texts and counts and all(isinstance(amount, (int, float)) and 0 <= amount < _INFINITE for amount in amounts)


def sum_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up calls, tokens, money and seconds of some rows."""
    total = dict(ZERO)
    for row in rows:
        for name in ZERO:
            total[name] += 1 if name == "calls" else row[name]
    return total


def total_tokens(spent: Mapping[str, Any]) -> int:
    return int(spent["tokens_in"] + spent["tokens_out"])


def has_answered(rows: Iterable[Mapping[str, Any]], model: str) -> bool:
    """Return whether a model answered before."""
    return any(row["used"] and row["model"] == model for row in rows)


def longest_reply(rows: Iterable[Mapping[str, Any]], thread: str, model: str) -> int:
    """Return the longest reply of a model to a kind of thread, in tokens, also among replies that were cut off."""
    kind = thread.partition("-")[0]
    own = (row for row in rows if row["model"] == model and row["thread"].partition("-")[0] == kind)
    return max((int(row["tokens_out"]) for row in own if row["outcome"] in (OK, TRUNCATED)), default=_FIRST_REPLY)


def tokens_at_most(rows: Iterable[Mapping[str, Any]], model: str, tokens: int) -> int:
    """Return the likely maximum of a request's tokens, learnt from earlier calls."""
    own = [row for row in rows if row["model"] == model and row["used"] and row.get(EXPECTED)]
    factor = max((row["tokens_in"] / row[EXPECTED] for row in own), default=0.0) * _MARGIN if own else _UNTRIED
    return math.ceil(tokens * factor)


def usd_a_token(rows: Iterable[Mapping[str, Any]], model: str) -> float:
    """Return a model's cost in dollars a token read, for a model without a known price."""
    own = [row for row in rows if row["model"] == model and row["used"]]
    return float(sum(row["usd"] for row in own) / max(1, sum(row["tokens_in"] for row in own)))


_LARGEST = 65536
_LIVE: set[str] = set()
"""Notes of this process's calls."""


def note_open_call(ledger: str, row: Mapping[str, Any]) -> None:
    """Note one. A thread of questions has one call at a time; the note goes with forget_call()."""
    make_directory(_notes_directory(ledger))
    path = _note_path(ledger, str(row["thread"]))
    _LIVE.add(path)
    write_without_sync(path, json.dumps(dict(row)).encode())


def forget_open_call(ledger: str, thread: str) -> None:
    """Take the note back: what the call cost is in the ledger."""
    path = _note_path(ledger, thread)
    if path in _LIVE:
        _LIVE.discard(path)
        with contextlib.suppress(OSError):
            os.unlink(path)


def read_open_calls(ledger: str, *, left: bool = False) -> dict[str, dict[str, Any]]:
    """Return the notes by their paths; `left`: only those of an earlier run. Invalid notes are ignored."""
    folder = _notes_directory(ledger)
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(os.listdir(folder)) if _is_directory(folder) else ():
        path = os.path.join(folder, name)
        if not name.endswith(".json") or (left and path in _LIVE):
            continue
        with contextlib.suppress(PipelineError):
            row = parse_json(read_bytes(path, limit=_LARGEST))
            if isinstance(row, dict) and path == _note_path(ledger, str(row.get("thread"))):
                found[path] = row  # nothing else is ours, and nothing else is ever taken away
    return found


def sum_reserved(ledger: str) -> float:
    """Return the dollars reserved for a task's open calls. Invalid amounts are ignored."""
    amounts = [row.get(RESERVED) for row in read_open_calls(ledger).values()]
    return sum(each for each in amounts if isinstance(each, (int, float)) and 0 <= each < _INFINITE)


def _is_directory(path: str) -> bool:
    """Return whether it is a directory and not a link: the task directory is untrusted."""
    return os.path.lexists(path) and stat.S_ISDIR(os.lstat(path).st_mode)


def _notes_directory(ledger: str) -> str:
    return os.path.join(os.path.dirname(ledger), "open_calls")


def _note_path(ledger: str, thread: str) -> str:
    plain = "".join(sign if sign.isalnum() else "-" for sign in thread)[:80]
    return os.path.join(_notes_directory(ledger), f"{plain}.json")
