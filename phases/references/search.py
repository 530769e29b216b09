"""Search the fetched code: by name if the query is one, otherwise by words, ranked with BM25 and then by coverage."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

from phases.references.index.build import with_cache_for_reading
from phases.references.index.cache import CHUNK, Cache
from phases.references.index.sources import FetchedRepository
from phases.references.parse.file_kinds import BINARY, HEAD, language_of, why_left_out
from phases.references.parse.model import Piece
from phases.references.parse.source_code import text_of
from phases.references.parse.terms import fold_name, words_of
from pipeline.base.errors import PipelineError
from pipeline.base.workers import UNCONFINED, WorkerStart

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
    score: float
    """Falls along the list; of use only within it."""
    signature: str = ""
    excerpt: str = ""


class FileHit(NamedTuple):
    """A hit, with the numbers that the cache gives its file and, where words found it, its piece."""

    file: int
    hit: Hit
    piece: int = 0


def search_code(
    into: str,
    query: str,
    *,
    repository: str | None = None,
    limit: int = 10,
    code_base: str | None = None,
    cache_directory: str = "",
    start: WorkerStart = UNCONFINED,
) -> list[Hit]:
    """Return the best places for a query, best first. `code_base` is next to `into` by default."""
    query, limit = query[:LONGEST_QUERY], max(0, min(limit, MOST_HITS))
    fetched = code_base if code_base is not None else code_base_of(into)
    if not query.strip() or not limit:
        return []
    hits = with_cache_for_reading(
        into, fetched, lambda cache: _find_hits(cache, query, repository, limit), cache_directory, start
    )
    folders = {hit.repository: FetchedRepository(fetched, hit.repository) for hit, _, _ in hits}
    words = set(words_of(query))
    return [
        _add_excerpt(hit, folders[hit.repository].read(hit.path, digest), language, words)
        for hit, digest, language in hits
    ]


def code_base_of(into: str) -> str:
    """Return the directory of the code that an indexes directory describes."""
    return os.path.join(os.path.dirname(os.path.abspath(into)), "code_base")


def _find_hits(cache: Cache, query: str, repository: str | None, limit: int) -> list[tuple[Hit, str, str]]:
    """Return hits without excerpt, each with its file's digest and language."""
    name = name_asked(query)
    hits = find_symbols(cache, name, repository, limit) if name else []
    places = {(ranked.file, ranked.hit.line) for ranked in hits}
    for ranked in rank_pieces(cache, query, repository, limit) if len(hits) < limit else []:
        if (ranked.file, ranked.hit.line) not in places:
            signature = cache.signature(ranked.file, ranked.hit.line, ranked.hit.kind)
            hits.append(ranked._replace(hit=ranked.hit._replace(signature=signature)))
    return [(ranked.hit, *cache.content(ranked.file)) for ranked in hits[:limit]]


def _add_excerpt(hit: Hit, data: bytes | None, language: str, words: set[str]) -> Hit:
    """Return the hit with its excerpt; for text and module code, from the line with most of the words."""
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
"""SQL for a path up to and including its last dot."""
_WHOLE = f"rtrim('.' || lower(replace({_STEM}, '/', '.')) || lower(s.parent), '.')"
"""SQL for the qualified scope of a symbol with its module: `.net.model.encoder`."""
_SAME = _ASKED + "WHERE s.folded = ?1 AND s.folded = ?2" + _LIMITED
_INSIDE = _ASKED + f"WHERE s.folded = ?1 AND substr({_WHOLE}, -length(?2)) = ?2" + _LIMITED
_LONGER = _ASKED + "WHERE s.folded > ?1 AND s.folded < ?2" + _LIMITED
_HOLDING = _ASKED + "WHERE s.folded != ?1 AND instr(s.folded, ?2) > 1" + _LIMITED
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
"""The letters that SQL folds."""


def name_asked(query: str) -> str | None:
    """Return the name that a query consists of (`Encoder.forward`, `net::Layer`, `get_loss()`); None for other queries."""
    query = query.strip()
    return query.removesuffix("()") if len(query) <= 200 and _NAME.fullmatch(query) else None


