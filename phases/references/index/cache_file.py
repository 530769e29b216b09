"""Where the cache of an index lies, how it is opened, and who may write to it.

It lies in the user's own cache directory, never in a task: a task may come from a stranger, and SQLite is not made for files
that an enemy wrote. So what is found there was written here; it may be old, damaged or gone, and is made anew then.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TypeVar

from phases.references.index.cache import STAMP, TABLES, Cache, CacheUnusable
from pipeline.base.errors import StorageError
from pipeline.base.files import storage_error
from pipeline.base.lease import lock_descriptor
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_regular

T = TypeVar("T")
WAIT = 60.0
"""Seconds to wait for another process that writes."""
_KEEP_DAYS = 60
"""A cache that nobody used for so long is removed when another one is made."""
_PAGE = 16384
"""Bytes; the words are read and merged in runs, and take half the time of pages of 4,096."""
_MACHINES_FAULT = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
    *(sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
)


@contextmanager
def cache_path(cache_directory: str, into: str, tell: Callable[[str], None] = lambda text: None) -> Iterator[str]:
    """Where the cache of the index directory `into` lies: in the user's cache directory, named after place and version.

    Decision 147 says why. Where nothing can be written there, or no directory is given, it is a temporary file for this block
    alone, and `tell` says so.
    """
    key = hashlib.sha256(f"{STAMP} ".encode() + os.fsencode(os.path.realpath(into))).hexdigest()[:32]
    path = os.path.join(cache_directory, "indexes", f"{key}.sqlite3")
    why = _why_not_writable(os.path.dirname(path)) if cache_directory else "no directory is given"
    if why is None:
        yield path
        return
    logger.debug("the cache of {} is temporary: {}", into, why)
    if cache_directory:
        tell(f"nothing can be kept in {cache_directory} ({why}): each search reads the index anew")
    try:
        with tempfile.TemporaryDirectory() as directory:
            yield os.path.join(directory, "index.sqlite3")
    except OSError as error:
        raise storage_error("make an index in place of", path, error) from error


def _why_not_writable(directory: str) -> str | None:
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return None
    except OSError as error:
        return error.strerror or str(error)


def with_cache(path: str, use: Callable[[Cache], T]) -> T:
    """What `use` returns for the cache, written by no other process; one that is damaged gives way to an empty one."""
    with lock_file(path) as mine:
        if not mine:
            raise StorageError(f"another process writes to {path}; when it is done, continue with: pipeline resume")
        _remove_unused(os.path.dirname(path))
        try:
            with open_writable(path) as cache:
                return use(cache)
        except CacheUnusable as error:
            logger.debug("{} is made anew: {}", path, error)
            remove_cache(path)
        try:
            with open_writable(path) as cache:
                return use(cache)
        except CacheUnusable as error:
            raise still_unusable(error) from error


def still_unusable(error: CacheUnusable) -> StorageError:
    """The error of a cache that is no better for having been made anew."""
    return StorageError(f"{error}, and so is one made anew; is the disk sound? It is a cache: delete it")


@contextmanager
def open_writable(path: str) -> Iterator[Cache]:
    """The cache, made where it is not there. Raises CacheUnusable. Who calls has locked it."""
    with _connect(path) as connection:
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("BEGIN IMMEDIATE")
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {STAMP}")
            connection.execute("COMMIT")
        yield Cache(connection)


@contextmanager
def open_readable(path: str) -> Iterator[Cache]:
    """The cache for reading alone. Raises CacheUnusable where it has to be made anew first."""
    if not os.path.exists(path):
        raise CacheUnusable(f"{path} is not there")
    with suppress(OSError):
        os.utime(path)  # it is in use: see _KEEP_DAYS
    with _connect(path) as connection:
        connection.execute("BEGIN")  # what is read belongs together
        yield Cache(connection)


@contextmanager
def lock_file(path: str, seconds: float | None = None) -> Iterator[bool]:
    """Whether this process has the file at `path` to itself within the block; False where another still had it after `seconds`.

    The lock is a file beside it, which stays: one that is removed would be two locks to two processes. The kernel takes it back
    from a process that died.
    """
    try:
        descriptor = open_regular(path + ".lock", flags=os.O_RDWR | os.O_CREAT, mode=0o600)
    except OSError as error:
        raise storage_error("open", path + ".lock", error) from error
    try:
        with lock_descriptor(descriptor, path + ".lock", WAIT if seconds is None else seconds) as mine:
            yield mine
    finally:
        os.close(descriptor)  # and the lock goes with it


def remove_cache(path: str) -> None:
    """Removes the cache and what a killed writer left beside it."""
    for name in (path, f"{path}-journal"):
        remove_file(name)  # the journal last: without it a cache would look whole


def remove_file(path: str) -> None:
    """Removes a file of ours; one that is not there is fine."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"cannot remove {path}: {error.strerror}; move it away") from error


def _remove_unused(directory: str) -> None:
    oldest = time.time() - _KEEP_DAYS * 24 * 3600
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".sqlite3") and entry.stat().st_mtime < oldest:
                remove_cache(entry.path)


@contextmanager
def _connect(path: str) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a new one; one that is there keeps its own
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -64000")
            yield connection
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code & 0xFF in _MACHINES_FAULT and code != sqlite3.SQLITE_READONLY_DBMOVED:
            full = errno.ENOSPC if code & 0xFF == sqlite3.SQLITE_FULL else 0
            told = f"cannot use {path}: {error}; it is a cache: make room, or delete it"
            raise StorageError(told, code=full) from error
        raise CacheUnusable(f"{path}: {error}") from error
