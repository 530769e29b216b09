"""journal.jsonl: everything that was paid for or done, on the disk before it is acted on.

The loop is run again from its beginning on resume; as long as the journal has an answer, that answer is taken and nothing
is asked or done a second time. So a resumed run is the same program, not another one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from pipeline.append import append_durable, repair_tail
from pipeline.errors import FormatError, PhaseError, StorageError
from pipeline.files import read_bytes
from pipeline.formats import parse_json

_AFRESH = "start phase 09 afresh with --redo implement"


class Journal:
    """The record of one run of the agent. `header` says what it is a record of; another header is another run."""

    def __init__(self, path: str, header: Mapping[str, Any], in_place: Callable[[], None] = lambda: None) -> None:
        self._path, self._in_place = path, in_place
        repair_tail(path)
        self._rows = _read(path)
        self._next = 1
        if not self._rows:
            in_place()
            append_durable(path, _line({"kind": "header", **header}))
        elif self._rows[0] != {"kind": "header", **header}:
            raise StorageError(f"{path} is the record of another run; it must be moved aside first")

    def rows(self) -> list[dict[str, Any]]:
        """What was recorded before this run, in order."""
        return self._rows[1:]

    def once(self, kind: str, key: Mapping[str, Any], do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The recorded result of this step, or the result of doing it now, recorded before it is returned.

        `key` names the step; a record that names another one means that the journal and the program have parted ways.
        """
        if self._next < len(self._rows):
            row = self._rows[self._next]
            if row["kind"] != kind or row["key"] != dict(key):
                raise PhaseError(
                    f"{self._path}, line {self._next + 1}: records {row['kind']} {row['key']}, and the run does "
                    f"{kind} {dict(key)}; {_AFRESH}"
                )
            result = row["result"]
        else:
            self._in_place()  # what is done now writes into the task folder, and so does the record of it
            result = do()
            self._in_place()
            append_durable(self._path, _line({"kind": kind, "key": dict(key), "result": result}))
        self._next += 1
        return dict(result)


def belongs_to(path: str, header: Mapping[str, Any]) -> bool:
    """Whether the journal on the disk, if there is one, is a record of this run."""
    repair_tail(path)
    rows = _read(path)
    return not rows or rows[0] == {"kind": "header", **header}


def request_digest(before: str, added: str) -> str:
    """The digest of a transcript that grew by `added`: each turn costs what it adds, not what came before."""
    return hashlib.sha256(f"{before}\n{added}".encode()).hexdigest()


def _read(path: str) -> list[dict[str, Any]]:
    if not os.path.exists(path):
        return []
    rows = []
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        if line.strip():
            try:
                row = parse_json(line)
            except FormatError as error:
                raise PhaseError(f"{path}, line {number}: {error}; {_AFRESH}") from error
            if not _is_record(row):
                raise PhaseError(f"{path}, line {number}: not a record of a run; {_AFRESH}")
            rows.append(row)
    return rows


def _is_record(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("kind"), str):
        return False
    key, result = row.get("key"), row.get("result")
    if row["kind"] == "header" or not isinstance(key, dict) or not isinstance(result, dict):
        return bool(row["kind"] == "header")
    wanted = {"reply": ("turn", "calls"), "result": ("turn", "call", "failed"), "verdict": ("turn", "verification")}
    return all(name in key or name in result for name in wanted.get(row["kind"], ("no such record",)))


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
