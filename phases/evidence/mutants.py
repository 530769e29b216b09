"""Make small changes to the code of a requirement: tests that would notice a mistake fail under them.

Each changes one operator, constant or bound, or leaves one statement out.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from phases.evidence.places import CLASS, DATA, FUNCTION, MODULE, VALUE, Function, Place, split_lines
from phases.workspace.syntax import parse_python

T = TypeVar("T")
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.MatMult: ast.Add, ast.Mod: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_TINY = 1e-4


class Mutant(NamedTuple):
    """One change: the whole file as it is then."""

    path: str
    line: int
    what: str
    source: str


class Job(NamedTuple):
    """Tests to run on changed code."""

    requirement: str
    mutant: Mutant
    tests: tuple[str, ...]


class _Change(NamedTuple):
    """One place in a tree: what it is now, and what it may be instead."""

    path: str
    tree: ast.Module
    line: int
    what: str
    owner: ast.AST | list[ast.stmt]
    key: str | int
    """The name of a field, or the number of a statement in its block."""
    value: object

    def mutant(self) -> Mutant:
        """Return the file with this change; the tree is restored afterwards."""
        before = self._put(self.value)
        source = ast.unparse(ast.fix_missing_locations(self.tree))
        self._put(before)
        return Mutant(self.path, self.line, self.what, source)

    def _put(self, value: object) -> object:
        if isinstance(self.owner, list) and isinstance(self.key, int):
            before: object = self.owner[self.key]
            self.owner[self.key] = value  # type: ignore[call-overload]
        else:
            before = getattr(self.owner, str(self.key))
            setattr(self.owner, str(self.key), value)
        return before


def change_lines(
    places: Sequence[Place], sources: Mapping[str, str], ran: Mapping[str, Collection[int]], most: int
) -> list[Mutant]:
    """Return changes of lines that ran, spread evenly over the code of these places."""
    found = list[_Change]()
    for path in dict.fromkeys(place.path for place in places):
        tree = parse_python(sources.get(path, "")) if path.endswith(".py") else None
        if tree is None:
            continue
        own = [place for place in places if place.path == path and place.kind in (FUNCTION, CLASS, MODULE)]
        for node in _functions_in(tree, own):
            found += [change for change in _changes_in(path, tree, node) if change.line in ran.get(path, ())]
    return [change.mutant() for change in _spread(found, most)]


def change_value(place: Place, sources: Mapping[str, str]) -> list[Mutant]:
    """Return other values for a place: in Python its literal, in a data file the number or word of its line."""
    source = sources.get(place.path, "")
    if place.kind == VALUE and place.value is not None:
        value = place.value
        texts = _other_literals(value)
        return [
            Mutant(place.path, place.first, f"{place.symbol} = {text}", _replace_span(source, value, text))
            for text in texts
        ]
    if place.kind == DATA:
        lines = split_lines(source)
        line = lines[place.first - 1] if place.first <= len(lines) else ""
        return [
            Mutant(
                place.path,
                place.first,
                text.strip(),
                "\n".join([*lines[: place.first - 1], text, *lines[place.first :]]),
            )
            for text in _other_lines(line)
        ]
    return []


def _functions_in(tree: ast.Module, places: Sequence[Place]) -> list[Function]:
    """Return the functions of places: the place itself, all of a class or module."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, Function):
            continue
        first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
        for place in places:
            inside = place.kind in (CLASS, MODULE) and place.first <= first and (node.end_lineno or 0) <= place.last
            if inside or (place.kind == FUNCTION and first == place.first):
                found.append(node)
                break
    return found


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions within it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*Function.__args__, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def _changes_in(path: str, tree: ast.Module, function: Function) -> Iterator[_Change]:
    """Yield each place of a body that can be changed. Error messages are left out: they are not part of what it does."""
    for node in _bodies_without_messages(function.body):
        field, value = _other_field(node)
        if field:
            changed = copy.copy(node)
            setattr(changed, field, value)
            what = f"{_short(node)} → {_short(ast.fix_missing_locations(changed))}"
            yield _Change(path, tree, node.lineno, what, node, field, value)  # type: ignore[attr-defined]
    for block in _blocks_of(function):
        for number, statement in enumerate(block):
            if len(block) > 1 and isinstance(statement, (ast.AugAssign, ast.Expr)) and not _is_constant(statement):
                nothing = ast.copy_location(ast.Pass(), statement)
                yield _Change(path, tree, statement.lineno, f"without {_short(statement)}", block, number, nothing)


