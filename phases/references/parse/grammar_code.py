"""Symbols and imports of the languages that a grammar reads, damaged code too."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from phases.references.parse.comments import comment_above
from phases.references.parse.grammar_imports import imports_in
from phases.references.parse.grammar_tables import GRAMMARS
from phases.references.parse.parsed import Import, Symbol
from phases.references.parse.python_code import MOST_SYMBOLS, cleaned, is_constant, one_line

EXTRA = "pip install 'paper-pipeline[code]'"
_SPECIAL = frozenset(("name", "declarator", "body", "receiver", "import", "scope", "_called"))
_CLASSES = frozenset(("class", "struct", "union", "interface", "trait", "enum", "scope"))
_FUNCTIONS = frozenset(("function", "method"))
_CALLABLE = _FUNCTIONS | {"class", "struct", "union", "interface", "trait", "enum", "type", "macro"}
_VALUES = frozenset(("variable", "constant", "field"))
_BRACED = _CLASSES | {"macro"}
_DEEPEST = 200
"""Columns that code is indented by at most."""
_WRAPPED = "function_declarator"
_TRAILING = re.compile(r"(?:[\s;:\\{]|=>?)+$")
_DOCSTRING = re.compile(r"[rRuU]?(\"\"\"|\'\'\'|\"|\')(.*)\1", re.DOTALL)
_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\{.*", re.DOTALL)
_EXPORTS = re.compile(r"^(?:module\.)?exports\.?|^(?:this|self|window|global|globalThis)$|\.prototype$")
_JULIA_NAME = re.compile(r"(?:\(\s*\w*::(?=[\w.]))?\(*((?:[^\W\d][\w!]*\.)*)(?::\()?([^\W\d][\w!]*|[^\s\w(]+)")


class NoParser(Exception):
    """The grammar for a language is not installed; the message says what to type."""


class _Match(NamedTuple):
    """One thing that the query found."""

    start: int
    end: int
    rank: int
    """Of its pattern: where several match one thing, the first is right."""
    kind: str
    name: str
    scope: str
    """What the name itself says that it belongs to: `Encoder` in `Encoder::forward`, a receiver."""
    named: Any
    """The node of the name."""
    node: Any
    body: Any

    @property
    def place(self) -> tuple[int, str]:
        """Where its name stands, from row 0, and the name."""
        return self.named.start_point[0], self.name


def grammar_code(language: str, text: str) -> tuple[list[Symbol], list[Import], str]:
    """All that the text defines and imports, by line, and a fault where the grammar could not read all. Raises NoParser.

    The time it takes is bounded by the process alone: the library's own callback for that crashes (0.26).
    """
    parser, query, cursor = _tools(language)
    source = text.encode()
    tree = parser.parse(source)
    found: list[_Match] = []
    imports: list[Import] = []
    for rank, captures in cursor(query).matches(tree.root_node):
        if "import" in captures:
            node = captures["import"][0]
            imports.extend(imports_in(language, node.text.decode("utf-8", "replace"), node.start_point[0] + 1))
        else:
            found.extend(_match(language, rank, captures))
    lines = text.split("\n")
    symbols = sorted(_symbols(language, found, lines, source), key=lambda symbol: symbol.line)
    imports.sort(key=lambda one: one.line)
    return symbols, imports, _damage(tree.root_node)


@cache
def _tools(language: str) -> tuple[Any, Any, Any]:
    grammar = GRAMMARS[language]
    try:
        tree_sitter: Any = importlib.import_module("tree_sitter")
        made = tree_sitter.Language(getattr(importlib.import_module(grammar.package), grammar.entry)())
    except (ImportError, AttributeError, ValueError) as error:
        raise NoParser(f"no parser for {grammar.words}: {EXTRA}") from error
    return tree_sitter.Parser(made), tree_sitter.Query(made, grammar.query), tree_sitter.QueryCursor


def _match(language: str, rank: int, captures: dict[str, list[Any]]) -> Iterator[_Match]:
    """What one match of the query defines: mostly one thing, several where names share a node."""
    kind = next((capture for capture in captures if capture not in _SPECIAL), "scope")
    node = captures[kind][0]
    body = captures["body"][0] if "body" in captures else None
    for written in captures.get("name") or captures.get("declarator") or ():
        named, as_function = _declared(written) if "declarator" in captures else (written, False)
        scope, name = _taken_apart(language, _text(named)) if named is not None else ("", "")
        if not name:
            continue
        if "receiver" in captures:
            scope = _receiver(language, _text(captures["receiver"][0]))
        made = kind
        if kind in ("variable", "field"):
            made = "function" if as_function else "constant" if is_constant(name) else kind
        yield _Match(node.start_byte, node.end_byte, rank, made, name[:200], scope[:200], named, node, body)


def _text(node: Any) -> str:
    return str(node.text.decode("utf-8", "replace"))


def _declared(node: Any) -> tuple[Any, bool]:
    """The name in a declarator of C, and whether that declares a function (not a pointer to one)."""
    as_function = False
    while node is not None and node.type.endswith(("declarator", "_type_declarator")):
        inner = node.child_by_field_name("declarator")
        if inner is None:  # references and attributes have theirs without a label
            inner = next(
                (child for child in node.named_children if "declarator" in child.type or "identifier" in child.type),
                None,
            )
        if node.type == _WRAPPED:
            as_function = inner is not None and inner.type != "parenthesized_declarator"
        node = inner
    return node, as_function


def _taken_apart(language: str, text: str) -> tuple[str, str]:
    """Scope and name of a name as written: `Encoder<T>::forward`, `Base.push!(a, b)`, `"quoted"`."""
    if language == "julia":
        found = _JULIA_NAME.match(text)
        return "", found[2] if found else ""
    if language in ("cpp", "cuda", "c", "rust"):
        if "operator" not in text:
            while (shorter := _ARGUMENTS.sub("", text)) != text:
                text = shorter
        scope, _, name = text.rpartition("::")
        return scope.strip().replace("::", "."), " ".join(name.split())
    return "", text.strip("\"'`#")


def _receiver(language: str, text: str) -> str:
    """`Encoder` of `(e *Encoder[T])`, of `Encoder.prototype`; nothing of `module.exports`."""
    if language == "go":
        words = _ARGUMENTS.sub("", text).strip("() ").replace("*", " ").split()
        return words[-1] if words else ""
    text = _EXPORTS.sub("", text)
    return text if re.fullmatch(r"[\w$.]{1,100}", text) else ""


def _symbols(language: str, found: list[_Match], lines: Sequence[str], source: bytes) -> Iterator[Symbol]:
    """Outer before inner: what encloses a thing is its parent, and says whether a function is a method."""
    found.sort(key=lambda match: (match.start, -match.end, match.rank))
    within: list[tuple[int, str, str]] = []
    seen: set[tuple[int, str]] = set()
    functions = {match.place for match in found if match.kind in _CALLABLE}
    for match in found[: MOST_SYMBOLS * 2]:
        while within and within[-1][0] <= match.start:
            within.pop()
        outer, outer_kind = within[-1][1:] if within else ("", "")
        is_value = match.kind in _VALUES
        if (is_value and (outer_kind in _FUNCTIONS or match.place in functions)) or match.place in seen:
            continue  # a local, a name that is bound to a function, or what an earlier pattern has told
        kind = "method" if match.kind == "function" and (outer_kind in _CLASSES or match.scope) else match.kind
        parent = ".".join(part for part in (outer, match.scope) if part)[:300]
        if not is_value:
            within.append((match.end, f"{parent}.{match.name}" if parent else match.name, kind))
        if kind == "scope" or len(seen) >= MOST_SYMBOLS:
            continue
        seen.add(match.place)
        signature = _signature(language, match, source) if kind in _CALLABLE else ""
        symbol = Symbol(match.name, kind, match.named.start_point[0] + 1, _last_line(match), parent, signature)
        yield _documented(language, symbol, match, lines, source)


def _last_line(match: _Match) -> int:
    row, column = match.node.end_point
    last: int = max(match.named.start_point[0] + 1, row + (1 if column else 0))
    return last


def _signature(language: str, match: _Match, source: bytes) -> str:
    end = match.end
    if language == "julia":
        end = match.named.end_byte
    elif match.body is not None and match.body.start_byte > match.start:
        end = match.body.start_byte
    text = source[match.start : min(end, match.start + 4_000)].decode("utf-8", "replace")
    if match.body is None and match.kind in _BRACED:
        text = text.partition("{")[0]
    return _TRAILING.sub("", one_line(_COMMENTS.sub(" ", text)))


def _documented(language: str, symbol: Symbol, match: _Match, lines: Sequence[str], source: bytes) -> Symbol:
    if language == "python":
        first = match.body.named_children[0] if match.body is not None and match.body.named_children else None
        found = _DOCSTRING.fullmatch(_text(first).strip()) if first is not None else None
        return symbol._replace(doc=cleaned(found[2])) if found else symbol
    row, column = match.node.start_point
    if symbol.kind in _VALUES and (column > _DEEPEST or source[match.start - column : match.start].strip()):
        return symbol  # not the first on its line: the comment above is another's
    return symbol._replace(doc=comment_above(lines, row + 1, quoted=language == "julia"))


def _damage(root: Any) -> str:
    """Where the grammar first lost its way, in words; empty where it did not."""
    if not root.has_error:
        return ""
    node = root
    while inner := next((child for child in node.children if child.has_error or child.is_missing), None):
        node = inner
    return f"the parser could not make sense of all of it, first of line {node.start_point[0] + 1}"
