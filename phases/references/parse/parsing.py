"""What one file of code holds, whatever its language; never raises for what is in it."""

from __future__ import annotations

import codecs
import re

from phases.references.parse.cython_code import cython_code, is_cython
from phases.references.parse.grammar_code import EXTRA, NoParser, grammar_code
from phases.references.parse.grammar_tables import GRAMMARS
from phases.references.parse.notebooks import notebook_source
from phases.references.parse.parsed import Import, Parsed, Symbol
from phases.references.parse.pieces import pieces_of
from phases.references.parse.python_code import MOST_SYMBOLS, NotPython, python_code
from phases.references.parse.r_code import r_code

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
        symbols, imports, found = _symbols(language, text)
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
        return _decoded(data), language, ""
    source = notebook_source(data.removeprefix(codecs.BOM_UTF8))
    return source.text, source.language, source.fault


def _decoded(data: bytes) -> str:
    """As UTF-8, as its mark or its coding line says, else as Latin-1; every end of line a newline."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        text = _decoded_bytes(data.removeprefix(codecs.BOM_UTF8))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _decoded_bytes(data: bytes) -> str:
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


def _symbols(language: str, text: str) -> tuple[list[Symbol], list[Import], str]:
    if language == "python":
        return _python(text)
    if language == "r":
        return (*r_code(text), "")
    if language not in GRAMMARS:
        return [], [], ""
    try:
        return grammar_code(language, text)
    except NoParser as error:
        return [], [], str(error)


def _python(text: str) -> tuple[list[Symbol], list[Import], str]:
    try:
        return (*python_code(text), "")
    except NotPython as error:
        why = str(error)[:200]
    if is_cython(text):
        return (*cython_code(text), "it is Cython, whose symbols are told line by line")
    try:
        symbols, imports, _ = grammar_code("python", text)
    except NoParser:
        return [], [], f"it is not valid Python ({why}), and there is no parser for damaged or old Python: {EXTRA}"
    return symbols, imports, f"it is not valid Python ({why}): what a tolerant parser found"
