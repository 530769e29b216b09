"""Directories for temporary files of the sandbox: what a process leaves behind that was killed, the next one removes."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from pipeline.base.errors import StorageError

PREFIX = "pipeline-sandbox-"


@contextmanager
def scratch_directory() -> Iterator[str]:
    """Yield an empty directory of this process, removed at the end of the block. Raises OSError, StorageError."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:  # it tries to write in each directory, and does not say why it could not
        why = f"no directory takes a temporary file; free some room, or set TMPDIR ({error.strerror})"
        raise StorageError(why, code=errno.ENOSPC) from error
    _remove_stale()
    directory = tempfile.mkdtemp(prefix=f"{PREFIX}{_pid_namespace()}-{os.getpid()}-")
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@cache
def _pid_namespace() -> int:
    """Return the namespace of process ids: a directory may be shared between several."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


@cache
def _remove_stale() -> None:
    """Remove directories of this user whose process is gone; once a process."""
    parent = tempfile.gettempdir()
    for name in os.listdir(parent):
        path = os.path.join(parent, name)
        if is_stale(name) and _is_ours(path):
            shutil.rmtree(path, ignore_errors=True)


def is_stale(name: str) -> bool:
    """Return whether a scratch directory is left from a dead process."""
    words = name.removeprefix(PREFIX).split("-")
    if not name.startswith(f"{PREFIX}{_pid_namespace()}-") or len(words) < 3 or not words[1].isdigit():
        return False
    # A number of a process may be in use again, by another user too: then it waits for the next sweep.
    return not _is_alive(int(words[1]))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _is_ours(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
