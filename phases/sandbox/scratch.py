"""Folders for temporary files of the sandbox: what a process leaves behind that was killed, the next one removes."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_PREFIX = "pipeline-sandbox-"


@contextmanager
def scratch_directory() -> Iterator[str]:
    """An empty folder of this process, gone when the block ends. Raises OSError."""
    _remove_stale()
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{_pid_namespace()}-{os.getpid()}-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _pid_namespace() -> int:
    """Stands for the set of processes that a process number is one of: a folder may be shared with another set."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


@cache
def _remove_stale() -> None:
    """Removes folders of this user whose process is gone; once a process."""
    parent = tempfile.gettempdir()
    for name in os.listdir(parent):
        words = name.removeprefix(_PREFIX).split("-")
        if not name.startswith(f"{_PREFIX}{_pid_namespace()}-") or len(words) < 3 or not words[1].isdigit():
            continue
        path = os.path.join(parent, name)
        # A number of a process may be in use again, by another user too: then the directory waits for the next sweep.
        if not _is_alive(int(words[1])) and _is_ours(path):
            shutil.rmtree(path, ignore_errors=True)


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
