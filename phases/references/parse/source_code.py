"""Parse one file of any language into symbols and pieces; its content never raises."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from phases.references.parse.grammar_code import EXTRA, NoParser, parse_with_grammar
from phases.references.parse.grammars import GRAMMARS
from phases.references.parse.model import Parsed, Piece, Symbol
from phases.references.parse.python_code import MOST_SYMBOLS, NotPython, parse_python
from phases.references.parse.terms import words_of

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_CHARSETS = re.compile(
    rb"(?:utf|iso|latin|l1|ascii|cp|windows|koi8|mac|euc|shift|sjis|big5|gb|hz)[-_\w.]*", re.IGNORECASE
)
"""Names of character sets; a coding line may name other codecs, and slow ones."""


def parse_code(language: str, data: bytes) -> Parsed:
    """Return the symbols and pieces of a file in a language of `language_of`."""
    text, language, fault = text_of(language, data)
    symbols: list[Symbol] = []
    try:
        symbols, syntax_fault = _parse_symbols(language, text)
        fault = fault or syntax_fault
    except (RecursionError, MemoryError):
        fault = "it is nested too deeply"
    symbols = symbols[:MOST_SYMBOLS]
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    symbols = [symbol._replace(end=min(symbol.end, lines)) for symbol in symbols if symbol.line <= lines]
    return Parsed(lines, tuple(symbols), pieces_of(language, text, symbols), fault)


def text_of(language: str, data: bytes) -> tuple[str, str, str]:
    """Return the text in which lines are counted, its language and a fault; for a notebook, its joined code cells."""
    if language != "notebook":
        return _decode_text(data), language, ""
    source = notebook_source(data.removeprefix(codecs.BOM_UTF8))
    return source.text, source.language, source.fault


def _decode_text(data: bytes) -> str:
    """As UTF-8, as its mark or its coding line says, else as Latin-1; every end of line a newline."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        text = _decode_bytes(data.removeprefix(codecs.BOM_UTF8))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _decode_bytes(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    for line in data.split(b"\n", 2)[:2]:
        if (cookie := _COOKIE.match(line)) and _CHARSETS.fullmatch(cookie[1]):
            try:
                return data.decode(cookie[1].decode("ascii"))
            except (LookupError, UnicodeError):
                break
    return data.decode("latin-1")


def _parse_symbols(language: str, text: str) -> tuple[list[Symbol], str]:
    if language == "python":
        return _parse_python(text)
    if language not in GRAMMARS:
        return [], ""
    try:
        return parse_with_grammar(language, text)
    except NoParser as error:
        return [], str(error)


def _parse_python(text: str) -> tuple[list[Symbol], str]:
    try:
        return parse_python(text), ""
    except NotPython as error:
        why = str(error)[:200]
    try:
        symbols, _ = parse_with_grammar("python", text)
    except NoParser:
        return [], f"it is not valid Python ({why}), and there is no parser for damaged or old Python: {EXTRA}"
    return symbols, f"it is not valid Python ({why}): what a tolerant parser found"


_MAGIC = re.compile(r"[%!?].*|[\w.\[\]'\" ,]*=[ \t]*[%!]\S.*|[\w.]+\?{1,2}")
"""Matches a stripped line: a pattern that also matched blanks would try every way to share them."""
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_MAGICS = frozenset(("time", "timeit", "capture", "prun", "memit"))
_LANGUAGES = {"python": "python", "python3": "python", "ipython": "python", "r": "r", "ir": "r", "julia": "julia"}


class NotebookSource(NamedTuple):
    """Code of a notebook."""

    language: str
    text: str
    """The code cells joined, an empty line between two: lines are counted over this text, not over the JSON."""
    fault: str = ""


def notebook_source(data: bytes) -> NotebookSource:
    """Return the code of a notebook of format 3 or 4, with magic lines (`%matplotlib`, `!pip`) blanked."""
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        return NotebookSource("python", "", f"the notebook is not JSON: {str(error)[:200]}")
    if not isinstance(notebook, dict):
        return NotebookSource("python", "", "the notebook is not a JSON object")
    cells = list(_code_cells(notebook))
    language = _notebook_language(notebook)
    if not cells and not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        return NotebookSource(language, "", "the notebook has no list of cells")
    return NotebookSource(language, "\n\n".join(_blank_magic(cell) if language == "python" else cell for cell in cells))