def _other_field(node: ast.AST) -> tuple[str, object]:
    """Return the field of a node to change and its other value; an empty name if there is none."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in _SWAPS and not _is_text(node):
        return "op", _SWAPS[type(node.op)]()
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        return "ops", [_SWAPS[type(node.ops[0])](), *node.ops[1:]]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return "value", not node.value
    # A bound for rounding may be a little larger without any harm: no test could notice that.
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and abs(node.value) > _TINY:
        return "value", node.value + 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "op", ast.UAdd()
    if isinstance(node, (ast.If, ast.IfExp)):
        return "test", ast.UnaryOp(ast.Not(), node.test)
    return "", None


def _bodies_without_messages(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    todo: list[ast.AST] = [*body]
    while todo:
        node = todo.pop(0)
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, *Function.__args__, ast.ClassDef, ast.AnnAssign)):
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                todo.append(node.value)
            continue
        if isinstance(node, ast.Slice):
            continue  # a bound of a slice is often of no matter, and then no test can notice it
        yield node
        todo += ast.iter_child_nodes(node)


def _blocks_of(function: Function) -> Iterator[list[ast.stmt]]:
    yield function.body
    for node in _own_nodes(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Constant, ast.Yield, ast.YieldFrom))


def _is_text(node: ast.AST) -> bool:
    sides = [getattr(node, "left", None), getattr(node, "right", None), getattr(node, "value", None)]
    return any(
        isinstance(side, (ast.JoinedStr, ast.List)) or isinstance(getattr(side, "value", 0), str) for side in sides
    )


def _short(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0][:60]


def _spread(changes: list[T], most: int) -> list[T]:
    """Return so many of them, evenly spread."""
    if len(changes) <= most:
        return changes
    return [changes[(2 * number + 1) * len(changes) // (2 * most)] for number in range(most)]


def _other_literals(node: ast.expr) -> list[str]:
    """Return other values of the same type, as source text."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return []
    return [repr(other) for other in _other_values(value)]


def _other_values(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value * 2 + 1, value * 3 + 2]
    if isinstance(value, str):
        return [value + "_other"]
    if isinstance(value, (list, tuple)) and value:
        changed = [*(_other_values(value[0]) or [None])[:1], *value[1:]]
        return [type(value)(changed), type(value)(value[:-1])]
    return []


def _replace_span(source: str, node: ast.expr, text: str) -> str:
    """Return the source with the text of one expression replaced."""
    lines = split_lines(source.removeprefix("\ufeff"))
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset or 0 :].decode()
    return "\n".join([*lines[:first], head + text + tail, *lines[last + 1 :]])


def _other_lines(line: str) -> list[str]:
    """Return a line of data with other values after its name."""
    begin = re.search(r"[:=,]\s*", line)
    head, rest = (line[: begin.end()], line[begin.end() :]) if begin else ("", line)
    body, sign, comment = rest.partition("#")
    if number := re.search(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", body):
        value = float(number[0]) if any(mark in number[0] for mark in ".eE") else int(number[0])
        found, others = number, [repr(value * 2 + 1), repr(value * 3 + 2)]
    elif word := re.search(r"[A-Za-z][\w./-]*", body):
        found, others = word, [{"true": "false", "false": "true"}.get(word[0].lower(), f"{word[0]}_other")]
    else:
        return []
    return [f"{head}{body[: found.start()]}{other}{body[found.end() :]}{sign}{comment}" for other in others]
