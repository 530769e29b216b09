"""Journals: everything paid for or done is on the disk before it has an effect.

The work is walked again from its beginning on resume; as long as the journal has an answer, that answer is taken and
nothing is asked or done a second time. So a resumed run is the same program, not another one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from pipeline.base.errors import PhaseError, StorageError
from pipeline.base.jsonl import append_row, read_rows, read_whole_lines, repair_tail
from pipeline.base.logs import logger

PAID = "paid"
"""Header key under `begun`: [turn, run] pairs. Replies up to that turn were paid for in that run."""
QUESTION = "request"
"""Key of a reply with the digest of its question."""
_APART = ("run", "begun")
"""Keys of the header about how the work was begun, which do not identify it."""


class Journal:
    """Record of one conversation with a model. `header` identifies the work; another header is another run."""

    def __init__(
        self,
        path: str,
        header: Mapping[str, Any],
        run: int = 1,
        in_place: Callable[[], None] = lambda: None,
        *,
        begun: Mapping[str, Any] | None = None,
        clean: Callable[[Any], Any] = lambda result: result,
    ) -> None:
        """`run` and `begun` are taken for a journal that is not there yet; else those that it began with stay.

        `clean` takes out of every result what may be in no file.
        """
        self._path, self._in_place, self._clean = path, in_place, clean
        self._told = False
        repair_tail(path)
        self._rows = read_journal(path)
        self._next = 1
        if not self._rows:
            self._rows = [header_row(header, run, begun or {})]
            in_place()
            append_row(path, self._rows[0])
        elif not is_header_of(self._rows[0], header):
            raise StorageError(f"{path} is the record of another run; it must be moved aside first")
        self._recorded = len(self._rows)

    @property
    def run(self) -> int:
        """Return how often this work was begun, including now."""
        return int(self._rows[0].get("run", 1))

    def run_of(self, turn: int) -> int:
        """Return the run in which the reply of a turn was paid for."""
        return run_of(self._rows[0], turn)

    @property
    def begun(self) -> dict[str, Any]:
        return dict(self._rows[0].get("begun", {}))

    @property
    def replaying(self) -> bool:
        """Return whether the next step is answered from the disk."""
        return self._next < self._recorded

    @property
    def next_kind(self) -> str:
        """Return the kind of the next recorded step; empty if there is none."""
        return str(self._rows[self._next]["kind"]) if self.replaying else ""

    @property
    def next_key(self) -> dict[str, Any]:
        """Return the key of the next recorded step; empty if there is none."""
        return dict(self._rows[self._next]["key"]) if self.replaying else {}

    @property
    def cut_here(self) -> bool:
        """Return whether an earlier run may have been cut off in the next step: done in part, and not recorded."""
        return self._next == self._recorded > 1

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows recorded before this run, in order."""
        return self._rows[1 : self._recorded]

    def all_rows(self) -> list[dict[str, Any]]:
        """Return all rows recorded so far, in order."""
        return self._rows[1:]

    def replay_or_record(
        self, kind: str, key: Mapping[str, Any], do: Callable[[], dict[str, Any]], *, durable: bool = True
    ) -> dict[str, Any]:
        """Return the recorded result of this step, or do it now and record its result before returning it.

        `durable` is False for what changed nothing: a power cut may take its record until the next step is recorded.
        `key` names the step; a record that names another one means that the journal and the program have parted ways.
        """
        result = self.replay(kind, key)
        return self.record(kind, key, do(), durable=durable) if result is None else result

    def replay(self, kind: str, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the recorded result of this step; None if the step is still to be taken, and then recorded."""
        if not self.replaying:
            self._in_place()  # both the step and its record write into the task directory (decision 21)
            return None
        row = self._rows[self._next]
        if row["kind"] != kind or not self._is_key_of(row, key):
            raise PhaseError(
                f"{self._path}, line {self._next + 1}: records {row['kind']} {row['key']}, and the run does "
                f"{kind} {dict(key)}; {_redo_advice(self._path)}"
            )
        self._next += 1
        return dict(row["result"])

    def record(
        self, kind: str, key: Mapping[str, Any], result: Mapping[str, Any], *, durable: bool = True
    ) -> dict[str, Any]:
        """Return the result of a step as it was recorded: see replay_or_record."""
        row = {"kind": kind, "key": dict(key), "result": self._clean(result)}
        self._in_place()
        self._rows.append(row)
        append_row(self._path, row, durable=durable)
        self._next += 1
        return dict(row["result"])

    def _is_key_of(self, row: Mapping[str, Any], key: Mapping[str, Any]) -> bool:
        if row["key"] == dict(key):
            return True
        # A release may word a question otherwise; what was paid for is used all the same (decision 134).
        if {**row["key"], QUESTION: ""} != {**key, QUESTION: ""}:
            return False
        if not self._told:
            self._told = True
            logger.debug("the prompts have changed since; the recorded replies are used as they are")
        return True


def read_journal(path: str) -> list[dict[str, Any]]:
    """Return the rows of a journal, its header first. Raises PhaseError for a damaged one."""
    return read_rows(path, _is_record, "a record of a run", _redo_advice(path))


def read_journal_lines(path: str) -> list[tuple[bytes, dict[str, Any]]]:
    """Return each row of a growing journal with its line."""
    return read_whole_lines(path, _is_record, "a record of a run", _redo_advice(path))


def run_of(header: Mapping[str, Any], turn: int) -> int:
    """Return the run in which the reply of a turn was paid for: a journal that was cut back has replies of earlier runs."""
    paid = header.get("begun", {}).get(PAID, [])
    return int(next((run for last, run in paid if turn <= last), header.get("run", 1)))


def find_journals(task: str) -> list[str]:
    """Return every journal of a task: of plan, references, code and sub-agents, also those set aside."""
    found, own = [], ("journal.jsonl", "plan_journal.jsonl", "references_journal.jsonl")
    for name in sorted(os.listdir(task)) if os.path.isdir(task) else ():
        path = os.path.join(task, name)
        if name.startswith(own) and not name.endswith(".corrupt"):
            found.append(path)
        elif name.startswith("explorations") and os.path.isdir(path):
            found += [os.path.join(path, inner) for inner in sorted(os.listdir(path)) if inner.endswith(".jsonl")]
    return found


def can_continue(
    path: str, header: Mapping[str, Any], same: Callable[[list[dict[str, Any]]], bool] = lambda rows: True
) -> bool:
    """Return whether a journal on the disk is a record of this run; `same` may check its rows."""
    repair_tail(path)
    rows = read_journal(path)
    return not rows or (is_header_of(rows[0], header) and same(rows))


def header_row(header: Mapping[str, Any], run: int, begun: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "header", **header, "run": run, "begun": dict(begun)}


def is_header_of(row: Mapping[str, Any], header: Mapping[str, Any]) -> bool:
    """Return whether a row begins the journal of this work, in whatever way it was begun."""
    return {name: value for name, value in row.items() if name not in _APART} == {"kind": "header", **header}


def digest_of(part: str | bytes) -> bytes:
    return hashlib.sha256(part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")).digest()


def _redo_advice(path: str) -> str:
    name = os.path.basename(path)
    phase = next((phase for phase in ("plan", "references") if name.startswith(phase)), "implement")
    return f"start afresh with --redo {phase}"


def _is_record(row: dict[str, Any]) -> bool:
    if row.get("kind") == "header":
        return isinstance(row.get("run", 1), int) and isinstance(row.get("begun", {}), dict)
    key, result = row.get("key"), row.get("result")
    if not (isinstance(key, dict) and isinstance(result, dict) and row.get("kind") in _WANTED):
        return False
    both = {**key, **result}
    return all(name in both and isinstance(both[name], kind) for name, kind in _WANTED[str(row["kind"])].items())


_WANTED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "reply": {
        "thread": str, "turn": int, "request": str, "calls": list, "model": str, "about": str, "outcome": str,
        "tokens_in": int, "tokens_out": int, "usd": (int, float),
    },
    "result": {"turn": int, "call": str, "failed": bool, "text": str, "touched": list, "seen": dict},
    "base": {"turn": int, "manifest": dict, "pins": dict},
    "look": {
        "turn": int, "look": int, "base": str, "head": str, "claimed": bool, "whole": bool, "hooks": list, "tampered": list,
        "changed": bool, "touched": bool, "files": list, "truncated": bool, "setting": str,
    },
    "hook": {
        "turn": int, "look": int, "hook": str, "status": str, "tree": str, "source": str, "policy": str, "ran": bool, "kind": str,
        "fact": str, "reason": str, "context": str, "notes": list, "log": str, "wrote": list, "tampered": list,
    },
    "verdict": {
        "turn": int, "look": int, "verification": dict, "stop": str, "source": str, "detail": str, "most": int, "feedback": str,
        "lines": list, "tampered": bool, "messages": list,
    },
    "ending": {"turn": int, "stop_reason": str},
    "more": {"turn": int, "most": int},
    "tables": {"turn": int, "attempt": int, "text": str},
    "pins": {"turn": int, "pins": dict},
    "said": {"turn": int, "texts": list},
    "window": {"turn": int, "window": int},
    "facts": {"turn": int},
    "snapshot": {"turn": int, "disk": dict},
    "stop": {"turn": int, "stop_reason": str, "detail": str},
}  # fmt: skip