def _code_cells(notebook: dict[str, Any]) -> Iterator[str]:
    """Yield the sources of the code cells, in their order."""
    sheets = notebook.get("worksheets") if "cells" not in notebook else [notebook]
    for sheet in sheets if isinstance(sheets, list) else []:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        for cell in cells if isinstance(cells, list) else []:
            if isinstance(cell, dict) and cell.get("cell_type") == "code":
                source = cell.get("source", cell.get("input", ""))
                parts = source if isinstance(source, list) else [source]
                text = "".join(part for part in parts if isinstance(part, str))
                # A surrogate that JSON smuggled in cannot be encoded again.
                yield text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def _blank_magic(cell: str) -> str:
    match = _CELL_MAGIC.match(cell)
    if match and match[1] not in _PYTHON_MAGICS:
        return "\n" * cell.count("\n")
    return "\n".join("" if _MAGIC.fullmatch(line.strip(" \t")) else line for line in cell.split("\n"))


def _notebook_language(notebook: dict[str, Any]) -> str:
    about = notebook.get("metadata")
    about = about if isinstance(about, dict) else {}
    kernel, language = about.get("kernelspec"), about.get("language_info")
    kernel = kernel if isinstance(kernel, dict) else {}
    language = language if isinstance(language, dict) else {}
    for declared in (language.get("name"), kernel.get("language"), kernel.get("name")):
        if isinstance(declared, str) and (known := _LANGUAGES.get(re.split(r"[-\d]", declared.lower())[0])):
            return known
    return "python"


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
"""Maximum lines of a signature before its docstring."""


class _OwnPiece(NamedTuple):
    """A symbol whose lines are a piece of their own."""

    name: str
    symbol: Symbol


def pieces_of(language: str, text: str, symbols: Sequence[Symbol]) -> tuple[Piece, ...]:
    """Split a file into pieces, by line. Each line of code is in one piece; nested functions belong to the outer one."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if language == "text":
        return tuple(_text_pieces(lines))
    owners = _own_pieces(symbols, len(lines))
    pieces = sorted(_code_pieces(lines, owners, symbols, language), key=lambda piece: (piece.line, -piece.end))
    return tuple(pieces)


def _own_pieces(symbols: Sequence[Symbol], lines: int) -> list[_OwnPiece]:
    """Outer before inner; a function in a function is none."""
    owners: list[_OwnPiece] = []
    closed = 0
    for symbol in sorted(symbols, key=lambda candidate: (candidate.line, -candidate.end, candidate.kind not in _REST)):
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
    """Return the lines (from 0) of documentation, which are not searched a second time as code."""
    documented: set[int] = set()
    for _, symbol in owners:
        if not symbol.doc:
            continue
        if language in _INSIDE:
            documented.update(_docstring_lines(lines, symbol))
        above = symbol.line - 2
        lowest = max(0, above - symbol.doc.count("\n") - 3)
        while above >= lowest and _COMMENT.match(lines[above]) and lines[above].strip(_MARKS) in symbol.doc:
            documented.add(above)
            above -= 1
    return documented


def _docstring_lines(lines: Sequence[str], symbol: Symbol) -> range:
    """Return the lines of a Python docstring: its first words follow a quote near the top of the body."""
    first = symbol.doc.lstrip()[:12].split("\n")[0]
    for at in range(symbol.line - 1, min(symbol.end, symbol.line + _TALLEST_HEAD)):
        match = _STRING_START.match(lines[at].lstrip())
        if not match:
            continue
        quote, after = match[1], lines[at].lstrip()[match.end() :]
        if first not in (after if after.strip() or at + 1 == len(lines) else lines[at + 1]):
            continue
        if quote in after:
            return range(at, at + 1)
        return range(at, next((last for last in range(at + 1, symbol.end) if quote in lines[last]), at) + 1)
    return range(0)


def _field_names(symbols: Sequence[Symbol]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for symbol in symbols:
        if symbol.parent and symbol.kind not in _WHOLE and len(names := fields.setdefault(symbol.parent, [])) < 200:
            names.append(symbol.name)
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
