"""Makes durable what changed in a tree, without a look at the content of what did not."""

from __future__ import annotations

import os
import stat
import time

from phases.workspace.tree import DEEPEST, OPEN_FILE, OPEN_FOLDER, SnapshotError
from pipeline.base.files import storage_error, sync_tree

_COARSE_NS = 20_000_000
"""Two steps of the coarsest clock that a kernel stamps files by."""
_MOST_SYNCED = 64
"""More files and folders than this are made durable in one call; one by one is quicker for fewer, on a disk that others use."""


def start_of_changes() -> int:
    """What `sync_changed` is given later: the time now, or a little earlier, because files are stamped by a coarser clock."""
    return time.time_ns() - _COARSE_NS


def sync_changed(path: str, since: int) -> None:
    """Makes durable what changed in a tree since then: in each folder the files, then the names. Raises StorageError."""
    try:
        root = os.open(path, OPEN_FOLDER)
        try:
            _sync_directory(root, since, _MOST_SYNCED)
        finally:
            os.close(root)
    except (SnapshotError, FileNotFoundError, PermissionError):  # too many, too deep, gone meanwhile, or closed to us
        sync_tree(path)
    except OSError as error:
        raise storage_error("sync", path, error) from error


def _sync_directory(folder: int, since: int, left: int, depth: int = 0) -> int:
    """How many more may be synced one by one."""
    if depth > DEEPEST:
        raise SnapshotError("folders too deep")
    with os.scandir(folder) as found:
        entries = [(each.name, each.stat(follow_symlinks=False)) for each in found]
    for name, status in entries:
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not (stat.S_ISREG(status.st_mode) and status.st_ctime_ns >= since):
            continue
        try:
            inner = os.open(name, OPEN_FOLDER if is_folder else OPEN_FILE, dir_fd=folder)
        except OSError as error:
            raise SnapshotError(name) from error
        try:
            left = _sync_directory(inner, since, left, depth + 1) if is_folder else _sync_one(inner, left)
        finally:
            os.close(inner)
    return _sync_one(folder, left) if os.fstat(folder).st_ctime_ns >= since else left


def _sync_one(descriptor: int, left: int) -> int:
    if not left:
        raise SnapshotError("more than is synced one by one")
    os.fsync(descriptor)
    return left - 1
