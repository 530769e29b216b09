"""Store parsed files and search structures in an SQLite file that may be deleted at any time.

It is in the user's cache directory, never in a task: a task may come from elsewhere, and SQLite is not made for hostile files. A
file of a repository is replaced within one transaction, so a kill leaves it old or new; a damaged cache is thrown away.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from phases.references.parse.model import VERSION, Parsed, Piece, Symbol
from phases.references.parse.terms import fold_name, words_of
from pipeline.base.errors import StorageError
from pipeline.base.files import storage_error
from pipeline.base.lease import lock_descriptor
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_regular

STAMP = VERSION * 1000 + 4
"""Version of the tables and their content; the last three digits are those of the tables."""
TABLES = """
CREATE TABLE repositories (name TEXT PRIMARY KEY, row TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, repository TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, language TEXT NOT NULL,
    made_by TEXT NOT NULL, parsed BLOB NOT NULL, UNIQUE (repository, path)
);
CREATE TABLE symbols (id INTEGER PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL, parent TEXT NOT NULL,
    kind TEXT NOT NULL, line INTEGER NOT NULL, end INTEGER NOT NULL, signature TEXT NOT NULL,
    file INTEGER AS (id >> 20) VIRTUAL);
CREATE INDEX by_name ON symbols (folded);
CREATE TABLE texts (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX of_file ON texts (file);
CREATE TABLE totals (pieces INTEGER NOT NULL);
INSERT INTO totals VALUES (0);
CREATE VIRTUAL TABLE words USING fts5 (names, doc, body, path, content='', tokenize='ascii');
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
CREATE VIRTUAL TABLE counts USING fts5vocab (words, row);
"""
"""Words of pieces are packed in `texts`, some pieces of a file per row, and indexed without a second copy: piece 5 of row 7 is
number 7 * CHUNK + 5 in `words`. They are letters and digits already, so the plainest tokeniser serves. `hashsize` is the
memory for words before a write: many small writes are many merges.
"""
_MOST_SYMBOLS = 1 << 20
"""Limit for one file; a symbol's id is its file's id times this, so no index is needed to find it by its file."""
_REMEMBERED = 64
CHUNK = 64
"""Pieces that are packed together at most."""
_LARGE_CHUNK = 64 * 1024
"""Characters after which a chunk ends, so that one hit in a large file unpacks little."""


class CacheUnusable(Exception):
    """The cache is missing, damaged, or belongs to other code."""


class Chunk(NamedTuple):
    """Some pieces of one file, in its order."""

    path: str
    """The words of its path."""
    pieces: tuple[Piece, ...]


class FileRow(NamedTuple):
    """One file of a repository, as the cache knows it."""

    path: str
    sha256: str
    language: str


class Cache:
    """An open cache, for one writer at a time; others wait."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._chunks: dict[int, Chunk] = {}
        """Recently unpacked chunks; several hits are often in the same one."""
        self._more = 0
        """Pieces that came in this transaction, less those that went."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write within one transaction: all or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        self._more = 0
        try:
            yield
            # Once and at the end: an UPDATE sets a savepoint, and at each of those FTS5 writes out what it has gathered.
            self._db.execute("UPDATE totals SET pieces = pieces + ?", (self._more,))
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:  # something ended it in the middle
                self._db.execute("ROLLBACK")

    def summary(self, repository: str) -> dict[str, Any]:
        """Return what `keep_summary` was given for a repository; empty if there is none."""
        row = self._first("SELECT row FROM repositories WHERE name = ?", (repository,))
        return _parse_object(row[0]) if row else {}

    def keep_summary(self, repository: str, row: dict[str, Any]) -> None:
        """Store a summary of a repository whose files are all here. An empty one says that they are not."""
        with self.writing():
            self._db.execute("DELETE FROM repositories WHERE name = ?", (repository,))
            if row:
                self._db.execute("INSERT INTO repositories VALUES (?, ?)", (repository, json.dumps(row)))

    def files(self, repository: str) -> dict[str, tuple[str, str, str]]:
        """path: (sha256, language, made_by) of every file that is there."""
        query = "SELECT path, sha256, language, made_by FROM files WHERE repository = ?"
        return {path: (digest, language, made) for path, digest, language, made in self.rows(query, (repository,))}

    def parsed(self, repository: str, path: str) -> Parsed | None:
        """Symbols, lines and fault of a file that is there, without its pieces."""
        query = "SELECT parsed FROM files WHERE repository = ? AND path = ?"
        row = self._first(query, (repository, path))
        return unpack_parsed(row[0]) if row else None

    def replace(self, repository: str, row: FileRow, made_by: str, parsed: Parsed) -> None:
        """Store a file in place of its earlier version. Only within writing()."""
        self.remove(repository, (row.path,))
        packed = [parsed.lines, parsed.symbols, parsed.fault]  # its pieces stand apart
        values = (repository, row.path, row.sha256, row.language, made_by, _pack_json(packed))
        insert = "INSERT INTO files (repository, path, sha256, language, made_by, parsed) VALUES (?, ?, ?, ?, ?, ?)"
        number = self._db.execute(insert, values).lastrowid or 0
        first = number * _MOST_SYMBOLS
        self._db.executemany(
            "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (at, name, fold_name(name), parent, kind, line, end, signature)
                for at, (name, kind, line, end, parent, signature, _) in enumerate(
                    parsed.symbols[:_MOST_SYMBOLS], first
                )
            ),
        )
        self._add_pieces(number, " ".join(words_of(row.path)), parsed.pieces)

    def _add_pieces(self, file: int, path: str, pieces: tuple[Piece, ...]) -> None:
        rows: list[tuple[object, ...]] = []
        for data, chunk in chunks_of(path, pieces):
            number = self._db.execute("INSERT INTO texts (file, data) VALUES (?, ?)", (file, data)).lastrowid or 0
            rows += [(number * CHUNK + at, *piece[4:], path) for at, piece in enumerate(chunk)]
        self._db.executemany("INSERT INTO words (rowid, names, doc, body, path) VALUES (?, ?, ?, ?, ?)", rows)
        self._more += len(rows)

    def remove(self, repository: str, paths: Iterable[str]) -> None:
        """Remove files. Only within writing()."""
        for path in paths:
            query = "SELECT id FROM files WHERE repository = ? AND path = ?"
            found = self._first(query, (repository, path))
            if found:
                self._remove(int(found[0]))

    def _remove(self, file: int) -> None:
        self._chunks.clear()  # a number may be given again
        for number, data in self.rows("SELECT id, data FROM texts WHERE file = ?", (file,)):
            chunk = unpack_chunk(data)
            rows = [("delete", number * CHUNK + at, *piece[4:], chunk.path) for at, piece in enumerate(chunk.pieces)]
            delete = "INSERT INTO words (words, rowid, names, doc, body, path) VALUES (?, ?, ?, ?, ?, ?)"
            self._db.executemany(delete, rows)
            self._more -= len(rows)
        self._db.execute("DELETE FROM texts WHERE file = ?", (file,))
        first = file * _MOST_SYMBOLS
        self._db.execute("DELETE FROM symbols WHERE id >= ? AND id < ?", (first, first + _MOST_SYMBOLS))
        self._db.execute("DELETE FROM files WHERE id = ?", (file,))

    def repositories(self) -> list[str]:
        """Return the names of all repositories with a file here."""
        return [name for (name,) in self.rows("SELECT DISTINCT repository FROM files ORDER BY repository")]

    def count_of_pieces(self) -> int:
        """Return the number of pieces of all repositories."""
        return int(self._there("SELECT pieces FROM totals")[0])

    def pieces_with(self, word: str) -> int:
        """Return the number of pieces that contain a word."""
        found = self._first("SELECT doc FROM counts WHERE term = ?", (word,))
        return int(found[0]) if found else 0

    def signature(self, file: int, line: int, kind: str) -> str:
        """Of the symbol that begins there."""
        first = file * _MOST_SYMBOLS
        query = "SELECT signature FROM symbols WHERE id >= ? AND id < ? AND line = ? AND kind = ?"
        found = self._first(query, (first, first + _MOST_SYMBOLS, line, kind))
        return str(found[0]) if found else ""

    def content(self, file: int) -> tuple[str, str]:
        """Digest and language of a file."""
        digest, language = self._there("SELECT sha256, language FROM files WHERE id = ?", file)
        return str(digest), str(language)

    def defining(self, folded: str, repository: str) -> list[tuple[int, str, str, int]]:
        """Return functions and types with this folded name: file, parent, name and line."""
        return self.rows(
            "SELECT f.id, s.parent, s.name, s.line FROM symbols AS s JOIN files AS f ON f.id = s.file"
            " WHERE s.folded = ? AND f.repository = ? AND s.kind NOT IN ('variable', 'field', 'constant', 'module')"
            " ORDER BY s.parent != '', f.path, s.line LIMIT 50",
            (folded, repository),
        )

    def place(self, file: int) -> tuple[str, str]:
        """Path and language of a file."""
        path, language = self._there("SELECT path, language FROM files WHERE id = ?", file)
        return str(path), str(language)

    def piece(self, number: int) -> Piece:
        """Return a piece, with its words."""
        try:
            return self._chunk(number).pieces[number % CHUNK]
        except IndexError as error:
            raise CacheUnusable("a row of the cache is damaged: it has fewer pieces than the index") from error

    def words_in(self, piece: int) -> set[str]:
        """Return all words of a piece and of its path."""
        words = self.piece(piece)
        return {word for column in (*words[4:], self._chunk(piece).path) for word in column.split()}

    def _chunk(self, piece: int) -> Chunk:
        number = piece // CHUNK
        if number not in self._chunks:
            if len(self._chunks) >= _REMEMBERED:
                self._chunks.clear()
            (data,) = self._there("SELECT data FROM texts WHERE id = ?", number)
            self._chunks[number] = unpack_chunk(data)
        return self._chunks[number]

    def rows(self, query: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self._db.execute(query, tuple(values)).fetchall()

    def _first(self, query: str, values: Sequence[object] = ()) -> Any:
        return self._db.execute(query, values).fetchone()

    def _there(self, query: str, *values: object) -> tuple[Any, ...]:
        """Return a row that another row refers to. Raises CacheUnusable."""
        found: tuple[Any, ...] | None = self._first(query, values)
        if found is None:
            raise CacheUnusable("a row of the cache is damaged: it names another one, and that is not there")
        return found


def unpack_parsed(data: bytes) -> Parsed:
    """Unpack a parsed file, without its pieces. Raises CacheUnusable."""
    try:
        lines, symbols, fault = json.loads(zlib.decompress(data))
        return Parsed(lines, tuple(Symbol(*row) for row in symbols), (), fault)
    except (zlib.error, ValueError, TypeError) as error:
        raise CacheUnusable(f"a row of the cache is damaged: {error}") from error


def chunks_of(path: str, pieces: Sequence[Piece]) -> Iterator[tuple[bytes, Sequence[Piece]]]:
    """Yield pieces in chunks, each packed and unpacked."""
    start = size = 0
    for at, piece in enumerate(pieces):
        if at - start >= CHUNK or size >= _LARGE_CHUNK:
            yield _pack_json([path, pieces[start:at]]), pieces[start:at]
            start, size = at, 0
        size += len(piece.names) + len(piece.doc) + len(piece.body)
    if start < len(pieces):
        yield _pack_json([path, pieces[start:]]), pieces[start:]


def unpack_chunk(data: bytes) -> Chunk:
    """Unpack a chunk of pieces. Raises CacheUnusable."""
    try:
        path, rows = json.loads(zlib.decompress(data))
        return Chunk(path, tuple(Piece(*row) for row in rows))
    except (zlib.error, ValueError, TypeError) as error:
        raise CacheUnusable(f"a row of the cache is damaged: {error}") from error


def _pack_json(value: object) -> bytes:
    return zlib.compress(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), 1)


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CacheUnusable(f"a row of the cache is damaged: {error}") from error
    if not isinstance(value, dict):
        raise CacheUnusable("a row of the cache is damaged: it is not an object")
    return value


T = TypeVar("T")
WAIT = 60.0
"""Seconds to wait for another process that writes."""
_KEEP_DAYS = 60
"""Days without use after which a cache is removed."""
_PAGE = 16384
"""Page size in bytes; words are read and merged in runs, which takes half the time that 4,096 would."""
_MACHINES_FAULT = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
    *(sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
)


_TEMPORARY: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Temporary directories in place of a cache directory; Python removes them when the process ends."""


def cache_path(cache_directory: str, into: str, tell: Callable[[str], None] = lambda text: None) -> str:
    """Return where the cache of the index directory `into` is: in the user's cache directory (decision 147).

    Its name is derived from the place of `into` and the version. If nothing can be written there, or no directory is given,
    it is a temporary file of this process, and `tell` gets a message.
    """
    key = hashlib.sha256(f"{STAMP} ".encode() + os.fsencode(os.path.realpath(into))).hexdigest()[:32]
    path = os.path.join(cache_directory, "indexes", f"{key}.sqlite3")
    why = _why_not_writable(os.path.dirname(path)) if cache_directory else "no directory is given"
    if why is None:
        return path
    logger.debug("the cache of {} is temporary: {}", into, why)
    if cache_directory:
        tell(f"cannot write to {cache_directory} ({why}): each command parses the fetched code again")
    try:
        if key not in _TEMPORARY or not os.path.isdir(_TEMPORARY[key].name):
            _TEMPORARY[key] = tempfile.TemporaryDirectory()
    except OSError as error:
        raise storage_error("make an index in place of", path, error) from error
    return os.path.join(_TEMPORARY[key].name, "index.sqlite3")


def _why_not_writable(directory: str) -> str | None:
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return None
    except OSError as error:
        return error.strerror or str(error)


def with_cache(path: str, use: Callable[[Cache], T], *, afresh: bool = False) -> T:
    """Return `use(cache)`, with no other process writing to the cache. A damaged cache is replaced by an empty one.

    `afresh`: so is one that looks whole. Raises StorageError.
    """
    with lock_file(path) as mine:
        if not mine:
            raise StorageError(f"another process writes to {path}; try again when it has finished")
        _remove_unused(os.path.dirname(path))
        if afresh:
            remove_cache(path)
        try:
            with open_writable(path) as cache:
                return use(cache)
        except CacheUnusable as error:
            logger.debug("{} is replaced: {}", path, error)
            remove_cache(path)
        try:
            with open_writable(path) as cache:
                return use(cache)
        except CacheUnusable as error:
            raise StorageError(f"{error}, also in a new cache; check the disk, then delete the file") from error


@contextmanager
def open_writable(path: str) -> Iterator[Cache]:
    """Open the cache, or create it; the caller holds its lock. Raises CacheUnusable."""
    with _connect(path) as connection:
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("BEGIN IMMEDIATE")
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute("COMMIT")
        yield Cache(connection)


@contextmanager
def open_readable(path: str) -> Iterator[Cache]:
    """Open the cache for reading. Raises CacheUnusable if it is missing or damaged."""
    if not os.path.exists(path):
        raise CacheUnusable(f"{path} is not there")
    with suppress(OSError):
        os.utime(path)  # it is in use: see _KEEP_DAYS
    with _connect(path) as connection:
        connection.execute("BEGIN")  # what is read belongs together
        yield Cache(connection)


@contextmanager
def lock_file(path: str, seconds: float | None = None) -> Iterator[bool]:
    """Yield whether this process has got the lock on `path`; False if another one still held it after `seconds`.

    The lock is a file next to it that is never removed: a new file would be a second lock. The kernel releases it if a process
    dies.
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
    """Remove the cache and the journal of a killed writer."""
    for name in (path, f"{path}-journal"):
        remove_file(name)  # the journal last: without it a cache would look whole


def remove_file(path: str) -> None:
    """Remove a file of ours; a missing one is fine."""
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
            message = f"cannot use {path}: {error}; it is a cache: make room, or delete it"
            raise StorageError(message, code=full) from error
        raise CacheUnusable(f"{path}: {error}") from error
