"""Model that repeats recorded replies: no network, no cost, the same every time."""

from __future__ import annotations

import os
from collections.abc import Iterable

from phases.llm.model import BESIDE, FATAL, Reachability, Reply, Request, is_deep, reply_from_json
from pipeline.base.errors import UsageError
from pipeline.base.jsonl import Row, read_rows

_NEVER_FULL = 10**9
_JOURNALS = ("plan_journal.jsonl", "references_journal.jsonl", "journal.jsonl")


class ReplayModel:
    """Answers turn N of a thread with what was recorded for it. Nothing is paid for, so nothing counts as spent."""

    secrets: tuple[str, ...] = ()
    priced = True
    reports_cost = False
    detail = "recorded replies"

    def __init__(self, path: str) -> None:
        """Load the journals of a task directory, or one file of such rows. Raises UsageError, PhaseError."""
        self.name = f"replay:{path}"
        files = [read_rows(file, _is_row, "a recorded reply", "record it again") for file in _find_recordings(path)]
        rows = [row for file in files for row in file]
        self._replies = {
            (row["key"]["thread"], row["key"]["turn"]): _free_reply(row) for row in rows if row["kind"] == "reply"
        }
        self.window = min(
            (_window_of(file) for file in files if file and file[0]["kind"] == "header"), default=_NEVER_FULL
        )

    def ask(self, request: Request) -> Reply:
        """Return the recorded reply, or a fatal one if none was recorded."""
        reply = self._replies.get((request.thread, request.turn))
        return Reply(FATAL, detail=self._lack(request)) if reply is None else reply

    def is_over(self, thread: str, turn: int) -> bool:
        return (thread, turn) not in self._replies

    def _lack(self, request: Request) -> str:
        thread = request.thread or "this"
        told = f"{self.name} holds no reply for turn {request.turn} of {thread}"
        if thread == "plan" and not any(name == thread for name, _ in self._replies):
            return f"{told}: the task was planned by rules, so plan by rules again with --plan-model offline"
        return f"{told}; record a longer one, or replay the thread that is there"

    def check(self) -> Reachability:
        return Reachability(True, f"{len(self._replies)} {self.detail}")

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0


def _find_recordings(path: str) -> Iterable[str]:
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise UsageError(f"replay:{path}: there is no such recording")
        return [path]
    names = [_newest_journal(path, name) for name in _JOURNALS]
    folder = _newest_journal(path, "explorations")
    explored = sorted(os.path.join(folder, name) for name in os.listdir(folder)) if folder else []
    found = [*(name for name in names if name), *explored]
    if not found:
        raise UsageError(f"replay:{path}: no journal of a model is in that task")
    return found


def _newest_journal(folder: str, name: str) -> str:
    """Return the journal, or the latest one that was set aside for a redo."""
    path = os.path.join(folder, name)
    if os.path.exists(path):
        return path
    first = f"{path}.prev"
    entries = [entry.removeprefix(f"{name}.prev") for entry in os.listdir(folder) if entry.startswith(f"{name}.prev")]
    last = max((int(number) for number in entries if number.isdigit()), default=0)
    return f"{first}{last}" if last else first if os.path.exists(first) else ""


def _is_row(row: Row) -> bool:
    if row.get("kind") != "reply":
        return isinstance(row.get("kind"), str)
    key, result = row.get("key"), row.get("result")
    if not (isinstance(key, dict) and isinstance(result, dict) and isinstance(result.get("calls"), list)):
        return False
    whole = all(
        isinstance(call, dict) and call.keys() == {"id", "name", "arguments"} and not is_deep(call["arguments"])
        for call in result["calls"]
    )
    known = {"outcome"} <= result.keys() <= {*Reply.__dataclass_fields__, *BESIDE}
    named = isinstance(key.get("thread"), str) and isinstance(key.get("turn"), int)
    return whole and known and named and not is_deep(result.get("reasoning"))


def _window_of(rows: list[Row]) -> int:
    """Return the largest known window of the recorded model: it decides into how many parts a paper is split."""
    begun = rows[0].get("begun")
    told = [rows[0].get("window"), begun.get("window") if isinstance(begun, dict) else None]
    results = [row.get("result") for row in rows if row["kind"] == "window"]
    told += [result.get("window") for result in results if isinstance(result, dict)]
    return max((window for window in told if isinstance(window, int) and window > 0), default=_NEVER_FULL)


def _free_reply(row: Row) -> Reply:
    return reply_from_json({**row["result"], "tokens_in": 0, "tokens_cached": 0, "tokens_out": 0, "usd": 0.0})
