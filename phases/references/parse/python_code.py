"""Extract symbols from valid Python with its own parser."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from inspect import cleandoc
from typing import NamedTuple

from phases.references.parse.model import Symbol

MOST_SYMBOLS = 20_000
LONGEST_SIGNATURE, LONGEST_DOC = 300, 2_000
_HEAD_LINES = 200
"""Lines of a signature that are looked at."""
_TOKEN = re.compile(
    r"#[^\n]*|'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|[()\[\]{}:]", re.DOTALL
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS_AND_SUCH = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar)
_MODULE, _CLASS, _FUNCTION = "module", "class", "function"


class NotPython(ValueError):
    """Python does not take it; the message says why, with the line."""


class _Scope(NamedTuple):
    """Scope of a statement."""

    scope: str
    name: str
    """Its qualified name; empty for the module."""
    instance: str = ""
    """In a method: what it calls `self`."""
    owner: str = ""
    """In a method: the qualified name of its class."""


class _Collected(NamedTuple):
    lines: Sequence[str]
    symbols: list[Symbol]
    fields: set[tuple[str, str]]
    """Owner and name: a field is listed where it is first set."""


def parse_python(text: str) -> list[Symbol]:
    """Return the symbols of a text by line; `text` has no line ends but newlines. Raises NotPython."""
    tree = _parse_tree(text)
    collected = _Collected(text.split("\n"), [], set())
    walrus = ":=" in text
    stack: list[tuple[Iterator[ast.AST], _Scope]] = [(iter(tree.body), _Scope(_MODULE, ""))]
    while stack and len(collected.symbols) < MOST_SYMBOLS:
        statements, place = stack[-1]
        statement = next(statements, None)
        if statement is None:
            stack.pop()
        elif isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            stack.append(_add_definition(statement, place, collected))
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            _add_assignment(statement, place, collected)
        elif isinstance(statement, (*_LOOPS_AND_SUCH, ast.Match, ast.ExceptHandler, ast.match_case)):
            stack.append((_inner_statements(statement), place))
        if walrus and statement is not None and place.scope != _FUNCTION and not isinstance(statement, _FUNCTIONS):
            _add_walruses(statement, place, collected)
    collected.symbols.sort(key=lambda symbol: symbol.line)
    return collected.symbols


def clean_docstring(doc: str) -> str:
    """Return a docstring without its indentation, bounded."""
    return cleandoc(doc[: LONGEST_DOC * 2])[:LONGEST_DOC].strip() if doc else ""


def join_lines(text: str) -> str:
    """Return a signature on one line, bounded."""
    return " ".join(text[: LONGEST_SIGNATURE * 20].split())[:LONGEST_SIGNATURE]


def is_constant(name: str) -> bool:
    """Return whether a name is written in capitals."""
    return name.isupper() and len(name) > 1


def _parse_tree(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a stranger's code is warned of is not our user's concern
        try:
            return ast.parse(text)
        except SyntaxError as error:
            raise NotPython(f"line {error.lineno}: {error.msg}") from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise NotPython(str(error) or "it is nested too deeply") from error


def _add_definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, place: _Scope, collected: _Collected
) -> tuple[Iterator[ast.AST], _Scope]:
    """Add the symbol, and return the statements inside it."""
    name = f"{place.name}.{node.name}" if place.name else node.name
    instance = owner = ""
    if isinstance(node, ast.ClassDef):
        kind, inner = "class", _CLASS
    else:
        kind, inner = "method" if place.scope == _CLASS else "function", _FUNCTION
        if place.scope == _CLASS:
            first = (*node.args.posonlyargs, *node.args.args)
            instance, owner = (first[0].arg if first else ""), place.name
        else:
            instance, owner = place.instance, place.owner  # a function in a method sees its self
    signature = _signature_of(node, collected.lines)
    doc = clean_docstring(_docstring_of(node))
    end = node.end_lineno or node.lineno
    collected.symbols.append(Symbol(node.name, kind, node.lineno, end, place.name, signature, doc))
    return iter(node.body), _Scope(inner, name, instance, owner)


def _docstring_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value.value
    return ""


def _signature_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: Sequence[str]) -> str:
    """From `def` to before the colon, as written, without comments."""
    at = node.lineno - 1
    first = lines[at].strip()
    body = node.body[0].lineno
    if body == node.lineno + 1 and first.endswith(":") and "#" not in first:
        return join_lines(first[:-1])
    parts: list[str] = []
    text = "\n".join(lines[at : min(body, at + _HEAD_LINES)])
    start, depth = 0, 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark[0] == "#":
            parts.append(text[start : token.start()])
            start = token.end()
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif mark == ":" and depth <= 0:
            return join_lines("".join(parts) + text[start : token.start()])
    return join_lines("".join(parts) + text[start:])


def _inner_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a block of any kind, in their order."""
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        yield from getattr(node, part, ())


def _add_assignment(node: ast.Assign | ast.AnnAssign | ast.AugAssign, place: _Scope, collected: _Collected) -> None:
    end = node.end_lineno or node.lineno
    is_lambda = isinstance(node.value, ast.Lambda)
    for target in _flatten_targets(node.targets if isinstance(node, ast.Assign) else (node.target,)):
        if isinstance(target, ast.Attribute):
            _add_field(target, place, end, collected)
        elif isinstance(target, ast.Name) and is_lambda:
            kind = "method" if place.scope == _CLASS else "function"
            signature = join_lines(collected.lines[node.lineno - 1])
            collected.symbols.append(Symbol(target.id, kind, target.lineno, end, place.name, signature))
        elif isinstance(target, ast.Name) and place.scope != _FUNCTION and not isinstance(node, ast.AugAssign):
            _add_variable(target, place, end, collected)


def _flatten_targets(targets: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Yield the names and attributes in assignment targets, with tuples and stars unpacked."""
    waiting = [*targets][::-1]
    while waiting:
        target = waiting.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            waiting.extend(reversed(target.elts))
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)
        else:
            yield target


def _add_variable(target: ast.Name, place: _Scope, end: int, collected: _Collected) -> None:
    kind = "constant" if is_constant(target.id) else "variable"
    collected.symbols.append(Symbol(target.id, kind, target.lineno, end, place.name))


def _add_field(target: ast.Attribute, place: _Scope, end: int, collected: _Collected) -> None:
    of_instance = place.instance and isinstance(target.value, ast.Name) and target.value.id == place.instance
    if of_instance and (place.owner, target.attr) not in collected.fields:
        collected.fields.add((place.owner, target.attr))
        collected.symbols.append(Symbol(target.attr, "field", target.lineno, end, place.owner))


def _add_walruses(statement: ast.AST, place: _Scope, collected: _Collected) -> None:
    """Names bound within the expressions of one statement; the statements in it have their own turn."""
    waiting = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedExpr):
            _add_variable(node.target, place, node.end_lineno or node.lineno, collected)
        if not isinstance(node, ast.Lambda):
            waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
