"""Search over the fetched code: names first where the query is one, words ranked by BM25 and then by what they cover."""

from __future__ import annotations

import os
import re
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

from phases.references.index.cache import Cache
from phases.references.index.restore import with_cache_for_reading
from phases.references.index.sources import FetchedRepository
from phases.references.parse.source_code import text_of
from phases.references.parse.terms import fold_name, words_of
from phases.references.search.ranking import rank_pieces

LONGEST_QUERY = 2000
MOST_HITS = 100
EXCERPT_LINES = 12
_LONGEST_LINE = 200
_MOST_LOOKED_AT = 5000


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


def search_code(
    into: str,
    query: str,
    *,
    repository: str | None = None,
    limit: int = 10,
    code_base: str | None = None,
    cache_directory: str = "",
) -> list[Hit]:
    """The best places for a query, best first; none is an empty list. `code_base` lies beside `into` if not given."""
    query, limit = query[:LONGEST_QUERY], max(0, min(limit, MOST_HITS))
    fetched = code_base if code_base is not None else code_base_of(into)
    if not query.strip() or not limit:
        return []
    found = with_cache_for_reading(
        into, fetched, cache_directory, lambda cache: _find_hits(cache, query, repository, limit)
    )
    folders = {hit.repository: FetchedRepository(fetched, hit.repository) for hit, _, _ in found}
    words = set(words_of(query))
    return [
        _add_excerpt(hit, folders[hit.repository].read(hit.path, digest), language, words)
        for hit, digest, language in found
    ]


def code_base_of(into: str) -> str:
    """Where the code lies that an indexes folder is about."""
    return os.path.join(os.path.dirname(os.path.abspath(into)), "code_base")


def _find_hits(cache: Cache, query: str, repository: str | None, limit: int) -> list[tuple[Hit, str, str]]:
    """Hits without excerpt, each with its file's digest and language."""
    name = name_asked(query)
    hits = _name_hits(cache, name, repository, limit) if name else []
    places = {(file, hit.line) for file, hit in hits}
    for one in rank_pieces(cache, query, repository, limit) if len(hits) < limit else []:
        if (one.file, one.line) not in places:
            rest = (one.line, one.end, one.kind, one.name, cache.signature(one.file, one.line, one.kind), one.score, "")
            hits.append((one.file, Hit(one.repository, one.path, *rest)))
    return [(hit, *cache.content(file)) for file, hit in hits[:limit]]


def _name_hits(cache: Cache, name: str, repository: str | None, limit: int) -> list[tuple[int, Hit]]:
    """A name that is there stands above all that is found by words, which score 2.25 at most."""
    return [
        (
            one.file,
            Hit(
                one.repository, one.path, one.line, one.end, one.kind, one.name, one.signature, 10.0 - 2 * one.tier, ""
            ),
        )
        for one in find_symbols(cache, name, repository, limit)
    ]


def _add_excerpt(hit: Hit, data: bytes | None, language: str, words: set[str]) -> Hit:
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


_NAME = re.compile(r"[\w$]+(?:(?:\.|::|->|#|/)[\w$]+)*(?:\(\))?")
_BREAK = re.compile(r"\.|::|->|#|/")
_FIRST = {
    **dict.fromkeys(
        ("class", "struct", "interface", "trait", "enum", "function", "method", "macro", "union", "type"), 0
    ),
    **dict.fromkeys(("module", "namespace", "constant"), 1),
}
_ASKED = """
SELECT f.id, f.repository, f.path, s.kind, s.name, s.line, s.end, s.signature, s.parent
FROM symbols AS s JOIN files AS f ON f.id = s.file
"""
_LIMITED = """
AND (?3 IS NULL OR f.repository = ?3)
ORDER BY s.name != ?4, length(s.name), s.kind IN ('variable', 'field'), length(f.path), f.path, s.line LIMIT 300
"""
_STEM = "rtrim(f.path, replace(f.path, '.', ''))"
"""A path up to its last dot, with it: all that is no dot goes from its end."""
_WHOLE = f"rtrim('.' || lower(replace({_STEM}, '/', '.')) || lower(s.parent), '.')"
"""What a symbol stands in, its module first: `.net.model.encoder`."""
_SAME = _ASKED + "WHERE s.folded = ?1 AND s.folded = ?2" + _LIMITED
_INSIDE = _ASKED + f"WHERE s.folded = ?1 AND substr({_WHOLE}, -length(?2)) = ?2" + _LIMITED
_LONGER = _ASKED + "WHERE s.folded > ?1 AND s.folded < ?2" + _LIMITED
_HOLDING = _ASKED + "WHERE s.folded != ?1 AND instr(s.folded, ?2) > 1" + _LIMITED
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
"""The letters that SQL folds."""


class NamedSymbol(NamedTuple):
    """A symbol whose name is like the one that was asked for.

    Tier 0 is the very name, 2 one that stands elsewhere than asked or begins with it, 3 one that holds it.
    """

    tier: int
    file: int
    repository: str
    path: str
    kind: str
    name: str
    line: int
    end: int
    signature: str


def name_asked(query: str) -> str | None:
    """The name that a query consists of (`Encoder.forward`, `net::Layer`, `get_loss()`); None where it is more than one word."""
    query = query.strip()
    return query.removesuffix("()") if len(query) <= 200 and _NAME.fullmatch(query) else None


def find_symbols(cache: Cache, name: str, repository: str | None, limit: int) -> list[NamedSymbol]:
    """Symbols of this name, then without regard to case; then, half of the list at most, those that are near to it.

    Near is a name that begins with it or holds it, and of `Encoder.forward` what else is called `forward`.
    """
    *within, last = _BREAK.split(name)
    plain = fold_name(last)
    same = cache.rows(_SAME, (plain, plain, repository, last))
    meant = same
    if within:
        asked = "." + ".".join(within).translate(_SMALL)
        meant = cache.rows(_INSIDE, (plain, asked, repository, last))
    best = sorted((_named_symbol(row, int(row[4] != last)) for row in meant), key=_symbol_order)[:limit]
    if len(plain) < 2 or len(best) >= limit:
        return best
    longer = cache.rows(_LONGER, (plain, plain + "\U0010ffff", repository, last))
    holding = cache.rows(_HOLDING, (plain, plain, repository, last))
    known = set(meant)
    elsewhere = [row for row in same if row not in known]
    rest = [_named_symbol(row, 2) for row in (*elsewhere, *longer)] + [_named_symbol(row, 3) for row in holding]
    return best + sorted(rest, key=_symbol_order)[: max(1, min(limit - len(best), limit // 2))]


def _named_symbol(row: tuple[Any, ...], tier: int) -> NamedSymbol:
    file, repository, path, kind, name, line, end, signature, parent = row
    whole = f"{parent}.{name}" if parent else str(name)
    rest = (int(str(line)), int(str(end)), str(signature))
    return NamedSymbol(tier, int(str(file)), str(repository), str(path), str(kind), whole, *rest)


def _symbol_order(one: NamedSymbol) -> tuple[object, ...]:
    tests = "test" in one.path.lower()
    return one.tier, _FIRST.get(one.kind, 2), tests, len(one.name), len(one.path), one.path, one.line
