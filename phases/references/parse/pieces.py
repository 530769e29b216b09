"""Where a file is cut for searching: a function is one piece, the rest of a class one, and text goes by headings or windows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from phases.references.parse.model import Piece, Symbol
from phases.references.parse.terms import words_of

WINDOW = 60
LONGEST_BODY = 100_000
"""Characters of a piece that are searched; the rest of a monster is left out."""
_WHOLE = frozenset(("function", "method", "macro"))
_REST = frozenset(("class", "struct", "union", "interface", "trait", "enum"))
_HEADING = re.compile(r"#{1,6} +\S")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_STRING_START = re.compile(r"[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')")
_COMMENT = re.compile(r"\s*(//|/\*|\*|#|--|%|\"\"\")")
_MARKS = " \t/*#-%!'\""
_INSIDE = frozenset(("python", "notebook"))
"""Languages that document a function within it."""
_TALLEST_HEAD = 40
"""Lines that a signature may take before its docstring."""


class _OwnPiece(NamedTuple):
    """A symbol whose lines are a piece of their own."""

    name: str
    symbol: Symbol


def pieces_of(language: str, text: str, symbols: Sequence[Symbol]) -> tuple[Piece, ...]:
    """The pieces of one file, by line. Each line of code is in one piece alone; a function's nested ones belong to it."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if language == "text":
        return tuple(_text_pieces(lines))
    owners = _own_pieces(symbols, len(lines))
    found = sorted(_code_pieces(lines, owners, symbols, language), key=lambda piece: (piece.line, -piece.end))
    return tuple(found)


def _own_pieces(symbols: Sequence[Symbol], lines: int) -> list[_OwnPiece]:
    """Outer before inner; a function in a function is none."""
    owners: list[_OwnPiece] = []
    closed = 0
    for symbol in sorted(symbols, key=lambda one: (one.line, -one.end, one.kind not in _REST)):
        if not 1 <= symbol.line <= symbol.end <= lines or symbol.line <= closed:
            continue
        if symbol.kind in _WHOLE:
            closed = symbol.end
        elif symbol.kind not in _REST:
            continue
        owners.append(_OwnPiece(symbol.qualified_name, symbol))
    return owners


def _code_pieces(
    lines: Sequence[str], owners: Sequence[_OwnPiece], symbols: Sequence[Symbol], language: str
) -> Iterator[Piece]:
    documented = _documentation_lines(lines, owners, language)
    rest: list[list[str]] = [[] for _ in range(len(owners) + 1)]
    for at, number in enumerate(_owner_of_lines(owners, len(lines))):
        if at not in documented:
            rest[number].append(lines[at])
    fields = _field_names(symbols)
    for number, (name, symbol) in enumerate(owners, 1):
        names = f"{name} {' '.join(fields.get(name, ()))}" if symbol.kind in _REST else name
        body = "\n".join(rest[number])[:LONGEST_BODY]
        yield Piece(
            symbol.kind, name, symbol.line, symbol.end, _join_words(names), _join_words(symbol.doc), _join_words(body)
        )
    body = "\n".join(rest[0])[:LONGEST_BODY]
    if body.strip():
        yield Piece("module", "", 1, len(lines), "", "", _join_words(body))


def _owner_of_lines(owners: Sequence[_OwnPiece], lines: int) -> Iterator[int]:
    """For each line the number of the innermost owner that it is in, from 1; 0 is the module."""
    within: list[int] = []
    coming = 0
    for line in range(1, lines + 1):
        while within and owners[within[-1] - 1].symbol.end < line:
            within.pop()
        while coming < len(owners) and owners[coming].symbol.line <= line:
            coming += 1
            within.append(coming)
        yield within[-1] if within else 0


def _documentation_lines(lines: Sequence[str], owners: Sequence[_OwnPiece], language: str) -> set[int]:
    """The lines (from 0) that document: they are searched as that, and not once more as a body."""
    found: set[int] = set()
    for _, symbol in owners:
        if not symbol.doc:
            continue
        if language in _INSIDE:
            found.update(_docstring_lines(lines, symbol))
        above = symbol.line - 2
        lowest = max(0, above - symbol.doc.count("\n") - 3)
        while above >= lowest and _COMMENT.match(lines[above]) and lines[above].strip(_MARKS) in symbol.doc:
            found.add(above)
            above -= 1
    return found


def _docstring_lines(lines: Sequence[str], symbol: Symbol) -> range:
    """Where a Python docstring stands: its first words follow a quote near the top of the body."""
    first = symbol.doc.lstrip()[:12].split("\n")[0]
    for at in range(symbol.line - 1, min(symbol.end, symbol.line + _TALLEST_HEAD)):
        found = _STRING_START.match(lines[at].lstrip())
        if not found:
            continue
        quote, after = found[1], lines[at].lstrip()[found.end() :]
        if first not in (after if after.strip() or at + 1 == len(lines) else lines[at + 1]):
            continue
        if quote in after:
            return range(at, at + 1)
        return range(at, next((last for last in range(at + 1, symbol.end) if quote in lines[last]), at) + 1)
    return range(0)


def _field_names(symbols: Sequence[Symbol]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for symbol in symbols:
        if symbol.parent and symbol.kind not in _WHOLE and len(row := fields.setdefault(symbol.parent, [])) < 200:
            row.append(symbol.name)
    return fields


def _text_pieces(lines: Sequence[str]) -> Iterator[Piece]:
    start, heading, fenced = 0, "", False
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        is_heading = not fenced and bool(_HEADING.match(line))
        if at > start and (is_heading or at - start >= WINDOW):
            yield from _text_window(lines, start, at, heading)
            start = at
        if is_heading:
            heading = line.lstrip("# ").strip()[:200]
    if start < len(lines):
        yield from _text_window(lines, start, len(lines), heading)


def _text_window(lines: Sequence[str], start: int, end: int, heading: str) -> Iterator[Piece]:
    body = "\n".join(lines[start:end])[:LONGEST_BODY]
    if body.strip():
        yield Piece("text", "", start + 1, end, _join_words(heading), "", _join_words(body))


def _join_words(text: str) -> str:
    return " ".join(words_of(text))
