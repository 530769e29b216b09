"""Makes durable what changed in a tree, without a look at the content of what did not."""

from __future__ import annotations

import os
import stat
import time

from phases.workspace.tree import DEEPEST, OPEN_FILE, OPEN_FOLDER, Unkept
from pipeline.base.files import failure, sync_tree

_COARSE_NS = 20_000_000
"""Two steps of the coarsest clock that a kernel stamps files by."""
_MOST_SYNCED = 64
"""More files and folders than this are made durable in one call; one by one is quicker for fewer, on a disk that others use."""


def clock() -> int:
    """What `sync_changed` is given later: the time now, or a little earlier, because files are stamped by a coarser clock."""
    return time.time_ns() - _COARSE_NS


def sync_changed(path: str, since: int) -> None:
    """Makes durable what changed in a tree since then: in each folder the files, then the names. Raises StorageError."""
    try:
        root = os.open(path, OPEN_FOLDER)
        try:
            _sync_changed(root, since, _MOST_SYNCED)
        finally:
            os.close(root)
    except (Unkept, FileNotFoundError, PermissionError):  # too many, too deep, gone meanwhile, or closed to us
        sync_tree(path)
    except OSError as error:
        raise failure("sync", path, error) from error


def _sync_changed(folder: int, since: int, left: int, depth: int = 0) -> int:
    """How many more may be synced one by one."""
    if depth > DEEPEST:
        raise Unkept("folders too deep")
    with os.scandir(folder) as found:
        entries = [(each.name, each.stat(follow_symlinks=False)) for each in found]
    for name, status in entries:
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not (stat.S_ISREG(status.st_mode) and status.st_ctime_ns >= since):
            continue
        try:
            inner = os.open(name, OPEN_FOLDER if is_folder else OPEN_FILE, dir_fd=folder)
        except OSError as error:
            raise Unkept(name) from error
        try:
            left = _sync_changed(inner, since, left, depth + 1) if is_folder else _sync(inner, left)
        finally:
            os.close(inner)
    return _sync(folder, left) if os.fstat(folder).st_ctime_ns >= since else left


def _sync(descriptor: int, left: int) -> int:
    if not left:
        raise Unkept("more than is synced one by one")
    os.fsync(descriptor)
    return left - 1
