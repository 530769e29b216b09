"""The search structures on the disk: an SQLite file that may be deleted at any time and is made anew.

Each file of a repository has a row, with what was parsed from its content and the pieces that a search finds. A file is
replaced as a whole within a transaction, so a kill leaves each file as it was or as it is, and the digest in its row says which.
What is damaged is thrown away: nothing stands here that cannot be had again.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from phases.references.parse.model import VERSION, Import, Parsed, Piece, Symbol
from phases.references.parse.terms import fold_name, words_of

STAMP = VERSION * 1000 + 2
"""Of the tables and of what stands in them; the last three digits are for the tables."""
TABLES = """
CREATE TABLE repositories (name TEXT PRIMARY KEY, row TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, repository TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, language TEXT NOT NULL,
    made_by TEXT NOT NULL, parsed BLOB NOT NULL, UNIQUE (repository, path)
);
CREATE INDEX by_content ON files (sha256, language);
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
"""The words of pieces stand packed in `texts`, some pieces of a file to a row, and are indexed without a second copy: piece 5 of
row 7 has the number 7 * CHUNK + 5 in `words`. They are letters and digits already, so the plainest tokeniser serves. Words are
gathered in so much memory before they are written: many small writes are many merges."""
_MOST_SYMBOLS = 1 << 20
"""Of one file: a symbol's number is its file's times this, and so needs no index to be found by its file."""
_REMEMBERED = 64
CHUNK = 64
"""Pieces that are packed together at most."""
_LARGE_CHUNK = 64 * 1024
"""Characters after which a chunk ends, so that little is unpacked for one hit in a large file."""


