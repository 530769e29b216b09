"""Read and write the files of a directory name by name, without following a link, so that no race leads out of it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pipeline.base.errors import StorageError
from pipeline.base.files import replace_file, storage_error, sync_tree
from pipeline.base.safe_tree import open_directory, open_one, open_regular, read_at_most, walk_tree, write_new

FILE, DIRECTORY, LINK, PIPE, OTHER = "file", "folder", "link", "pipe", "other"
LARGEST_FILE = 2 * 2**20
LARGEST_TREE = 256 * 2**20
MOST_ENTRIES = 20_000
DEEPEST = 64
_SIGNS = 7
UNSETTLED_NS = 100_000_000
"""Coarseness of file times: a file changed within this time before it was read could change again unnoticed."""
_COARSE_NS = 20_000_000
"""Two steps of the coarsest clock that a kernel stamps files by."""
_MOST_SYNCED = 64
"""With more files and directories than this, one call makes all durable; fewer are quicker one by one (decision 127)."""
_KINDS = {stat.S_IFREG: FILE, stat.S_IFDIR: DIRECTORY, stat.S_IFLNK: LINK, stat.S_IFIFO: PIPE}


class SnapshotError(Exception):
    """There is too much to copy, or something that cannot be read."""


class TreeEntry(NamedTuple):
    """One name of a tree, and the signs by which a change of it is seen."""

    path: str
    kind: str
    mode: int
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    settled: bool = True
    """A later change shows in the signs for certain."""
    copy: str = ""
    """The sha256 of a file's content, the target of a link."""

    def unchanged(self, now: TreeEntry) -> bool:
        """Return whether `now` is certainly the same entry."""
        copy = self.copy if self.kind == FILE else now.copy  # the digest of a file is not known from looking at it
        return self.settled and self.copy == copy and self[:_SIGNS] == now[:_SIGNS]


@contextmanager
def open_root(path: str, verb: str = "copy or restore") -> Iterator[int]:
    """Hold the directory open. Raises StorageError, also for errors beneath it; `verb`: the operation, for messages."""
    try:
        with open_directory(path, opener=_open_up) as root:
            yield root
    except OSError as error:
        raise storage_error(verb, path, error) from error


def list_entries(root: int) -> list[TreeEntry]:
    """Return all entries of a tree. Raises SnapshotError if it exceeds the limit for snapshots."""
    entries: list[TreeEntry] = []
    left = LARGEST_TREE
    try:
        for entry in _walk_entries(root, lambda path: True):
            left -= entry.size
            if entry.size > LARGEST_FILE or left < 0 or len(entries) >= MOST_ENTRIES:
                raise SnapshotError(entry.path)
            if entry.kind != OTHER:
                entries.append(entry)
    except PermissionError as error:
        raise SnapshotError(str(error)) from error
    return entries


def list_names(root: int, is_known_directory: Callable[[str], bool]) -> dict[str, TreeEntry]:
    """Return the names in a tree; unknown directories are listed without their content."""
    return {entry.path: entry for entry in _walk_entries(root, is_known_directory)}


def read_file(root: int, path: str) -> tuple[bytes, TreeEntry]:
    """Return the content of a file, and its attributes. Raises SnapshotError."""
    with _open_parent(root, path) as (directory, name):
        try:
            descriptor = open_regular(name, directory)
            status = os.fstat(descriptor)
            data = read_at_most(descriptor, LARGEST_FILE)
        except OSError as error:
            raise SnapshotError(path) from error
    if data is None:
        raise SnapshotError(path)
    return data, _entry_of(path, status, directory=-1)


def restore_entry(root: int, entry: TreeEntry, content: bytes) -> None:
    """Write an entry under its name, in place of one of the same kind or of nothing."""
    with _open_parent(root, entry.path) as (directory, name):
        if entry.kind == DIRECTORY:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=directory)
        elif entry.kind == FILE:
            _replace_content(directory, name, entry, content)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
            if entry.kind == LINK:
                os.symlink(entry.copy, name, dir_fd=directory)
            else:
                os.mkfifo(name, entry.mode, dir_fd=directory)


def restore_mode(root: int, entry: TreeEntry) -> None:
    """Set a directory's permissions, after its content is complete."""
    with _open_parent(root, entry.path) as (directory, name):
        descriptor = _open_up(name, directory)
        try:
            os.fchmod(descriptor, entry.mode)
        finally:
            os.close(descriptor)


