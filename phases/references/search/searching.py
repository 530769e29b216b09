"""Search over the fetched code: names first where the query is one, words ranked by BM25 and then by what they cover."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from phases.references.index.cache import Cache
from phases.references.index.locking import WAIT
from phases.references.index.opening import NAME, may_write, readable, still_unusable
from phases.references.index.packing import Unusable
from phases.references.index.restoring import identity, make, rebuild
from phases.references.index.sources import Folder
from phases.references.parse.parsing import text_of
from phases.references.parse.terms import words_of
from phases.references.search.naming import name_asked, named
from phases.references.search.ranking import ranked
from pipeline.base.errors import StorageError
from pipeline.base.files import storage_error

LONGEST_QUERY = 2000
MOST_HITS = 100
EXCERPT_LINES = 12
_LONGEST_LINE = 200
_MOST_LOOKED_AT = 5000
T = TypeVar("T")


class Hit(NamedTuple):
    """A place in the fetched code. `excerpt` is as the file has it: who shows it escapes its control characters."""

    repository: str
    path: str
    line: int
    end: int
    kind: str
    name: str
    """Qualified; empty for text and for the rest of a module."""
    signature: str
    score: float
    """Falls along the list; of use only within it."""
    excerpt: str


def search(
    into: str, query: str, *, repository: str | None = None, limit: int = 10, code_base: str | None = None
) -> list[Hit]:
    """The best places for a query, best first; none is an empty list. `code_base` lies beside `into` if not given."""
    query, limit = query[:LONGEST_QUERY], max(0, min(limit, MOST_HITS))
    fetched = code_base if code_base is not None else beside(into)
    if not query.strip() or not limit:
        return []
    found = with_readable(into, fetched, lambda cache: _found(cache, query, repository, limit))
    folders = {hit.repository: Folder(fetched, hit.repository) for hit, _, _ in found}
    words = set(words_of(query))
    return [
        _shown(hit, folders[hit.repository].read(hit.path, digest), language, words) for hit, digest, language in found
    ]


def beside(into: str) -> str:
    """Where the code lies that an indexes folder is about."""
    return os.path.join(os.path.dirname(os.path.abspath(into)), "code_base")


def with_readable(into: str, code_base: str, use: Callable[[Cache], T]) -> T:
    """What `use` returns for the cache; one that cannot be used is made anew from the documents first."""
    path = os.path.join(into, NAME)
    until, made = time.monotonic() + WAIT, False
    while True:
        seen = identity(path)
        try:
            with readable(path) as cache:
                return use(cache)
        except Unusable as error:
            if made:
                raise still_unusable(error) from error
            if time.monotonic() > until:
                raise StorageError(f"another process is making {path}; search again when it is done") from error
        if not may_write(path):
            return _with_one_apart(into, code_base, use)
        made = rebuild(into, code_base, seen)


def _with_one_apart(into: str, code_base: str, use: Callable[[Cache], T]) -> T:
    """What `use` returns for a cache that is made for this question alone, where nothing can be written."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, NAME)
            make(path, into, code_base)
            with readable(path) as cache:
                return use(cache)
    except Unusable as error:
        raise still_unusable(error) from error
    except OSError as error:
        raise storage_error("make an index in place of", into, error) from error


def _found(cache: Cache, query: str, repository: str | None, limit: int) -> list[tuple[Hit, str, str]]:
    """Hits without excerpt, each with its file's digest and language."""
    name = name_asked(query)
    hits = _of_names(cache, name, repository, limit) if name else []
    places = {(file, hit.line) for file, hit in hits}
    for one in ranked(cache, query, repository, limit) if len(hits) < limit else []:
        if (one.file, one.line) not in places:
            rest = (one.line, one.end, one.kind, one.name, cache.signature(one.file, one.line, one.kind), one.score, "")
            hits.append((one.file, Hit(one.repository, one.path, *rest)))
    return [(hit, *cache.content(file)) for file, hit in hits[:limit]]


def _of_names(cache: Cache, name: str, repository: str | None, limit: int) -> list[tuple[int, Hit]]:
    """A name that is there stands above all that is found by words, which score 2.25 at most."""
    return [
        (
            one.file,
            Hit(
                one.repository, one.path, one.line, one.end, one.kind, one.name, one.signature, 10.0 - 2 * one.tier, ""
            ),
        )
        for one in named(cache, name, repository, limit)
    ]


def _shown(hit: Hit, data: bytes | None, language: str, words: set[str]) -> Hit:
    """The hit with its excerpt; of a text, or of what is between functions, from the line on that says most."""
    if data is None:
        return hit._replace(excerpt="(the file changed since it was fetched)")
    lines = text_of(language, data)[0].split("\n")
    start = hit.line
    if hit.kind in ("text", "module"):
        inside = range(hit.line, min(hit.end, len(lines), hit.line + _MOST_LOOKED_AT) + 1)
        start = max(inside, key=lambda at: len(words.intersection(words_of(lines[at - 1]))), default=hit.line)
    shown = lines[start - 1 : min(hit.end, start + EXCERPT_LINES - 1)]
    return hit._replace(line=start, excerpt="\n".join(line[:_LONGEST_LINE] for line in shown))