def find_symbols(cache: Cache, name: str, repository: str | None, limit: int) -> list[FileHit]:
    """Return symbols with this name, then other spellings, then similar names for at most half of the list.

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


def _named_symbol(row: tuple[Any, ...], tier: int) -> FileHit:
    """Return a hit. Tier 0: the exact name; 1: another spelling; 2: another scope, or a prefix; 3: a name that contains it.

    All score higher than hits by words, which score at most 2.25.
    """
    file, repository, path, kind, name, line, end, signature, parent = row
    whole = f"{parent}.{name}" if parent else name
    return FileHit(file, Hit(repository, path, line, end, kind, whole, 10.0 - 2 * tier, signature))


def _symbol_order(one: FileHit) -> tuple[object, ...]:
    hit = one.hit
    return (
        -hit.score,
        _FIRST.get(hit.kind, 2),
        "test" in hit.path.lower(),
        len(hit.name),
        len(hit.path),
        hit.path,
        hit.line,
    )


WEIGHTS = (5.0, 0.5, 1.0, 1.0)
"""BM25 weights of names, documentation, body and path. Documentation is long, and counts less."""
NAMED, COVERED, WHOLE = 0.6, 0.4, 0.25
"""Weights next to BM25, whose best piece has 1: the share of the name in the query, the share of the query (by rarity) in the
code, and being a function.
"""
_SECOND_LOOK = 60
_MOST_WORDS = 32
_COMMON = 0.2
"""A word in more than this share of the pieces is dropped if three others remain: it costs time and says little."""
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


def rank_pieces(cache: Cache, query: str, repository: str | None, limit: int) -> list[FileHit]:
    """Return the best pieces for a query in words; it has no syntax."""
    rarity = rarity_of(cache, query)
    if not rarity:
        return []
    # BM25 alone does not see what a piece is called: the best by it are looked at a second time (decision 109)
    rows = _first_look(cache, list(rarity), repository, max(limit, _SECOND_LOOK))
    top = max((float(row[-1]) for row in rows), default=0.0) or 1.0
    whole = sum(rarity.values())
    ranked = [_ranked_piece(cache.piece(int(row[0])), row, (rarity, whole, top)) for row in rows]
    return sorted(ranked, key=lambda one: (-one.hit.score, one.hit.repository, one.hit.path, one.hit.line))[:limit]


def rarity_of(cache: Cache, query: str) -> dict[str, float]:
    """Return the rare words of a query, rarest first, each with its rarity among all pieces (0: in none)."""
    words = list(dict.fromkeys(words_of(query)))
    telling = [word for word in words if word not in _STOP] or words
    total = max(1, cache.count_of_pieces())
    counts = {word: count for word in telling[:1000] if (count := cache.pieces_with(word))}
    rarest = sorted(counts, key=counts.__getitem__)
    selected = [word for at, word in enumerate(rarest) if at < _FEW or counts[word] < _COMMON * total]
    return {word: math.log(1 + (total - counts[word] + 0.5) / (counts[word] + 0.5)) for word in selected[:_MOST_WORDS]}


def _first_look(cache: Cache, words: Sequence[str], repository: str | None, most: int) -> list[tuple[Any, ...]]:
    # A word is letters and digits alone, so quotes make it a word whatever it says.
    asked = " OR ".join(f'"{word}"' for word in words)
    return cache.rows(_FIRST_LOOK, (*WEIGHTS, asked, repository, most, CHUNK))


def _ranked_piece(piece: Piece, row: Sequence[Any], measures: tuple[Mapping[str, float], float, float]) -> FileHit:
    rarity, whole, top = measures
    score = round(_score_piece(piece, rarity, whole) + float(row[-1]) / top, 4)
    number, file, repository, path, _ = row
    return FileHit(file, Hit(repository, path, piece.line, piece.end, piece.kind, piece.name, score), number)


def _score_piece(piece: Piece, rarity: Mapping[str, float], whole: float) -> float:
    """Return the part of the score that does not come from BM25."""
    names = {word for word in piece.names.split() if len(word) > 1}
    code = names | set(piece.body.split())
    named = sum(word in rarity for word in names) / len(names) if names else 0.0
    covered = sum(worth for word, worth in rarity.items() if word in code) / whole
    return NAMED * named + COVERED * covered + WHOLE * (piece.kind in ("function", "method"))


LONGEST = 60
"""Maximum lines of an excerpt; the rest is read with another request."""


class SearchHit(NamedTuple):
    """Lines of a fetched file with their source and licence."""

    repository: str
    file: str
    commit: str | None
    licence: str | None
    line: int
    end: int
    kind: str
    name: str
    text: str


def answer_query(
    root: str,
    index: Mapping[str, Any],
    query: str,
    repository: str,
    most: int,
    cache_directory: str = "",
    start: WorkerStart = UNCONFINED,
) -> list[SearchHit]:
    """Return the best answers first. `root` is the task's directory, `index` its indexes/index.json. Raises PipelineError."""
    _refuse_unknown(index, repository)
    into = os.path.join(root, "indexes")
    there = with_cache_for_reading(into, code_base_of(into), Cache.repositories, cache_directory, start)
    _refuse_incomplete(index, repository, there)
    hits = search_code(
        into, query, repository=repository or None, limit=most, cache_directory=cache_directory, start=start
    )
    answers = []
    why: NotShown | None = None
    for hit in hits:
        try:
            stretch = (hit.line, min(hit.end - hit.line + 1, LONGEST))
            answers.append(_build_answer(root, index, (hit.repository, hit.path), stretch, (hit.kind, hit.name)))
        except NotShown as error:
            why = error  # it was changed or taken away since it was indexed; the others are there
    if why and not answers:
        raise NotShown(f"what matches cannot be shown: {why}") from why
    return answers


