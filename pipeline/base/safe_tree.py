"""Open, read, write and walk in directories that others can write: no link leads out, no pipe blocks, no device is read.

`open_regular` is the one opener of the program. Below a directory that changes meanwhile (a workspace, fetched code, a directory
of the user), it takes names in open directories: no path is resolved as a whole, because any part of it may have become a link.
A task directory is still, but another user may have made it: there it takes a path, and refuses links on it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import BinaryIO, Literal, NamedTuple

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe that was put there would be waited for, for ever.
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE = 0o644
DEEPEST = 60
"""Directories below directories. Each that is open costs a descriptor, and a command can nest them without end."""
Opener = Callable[[str, int | None], int]
Maker = Callable[[str, int], None]
_TASK = "task.json"
"""A directory with this file is a task."""


class NotRegularError(OSError):
    """Something else than a regular file, or a path through a link inside a task."""


# decision 146
class WalkedEntry(NamedTuple):
    """An entry of walk_tree, valid until the next one is requested."""

    path: str
    directory: int
    """The open directory that it is in."""
    entry: os.DirEntry[str]
    is_entered: bool
    """It is a directory whose entries come next; one that is not entered is too deep, not wanted, or cannot be opened."""

    @property
    def name(self) -> str:
        return self.entry.name

    def is_directory(self) -> bool:
        return self.entry.is_dir(follow_symlinks=False)

    def is_regular(self) -> bool:
        return self.entry.is_file(follow_symlinks=False)

    def status(self) -> os.stat_result:
        """Return its own status, not that of a link's target. Raises OSError if it is gone."""
        return self.entry.stat(follow_symlinks=False)


def open_one(name: str, directory: int | None) -> int:
    """Open a directory by its name in an open one. Raises OSError, also for a link."""
    return os.open(name, _DIRECTORY, dir_fd=directory)


@contextmanager
def open_directory(
    root: str | int, parts: Sequence[str] = (), *, make: Maker | None = None, opener: Opener = open_one
) -> Iterator[int]:
    """Yield an open directory below the root; `make` creates missing ones. Raises OSError, also for a link or `..`."""
    if any(part in ("", ".", "..") for part in parts):
        raise OSError(errno.EINVAL, "a path that leads out", "/".join(parts))
    current = os.dup(root) if isinstance(root, int) else opener(root, None)
    try:
        for part in parts:
            if make:
                make(part, current)
            inner = opener(part, current)
            os.close(current)
            current = inner
        yield current
    finally:
        os.close(current)


def walk_tree(
    root: str | int,
    *,
    deepest: int = DEEPEST,
    enters: Callable[[str], bool] = lambda path: True,
    opener: Opener = open_one,
) -> Iterator[WalkedEntry]:
    """Yield everything below a directory, sorted by name, each directory before its content. Raises OSError.

    `enters` says by its path whether a directory is looked into.
    """
    with open_directory(root, opener=opener) as directory:
        yield from _walk_directory(directory, "", deepest, enters, opener)


def walk_files(
    root: str | int, *, deepest: int = DEEPEST, skip: Callable[[str], bool] = lambda name: False
) -> Iterator[WalkedEntry]:
    """Yield every entry below a directory that is not a directory itself, except names that `skip` accepts."""
    for entry in walk_tree(root, deepest=deepest, enters=lambda path: not skip(path.rpartition("/")[2])):
        if not entry.is_entered and not skip(entry.name):
            yield entry


