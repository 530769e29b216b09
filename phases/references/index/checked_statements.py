"""How the cache's statements are run: each bounded in time, and no value believed that comes out of the file.

The file may be a stranger's, or damaged. SQLite gives back what stands there, whatever the table says of its columns.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Any

from phases.references.index.packing import CacheUnusable

LONGEST = 60.0
"""Seconds of processor time for one statement; those of ours take a few. Waiting for a lock or a disk does not count."""
_STEPS = 100_000
"""Of SQLite's machine between two looks at the clock."""
_NUMBERS = frozenset(("id", "rowid", "file", "line", "end", "pieces", "doc", "count(*)", "1"))
_KINDS: dict[str, type] = {"score": float, "data": bytes, "parsed": bytes, **dict.fromkeys(_NUMBERS, int)}
"""What a column must give, by its name; text, if it does not stand here."""
_FIRST = {"line": 1}
"""The least number that a column may hold, if it is not 0."""


class CheckedStatements:
    """A connection, as the cache uses it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._until = 0.0
        connection.set_progress_handler(self._late, _STEPS)

    @property
    def in_transaction(self) -> bool:
        """Whether something is begun that is neither kept nor taken back."""
        return self._connection.in_transaction

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Runs what gives no rows. Returns the number of the row that it put in last."""
        self._until = time.thread_time() + LONGEST
        return self._connection.execute(statement, values).lastrowid or 0

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Runs a statement once for each row of values."""
        self._until = time.thread_time() + LONGEST
        self._connection.executemany(statement, rows)

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a query finds. Raises Unusable where a value is not of the kind that its column's name says."""
        self._until = time.thread_time() + LONGEST
        cursor = self._connection.execute(query, values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        names = [column[0] for column in cursor.description or ()]
        columns = [(str(name), _KINDS.get(name, str), _FIRST.get(name, 0)) for name in names]
        for row in found:
            for value, (name, kind, least) in zip(row, columns, strict=True):
                if type(value) is not kind or (type(value) is int and value < least):
                    raise CacheUnusable(f"a row of the cache is damaged: {str(value)[:40]!r} stands in {name!r}")
        return found

    def raw(self, query: str) -> list[tuple[Any, ...]]:
        """What a query finds, of whatever kind."""
        self._until = time.thread_time() + LONGEST
        return self._connection.execute(query).fetchall()

    def first(self, query: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row that a query finds, checked in the same way."""
        return next(iter(self.rows(query, values)), None)

    def _late(self) -> bool:
        return time.thread_time() > self._until
