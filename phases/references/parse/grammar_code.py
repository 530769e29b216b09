"""Extract symbols with tree-sitter grammars, also from damaged code."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from phases.references.parse.grammars import GRAMMARS
from phases.references.parse.model import Symbol
from phases.references.parse.python_code import MOST_SYMBOLS, clean_docstring, is_constant, join_lines

EXTRA = "pip install 'paper-pipeline[code]'"
_SPECIAL = frozenset(("name", "declarator", "body", "receiver", "scope"))
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
    """Position of its pattern in the query: if several match one node, the first counts."""
    kind: str
    name: str
    scope: str
    """Scope in the name itself: `Encoder` in `Encoder::forward`, a receiver."""
    named: Any
    """The node of the name."""
    node: Any
    body: Any

    @property
    def place(self) -> tuple[int, str]:
        """Row (from 0) and name."""
        return self.named.start_point[0], self.name


def parse_with_grammar(language: str, text: str) -> tuple[list[Symbol], str]:
    """Return the symbols of a text by line, and a fault if the grammar could not read all of it. Raises NoParser.

    The time it takes is bounded by the process alone: the library's own callback for that crashes (0.26).
    """
    parser, query, cursor = _load_grammar(language)
    source = text.encode()
    tree = parser.parse(source)
    matches: list[_Match] = []
    for rank, captures in cursor(query).matches(tree.root_node):
        matches.extend(_definitions_in(language, rank, captures))
    lines = text.split("\n")
    symbols = sorted(_build_symbols(language, matches, lines, source), key=lambda symbol: symbol.line)
    return symbols, _syntax_error(tree.root_node)


@cache
def _load_grammar(language: str) -> tuple[Any, Any, Any]:
    grammar = GRAMMARS[language]
    # imported here: the grammars are an extra, and without one the text of a file is searched all the same (decision 107)
    try:
        tree_sitter: Any = importlib.import_module("tree_sitter")
        made = tree_sitter.Language(getattr(importlib.import_module(grammar.package), grammar.entry)())
    except (ImportError, AttributeError, ValueError) as error:
        raise NoParser(f"no parser for {grammar.words}: {EXTRA}") from error
    return tree_sitter.Parser(made), tree_sitter.Query(made, grammar.query), tree_sitter.QueryCursor


def _definitions_in(language: str, rank: int, captures: dict[str, list[Any]]) -> Iterator[_Match]:
    """Yield the definitions of one query match; usually one, several if names share a node."""
    kind = next((capture for capture in captures if capture not in _SPECIAL), "scope")
    node = captures[kind][0]
    body = captures["body"][0] if "body" in captures else None
    for written in captures.get("name") or captures.get("declarator") or ():
        named, as_function = _declared_name(written) if "declarator" in captures else (written, False)
        scope, name = _split_name(language, _text_of(named)) if named is not None else ("", "")
        if not name:
            continue
        if "receiver" in captures:
            scope = _receiver_name(language, _text_of(captures["receiver"][0]))
        made = kind
        if kind in ("variable", "field"):
            made = "function" if as_function else "constant" if is_constant(name) else kind
        yield _Match(node.start_byte, node.end_byte, rank, made, name[:200], scope[:200], named, node, body)


def _text_of(node: Any) -> str:
    return str(node.text.decode("utf-8", "replace"))


def _declared_name(node: Any) -> tuple[Any, bool]:
    """Return the name node of a C declarator, and whether it declares a function rather than a pointer to one."""
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


def _split_name(language: str, text: str) -> tuple[str, str]:
    """Scope and name of a name as written: `Encoder<T>::forward`, `Base.push!(a, b)`, `"quoted"`."""
    if language == "julia":
        match = _JULIA_NAME.match(text)
        return "", match[2] if match else ""
    if language in ("cpp", "cuda", "c", "rust"):
        if "operator" not in text:
            while (shorter := _ARGUMENTS.sub("", text)) != text:
                text = shorter
        scope, _, name = text.rpartition("::")
        return scope.strip().replace("::", "."), " ".join(name.split())
    return "", text.strip("\"'`#")


def _receiver_name(language: str, text: str) -> str:
    """`Encoder` of `(e *Encoder[T])`, of `Encoder.prototype`; nothing of `module.exports`."""
    if language == "go":
        words = _ARGUMENTS.sub("", text).strip("() ").replace("*", " ").split()
        return words[-1] if words else ""
    text = _EXPORTS.sub("", text)
    return text if re.fullmatch(r"[\w$.]{1,100}", text) else ""


def _build_symbols(language: str, matches: list[_Match], lines: Sequence[str], source: bytes) -> Iterator[Symbol]:
    """Outer before inner: what encloses a thing is its parent, and says whether a function is a method."""
    # several patterns of a query match one node: the sort puts the first pattern first, and `seen` drops the others
    matches.sort(key=lambda match: (match.start, -match.end, match.rank))
    within: list[tuple[int, str, str]] = []
    seen: set[tuple[int, str]] = set()
    functions = {match.place for match in matches if match.kind in _CALLABLE}
    for match in matches[: MOST_SYMBOLS * 2]:
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
        signature = _build_signature(language, match, source) if kind in _CALLABLE else ""
        symbol = Symbol(match.name, kind, match.named.start_point[0] + 1, _last_line(match), parent, signature)
        yield _add_documentation(language, symbol, match, lines, source)


def _last_line(match: _Match) -> int:
    row, column = match.node.end_point
    last: int = max(match.named.start_point[0] + 1, row + (1 if column else 0))
    return last


def _build_signature(language: str, match: _Match, source: bytes) -> str:
    end = match.end
    if language == "julia":
        end = match.named.end_byte
    elif match.body is not None and match.body.start_byte > match.start:
        end = match.body.start_byte
    text = source[match.start : min(end, match.start + 4_000)].decode("utf-8", "replace")
    if match.body is None and match.kind in _BRACED:
        text = text.partition("{")[0]
    return _TRAILING.sub("", join_lines(_COMMENTS.sub(" ", text)))


def _add_documentation(language: str, symbol: Symbol, match: _Match, lines: Sequence[str], source: bytes) -> Symbol:
    if language == "python":
        first = match.body.named_children[0] if match.body is not None and match.body.named_children else None
        docstring = _DOCSTRING.fullmatch(_text_of(first).strip()) if first is not None else None
        return symbol._replace(doc=clean_docstring(docstring[2])) if docstring else symbol
    row, column = match.node.start_point
    if symbol.kind in _VALUES and (column > _DEEPEST or source[match.start - column : match.start].strip()):
        return symbol  # not the first on its line: the comment above is another's
    return symbol._replace(doc=comment_above(lines, row + 1, quoted=language == "julia"))


def _syntax_error(root: Any) -> str:
    """Return where the grammar first failed, in words; empty if it did not."""
    if not root.has_error:
        return ""
    node = root
    while inner := next((child for child in node.children if child.has_error or child.is_missing), None):
        node = inner
    return f"the parser could not make sense of all of it, first of line {node.start_point[0] + 1}"


_FURTHEST = 120
"""Lines above a definition that may belong to its comment."""
_LONGEST = 2_000
_LINE = re.compile(r"\s*(?://[/!]?|#['#!]?|--)(?!\w*\[) ?")
_SKIPPED = re.compile(r"\s*(?:@\w[\w.]*(?:\(.*\))?|#\[.*\]|\[\[.*\]\]|template\s*<.*>|__\w+__(?:\(.*\))?)\s*$")
"""Lines between a comment and the definition that it documents: annotations, attributes, a template head."""
_BORDER = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!\*)) ?|\s*\*+/\s*$")
_DIRECTIVES = ("#include", "#define", "#if", "#endif", "#else", "#elif", "#pragma", "#undef", "#error", "#line")


def comment_above(lines: Sequence[str], line: int, *, quoted: bool = False) -> str:
    """Return the comment right above a line (from 1), without its marks; `quoted` accepts a string (Julia)."""
    at = line - 2
    lowest = max(0, at - _FURTHEST)
    while at >= lowest and _SKIPPED.match(lines[at]):
        at -= 1
    if at < lowest:
        return ""
    last = lines[at].strip()
    if quoted and last.endswith('"'):
        return _string_above(lines, at, lowest)
    if last.endswith("*/"):
        return _block_comment(lines, at, lowest)
    return _line_comments(lines, at, lowest)


def _line_comments(lines: Sequence[str], at: int, lowest: int) -> str:
    comment: list[str] = []
    while at >= lowest and (mark := _LINE.match(lines[at])) and not lines[at].lstrip().startswith(_DIRECTIVES):
        comment.append(lines[at][mark.end() :].rstrip())
        at -= 1
    return "\n".join(reversed(comment)).strip()[:_LONGEST]


def _block_comment(lines: Sequence[str], at: int, lowest: int) -> str:
    comment: list[str] = []
    while at >= lowest:
        comment.append(_BORDER.sub("", lines[at]).rstrip())
        opened = lines[at].find("/*")
        if opened >= 0:
            alone = not lines[at][:opened].strip()
            return "\n".join(reversed(comment)).strip()[:_LONGEST] if alone else ""
        at -= 1
    return ""


def _string_above(lines: Sequence[str], at: int, lowest: int) -> str:
    last = lines[at].strip()
    if not last.endswith('"""'):
        return last.strip('"')[:_LONGEST] if last.startswith('"') else ""
    parts = [last[:-3]]
    if last.startswith('"""') and len(last) >= 6:
        return last[3:-3].strip()[:_LONGEST]
    while (at := at - 1) >= lowest:
        opened = lines[at].find('"""')
        if opened >= 0:
            parts.append(lines[at][opened + 3 :])
            return "\n".join(part.rstrip() for part in reversed(parts)).strip()[:_LONGEST]
        parts.append(lines[at])
    return ""
