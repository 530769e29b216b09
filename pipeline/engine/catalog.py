"""List of all tasks: tasks.jsonl, a line for each change of status; the last line of a task counts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipeline.base.errors import CatalogError, FormatError, StorageError
from pipeline.base.files import read_bytes, set_aside, storage_error, write_durable
from pipeline.base.formats import dump_json_line, parse_json
from pipeline.base.jsonl import append_durable, last_line, repair_tail
from pipeline.base.lease import lock_descriptor
from pipeline.base.logs import utc_timestamp
from pipeline.base.safe_tree import open_regular

NAME = "tasks.jsonl"
VERSION = 1
LARGEST_LINE = 1024 * 1024
_SHOWN = 200
_ODD_NAME = re.compile(r"\A\Z|\A\.|[/\x00-\x1f\x7f-\x9f]")
_NOT_PLAIN = "is not a plain name (no slash, no control character, no dot at its start)"
_FIELDS = {"version": int, "id": str, "at": str, "status": str, "mode": str, "source": str, "reason": str}


class CatalogEntry(NamedTuple):
    """Last known state of one task."""

    id: str
    at: str
    status: str
    mode: str
    source: str
    reason: str


class TaskList(NamedTuple):
    """Content of tasks.jsonl, oldest change first, and its damages in words."""

    entries: dict[str, CatalogEntry]
    damages: list[str]
    """Lines in the middle that cannot be read: what they said of a task is unknown."""
    repairs: list[str]
    """Unfinished last lines, which were never announced."""

    def must_be_whole(self, flag: str = "") -> None:
        """Raise CatalogError where a decision cannot be taken because a line is damaged. `flag` leads a command to the list."""
        if self.damages:
            raise CatalogError(
                f"{self.damages[0]}: name the task, or rebuild the list with: pipeline list --rebuild{flag}"
            )


class Catalog:
    def __init__(self, tasks_dir: str) -> None:
        self.folder = os.path.abspath(tasks_dir)
        self.path = os.path.join(self.folder, NAME)

    def record(self, task: str, status: str, *, mode: str, source: str, reason: str = "") -> None:
        """Append a line; it is on the disk when this returns. What the last line says already is not said again."""
        if not is_plain_name(task):
            raise CatalogError(f"the directory name {task!r} {_NOT_PLAIN}; rename the directory in {self.folder}")
        record = _row_of(CatalogEntry(task, utc_timestamp(), status, mode, source, reason))
        with self._alone():
            repair_tail(self.path)
            if not self._says(record):
                append_durable(self.path, dump_json_line(record))

    def read(self) -> TaskList:
        """Return every task and every damage. Moves a torn tail to tasks.jsonl.corrupt if it may write there."""
        listing = TaskList({}, [], [])
        if not os.path.lexists(self.path):
            return listing
        data = read_bytes(self.path)
        if data and not data.endswith(b"\n"):
            data = self._mend_tail(listing)
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            problem = _add_line(listing, line)
            if problem:
                listing.damages.append(f"{self.path}, line {number}: {problem}")
        return listing

    def forget(self, task: str) -> None:
        """Take every line of a task out of the list. Lines that cannot be read stay as they are."""
        with self._alone():
            if not os.path.lexists(self.path):
                return
            repair_tail(self.path)
            lines = read_bytes(self.path).splitlines(keepends=True)
            write_durable(self.path, b"".join(line for line in lines if _task_of(line) != task))

    def rebuild(self, collect: Callable[[], list[CatalogEntry]]) -> None:
        """Rebuild the list from the result of `collect`, locked meanwhile, and keep the old one aside."""
        with self._alone():
            entries = sorted(collect(), key=lambda entry: entry.at)
            lines = [dump_json_line(_row_of(entry)) + b"\n" for entry in entries]
            set_aside(self.path)
            write_durable(self.path, b"".join(lines))

    def _says(self, row: dict[str, Any]) -> bool:
        try:
            descriptor = open_regular(self.path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise storage_error("read", self.path, error) from error
        try:
            last = parse_json(last_line(descriptor, os.fstat(descriptor).st_size) or b"{}")
        except FormatError:
            return False
        finally:
            os.close(descriptor)
        return isinstance(last, dict) and {**last, "at": ""} == {**row, "at": ""}

    def _mend_tail(self, listing: TaskList) -> bytes:
        try:
            with self._alone():
                torn = repair_tail(self.path)
                if torn:
                    message = f"the last line was torn ({len(torn)} bytes); it is now in {NAME}.corrupt"
                    listing.repairs.append(f"{self.path}: {message}")
        except StorageError as error:
            listing.repairs.append(f"{self.path}: the last line is torn, and stays so: {error}")
        data = read_bytes(self.path)
        return data[: data.rfind(b"\n") + 1]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        path = os.path.join(self.folder, f".{NAME}.lock")
        try:
            descriptor = open_regular(path, flags=os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise storage_error("lock", path, error) from error
        try:
            with lock_descriptor(descriptor, path):
                yield
        finally:
            os.close(descriptor)


def is_plain_name(name: str) -> bool:
    """Return whether a name is a directory in the tasks folder and not elsewhere."""
    return not _ODD_NAME.search(name)


def _row_of(entry: CatalogEntry) -> dict[str, Any]:
    return {"version": VERSION, **entry._asdict()}


def _task_of(line: bytes) -> str | None:
    listing = TaskList({}, [], [])
    return None if _add_line(listing, line) else next(iter(listing.entries), None)


def _add_line(listing: TaskList, line: bytes) -> str | None:
    if len(line) > LARGEST_LINE:
        return f"{len(line):,} bytes, over the limit of {LARGEST_LINE:,}"
    try:
        record = parse_json(line)
    except FormatError as error:
        return str(error)
    if not isinstance(record, dict) or record.get("version") != VERSION:
        return f"not a record of version {VERSION}"
    if record.keys() != _FIELDS.keys() or any(type(record[name]) is not kind for name, kind in _FIELDS.items()):
        return "not a task record"
    if not is_plain_name(record["id"]):
        return f"the id {record['id'][:_SHOWN]!r} {_NOT_PLAIN}"
    del record["version"]
    listing.entries.pop(record["id"], None)  # the latest change comes last
    listing.entries[record["id"]] = CatalogEntry(**record)
    return None