def remove_tree(root: int, path: str) -> None:
    """Remove a name with everything beneath it; inner directories are moved up first, so depth does not matter."""
    with _open_parent(root, path) as (directory, name):
        if not _is_directory(name, directory):
            os.unlink(name, dir_fd=directory)
            return
        pending, number = [(name, directory)], 0
        while pending:
            current, holder = pending.pop()
            inner = _open_up(current, holder)
            try:
                for child in os.listdir(inner):
                    if not _is_directory(child, inner):
                        os.unlink(child, dir_fd=inner)
                        continue
                    moved, number = f".removed-{os.getpid()}-{number}", number + 1
                    # Opened up first, because a directory is moved only by who may write in it.
                    os.close(_open_up(child, inner))
                    os.rename(child, moved, src_dir_fd=inner, dst_dir_fd=root)
                    pending.append((moved, root))
            finally:
                os.close(inner)
            os.rmdir(current, dir_fd=holder)


def start_of_changes() -> int:
    """Return the time for `sync_changed`, a little early because file times come from a coarser clock."""
    return time.time_ns() - _COARSE_NS


def sync_changed(path: str, since: int) -> None:
    """Make durable what changed in a tree since then: the files, then the names in each directory. Raises StorageError."""
    try:
        with open_directory(path) as root:
            descriptors = _open_changed(root, since)
            for number, descriptor in enumerate(descriptors):
                if number == _MOST_SYNCED:
                    raise SnapshotError("more than is synced one by one")
                os.fsync(descriptor)
    except (SnapshotError, FileNotFoundError, PermissionError):  # too many, too deep, gone meanwhile, or closed to us
        sync_tree(path)
    except OSError as error:
        raise storage_error("sync", path, error) from error


def _open_changed(root: int, since: int) -> Iterator[int]:
    """Open files that changed, then open directories, the inner ones first. No content is looked at."""
    directories = [""] if os.fstat(root).st_ctime_ns >= since else []
    for entry in walk_tree(root, deepest=DEEPEST):
        status = entry.entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            if not entry.is_entered:
                raise SnapshotError(entry.path)
            if status.st_ctime_ns >= since:
                directories.append(entry.path)
        elif status.st_ctime_ns >= since and stat.S_ISREG(status.st_mode):
            try:
                descriptor = open_regular(entry.name, entry.directory)
            except OSError as error:
                raise SnapshotError(entry.path) from error
            try:
                yield descriptor
            finally:
                os.close(descriptor)
    for path in reversed(directories):
        with open_directory(root, path.split("/") if path else ()) as directory:
            yield directory


def _walk_entries(root: int, enters: Callable[[str], bool]) -> Iterator[TreeEntry]:
    for found in walk_tree(root, deepest=DEEPEST, enters=enters, opener=_open_up):
        entry = _entry_of(found.path, found.entry.stat(follow_symlinks=False), directory=found.directory)
        if entry.kind == DIRECTORY and not found.is_entered and enters(found.path):
            raise PermissionError(errno.EACCES, "it lies too deep, or cannot be opened", found.path)
        yield entry


def _entry_of(path: str, status: os.stat_result, *, directory: int) -> TreeEntry:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), OTHER)
    mode = stat.S_IMODE(status.st_mode)
    if kind == LINK:
        return TreeEntry(path, kind, mode, copy=os.readlink(path.rpartition("/")[2], dir_fd=directory))
    if kind != FILE:
        return TreeEntry(path, kind, mode)
    settled = status.st_ctime_ns + UNSETTLED_NS < time.time_ns()
    signs = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return TreeEntry(path, kind, mode, *signs, settled=settled)


def _open_up(name: str, directory: int | None) -> int:
    """Open a directory; if its owner has no permission, permissions are added first."""
    try:
        return open_one(name, directory)
    except PermissionError:
        held = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.chmod(f"/proc/self/fd/{held}", 0o700)
        finally:
            os.close(held)
        return open_one(name, directory)


@contextmanager
def _open_parent(root: int, path: str) -> Iterator[tuple[int, str]]:
    *parts, name = path.split("/")
    if any(part in ("", ".", "..") for part in (*parts, name)):
        raise StorageError(f"the copy of the workspace is damaged: {path!r} is not a path in it")
    with open_directory(root, parts, opener=_open_up) as directory:
        yield directory, name


def _is_directory(name: str, directory: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)


def _replace_content(directory: int, name: str, entry: TreeEntry, content: bytes) -> None:
    temporary = f".{entry.inode}.restored"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=directory)
    # A copy is nobody's to be run as somebody else.
    mode = entry.mode & ~(stat.S_ISUID | stat.S_ISGID)
    # decision 258: synced first, or a power cut leaves an empty file under the name of one that was whole
    write_new(temporary, content, directory, mode=mode, mtime_ns=entry.mtime_ns, sync=True)
    replace_file(temporary, name, folder=directory)