class CacheUnusable(Exception):
    """The cache is not there, damaged, or of other documents: it is to be made anew."""


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
        """Some that were unpacked last; several hits are often of one."""
        self._more = 0
        """Pieces that came in this transaction, less those that went."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all or nothing."""
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

    def summary(self, repository: str) -> dict[str, Any] | None:
        """What was kept of a repository when it was last indexed, as JSON gives it; None where nothing was."""
        row = self._first("SELECT row FROM repositories WHERE name = ?", (repository,))
        return _parse_object(row[0]) if row else None

    def keep_summary(self, repository: str, row: dict[str, Any] | None) -> None:
        """None: it is no longer whole."""
        with self.writing():
            self._db.execute("DELETE FROM repositories WHERE name = ?", (repository,))
            if row is not None:
                self._db.execute("INSERT INTO repositories VALUES (?, ?)", (repository, json.dumps(row)))

    def files(self, repository: str) -> dict[str, tuple[str, str, str]]:
        """path: (sha256, language, made_by) of every file that is there."""
        query = "SELECT path, sha256, language, made_by FROM files WHERE repository = ?"
        return {path: (digest, language, made) for path, digest, language, made in self.rows(query, (repository,))}

    def parsed(self, repository: str, path: str) -> Parsed | None:
        """Symbols, imports, lines and fault of a file that is there, without its pieces."""
        query = "SELECT parsed FROM files WHERE repository = ? AND path = ?"
        row = self._first(query, (repository, path))
        return unpack_parsed(row[0]) if row else None

    def known(self, sha256: str, language: str, made_by: str) -> Parsed | None:
        """The same content, wherever it stands, with its pieces."""
        query = "SELECT id, parsed FROM files WHERE sha256 = ? AND language = ? AND made_by = ? LIMIT 1"
        row = self._first(query, (sha256, language, made_by))
        if not row:
            return None
        chunks = self.rows("SELECT data FROM texts WHERE file = ? ORDER BY id", (row[0],))
        pieces = tuple(piece for (data,) in chunks for piece in unpack_chunk(data).pieces)
        return unpack_parsed(row[1])._replace(pieces=pieces)

    def replace(self, repository: str, row: FileRow, made_by: str, parsed: Parsed) -> None:
        """Puts a file in the place of what stood at its path. Within writing()."""
        self.remove(repository, (row.path,))
        packed = [parsed.lines, parsed.symbols, parsed.imports, parsed.fault]  # its pieces stand apart
        values = (repository, row.path, row.sha256, row.language, made_by, _pack_json(packed))
        insert = "INSERT INTO files (repository, path, sha256, language, made_by, parsed) VALUES (?, ?, ?, ?, ?, ?)"
        number = self._db.execute(insert, values).lastrowid or 0
        first = number * _MOST_SYMBOLS
        self._db.executemany(
            "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (at, one.name, fold_name(one.name), one.parent, one.kind, one.line, one.end, one.signature)
                for at, one in enumerate(parsed.symbols[:_MOST_SYMBOLS], first)
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
        """Takes files out. Within writing()."""
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
        """The names of all that have a file here."""
        return [name for (name,) in self.rows("SELECT DISTINCT repository FROM files ORDER BY repository")]

    def count_of_pieces(self) -> int:
        """How many pieces there are, of all repositories."""
        return int(self._there("SELECT pieces FROM totals")[0])

    def pieces_with(self, word: str) -> int:
        """How many pieces hold a word."""
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
        """Functions and types of this name, spelled as may be: file, parent, name and line."""
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
        """A piece, with its words."""
        try:
            return self._chunk(number).pieces[number % CHUNK]
        except IndexError as error:
            raise CacheUnusable("a row of the cache is damaged: fewer pieces stand in it than are indexed") from error

    def words_in(self, piece: int) -> set[str]:
        """All words of a piece and of its path."""
        found = self.piece(piece)
        return {word for column in (*found[4:], self._chunk(piece).path) for word in column.split()}

    def _chunk(self, piece: int) -> Chunk:
        number = piece // CHUNK
        if number not in self._chunks:
            if len(self._chunks) >= _REMEMBERED:
                self._chunks.clear()
            (data,) = self._there("SELECT data FROM texts WHERE id = ?", number)
            self._chunks[number] = unpack_chunk(data)
        return self._chunks[number]

    def rows(self, query: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return self._db.execute(query, tuple(values)).fetchall()

    def _first(self, query: str, values: Sequence[object] = ()) -> Any:
        """The first row that a query finds, or None."""
        return self._db.execute(query, values).fetchone()

    def _there(self, query: str, *values: object) -> tuple[Any, ...]:
        """A row that must be there, for another one names it."""
        found: tuple[Any, ...] | None = self._first(query, values)
        if found is None:
            raise CacheUnusable("a row of the cache is damaged: it names another one, and that is not there")
        return found


def unpack_parsed(data: bytes) -> Parsed:
    """What a row of `files` says was parsed, without pieces. Raises CacheUnusable."""
    try:
        lines, symbols, imports, fault = json.loads(zlib.decompress(data))
        rows = (Import(module, tuple(names), line) for module, names, line in imports)
        return Parsed(lines, tuple(Symbol(*row) for row in symbols), tuple(rows), (), fault)
    except (zlib.error, ValueError, TypeError) as error:
        raise CacheUnusable(f"a row of the cache is damaged: {error}") from error


def chunks_of(path: str, pieces: Sequence[Piece]) -> Iterator[tuple[bytes, Sequence[Piece]]]:
    """Pieces in chunks, each packed and as it is."""
    start = size = 0
    for at, piece in enumerate(pieces):
        if at - start >= CHUNK or size >= _LARGE_CHUNK:
            yield _pack_json([path, pieces[start:at]]), pieces[start:at]
            start, size = at, 0
        size += len(piece.names) + len(piece.doc) + len(piece.body)
    if start < len(pieces):
        yield _pack_json([path, pieces[start:]]), pieces[start:]


def unpack_chunk(data: bytes) -> Chunk:
    """What was packed. Raises CacheUnusable."""
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
        raise CacheUnusable("a row of the cache is damaged: it is no object")
    return value
