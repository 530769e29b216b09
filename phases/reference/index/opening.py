"""How the cache's file is opened: for writing, for reading alone, and not at all where it is damaged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

from phases.reference.index.cache import STAMP, TABLES, Cache
from phases.reference.index.packing import Unusable
from pipeline.errors import StorageError

T = TypeVar("T")
NAME = "cache.sqlite3"
_WAIT = 60.0
"""Seconds to wait for another process that writes."""
_PAGE = 16384
"""Bytes; the words are read and merged in runs, and take half the time of pages of 4,096."""
_ANEW = """
DROP TABLE IF EXISTS counts;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS pieces;
DROP TABLE IF EXISTS texts;
DROP TABLE IF EXISTS totals;
DROP TABLE IF EXISTS symbols;
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS repositories;
"""


def with_cache(path: str, use: Callable[[Cache], T]) -> T:
    """What `use` returns for the cache; where that is damaged it is thrown away, and `use` gets an empty one."""
    try:
        with writable(path) as cache:
            return use(cache)
    except Unusable:
        throw_away(path)
    try:
        with writable(path) as cache:
            return use(cache)
    except Unusable as error:
        raise StorageError(f"{error}, and so is one made anew; is the disk sound? It is a cache: delete it") from error


@contextmanager
def writable(path: str) -> Iterator[Cache]:
    """The cache, made where it is not there. Raises Unusable where it is damaged: throw_away() and open it again."""
    with _open(path, f"file:{_escaped(path)}?mode=rwc") as connection:
        stamp = connection.execute("PRAGMA user_version").fetchone()[0]
        if stamp != STAMP:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] != STAMP:  # nobody else was quicker
                for statement in (_ANEW + TABLES).split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {STAMP}")
            connection.execute("COMMIT")
        yield Cache(connection)


@contextmanager
def readable(path: str) -> Iterator[Cache]:
    """The cache for reading alone. Raises Unusable where it has to be made anew first."""
    if not os.path.isfile(path) or os.path.islink(path):
        raise Unusable(f"{path} is not there")
    if os.path.exists(path + "-journal"):  # of a writer at work, or of one that was killed: that one is undone by this
        with writable(path):
            pass
    with _open(path, f"file:{_escaped(path)}?mode=ro") as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != STAMP:
            raise Unusable(f"{path} was made by another version")
        connection.execute("BEGIN")  # what is read belongs together
        yield Cache(connection)


def throw_away(path: str) -> None:
    """Removes the cache and what a killed writer left beside it."""
    for name in (path + "-journal", path + "-wal", path + "-shm", path):
        remove_file(name)


def remove_file(path: str) -> None:
    """Removes a file of ours; one that is not there is fine."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"cannot remove {path}: {error.strerror}; move it away") from error


@contextmanager
def _open(path: str, address: str) -> Iterator[sqlite3.Connection]:
    if os.path.islink(path):
        throw_away(path)
    if not os.path.exists(path):
        throw_away(path)  # a journal without its file would be played into the new one
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a new one; one that is there keeps its own
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -64000")
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection
    except sqlite3.OperationalError as error:
        if _is_damage(error):
            raise Unusable(f"{path}: {error}") from error
        raise StorageError(f"cannot use {path}: {error}; it is a cache: make room, or delete it") from error
    except sqlite3.DatabaseError as error:
        raise Unusable(f"{path}: {error}") from error


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN)


def _escaped(path: str) -> str:
    return "".join(f"%{ord(letter):02x}" if letter in "%?#" else letter for letter in os.path.abspath(path))
