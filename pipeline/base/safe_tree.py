"""Reads, writes and walks below a directory that is hostile: step by step over open directories, so that no link leads out of it.

The one walker and the one reader for whatever lies in a workspace, in fetched code, or in a directory of the user. A path is
never resolved by the kernel as a whole: between a look at it and its use, any part of it may have become a link.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import NamedTuple

from pipeline.base.files import write_all

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe that was put there would be waited for, for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE = 0o644
DEEPEST = 60
"""Directories below directories. Each that is open costs a descriptor, and a command can nest them without end."""
Opener = Callable[[str, int | None], int]
Maker = Callable[[str, int], None]


class NotRegularError(OSError):
    """A path is there, and is no regular file."""


# decision 146
class WalkedEntry(NamedTuple):
    """What walk_tree met. It is of use only until the next one is asked for."""

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
        """Its own status, not that of what a link leads to. Raises OSError when it is gone by now."""
        return self.entry.stat(follow_symlinks=False)


def open_one(name: str, directory: int | None) -> int:
    """Opens a directory by its name in an open one. Raises OSError, also for a link."""
    return os.open(name, _DIRECTORY, dir_fd=directory)


@contextmanager
def open_directory(
    root: str | int, parts: Sequence[str] = (), *, make: Maker | None = None, opener: Opener = open_one
) -> Iterator[int]:
    """An open directory below the root; `make` makes what is not there. Raises OSError, also for a link or `..` on the way."""
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
    """Everything below a directory, in the order of names, each directory before what is in it. Raises OSError.

    `enters` says by its path whether a directory is looked into.
    """
    with open_directory(root, opener=opener) as directory:
        yield from _walk_directory(directory, "", deepest, enters, opener)


def walk_files(
    root: str | int, *, deepest: int = DEEPEST, skip: Callable[[str], bool] = lambda name: False
) -> Iterator[WalkedEntry]:
    """Everything below a directory that is no directory to look into. What has a name to skip is left out with all below it."""
    for found in walk_tree(root, deepest=deepest, enters=lambda path: not skip(path.rpartition("/")[2])):
        if not found.is_entered and not skip(found.name):
            yield found


def open_regular(name: str, directory: int | None = None) -> int:
    """Opens a file to be read. Raises OSError, NotRegularError for what is no file."""
    descriptor = os.open(name, _READ, dir_fd=directory)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotRegularError(f"{name} is not a regular file")


def read_at_most(descriptor: int, most: int) -> bytes | None:
    """All of an open file, which is closed; None where there is more than that."""
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1) if os.fstat(descriptor).st_size <= most else None
    return data if data is not None and len(data) <= most else None


def read_beneath(root: str | int, path: str, most: int) -> bytes:
    """A regular file below the root, of at most so many bytes. Raises OSError."""
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
    """A new file, not yet durable, that is not to be run. Raises OSError, also where something is there."""
    *parts, name = path.split("/")
    with open_directory(root, parts, make=make_in) as directory:
        write_new(name, data, directory, mode=_NEW_MODE)


def write_new(
    name: str, data: bytes, directory: int, *, mode: int | None = None, mtime_ns: int | None = None, sync: bool = False
) -> None:
    """Makes a new file; without `mode`, with the permissions of any new one. Raises OSError, also where something is there."""
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
    """A new file, open to be written. Raises OSError, also where something is there."""
    descriptor = os.open(name, _NEW, mode, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _walk_directory(
    directory: int, prefix: str, deepest: int, enters: Callable[[str], bool], opener: Opener
) -> Iterator[WalkedEntry]:
    # Listed whole before the first is told: who asks may remove entries, and the kernel promises nothing for that.
    with os.scandir(directory) as entries:
        found = sorted(entries, key=attrgetter("name"))
    for entry in found:
        path, inner = prefix + entry.name, None
        if deepest and entry.is_dir(follow_symlinks=False) and enters(path):
            with suppress(OSError):
                inner = opener(entry.name, directory)
        if inner is None:
            yield WalkedEntry(path, directory, entry, False)
            continue
        try:
            yield WalkedEntry(path, directory, entry, True)
            yield from _walk_directory(inner, f"{path}/", deepest - 1, enters, opener)
        finally:
            os.close(inner)


def make_in(name: str, directory: int) -> None:
    """Makes a directory in an open one, where it is not there. Raises OSError."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=directory)
