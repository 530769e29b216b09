"""Which symbols a query means that is a name."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from phases.reference.index.cache import Cache
from phases.reference.parse.terms import folded

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
ORDER BY length(s.name), s.kind IN ('variable', 'field'), length(f.path), f.path, s.line LIMIT 300
"""
_SAME = _ASKED + "WHERE s.folded = ?1 AND s.folded = ?2" + _LIMITED
_LONGER = _ASKED + "WHERE s.folded > ?1 AND s.folded < ?2" + _LIMITED
_HOLDING = _ASKED + "WHERE s.folded != ?1 AND instr(s.folded, ?2) > 1" + _LIMITED


class Named(NamedTuple):
    """A symbol whose name is like the one that was asked for; tier 0 is the very name, 3 a name that holds it."""

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


def named(cache: Cache, name: str, repository: str | None, limit: int) -> list[Named]:
    """Symbols of this name, then without regard to case; then, half of the list at most, those that begin with it or hold it."""
    *within, last = _BREAK.split(name)
    parent, plain = ".".join(within).lower(), folded(last)
    same = cache.rows(_SAME, (plain, plain, repository))
    if parent:
        inside = [row for row in same if _is_within(str(row[8]), str(row[2]), parent)]
        same = inside or same
    best = sorted((_named(row, int(row[4] != last)) for row in same), key=_order)[:limit]
    if len(plain) < 2 or len(best) >= limit:
        return best
    longer = cache.rows(_LONGER, (plain, plain + "\U0010ffff", repository))
    holding = cache.rows(_HOLDING, (plain, plain, repository))
    rest = [_named(row, 2) for row in longer] + [_named(row, 3) for row in holding]
    return best + sorted(rest, key=_order)[: max(1, min(limit - len(best), limit // 2))]


def _named(row: tuple[Any, ...], tier: int) -> Named:
    file, repository, path, kind, name, line, end, signature, parent = row
    whole = f"{parent}.{name}" if parent else str(name)
    rest = (int(str(line)), int(str(end)), str(signature))
    return Named(tier, int(str(file)), str(repository), str(path), str(kind), whole, *rest)


def _is_within(parent: str, path: str, asked: str) -> bool:
    """Whether a symbol's parent, or else its module, ends in what was asked for."""
    module = path.rpartition(".")[0].replace("/", ".").lower()
    return f".{module}.{parent.lower()}".rstrip(".").endswith("." + asked)


def _order(one: Named) -> tuple[object, ...]:
    tests = "test" in one.path.lower()
    return one.tier, _FIRST.get(one.kind, 2), tests, len(one.name), len(one.path), one.path, one.line
