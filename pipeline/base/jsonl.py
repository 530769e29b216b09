"""Read and append files of one JSON object a line, like journals, ledgers and recordings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pipeline.base.errors import FormatError, PhaseError
from pipeline.base.files import read_bytes, storage_error, sync_directory
from pipeline.base.formats import parse_json
from pipeline.base.safe_tree import open_regular, write_all

Row = dict[str, Any]


def read_rows(path: str, fits: Callable[[Row], bool], what: str, cure: str) -> list[Row]:
    """Return every row of a file, or none without a file. Raises PhaseError with the line number for an invalid row."""
    return [value for _, value in _iterate_lines(path, fits, what, cure)] if os.path.exists(path) else []


def read_whole_lines(path: str, fits: Callable[[Row], bool], what: str, cure: str) -> list[tuple[bytes, Row]]:
    """Return each row of a growing file with its line, without an unfinished last line."""
    return list(_iterate_lines(path, fits, what, cure, last=-1)) if os.path.lexists(path) else []


def append_row(path: str, row: Mapping[str, Any], *, durable: bool = True) -> None:
    """Add a row, its keys in their order, so that what is read back is what was written.

    A durable one is on the disk when this returns, and so are those before it; any other survives a kill.
    """
    append_durable(path, row_line(row)) if durable else append_without_sync(path, row_line(row))


def row_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as bytes, without its line end."""
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _iterate_lines(
    path: str, fits: Callable[[Row], bool], what: str, cure: str, *, last: int | None = None
) -> Iterator[tuple[bytes, Row]]:
    for number, line in enumerate(read_bytes(path).split(b"\n")[:last], 1):
        if line.strip():
            try:
                value = parse_json(line, strict=False)
            except FormatError as error:
                raise PhaseError(f"{path}, line {number}: {error}; {cure}") from error
            if not isinstance(value, dict) or not fits(value):
                raise PhaseError(f"{path}, line {number}: not {what}; {cure}")
            yield line, value


_TAIL = 4096


def append_durable(path: str, line: bytes) -> None:
    """Add one line and return when it is on the disk. A line that does not fit is taken back whole."""
    _append_line(path, line, sync=True)


def append_without_sync(path: str, line: bytes) -> None:
    """Append a line without waiting for the disk, if a power cut may take it because it can be made again."""
    _append_line(path, line, sync=False)


def _append_line(path: str, line: bytes, *, sync: bool) -> None:
    try:
        descriptor = open_regular(path, flags=os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        raise storage_error("append to", path, error) from error
    size = os.fstat(descriptor).st_size
    try:
        write_all(descriptor, line + b"\n")
        if sync:
            os.fdatasync(descriptor)
        if size == 0:
            sync_directory(os.path.dirname(path))
    except OSError as error:
        with suppress(OSError):  # the next append repairs the tail
            os.ftruncate(descriptor, size)
        raise storage_error("append to", path, error) from error
    finally:
        os.close(descriptor)


def drop_torn_tail(path: str) -> None:
    """Cut off an unfinished last line, which a crash left before its content was announced."""
    repair_tail(path, keep=False)


def repair_tail(path: str, *, keep: bool = True) -> bytes:
    """Cut a last line that a crash left without its end, keep it in `<path>.corrupt`, and return it.

    Reads no more of the file than its last line, however long the file is.
    """
    try:
        descriptor = open_regular(path, flags=os.O_RDWR)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise storage_error("repair", path, error) from error
    try:
        size = os.fstat(descriptor).st_size
        torn = last_line(descriptor, size)
        if not torn or torn.endswith(b"\n"):
            return b""
        if keep:
            append_durable(path + ".corrupt", torn)
        os.ftruncate(descriptor, size - len(torn))
        os.fsync(descriptor)
    except OSError as error:
        raise storage_error("repair", path, error) from error
    finally:
        os.close(descriptor)
    return torn


def last_line(descriptor: int, size: int) -> bytes:
    """Return the last line of an open file of that size, with its line end if it has one."""
    block = _TAIL
    while True:
        start = max(0, size - block)
        tail = os.pread(descriptor, size - start, start)
        cut = tail.rfind(b"\n", 0, len(tail) - 1) + 1
        if cut or not start:
            return tail[cut:]
        block *= 4
