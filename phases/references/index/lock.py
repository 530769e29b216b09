"""Who may make the cache or write to it: one process at a time, by a lock that the kernel takes back from a dead one."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.base.errors import StorageError
from pipeline.base.files import lock_error, storage_error

WAIT = 60.0
"""Seconds to wait for another process."""
_NAME_ENDS = ".lock"
_AGAIN = 0.05


@contextmanager
def lock_file(path: str, seconds: float | None = None) -> Iterator[bool]:
    """Whether this process has the file at `path` to itself within the block; False where another still had it after `seconds`.

    The lock is a file beside it, which stays: one that is removed would be two locks to two processes.
    """
    until = time.monotonic() + (WAIT if seconds is None else seconds)
    descriptor = _open_lock(path + _NAME_ENDS)
    try:
        while not (mine := _try_lock(descriptor, path)) and time.monotonic() < until:
            time.sleep(_AGAIN)
        yield mine
    finally:
        os.close(descriptor)  # and the lock goes with it


def _open_lock(path: str) -> int:
    """The lock's file. Whatever else a stranger put at its name is taken away: it holds nothing."""
    for last in (False, True):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if last or not _is_strange(path):
                raise storage_error("open", path, error) from error
        else:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
            os.close(descriptor)
        try:
            os.unlink(path)
        except OSError as error:
            raise storage_error("remove", path, error) from error
    raise StorageError(f"{path} is no regular file, and is put back when it is removed; stop what does that")


def _is_strange(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _try_lock(descriptor: int, path: str) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise lock_error(path + _NAME_ENDS, error) from error
    return True
