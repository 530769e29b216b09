"""Why SQLite must not see what stands at the cache's place, found out before it does.

A task's folder may come from a stranger. SQLite follows links, waits at pipes, plays the journal that it finds beside a file, and
removes the file that a journal calls its super-journal, wherever that is.
"""

from __future__ import annotations

import os
import stat

from pipeline.base.errors import StorageError

JOURNAL = "-journal"
NEVER_OURS = ("-wal", "-shm")
"""What SQLite keeps beside a file in a mode that ours is never in."""
_MAGIC = b"SQLite format 3\0"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_MODE = slice(18, 20)
"""Of a file's head: 1 where changes go through a journal, 2 where they go through -wal."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def why_unfit(path: str) -> str | None:
    """In words; None where there is nothing, or a file that SQLite may open. Raises StorageError where the folder is a link."""
    folder = os.path.dirname(os.path.abspath(path))
    if not stat.S_ISDIR(_status_of(folder).st_mode):
        raise StorageError(f"{folder} is a link or a file, and the folder of the index is needed there; move it away")
    for ending in NEVER_OURS:
        if os.path.lexists(path + ending):
            return f"{path + ending} is beside it, which is none of ours"
    if os.path.lexists(path + JOURNAL) and not os.path.lexists(path):
        return "its journal is there without it"
    return _why_unfit_file(path, folder) or _why_unfit_file(path + JOURNAL, folder)


def _why_unfit_file(path: str, folder: str) -> str | None:
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{path} cannot be opened ({error.strerror})"
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return f"{path} is no regular file of one name"
        # The owner of the folder as well: on some mounts every file that is made there is his.
        if status.st_uid not in (os.geteuid(), _status_of(folder).st_uid):
            return f"{path} is another user's"
        if path.endswith(JOURNAL):
            return _why_unfit_journal(descriptor, status.st_size)
        head = os.pread(descriptor, 100, 0)
        if head and (not head.startswith(_MAGIC) or head[_MODE] != b"\1\1"):
            return f"{path} is not what is written here"
        return None
    finally:
        os.close(descriptor)


def _why_unfit_journal(descriptor: int, size: int) -> str | None:
    end = os.pread(descriptor, len(_JOURNAL_MAGIC), max(0, size - len(_JOURNAL_MAGIC)))
    # Such an end says that a super-journal is named, which a cache of one file never has.
    return "its journal names another file, to be removed" if end == _JOURNAL_MAGIC else None


def _status_of(folder: str) -> os.stat_result:
    try:
        return os.lstat(folder)
    except OSError as error:
        raise StorageError(
            f"there is no index in {folder} ({error.strerror}); make it with: pipeline resume"
        ) from error