def open_regular(name: str, directory: int | None = None, *, flags: int = os.O_RDONLY, mode: int = _NEW_MODE) -> int:
    """Open a regular file by its path, or by its name in an open directory, and return the descriptor.

    `flags` and `mode` are those of os.open. Raises OSError, which is NotRegularError for anything else than a regular file and
    for a path through a link inside a task.
    """
    if directory is None:
        refuse_linked_directory(os.path.dirname(name))
    try:
        descriptor = os.open(name, flags & ~os.O_TRUNC | _SAFELY, mode, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ENXIO:  # the kernel's word for a pipe without a reader, and for a socket
            raise NotRegularError(f"{name} is a pipe or a socket, not a regular file") from error
        if error.errno == errno.ELOOP and directory is None:
            raise NotRegularError(
                f"{name} is a symbolic link, not a regular file; put the file itself there"
            ) from error
        raise
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        if flags & os.O_TRUNC:  # only now: what is not a regular file keeps its content
            os.ftruncate(descriptor, 0)
        return descriptor
    os.close(descriptor)
    raise NotRegularError(f"{name} is {_KINDS.get(stat.S_IFMT(kind), 'a device')}, not a regular file")


_KINDS = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def open_file(path: str, mode: Literal["rb", "wb", "ab", "xb", "r+b"] = "rb", buffering: int = -1) -> BinaryIO:
    """Open a regular file with open_regular, as `open` would. Raises OSError."""
    return open(path, mode, buffering, opener=lambda name, flags: open_regular(name, flags=flags))


def refuse_linked_directory(path: str) -> None:
    """Raise NotRegularError if a directory, or one above it, is a link that lies in a task."""
    folder, link = os.path.abspath(path), ""
    while folder != (parent := os.path.dirname(folder)):
        if os.path.islink(folder):
            link = folder
        elif link and os.path.lexists(os.path.join(folder, _TASK)):
            raise NotRegularError(
                f"{link} is a symbolic link, and a task holds its own files; put the directory itself there"
            )
        folder = parent


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however many calls that takes. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_at_most(descriptor: int, most: int) -> bytes | None:
    """Read and close an open file; None if it is larger than that."""
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1) if os.fstat(descriptor).st_size <= most else None
    return data if data is not None and len(data) <= most else None


def read_beneath(root: str | int, path: str, most: int) -> bytes:
    """Read a regular file below the root, of at most so many bytes. Raises OSError."""
    *parts, name = path.split("/")
    with open_directory(root, parts) as directory:
        try:
            data = read_at_most(open_regular(name, directory), most)
        except NotRegularError as error:
            raise NotRegularError(f"{path} is not a regular file") from error
    if data is None:
        raise OSError(f"{path} is larger than {most:,} bytes")
    return data


def write_beneath(root: int, path: str, data: bytes) -> None:
    """Write a new, non-executable file that is not yet durable. Raises OSError, also if something is there."""
    *parts, name = path.split("/")
    with open_directory(root, parts, make=make_in) as directory:
        write_new(name, data, directory, mode=_NEW_MODE)


def write_new(
    name: str, data: bytes, directory: int, *, mode: int | None = None, mtime_ns: int | None = None, sync: bool = False
) -> None:
    """Make a new file; without `mode`, with the permissions of any new one. Raises OSError, also where something is there."""
    with create_new(name, directory, _NEW_MODE if mode is None else 0o600) as descriptor:
        write_all(descriptor, data)
        if mode is not None:
            os.fchmod(descriptor, mode)
        if mtime_ns is not None:
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
        if sync:
            os.fsync(descriptor)


@contextmanager
def create_new(name: str, directory: int, mode: int = _NEW_MODE) -> Iterator[int]:
    """Yield a new file that is open for writing. Raises OSError, also if something is there."""
    descriptor = os.open(name, _NEW, mode, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_MACHINE_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)


def _walk_directory(
    directory: int, prefix: str, deepest: int, enters: Callable[[str], bool], opener: Opener
) -> Iterator[WalkedEntry]:
    # Listed whole before the first is told: who asks may remove entries, and the kernel promises nothing for that.
    with os.scandir(directory) as entries:
        ordered = sorted(entries, key=attrgetter("name"))
    for entry in ordered:
        path, inner = prefix + entry.name, None
        if deepest and entry.is_dir(follow_symlinks=False) and enters(path):
            try:
                inner = opener(entry.name, directory)
            except OSError as error:
                if error.errno in _MACHINE_SHORT:  # what is in it would count as absent
                    raise
        if inner is None:
            yield WalkedEntry(path, directory, entry, False)
            continue
        try:
            yield WalkedEntry(path, directory, entry, True)
            yield from _walk_directory(inner, f"{path}/", deepest - 1, enters, opener)
        finally:
            os.close(inner)


def make_in(name: str, directory: int) -> None:
    """Make a directory in an open one, where it is not there. Raises OSError."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=directory)
