"""The files of a folder, taken in and put back name by name: no link is followed, so no race leads out of it."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pipeline.base.errors import StorageError
from pipeline.base.files import replace_file, storage_error, write_all

FILE, FOLDER, LINK, PIPE, OTHER = "file", "folder", "link", "pipe", "other"
LARGEST_FILE = 2 * 2**20
LARGEST_TREE = 256 * 2**20
MOST_ENTRIES = 20_000
DEEPEST = 64
_SIGNS = 7
_UNSETTLED_NS = 100_000_000
"""The clock of a file system may stand still for so long: what changed less before it was looked at could change once
more without a sign of it."""
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = ((stat.S_ISREG, FILE), (stat.S_ISDIR, FOLDER), (stat.S_ISLNK, LINK), (stat.S_ISFIFO, PIPE))


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
    """Of a file the sha256 of its content, of a link where it leads."""

    def unchanged(self, now: TreeEntry) -> bool:
        """Whether `now` is certainly still this."""
        copy = self.copy if self.kind == FILE else now.copy  # the digest of a file is not known from looking at it
        return self.settled and self.copy == copy and self[:_SIGNS] == now[:_SIGNS]


@contextmanager
def open_root(path: str) -> Iterator[int]:
    """The folder, held open. Raises StorageError, also for what goes wrong beneath it."""
    try:
        root = _open_directory(path, None)
        try:
            yield root
        finally:
            os.close(root)
    except OSError as error:
        raise storage_error("copy or restore", path, error) from error


def list_entries(root: int) -> list[TreeEntry]:
    """All of a tree. Raises Unkept when it is larger than what is copied."""
    found: list[TreeEntry] = []
    left = LARGEST_TREE
    try:
        for entry in _walk_tree(root, "", lambda path: True):
            left -= entry.size
            if entry.size > LARGEST_FILE or left < 0 or len(found) >= MOST_ENTRIES or entry.path.count("/") > DEEPEST:
                raise SnapshotError(entry.path)
            if entry.kind != OTHER:
                found.append(entry)
    except PermissionError as error:
        raise SnapshotError(str(error)) from error
    return found


def list_names(root: int, is_known_folder: Callable[[str], bool]) -> dict[str, TreeEntry]:
    """What is in a tree now; folders that are not known are named, and not looked into."""
    return {entry.path: entry for entry in _walk_tree(root, "", is_known_folder)}


def read_file(root: int, path: str) -> tuple[bytes, TreeEntry]:
    """The content of a file, and the signs that it had. Raises Unkept."""
    with _open_parent(root, path) as (folder, name):
        try:
            descriptor = os.open(name, OPEN_FILE, dir_fd=folder)
        except OSError as error:
            raise SnapshotError(path) from error
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            data = file.read(LARGEST_FILE + 1) if stat.S_ISREG(status.st_mode) else None
    if data is None or len(data) > LARGEST_FILE:
        raise SnapshotError(path)
    return data, _entry_of(path, status, folder=-1)


def restore_entry(root: int, entry: TreeEntry, content: bytes) -> None:
    """Makes a name what the entry says. What is there in its place is of the same kind, or nothing."""
    with _open_parent(root, entry.path) as (folder, name):
        if entry.kind == FOLDER:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=folder)
        elif entry.kind == FILE:
            _replace_content(folder, name, entry, content)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            if entry.kind == LINK:
                os.symlink(entry.copy, name, dir_fd=folder)
            else:
                os.mkfifo(name, entry.mode, dir_fd=folder)


def restore_mode(root: int, entry: TreeEntry) -> None:
    """Gives a folder its rights, when all in it is done."""
    with _open_parent(root, entry.path) as (folder, name):
        descriptor = _open_directory(name, folder)
        try:
            os.fchmod(descriptor, entry.mode)
        finally:
            os.close(descriptor)


def remove_tree(root: int, path: str) -> None:
    """Removes a name with all beneath it, however deep: inner folders are moved up before they are emptied."""
    with _open_parent(root, path) as (folder, name):
        if not _is_folder(name, folder):
            os.unlink(name, dir_fd=folder)
            return
        pending, number = [(name, folder)], 0
        while pending:
            current, holder = pending.pop()
            inner = _open_directory(current, holder)
            try:
                for child in os.listdir(inner):
                    if not _is_folder(child, inner):
                        os.unlink(child, dir_fd=inner)
                        continue
                    moved, number = f".removed-{os.getpid()}-{number}", number + 1
                    os.close(_open_directory(child, inner))  # a folder is moved only by who may write in it
                    os.rename(child, moved, src_dir_fd=inner, dst_dir_fd=root)
                    pending.append((moved, root))
            finally:
                os.close(inner)
            os.rmdir(current, dir_fd=holder)


def _walk_tree(folder: int, prefix: str, enters: Callable[[str], bool]) -> Iterator[TreeEntry]:
    inner = []
    with os.scandir(folder) as found:
        for each in found:
            path = prefix + each.name
            entry = _entry_of(path, each.stat(follow_symlinks=False), folder=folder)
            if entry.kind == FOLDER and enters(path):
                inner.append(each.name)
            yield entry
    for name in inner:
        if prefix.count("/") > DEEPEST:
            raise SnapshotError(prefix)
        descriptor = _open_directory(name, folder)
        try:
            yield from _walk_tree(descriptor, f"{prefix}{name}/", enters)
        finally:
            os.close(descriptor)


def _entry_of(path: str, status: os.stat_result, *, folder: int) -> TreeEntry:
    kind = next((name for is_one, name in _KINDS if is_one(status.st_mode)), OTHER)
    mode = stat.S_IMODE(status.st_mode)
    if kind == LINK:
        return TreeEntry(path, kind, mode, copy=os.readlink(path.rpartition("/")[2], dir_fd=folder))
    if kind != FILE:
        return TreeEntry(path, kind, mode)
    settled = status.st_ctime_ns + _UNSETTLED_NS < time.time_ns()
    signs = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return TreeEntry(path, kind, mode, *signs, settled=settled)


def _open_directory(name: str, folder: int | None) -> int:
    """A folder; one that its owner shut out everybody from, himself among them, is opened up first."""
    try:
        return os.open(name, OPEN_FOLDER, dir_fd=folder)
    except PermissionError:
        held = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{held}", 0o700)
        finally:
            os.close(held)
        return os.open(name, OPEN_FOLDER, dir_fd=folder)


@contextmanager
def _open_parent(root: int, path: str) -> Iterator[tuple[int, str]]:
    """The open folder that a path is in, and its name there."""
    *folders, name = path.split("/")
    if name in ("", ".", "..") or any(part in ("", ".", "..") for part in folders):
        raise StorageError(f"the copy of the workspace is damaged: {path!r} is no path in it")
    folder = os.dup(root)
    try:
        for part in folders:
            inner = _open_directory(part, folder)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _replace_content(folder: int, name: str, entry: TreeEntry, content: bytes) -> None:
    temporary = f".{entry.inode}.restored"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        write_all(descriptor, content)
        os.fchmod(descriptor, entry.mode & ~(stat.S_ISUID | stat.S_ISGID))
        os.utime(descriptor, ns=(entry.mtime_ns, entry.mtime_ns))
    finally:
        os.close(descriptor)
    replace_file(temporary, name, folder=folder)
