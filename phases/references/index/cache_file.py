"""How the cache's file is opened: for writing, for reading alone, and not at all where it is damaged."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache as kept
from typing import TypeVar

from phases.references.index.cache import STAMP, TABLES, Cache
from phases.references.index.checked_statements import CheckedStatements
from phases.references.index.file_checks import JOURNAL, NEVER_OURS, why_unfit
from phases.references.index.lock import lock_file
from phases.references.index.packing import CacheUnusable
from pipeline.base.errors import StorageError

T = TypeVar("T")
NAME = "cache.sqlite3"
_WAIT = 60.0
"""Seconds to wait for another process that writes."""
_PAGE = 16384
"""Bytes; the words are read and merged in runs, and take half the time of pages of 4,096."""
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_DAMAGE = (
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_TOOBIG),
)


def with_cache(path: str, use: Callable[[Cache], T]) -> T:
    """What `use` returns for the cache, written by no other process; one that is damaged gives way to an empty one."""
    with lock_file(path) as mine:
        if not mine:
            raise StorageError(f"another process writes to {path}; when it is done, go on with: pipeline resume")
        try:
            with open_writable(path) as cache:
                return use(cache)
        except CacheUnusable:
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
    """The cache, made where it is not there. Raises Unusable where it is damaged: throw_away() and open it again.

    Who calls has it locked().
    """
    if why_unfit(path):
        remove_cache(path)
    with _connect(path, "rwc") as connection:
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("BEGIN IMMEDIATE")
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {STAMP}")
            connection.execute("COMMIT")
        _refuse_others(path, connection)
        yield Cache(connection)


@contextmanager
def open_readable(path: str) -> Iterator[Cache]:
    """The cache for reading alone. Raises Unusable where it has to be made anew first."""
    if why := why_unfit(path):
        raise CacheUnusable(f"{path}: {why}")
    if not os.path.exists(path):
        raise CacheUnusable(f"{path} is not there")
    if os.path.lexists(path + JOURNAL):  # of a writer at work, or of one that was killed: that one is undone by this
        if not may_write(path):
            raise CacheUnusable(f"{path} was left half written, where nothing can be mended")
        with lock_file(path, 0) as mine:
            if mine:
                _roll_back(path)
    with _connect(path, "ro") as connection:
        connection.execute("BEGIN")  # what is read belongs together
        _refuse_others(path, connection)
        yield Cache(connection)


def _roll_back(path: str) -> None:
    """What a killed writer did not finish; SQLite does it when it reads where it may write."""
    if why := why_unfit(path):
        raise CacheUnusable(f"{path}: {why}")
    with _connect(path, "rw") as connection:
        connection.execute("PRAGMA user_version").fetchone()


def may_write(path: str) -> bool:
    """Whether something can be made in the folder of the cache."""
    return os.access(os.path.dirname(os.path.abspath(path)), os.W_OK | os.X_OK)


def remove_cache(path: str) -> None:
    """Removes the cache and what a killed writer left beside it."""
    remove_file(path)  # first: without its journal it would look whole
    for ending in (JOURNAL, *NEVER_OURS):
        remove_file(path + ending)


def remove_file(path: str) -> None:
    """Removes a file of ours; one that is not there is fine."""
    try:
        if os.path.lexists(path):
            os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"cannot remove {path}: {error.strerror}; move it away") from error


def _refuse_others(path: str, connection: sqlite3.Connection) -> None:
    """Nothing but our tables is used: a trigger or a view in their place would be run by what we ask."""
    statements = CheckedStatements(connection)
    if connection.execute("PRAGMA user_version").fetchone()[0] != STAMP:
        raise CacheUnusable(f"{path} was made by another version")
    if Counter(statements.raw(_SCHEMA)) != _own_schema():
        raise CacheUnusable(f"{path} has other tables than are made here")


@kept
def _own_schema() -> Counter[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in TABLES.split(";\n"):
            connection.execute(statement)
        return Counter(connection.execute(_SCHEMA))


@contextmanager
def _connect(path: str, mode: str) -> Iterator[sqlite3.Connection]:
    address = f"file:{_escape_uri(path)}?mode={mode}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a new one; one that is there keeps its own
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -64000")
            yield connection
    except sqlite3.OperationalError as error:
        if _is_damage(error):
            raise CacheUnusable(f"{path}: {error}") from error
        raise StorageError(f"cannot use {path}: {error}; it is a cache: make room, or delete it") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite's own words may quote what is no text
        raise CacheUnusable(f"{path}: {error}") from error


def _is_damage(error: sqlite3.Error) -> bool:
    """One without a code is Python's: of a text that is none."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF in _DAMAGE or code == sqlite3.SQLITE_READONLY_DBMOVED


def _escape_uri(path: str) -> str:
    return "".join(f"%{ord(letter):02x}" if letter in "%?#" else letter for letter in os.path.abspath(path))
