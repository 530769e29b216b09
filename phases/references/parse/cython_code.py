"""Symbols and imports of Cython, told line by line: the tolerant grammar for Python loses its way in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from phases.references.parse.model import Import, Symbol
from phases.references.parse.python_code import MOST_SYMBOLS, clean_docstring, is_constant, join_lines

_IS_CYTHON = re.compile(r"^[ \t]*(?:cdef|cpdef|ctypedef|cimport|from[ \t]+[\w.]+[ \t]+cimport)\b", re.MULTILINE)
_CLASS = re.compile(
    r"(?:cdef |public |readonly |api |packed |extern |ctypedef )*(?P<kind>class|struct|union|enum|cppclass)\s+(?P<name>\w+)"
)
_FUNCTION = re.compile(
    r"(?:async\s+)?(?:def|cpdef|cdef)\s+(?P<type>(?:\([^()]*\)|\[[^\]]*\]|[^()=:#\[\]])*?)(?P<name>\w+)\s*(?:\[[^\]]*\])?\s*\((?!\*)(?![^()]*\)\s*\w+\s*\()"
)
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)")
_FROM = re.compile(r"from\s+([.\w]+)\s+c?import\s+(.*)")
_IMPORT = re.compile(r"c?import\s+(.*)")
_QUOTES = re.compile(r"\s*[rRuUbBfF]{0,2}(\"\"\"|''')")
_TALLEST = 60
"""Lines of a signature."""
_WIDEST = 1_000
"""Characters of a line that are looked at."""


class _OpenDefinition(NamedTuple):
    """A definition whose end is not seen yet."""

    indent: int
    number: int
    kind: str
    name: str


def is_cython(text: str) -> bool:
    """Whether what Python does not take is Cython."""
    return bool(_IS_CYTHON.search(text))


def parse_cython(text: str) -> tuple[list[Symbol], list[Import]]:
    """What the lines of a Cython file define, by their indentation, and what it imports."""
    lines = text.split("\n")
    symbols: list[Symbol] = []
    imports: list[Import] = []
    within: list[_OpenDefinition] = []
    last, quote, line, depth = 0, "", 0, 0
    for line, written in enumerate(lines, 1):
        bare = written.strip()[:_WIDEST]
        if quote or not bare or bare.startswith("#"):
            quote, last = _quote_after(written, quote), line if bare and quote else last
            continue
        if depth > 0:
            depth, last = depth + _bracket_depth(bare), line
            continue
        indent = len(written) - len(written.lstrip())
        while within and within[-1].indent >= indent:
            _close_definition(symbols, within.pop(), last)
        found = _parse_definition(lines, line, bare, within)
        if found and len(symbols) < MOST_SYMBOLS:
            if found.kind not in ("variable", "constant"):
                within.append(_OpenDefinition(indent, len(symbols), found.kind, found.qualified_name))
            symbols.append(found)
        else:
            imports.extend(_parse_imports(bare, line))
        quote, depth, last = _quote_after(written, ""), max(0, _bracket_depth(bare)), line
    while within:
        _close_definition(symbols, within.pop(), last)
    return symbols, imports


def _close_definition(symbols: list[Symbol], opened: _OpenDefinition, last: int) -> None:
    symbol = symbols[opened.number]
    symbols[opened.number] = symbol._replace(end=max(symbol.line, last))


def _parse_definition(lines: Sequence[str], line: int, bare: str, within: Sequence[_OpenDefinition]) -> Symbol | None:
    parent, outer = (within[-1].name, within[-1].kind) if within else ("", "")
    if found := _CLASS.match(bare):
        kind, signature = found["kind"].removeprefix("cpp"), join_lines(bare.split("#")[0]).rstrip(":")
        return Symbol(found["name"], kind, line, line, parent, signature, _docstring_at(lines, line))
    if (found := _FUNCTION.match(bare)) and not found["type"].strip().endswith(","):
        kind = "method" if outer == "class" else "function"
        return Symbol(found["name"], kind, line, line, parent, _signature_at(lines, line), _docstring_at(lines, line))
    if (found := _VARIABLE.match(bare)) and outer not in ("function", "method"):
        return Symbol(found["name"], "constant" if is_constant(found["name"]) else "variable", line, line, parent)
    return None


def _head_end(lines: Sequence[str], line: int) -> int:
    """The last line of a signature: where its brackets are closed and a colon ends it."""
    depth = 0
    for at in range(line, min(len(lines), line + _TALLEST) + 1):
        bare = lines[at - 1].split("#")[0].rstrip()
        depth += _bracket_depth(bare)
        if depth <= 0:
            return at
    return line


def _signature_at(lines: Sequence[str], line: int) -> str:
    kept = (written.split("#")[0] for written in lines[line - 1 : _head_end(lines, line)])
    return join_lines("\n".join(kept)).rstrip(": ")


def _docstring_at(lines: Sequence[str], line: int) -> str:
    after = _head_end(lines, line)
    text = "\n".join(lines[after : after + _TALLEST]).lstrip("\n")
    if not (found := _QUOTES.match(text)):
        return ""
    return clean_docstring(text[found.end() :].partition(found[1])[0])


def _bracket_depth(bare: str) -> int:
    """How many brackets a line opens more than it closes; those in strings are few and mostly in pairs."""
    bare = bare.split("#", 1)[0]
    return sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}"))


def _quote_after(written: str, quote: str) -> str:
    """The triple quote that is open after a line."""
    at, written = 0, written[: _WIDEST * 10]
    while True:
        if quote:
            found = written.find(quote, at)
            if found < 0:
                return quote
            quote, at = "", found + 3
        else:
            places = [(found, mark) for mark in ('"""', "'''") if (found := written.find(mark, at)) >= 0]
            if not places:
                return ""
            found, quote = min(places)
            at = found + 3


def _parse_imports(bare: str, line: int) -> list[Import]:
    if found := _FROM.match(bare):
        names = (name.split(" as ")[0].strip() for name in found[2].split("#")[0].strip("() \\").split(","))
        return [Import(found[1], tuple(name for name in names if name), line)]
    if found := _IMPORT.match(bare):
        modules = found[1].split("#")[0].split(",")
        return [Import(name.split(" as ")[0].strip(), (), line) for name in modules if name.strip()]
    return []
