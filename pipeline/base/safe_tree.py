"""Reads and writes below a folder step by step, so that no link leads out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pipeline.base.files import write_all

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_directory(root: str | int, parts: Sequence[str] = (), *, make: bool = False) -> Iterator[int]:
    """An open folder below the root; `make` makes what is not there. Raises OSError, also for a link on the way."""
    folder = os.dup(root) if isinstance(root, int) else os.open(root, _FOLDER)
    try:
        for part in parts:
            if make:
                _make_directory(part, folder)
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def read_beneath(root: str | int, path: str, most: int) -> bytes:
    """A regular file below the root, of at most so many bytes. Raises OSError."""
    *parts, name = path.split("/")
    with open_directory(root, parts) as folder:
        descriptor = os.open(name, _READ, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path} is not a regular file")
            data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"{path} is larger than {most:,} bytes")
    return data


def write_beneath(root: int, path: str, data: bytes) -> None:
    """A new file, not yet durable, that is not to be run. Raises OSError, also where something is there."""
    *parts, name = path.split("/")
    with open_directory(root, parts, make=True) as folder:
        descriptor = os.open(name, _NEW, 0o644, dir_fd=folder)
        try:
            os.fchmod(descriptor, 0o644)
            write_all(descriptor, data)
        finally:
            os.close(descriptor)


class WalkedEntry:
    """What `walk` met: a path as bytes, its status (None for a folder that cannot be opened)."""

    __slots__ = ("path", "status")

    def __init__(self, path: bytes, status: os.stat_result | None) -> None:
        self.path, self.status = path, status


def walk_tree(root: str | int, *, skip: str = "", deepest: int = 60) -> Iterator[WalkedEntry]:
    """Everything below a folder that is no folder, in the order of names. Names of `skip` are not looked into or told."""
    with open_directory(root) as folder:
        yield from _walk_directory(folder, b"", skip, deepest)


def _walk_directory(folder: int, prefix: bytes, skip: str, deepest: int) -> Iterator[WalkedEntry]:
    for name in sorted(os.listdir(folder)):
        if skip and name.lower() == skip:
            continue
        path = prefix + os.fsencode(name)
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            inner = os.open(name, _FOLDER, dir_fd=folder) if stat.S_ISDIR(status.st_mode) and deepest else None
        except OSError:
            yield WalkedEntry(path, None)
            continue
        if inner is None:
            yield WalkedEntry(path, None if stat.S_ISDIR(status.st_mode) else status)
            continue
        try:
            yield from _walk_directory(inner, path + b"/", skip, deepest - 1)
        finally:
            os.close(inner)


def _make_directory(name: str, folder: int) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        return
