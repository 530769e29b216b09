"""Which pieces of code a query in words means most: by BM25, then by what they are named and how much of it they cover."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.references.index.cache import CHUNK, Cache
from phases.references.parse.model import Piece
from phases.references.parse.terms import words_of

WEIGHTS = (5.0, 0.5, 1.0, 1.0)
"""What a word counts in names, documentation, body and path. Documentation is long where it is there at all, and counts less."""
NAMED, COVERED, WHOLE = 0.6, 0.4, 0.25
"""What counts beside BM25 (the best piece has 1): the share of its name that was asked for, the share of the query (by rarity)
that its code covers, and being a function."""
_SECOND_LOOK = 60
_MOST_WORDS = 32
_COMMON = 0.2
"""A word that stands in so many of the pieces costs time and tells little; it is left out where three others are left."""
_FEW = 3
_STOP = frozenset(
    words_of(
        "a an and are as at be but by for from has have how if in into is it its no not of on or so such than that the their then"
        " there these they this to was we were what when where which will with"
    )
)


_FIRST_LOOK = """
SELECT words.rowid, f.id, f.repository, f.path, -bm25(words, ?1, ?2, ?3, ?4) AS score
FROM words JOIN texts AS t ON t.id = words.rowid / ?8 JOIN files AS f ON f.id = t.file
WHERE words MATCH ?5 AND (?6 IS NULL OR f.repository = ?6)
ORDER BY score DESC, f.repository, f.path, words.rowid LIMIT ?7
"""


class RankedPiece(NamedTuple):
    """A piece, with what it scored."""

    piece: int
    file: int
    repository: str
    path: str
    kind: str
    name: str
    line: int
    end: int
    score: float


def rank_pieces(cache: Cache, query: str, repository: str | None, limit: int) -> list[RankedPiece]:
    """The best pieces for a query in words; none of its characters is syntax."""
    rarity = rarity_of(cache, query)
    if not rarity:
        return []
    rows = _first_look(cache, list(rarity), repository, max(limit, _SECOND_LOOK))
    top = max((float(row[-1]) for row in rows), default=0.0) or 1.0
    whole = sum(rarity.values())
    found = [_ranked_piece(cache.piece(int(row[0])), row, (rarity, whole, top)) for row in rows]
    return sorted(found, key=lambda one: (-one.score, one.repository, one.path, one.line))[:limit]


def rarity_of(cache: Cache, query: str) -> dict[str, float]:
    """The telling words of a query, rarest first, with how rare each is among all pieces (0: in none)."""
    words = list(dict.fromkeys(words_of(query)))
    telling = [word for word in words if word not in _STOP] or words
    total = max(1, cache.count_of_pieces())
    counts = {word: count for word in telling[:1000] if (count := cache.pieces_with(word))}
    rarest = sorted(counts, key=counts.__getitem__)
    kept = [word for at, word in enumerate(rarest) if at < _FEW or counts[word] < _COMMON * total]
    return {word: math.log(1 + (total - counts[word] + 0.5) / (counts[word] + 0.5)) for word in kept[:_MOST_WORDS]}


def _first_look(cache: Cache, words: Sequence[str], repository: str | None, most: int) -> list[tuple[Any, ...]]:
    # A word is letters and digits alone, so quotes make it a word whatever it says.
    asked = " OR ".join(f'"{word}"' for word in words)
    return cache.rows(_FIRST_LOOK, (*WEIGHTS, asked, repository, most, CHUNK))


def _ranked_piece(piece: Piece, row: Sequence[Any], measures: tuple[Mapping[str, float], float, float]) -> RankedPiece:
    rarity, whole, top = measures
    score = round(_score_piece(piece, rarity, whole) + float(row[-1]) / top, 4)
    number, file, repository, path, _ = row
    return RankedPiece(number, file, repository, path, piece.kind, piece.name, piece.line, piece.end, score)


def _score_piece(piece: Piece, rarity: Mapping[str, float], whole: float) -> float:
    """What counts beside BM25."""
    names = {word for word in piece.names.split() if len(word) > 1}
    code = names | set(piece.body.split())
    named = sum(word in rarity for word in names) / len(names) if names else 0.0
    covered = sum(worth for word, worth in rarity.items() if word in code) / whole
    return NAMED * named + COVERED * covered + WHOLE * (piece.kind in ("function", "method"))
