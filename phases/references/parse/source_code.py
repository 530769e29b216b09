"""What one file of code holds, whatever its language; never raises for what is in it."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from phases.references.parse.grammar_code import EXTRA, NoParser, parse_with_grammar
from phases.references.parse.grammars import GRAMMARS
from phases.references.parse.model import Import, Parsed, Symbol
from phases.references.parse.pieces import pieces_of
from phases.references.parse.python_code import MOST_SYMBOLS, NotPython, parse_python

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_CHARSETS = re.compile(
    rb"(?:utf|iso|latin|l1|ascii|cp|windows|koi8|mac|euc|shift|sjis|big5|gb|hz)[-_\w.]*", re.IGNORECASE
)
"""Codecs that are no character sets, or slow ones, are not asked: a coding line may name them."""
_MOST_IMPORTS = 5_000


def parse_code(language: str, data: bytes) -> Parsed:
    """The symbols, imports and pieces of a file in a language that languages.language_of names."""
    text, language, fault = text_of(language, data)
    symbols: list[Symbol] = []
    imports: list[Import] = []
    try:
        symbols, imports, found = _parse_symbols(language, text)
        fault = fault or found
    except (RecursionError, MemoryError):
        fault = "it is nested too deeply"
    symbols = symbols[:MOST_SYMBOLS]
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    symbols = [symbol._replace(end=min(symbol.end, lines)) for symbol in symbols if symbol.line <= lines]
    return Parsed(lines, tuple(symbols), tuple(imports[:_MOST_IMPORTS]), pieces_of(language, text, symbols), fault)


def text_of(language: str, data: bytes) -> tuple[str, str, str]:
    """The text that lines are counted in, the language of that text, and a fault; a notebook gives its joined code cells."""
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


def _parse_symbols(language: str, text: str) -> tuple[list[Symbol], list[Import], str]:
    if language == "python":
        return _parse_python(text)
    if language not in GRAMMARS:
        return [], [], ""
    try:
        return parse_with_grammar(language, text)
    except NoParser as error:
        return [], [], str(error)


def _parse_python(text: str) -> tuple[list[Symbol], list[Import], str]:
    try:
        return (*parse_python(text), "")
    except NotPython as error:
        why = str(error)[:200]
    try:
        symbols, imports, _ = parse_with_grammar("python", text)
    except NoParser:
        return [], [], f"it is not valid Python ({why}), and there is no parser for damaged or old Python: {EXTRA}"
    return symbols, imports, f"it is not valid Python ({why}): what a tolerant parser found"


_MAGIC = re.compile(r"[%!?].*|[\w.\[\]'\" ,]*=[ \t]*[%!]\S.*|[\w.]+\?{1,2}")
"""Of a line without the blanks around it: beside them, a pattern that takes blanks too would try every way to share them."""
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_MAGICS = frozenset(("time", "timeit", "capture", "prun", "memit"))
_LANGUAGES = {"python": "python", "python3": "python", "ipython": "python", "r": "r", "ir": "r", "julia": "julia"}


class NotebookSource(NamedTuple):
    """What a notebook holds."""

    language: str
    text: str
    """The code cells joined, an empty line between two: lines are counted over this text, not over the JSON."""
    fault: str = ""


def notebook_source(data: bytes) -> NotebookSource:
    """The code of a notebook of format 3 or 4; lines of magic (`%matplotlib`, `!pip`) are blanked, the rest keeps its lines."""
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        return NotebookSource("python", "", f"the notebook is not JSON: {str(error)[:200]}")
    if not isinstance(notebook, dict):
        return NotebookSource("python", "", "the notebook is no JSON object")
    cells = list(_code_cells(notebook))
    language = _notebook_language(notebook)
    if not cells and not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        return NotebookSource(language, "", "the notebook has no list of cells")
    return NotebookSource(language, "\n\n".join(_blank_magic(cell) if language == "python" else cell for cell in cells))


def _code_cells(notebook: dict[str, Any]) -> Iterator[str]:
    """The sources of the code cells, in their order."""
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
    found = _CELL_MAGIC.match(cell)
    if found and found[1] not in _PYTHON_MAGICS:
        return "\n" * cell.count("\n")
    return "\n".join("" if _MAGIC.fullmatch(line.strip(" \t")) else line for line in cell.split("\n"))


def _notebook_language(notebook: dict[str, Any]) -> str:
    about = notebook.get("metadata")
    about = about if isinstance(about, dict) else {}
    kernel, language = about.get("kernelspec"), about.get("language_info")
    kernel = kernel if isinstance(kernel, dict) else {}
    language = language if isinstance(language, dict) else {}
    for said in (language.get("name"), kernel.get("language"), kernel.get("name")):
        if isinstance(said, str) and (known := _LANGUAGES.get(re.split(r"[-\d]", said.lower())[0])):
            return known
    return "python"
