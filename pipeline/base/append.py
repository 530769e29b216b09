"""Files that only grow: durable appends, the last line, and the repair of one that a crash tore."""

from __future__ import annotations

import os

from pipeline.base.files import failure, sync_folder, write_all

_TAIL = 4096


def append_durable(path: str, line: bytes) -> None:
    """Adds one line and returns when it is on the disk. A line that does not fit is taken back whole."""
    _append(path, line, sync=True)


def append_soon(path: str, line: bytes) -> None:
    """The same without waiting for the disk: what a power cut may take, because it can be had again."""
    _append(path, line, sync=False)


def _append(path: str, line: bytes, *, sync: bool) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        raise failure("append to", path, error) from error
    size = os.fstat(descriptor).st_size
    try:
        write_all(descriptor, line + b"\n")
        if sync:
            os.fdatasync(descriptor)
        if size == 0:
            sync_folder(os.path.dirname(path))
    except OSError as error:
        _truncate(descriptor, size)
        raise failure("append to", path, error) from error
    finally:
        os.close(descriptor)


def repair_tail(path: str) -> bytes:
    """Cuts a last line that a crash left without its end, keeps it in `<path>.corrupt`, and returns it.

    Reads no more of the file than its last line, however long the file is.
    """
    return _cut(path, keep=True)


def drop_torn_tail(path: str) -> None:
    """Cuts a last line that a crash left without its end, where nobody was ever told of what it says."""
    _cut(path, keep=False)


def _cut(path: str, *, keep: bool) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise failure("repair", path, error) from error
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
        raise failure("repair", path, error) from error
    finally:
        os.close(descriptor)
    return torn


def last_line(descriptor: int, size: int) -> bytes:
    """The last line of an open file of that size, with its line end if it has one."""
    block = _TAIL
    while True:
        start = max(0, size - block)
        tail = os.pread(descriptor, size - start, start)
        cut = tail.rfind(b"\n", 0, len(tail) - 1) + 1
        if cut or not start:
            return tail[cut:]
        block *= 4


def _truncate(descriptor: int, size: int) -> None:
    try:
        os.ftruncate(descriptor, size)
    except OSError:
        return  # the next append repairs the tail