def read_on(root: str, index: Mapping[str, Any], repository: str, path: str, line: int, most: int) -> SearchHit:
    """Return lines of a fetched file. Raises PipelineError if there are none."""
    _refuse_unknown(index, repository)
    return _build_answer(root, index, (repository, path), (line, most), ("text", ""))


# The agent sees other people's code through these answers alone, so that all it saw can be named (decision 105).
def _build_answer(
    root: str, index: Mapping[str, Any], file: tuple[str, str], stretch: tuple[int, int], what: tuple[str, str]
) -> SearchHit:
    shown = read_lines(os.path.join(root, "code_base"), *file, *stretch)
    row = next((row for row in index["repositories"] if row["name"] == file[0]), {"commit": None, "licence": None})
    return SearchHit(*file, row["commit"], row["licence"], shown.line, shown.end, *what, shown.text)


def _refuse_unknown(index: Mapping[str, Any], repository: str) -> None:
    names = [row["name"] for row in index["repositories"]]
    if repository and repository not in names:
        raise NotShown(f"there is no repository {repository[:100]!r}; there are: {', '.join(names)}")


def _refuse_incomplete(index: Mapping[str, Any], repository: str, there: Sequence[str]) -> None:
    """Nothing found is an answer only where everything was looked at."""
    asked = [row for row in index["repositories"] if not repository or row["name"] == repository]
    lost = [row["name"] for row in asked if row.get("files") and row["name"] not in there]
    if lost:
        raise NotShown(f"the index of {', '.join(lost)} is gone or damaged; rebuild it with: pipeline resume")


LARGEST_SHOWN = 2 * 2**20
"""Bytes of text. A notebook may be larger: outputs and pictures are not text."""
LONGEST_LINE, LONGEST_TEXT = 500, 20_000
"""Maximum characters of a line and of a text: prose may be a page per line, and model input costs money."""


class NotShown(PipelineError):
    """A file that cannot be shown, with the reason."""


class Stretch(NamedTuple):
    """Lines of a file, counted over the text that was parsed: of a notebook its code cells joined, every line end a newline."""

    line: int
    end: int
    text: str


def read_lines(code_base: str, repository: str, path: str, line: int, most: int) -> Stretch:
    """At most `most` lines from `line` on. Raises NotShown.

    Only what the repository's manifest lists is opened, so no path leads elsewhere.
    """
    folder = _open_repository(code_base, repository)
    _, manifest = folder.manifest()
    row: dict[str, Any] | None = next((row for row in manifest["files"] if row["path"] == path), None)
    if row is None:
        raise NotShown(f"there is no file {path[:200]!r} in {repository}")
    if row["bytes"] > LARGEST_SHOWN and not path.endswith(".ipynb"):
        raise NotShown(f"{path} has {row['bytes']:,} bytes, and nothing of files over {LARGEST_SHOWN:,} is shown")
    data = folder.read(path, row["sha256"])
    if data is None:
        raise NotShown(
            f"{path} in {repository} was changed or taken away since it was fetched, or is too large; it is not shown"
        )
    lines = _indexed_text(path, data).removesuffix("\n").split("\n")
    if line > len(lines):
        raise NotShown(f"{path} has {len(lines):,} lines")
    shown = _limit_lines(lines[line - 1 : line - 1 + most])
    return Stretch(line, line + len(shown) - 1, "\n".join(shown))


def _limit_lines(lines: Sequence[str]) -> list[str]:
    """Return the first lines that fit, at least one."""
    shown: list[str] = []
    room = LONGEST_TEXT
    for line in lines:
        more = len(line) - LONGEST_LINE
        row = f"{line[:LONGEST_LINE]} … ({more:,} more characters)" if more > 0 else line
        room -= len(row) + 1
        if shown and room < 0:
            break
        shown.append(row)
    return shown


def _indexed_text(path: str, data: bytes) -> str:
    """Return the text in which the index counts lines."""
    language = language_of(path, data[:HEAD])
    if language is None or why_left_out(path, len(data), data[:HEAD]) == BINARY:
        raise NotShown(f"{path} is not text")
    text = text_of(language, data)[0]
    if len(text) > LARGEST_SHOWN:
        raise NotShown(f"{path} has {len(text):,} characters of text, and nothing over {LARGEST_SHOWN:,} is shown")
    return text


def _open_repository(code_base: str, repository: str) -> FetchedRepository:
    plain = os.path.basename(repository) == repository and not repository.startswith(".")
    if not plain or not os.path.exists(os.path.join(code_base, f"{repository}.json")):
        raise NotShown(f"there is no repository {repository[:100]!r}")
    return FetchedRepository(code_base, repository)
