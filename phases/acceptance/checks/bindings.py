"""What a Python file imports, binds at module level, and is: read from its syntax tree, with nothing run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from phases.workspace.syntax import parse_python

STAR = "*"
_MOST_STARS, _MOST_IMPORTS = 64, 2000
_SPREAD = frozenset({"global_enum", "_convert_", "_convert"})
"""What gives a module the members of an enumeration for names of its own."""
_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_SUPPRESSING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
"""The last ones are of tests that want an import to fail."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Walked = tuple[ast.AST, bool, bool]


class PythonImport(NamedTuple):
    """One module that a file imports from, or imports."""

    line: int
    level: int
    """The dots before the name."""
    module: str
    """Without the dots."""
    names: tuple[str, ...]
    """What is taken from it, `*` for everything; empty where the module itself is imported."""
    optional: bool
    """The file goes on where it fails."""


class Bindings(NamedTuple):
    """What is known of a file."""

    names: frozenset[str]
    """What it binds at module level, on any path through it; not what a star brings."""
    imports: tuple[PythonImport, ...]
    """By line; of very many, the first."""
    stars: tuple[PythonImport, ...]
    """Those that bring everything."""
    opaque: bool
    """It may bind any name: it has a `__getattr__`, or gets at its names as a mapping."""
    given: frozenset[str]
    """What it sets on what it imports: names that other modules have while it runs."""
    is_program: bool
    """It does something of its own where it is run: it looks whether its name is `__main__`."""


def read_bindings(source: str) -> Bindings | None:
    """None where it does not parse, or names something by more than a hundred parts."""
    tree = parse_python(source)
    return None if tree is None else _BindingReader().read(tree)


class _BindingReader:
    """Walks one tree without recursion: a hostile one is deep."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._imports: list[PythonImport] = []
        self._opaque = self._is_program = False
        self._imported: set[str] = set()
        self._set_on: set[str] = set()
        """What `setattr` is called for: where that is an imported module, it may be this very one."""
        self._given: list[tuple[str, str]] = []

    def read(self, tree: ast.Module) -> Bindings:
        # A list and no recursion: a hostile file nests deeper than Python's stack.
        todo: list[_Walked] = [(tree, True, False)]
        while todo:
            node, outside, optional = todo.pop()
            self._note(node, outside=outside, optional=optional)
            todo += _child_nodes(node, outside, optional)
        imports = tuple(sorted(self._imports, key=lambda found: found.line))
        stars = tuple(found for found in imports if STAR in found.names)
        opaque = self._opaque or "__getattr__" in self._names or len(stars) > _MOST_STARS
        opaque = opaque or not self._imported.isdisjoint(self._set_on)
        given = frozenset(name for holder, name in self._given if holder in self._imported)
        return Bindings(frozenset(self._names), imports[:_MOST_IMPORTS], stars, opaque, given, self._is_program)

    def _note(self, node: ast.AST, *, outside: bool, optional: bool) -> None:
        """`outside` of functions and classes."""
        if isinstance(node, ast.Import):
            self._imports += [PythonImport(node.lineno, 0, alias.name, (), optional) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            self._imports.append(PythonImport(node.lineno, node.level, node.module or "", names, optional))
            self._opaque = self._opaque or (node.module == "sys" and "modules" in names)
            self._opaque = self._opaque or (node.module == "enum" and not _SPREAD.isdisjoint(names))
        elif isinstance(node, ast.Global):
            self._names.update(node.names)
        elif isinstance(node, ast.Call | ast.Attribute):
            self._opaque = self._opaque or _reaches_names(node)
            self._set_on.update(_setattr_targets(node))
            self._given += _attribute_stores(node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._imported.update(_bound_names(node))
        if outside:
            self._names.update(_bound_names(node))
            self._is_program = self._is_program or (isinstance(node, ast.If) and _asks_for_main(node.test))


def _child_nodes(node: ast.AST, outside: bool, optional: bool) -> Iterator[_Walked]:
    """What a node consists of, each part with where it stands."""
    if isinstance(node, ast.Try | ast.TryStar):
        caught = optional or any(_catches_import(handler.type) for handler in node.handlers)
        yield from ((inner, outside, caught) for inner in (*node.body, *node.handlers))
        yield from ((inner, outside, optional) for inner in (*node.orelse, *node.finalbody))
    elif isinstance(node, ast.With) and any(_suppresses_import(item.context_expr) for item in node.items):
        yield from ((inner, outside, True) for inner in (*node.items, *node.body))
    elif isinstance(node, ast.comprehension):  # its own names stay inside; what `:=` binds in it does not
        yield node.target, False, optional
        yield from ((inner, outside, optional) for inner in (node.iter, *node.ifs))
    else:
        outside = outside and not isinstance(node, _SCOPES)
        yield from ((inner, outside, optional) for inner in ast.iter_child_nodes(node))


def _bound_names(node: ast.AST) -> Iterable[str]:
    """The names that a node by itself binds where it stands."""
    if isinstance(node, _SCOPES):
        return (node.name,)
    if isinstance(node, ast.Import):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names if alias.name != STAR]
    if isinstance(node, ast.Name):
        return (node.id,) if isinstance(node.ctx, ast.Store) else ()
    if isinstance(node, ast.MatchMapping):
        return (node.rest,) if node.rest else ()
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return (node.name,) if node.name else ()
    return ()


def _reaches_names(node: ast.Call | ast.Attribute) -> bool:
    """Whether this is a way to the names of a module as a mapping, or to the module as a value."""
    if isinstance(node, ast.Attribute):
        of_sys = isinstance(node.value, ast.Name) and node.value.id == "sys"
        return node.attr in _SPREAD or (of_sys and node.attr == "modules")
    called = node.func.id if isinstance(node.func, ast.Name) else ""
    return called in ("globals", "exec") or (called in ("vars", "locals") and not node.args)


def _setattr_targets(node: ast.Call | ast.Attribute) -> Iterable[str]:
    """The name of what attributes are set on by `setattr`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr" and node.args:
        return (node.args[0].id,) if isinstance(node.args[0], ast.Name) else ()
    return ()


def _attribute_stores(node: ast.Call | ast.Attribute) -> Iterable[tuple[str, str]]:
    """The name that is set on something by `something.name = ...`, with what that begins with."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
        return ()
    holder = node.value
    while isinstance(holder, ast.Attribute):
        holder = holder.value
    return ((holder.id, node.attr),) if isinstance(holder, ast.Name) else ()


def _asks_for_main(test: ast.expr) -> bool:
    sides = (test.left, *test.comparators) if isinstance(test, ast.Compare) else ()
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return named and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def _catches_import(kind: ast.expr | None) -> bool:
    """Whether a handler of this kind is one for imports that fail."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(kind is None or _last_name(kind) in _CAUGHT for kind in kinds)


def _suppresses_import(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and _last_name(call.func) in _SUPPRESSING and any(map(_catches_import, call.args))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
