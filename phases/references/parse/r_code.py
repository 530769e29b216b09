"""Symbols and imports of R, told by a scanner of our own: no wheel has a grammar for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from phases.references.parse.comments import comment_above
from phases.references.parse.model import Import, Symbol
from phases.references.parse.python_code import MOST_SYMBOLS, is_constant, join_lines

_TOKEN = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|[rR](?P<quote>[\"'])(?P<dashes>-{0,8})(?>\(.*?(?:\)(?P=dashes)(?P=quote)|\Z))"
    r"|(?P<string>\"(?:\\.|[^\"\\])*+(?:\"|\\?\Z)|'(?:\\.|[^'\\])*+(?:'|\\?\Z))"
    r"|(?P<tick>`[^`\n]*`)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|(?P<newline>\n)|(?P<arrow><<-|<-|=(?!=))|(?P<comma>[,;])"
    r"|(?P<name>[^\W\d][\w.]*|\.[\w.]+)|(?P<lambda>\\(?=\())|(?P<number>\d[\w.]*)|(?P<other>[^\s\w])",
    re.DOTALL,
)
"""A string that nobody closes goes on to the end: were its start passed over, the next would look through all the rest again."""
_IMPORTS = frozenset(("library", "require", "requireNamespace", "loadNamespace", "source", "sys.source", "p_load"))
_CLASSES = frozenset(("setClass", "setRefClass", "R6Class", "setClassUnion", "proto"))
_GENERICS = frozenset(("setGeneric", "setMethod", "setReplaceMethod"))
_IN_CLASS = "class"
_LONGEST_WALK = 200
"""Tokens outside of brackets that an expression may have."""


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    start: int


class _TokenScan(NamedTuple):
    tokens: Sequence[_Token]
    lines: Sequence[str]
    text: str
    ends: dict[int, int]
    """For each token that opens a bracket the one that closes it."""


def parse_r(text: str) -> tuple[list[Symbol], list[Import]]:
    """All that the text defines at its top, in its classes, or as a function anywhere; what it attaches and sources."""
    tokens = list(_tokenize(text))
    scan = _TokenScan(tokens, text.split("\n"), text, _match_brackets(tokens))
    symbols: list[Symbol] = []
    imports: list[Import] = []
    within: list[tuple[int, str, str]] = []
    for at, token in enumerate(tokens):
        while within and within[-1][0] < at:
            within.pop()
        if token.kind == "arrow" and at:
            found = _parse_binding(scan, at, within)
        elif token.kind == "name" and token.text in _GENERICS | _CLASSES:
            found = _parse_registration(scan, at, within)
        else:
            if token.kind == "name" and token.text in _IMPORTS:
                imports.extend(_r_imports(scan, at))
            continue
        if found and len(symbols) < MOST_SYMBOLS:
            symbol, last = found
            if symbol not in symbols[-3:]:
                symbols.append(symbol)
            within.append((last, symbol.kind, symbol.qualified_name))
    return symbols, imports


def _tokenize(text: str) -> Iterator[_Token]:
    line = 1
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or "string"
        kind = "string" if kind in ("quote", "dashes") else kind
        if kind != "comment":
            yield _Token(kind, found[0], line, found.start())
        line += found[0].count("\n")


def _match_brackets(tokens: Sequence[_Token]) -> dict[int, int]:
    ends: dict[int, int] = {}
    waiting: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind == "open":
            waiting.append(at)
        elif token.kind == "close" and waiting:
            ends[waiting.pop()] = at
    return ends


def _parse_binding(scan: _TokenScan, at: int, within: Sequence[tuple[int, str, str]]) -> tuple[Symbol, int] | None:
    """`name <- value`: a function, a class, or at the top a variable."""
    name, value = scan.tokens[at - 1], _next_token(scan, at)
    # `x$name <- …` and `x@name <- …` bind no name
    is_member = at > 1 and scan.tokens[at - 2].text in ("$", "@", ":")
    if name.kind not in ("name", "string", "tick") or value is None or is_member:
        return None
    kind, parent = (within[-1][1], within[-1][2]) if within else ("", "")
    word = scan.tokens[value]
    plain = name.text.strip("`\"'")
    last = _last_token(scan, value)
    if word.text == "function" or word.kind == "lambda":
        # `name = function…` in a call that is no class: an anonymous function with a label
        if scan.tokens[at].text == "=" and kind != _IN_CLASS and _is_in_brackets(scan, at):
            return None
        signature = join_lines(_signature_text(scan, at - 1, value))
        made = "method" if kind == _IN_CLASS else "function"
        return _place_symbol(scan, at - 1, last, Symbol(plain, made, 0, 0, parent, signature)), last
    if word.text in _CLASSES:
        signature = join_lines(scan.lines[name.line - 1])
        return _place_symbol(scan, at - 1, last, Symbol(plain, "class", 0, 0, parent, signature)), last
    if within or _is_in_brackets(scan, at):
        return None
    return _place_symbol(scan, at - 1, last, Symbol(plain, "constant" if is_constant(plain) else "variable", 0, 0)), at


def _parse_registration(scan: _TokenScan, at: int, within: Sequence[tuple[int, str, str]]) -> tuple[Symbol, int] | None:
    """`setClass("Name", …)`, `setMethod("name", "Class", function …)`."""
    opened = at + 1
    if opened not in scan.ends or opened + 1 >= len(scan.tokens) or (at and scan.tokens[at - 1].kind == "arrow"):
        return None
    name = next((token for token in scan.tokens[opened + 1 : opened + 4] if token.kind == "string"), None)
    if name is None:
        return None
    word = scan.tokens[at].text
    last = scan.ends[opened]
    if word in _CLASSES:
        first = join_lines(scan.lines[scan.tokens[at].line - 1])
        return _place_symbol(scan, at, last, Symbol(name.text.strip("\"'"), "class", 0, 0, "", first)), last
    strings = [token.text.strip("\"'") for token in scan.tokens[opened + 1 : opened + 12] if token.kind == "string"]
    parent = strings[1] if len(strings) > 1 and word != "setGeneric" else ""
    kind = "method" if parent else "function"
    start = scan.tokens[at].start
    signature = join_lines(scan.text[start : min(start + 300, scan.tokens[last].start + 1)].split("{")[0])
    return _place_symbol(scan, at, last, Symbol(strings[0], kind, 0, 0, parent, signature)), last


def _place_symbol(scan: _TokenScan, first: int, last: int, symbol: Symbol) -> Symbol:
    line = scan.tokens[first].line
    end = max(line, scan.tokens[min(last, len(scan.tokens) - 1)].line)
    return symbol._replace(name=symbol.name[:200], line=line, end=end, doc=comment_above(scan.lines, line))


def _next_token(scan: _TokenScan, at: int) -> int | None:
    """The token after this one, over line ends."""
    return next(
        (number for number in range(at + 1, min(at + 6, len(scan.tokens))) if scan.tokens[number].kind != "newline"),
        None,
    )


def _last_token(scan: _TokenScan, at: int) -> int:
    """The last token of an expression: brackets are stepped over, a line end outside of them ends it."""
    last = at
    for _ in range(_LONGEST_WALK):
        if at >= len(scan.tokens) or scan.tokens[at].kind in ("close", "comma"):
            break
        if scan.tokens[at].kind != "newline":
            at = last = scan.ends.get(at, at)
        elif scan.tokens[last].kind not in ("other", "arrow") and not _heads_function(scan, last):
            break
        at += 1
    return last


def _heads_function(scan: _TokenScan, at: int) -> bool:
    """Whether the bracket that ends here is the arguments of a function, whose body follows on the next line."""
    if scan.tokens[at].text != ")":
        return False
    following = _next_token(scan, at)
    return following is not None and scan.tokens[following].text == "{"


def _signature_text(scan: _TokenScan, first: int, value: int) -> str:
    opened = value + 1
    closed = scan.ends.get(opened, opened)
    until = scan.tokens[min(closed, len(scan.tokens) - 1)].start + 1
    return re.sub(r"#[^\n]*", " ", scan.text[scan.tokens[first].start : min(until, scan.tokens[first].start + 4_000)])


def _is_in_brackets(scan: _TokenScan, at: int) -> bool:
    """Whether a round or square bracket is open here, looking back a bounded way."""
    depth = 0
    for token in reversed(scan.tokens[max(0, at - 400) : at]):
        if token.kind == "close":
            depth += 1
        elif token.kind == "open":
            if depth == 0:
                return token.text in "(["
            depth -= 1
    return False


def _r_imports(scan: _TokenScan, at: int) -> Iterator[Import]:
    if at + 2 < len(scan.tokens) and scan.tokens[at + 1].text == "(":
        token = scan.tokens[at + 2]
        if token.kind in ("name", "string"):
            yield Import(token.text.strip("\"'")[:300], (), token.line)
