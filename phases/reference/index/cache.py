"""The search structures on the disk: an SQLite file that may be deleted at any time and is made anew.

Each file of a repository has a row, with what was parsed from its content and the pieces that a search finds. A file is
replaced as a whole within a transaction, so a kill leaves each file as it was or as it is, and the digest in its row says which.
What is damaged is thrown away: nothing stands here that cannot be had again.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from phases.reference.parse.parsed import VERSION, Import, Parsed, Piece, Symbol
from phases.reference.parse.terms import folded, words_of

STAMP = VERSION * 1000 + 1
"""Of the tables and of what stands in them; the last three digits are for the tables."""
TABLES = """
CREATE TABLE repositories (name TEXT PRIMARY KEY, row TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, repository TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, language TEXT NOT NULL,
    made_by TEXT NOT NULL, parsed BLOB NOT NULL, UNIQUE (repository, path)
);
CREATE INDEX by_content ON files (sha256, language);
CREATE TABLE symbols (file INTEGER NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, parent TEXT NOT NULL,
    kind TEXT NOT NULL, line INTEGER NOT NULL, end INTEGER NOT NULL, signature TEXT NOT NULL);
CREATE INDEX by_file ON symbols (file);
CREATE INDEX by_name ON symbols (folded);
CREATE TABLE pieces (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL,
    end INTEGER NOT NULL, names TEXT NOT NULL, doc TEXT NOT NULL, body TEXT NOT NULL, path TEXT NOT NULL
);
CREATE INDEX of_file ON pieces (file);
CREATE VIRTUAL TABLE words USING fts5 (
    names, doc, body, path, content='pieces', content_rowid='id', tokenize="unicode61 remove_diacritics 0"
);
CREATE VIRTUAL TABLE counts USING fts5vocab (words, row);
"""


class Unusable(Exception):
    """The cache is not there, damaged, or made by another version: it is to be made anew."""


class Row(NamedTuple):
    """One file of a repository, as the cache knows it."""

    path: str
    sha256: str
    language: str


class Cache:
    """An open cache, for one writer at a time; others wait."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:  # something ended it in the middle
                self._db.execute("ROLLBACK")

    def summary(self, repository: str) -> dict[str, Any] | None:
        """What was kept of a repository when it was last indexed."""
        row = self._db.execute("SELECT row FROM repositories WHERE name = ?", (repository,)).fetchone()
        return json.loads(row[0]) if row else None

    def keep_summary(self, repository: str, row: dict[str, Any] | None) -> None:
        """None: it is no longer whole."""
        with self.writing():
            self._db.execute("DELETE FROM repositories WHERE name = ?", (repository,))
            if row is not None:
                self._db.execute("INSERT INTO repositories VALUES (?, ?)", (repository, json.dumps(row)))

    def files(self, repository: str) -> dict[str, tuple[str, str, str]]:
        """path: (sha256, language, made_by) of every file that is there."""
        query = "SELECT path, sha256, language, made_by FROM files WHERE repository = ?"
        return {
            path: (digest, language, made) for path, digest, language, made in self._db.execute(query, (repository,))
        }

    def parsed(self, repository: str, path: str) -> Parsed | None:
        """Symbols, imports, lines and fault of a file that is there, without its pieces."""
        query = "SELECT parsed FROM files WHERE repository = ? AND path = ?"
        row = self._db.execute(query, (repository, path)).fetchone()
        return _unpacked(row[0]) if row else None

    def has(self, sha256: str, language: str, made_by: str) -> bool:
        """Whether known() finds something."""
        query = "SELECT 1 FROM files WHERE sha256 = ? AND language = ? AND made_by = ? LIMIT 1"
        return self._db.execute(query, (sha256, language, made_by)).fetchone() is not None

    def known(self, sha256: str, language: str, made_by: str) -> Parsed | None:
        """The same content, wherever it stands, with its pieces."""
        query = "SELECT id, parsed FROM files WHERE sha256 = ? AND language = ? AND made_by = ? LIMIT 1"
        row = self._db.execute(query, (sha256, language, made_by)).fetchone()
        if not row:
            return None
        columns = "SELECT kind, name, line, end, names, doc, body FROM pieces WHERE file = ? ORDER BY id"
        pieces = tuple(Piece(*piece) for piece in self._db.execute(columns, (row[0],)))
        return _unpacked(row[1])._replace(pieces=pieces)

    def replace(self, repository: str, row: Row, made_by: str, parsed: Parsed) -> None:
        """Puts a file in the place of what stood at its path. Within writing()."""
        self.remove(repository, (row.path,))
        values = (repository, row.path, row.sha256, row.language, made_by, _packed(parsed))
        insert = "INSERT INTO files (repository, path, sha256, language, made_by, parsed) VALUES (?, ?, ?, ?, ?, ?)"
        number = self._db.execute(insert, values).lastrowid
        self._db.executemany(
            "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (number, one.name, folded(one.name), one.parent, one.kind, one.line, one.end, one.signature)
                for one in parsed.symbols
            ),
        )
        path = " ".join(words_of(row.path))
        last = self._db.execute("SELECT ifnull(max(id), 0) FROM pieces").fetchone()[0]
        pieces = [(at, number, *piece, path) for at, piece in enumerate(parsed.pieces, last + 1)]
        self._db.executemany("INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", pieces)
        insert = "INSERT INTO words (rowid, names, doc, body, path) VALUES (?, ?, ?, ?, ?)"
        self._db.executemany(insert, ((piece[0], *piece[6:]) for piece in pieces))

    def remove(self, repository: str, paths: Iterable[str]) -> None:
        """Takes files out. Within writing()."""
        for path in paths:
            query = "SELECT id FROM files WHERE repository = ? AND path = ?"
            found = self._db.execute(query, (repository, path)).fetchone()
            if not found:
                continue
            self._db.execute(
                "INSERT INTO words (words, rowid, names, doc, body, path)"
                " SELECT 'delete', id, names, doc, body, path FROM pieces WHERE file = ?",
                found,
            )
            self._db.execute("DELETE FROM pieces WHERE file = ?", found)
            self._db.execute("DELETE FROM symbols WHERE file = ?", found)
            self._db.execute("DELETE FROM files WHERE id = ?", found)

    def repositories(self) -> list[str]:
        """The names of all that have a file here."""
        return [name for (name,) in self._db.execute("SELECT DISTINCT repository FROM files ORDER BY repository")]

    def count_of_pieces(self) -> int:
        """How many pieces there are, of all repositories; at least nearly, for it is their highest number."""
        return int(self._db.execute("SELECT ifnull(max(id), 0) FROM pieces").fetchone()[0])

    def pieces_with(self, word: str) -> int:
        """How many pieces hold a word."""
        found = self._db.execute("SELECT doc FROM counts WHERE term = ?", (word,)).fetchone()
        return int(found[0]) if found else 0

    def signature(self, file: int, line: int, kind: str) -> str:
        """Of the symbol that begins there."""
        query = "SELECT signature FROM symbols WHERE file = ? AND line = ? AND kind = ?"
        found = self._db.execute(query, (file, line, kind)).fetchone()
        return str(found[0]) if found else ""

    def content(self, file: int) -> tuple[str, str]:
        """Digest and language of a file."""
        found = self._db.execute("SELECT sha256, language FROM files WHERE id = ?", (file,)).fetchone()
        return str(found[0]), str(found[1])

    def defining(self, folded: str, repository: str) -> list[tuple[int, str, str, int]]:
        """Functions and types of this name, spelled as may be: file, parent, name and line."""
        return self._db.execute(
            "SELECT f.id, s.parent, s.name, s.line FROM symbols AS s JOIN files AS f ON f.id = s.file"
            " WHERE s.folded = ? AND f.repository = ? AND s.kind NOT IN ('variable', 'field', 'constant', 'module')"
            " ORDER BY s.parent != '', f.path, s.line LIMIT 50",
            (folded, repository),
        ).fetchall()

    def place(self, file: int) -> tuple[str, str]:
        """Path and language of a file."""
        found = self._db.execute("SELECT path, language FROM files WHERE id = ?", (file,)).fetchone()
        return str(found[0]), str(found[1])

    def words_in(self, piece: int) -> set[str]:
        """All words of a piece and of its path."""
        columns = self._db.execute("SELECT names, doc, body, path FROM pieces WHERE id = ?", (piece,)).fetchone()
        return {word for column in columns for word in str(column).split()}

    def rows(self, query: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        """What a query of ours finds."""
        return self._db.execute(query, tuple(values)).fetchall()


def _packed(parsed: Parsed) -> bytes:
    rest = [parsed.lines, parsed.symbols, parsed.imports, parsed.fault]
    return zlib.compress(json.dumps(rest, ensure_ascii=False).encode("utf-8", "replace"), 1)


def _unpacked(data: bytes) -> Parsed:
    try:
        lines, symbols, imports, fault = json.loads(zlib.decompress(data))
        return Parsed(
            lines,
            tuple(Symbol(*row) for row in symbols),
            tuple(Import(module, tuple(names), line) for module, names, line in imports),
            (),
            fault,
        )
    except (ValueError, TypeError, zlib.error) as error:
        raise Unusable(f"a row of the cache is damaged: {error}") from error
