"""Which symbols a query means that is a name."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

from phases.references.index.cache import Cache
from phases.references.parse.terms import folded

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


class Named(NamedTuple):
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


def named(cache: Cache, name: str, repository: str | None, limit: int) -> list[Named]:
    """Symbols of this name, then without regard to case; then, half of the list at most, those that are near to it.

    Near is a name that begins with it or holds it, and of `Encoder.forward` what else is called `forward`.
    """
    *within, last = _BREAK.split(name)
    plain = folded(last)
    same = cache.rows(_SAME, (plain, plain, repository, last))
    meant = same
    if within:
        asked = "." + ".".join(within).translate(_SMALL)
        meant = cache.rows(_INSIDE, (plain, asked, repository, last))
    best = sorted((_named(row, int(row[4] != last)) for row in meant), key=_order)[:limit]
    if len(plain) < 2 or len(best) >= limit:
        return best
    longer = cache.rows(_LONGER, (plain, plain + "\U0010ffff", repository, last))
    holding = cache.rows(_HOLDING, (plain, plain, repository, last))
    known = set(meant)
    elsewhere = [row for row in same if row not in known]
    rest = [_named(row, 2) for row in (*elsewhere, *longer)] + [_named(row, 3) for row in holding]
    return best + sorted(rest, key=_order)[: max(1, min(limit - len(best), limit // 2))]


def _named(row: tuple[Any, ...], tier: int) -> Named:
    file, repository, path, kind, name, line, end, signature, parent = row
    whole = f"{parent}.{name}" if parent else str(name)
    rest = (int(str(line)), int(str(end)), str(signature))
    return Named(tier, int(str(file)), str(repository), str(path), str(kind), whole, *rest)


def _order(one: Named) -> tuple[object, ...]:
    tests = "test" in one.path.lower()
    return one.tier, _FIRST.get(one.kind, 2), tests, len(one.name), len(one.path), one.path, one.line
