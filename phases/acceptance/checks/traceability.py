"""Which requirement is where in the code: read from the syntax tree, never taken from a model's word."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.workspace.syntax import parse_python
from phases.workspace.workspace import Workspace, WorkspaceError

IMPLEMENTED, STUBBED, MISSING = "implemented", "stubbed", "missing"
_ID = re.compile(r"\bR[0-9]+\b")
_ID_IN_NAME = re.compile(r"(?<![a-z0-9])r[0-9]+(?![0-9])")
_LINE_END = re.compile(r"\r\n|\r|\n")
_CHECKS = ("raises", "warns", "fail")


class Place(NamedTuple):
    """A definition that names a requirement: in its docstring, in a comment right above it, or behind a value."""

    identifier: str
    path: str
    symbol: str
    first: int
    last: int
    is_stub: bool
    is_test: bool
    is_value: bool
    value: ast.expr | None
    """Of a value that is given."""

    @property
    def name(self) -> str:
        return f"{self.path}:{self.symbol}"


class _Definition(NamedTuple):
    node: Function | ast.ClassDef | Value
    symbol: str
    after: int
    """The line that what stands before it ends in: a comment is its own from there on."""
    inside: type[ast.AST]
    """What it is defined in: ast.Module, ast.ClassDef or a function."""


def trace_requirements(workspace: Workspace, plan: dict[str, Any]) -> dict[str, Any]:
    """traceability.json: for each requirement its places, its tests and its status."""
    places = find_all_places(workspace, plan)
    return {"version": 1, "requirements": [requirement_row(row, places) for row in plan["requirements"]]}


def find_all_places(workspace: Workspace, plan: dict[str, Any]) -> list[Place]:
    """The places of the plan's requirements in all Python files, the planned ones first; what does not parse has none."""
    identifiers = {row["id"] for row in plan["requirements"]}
    planned = [row["path"] for row in plan["file_structure"]]
    found = []
    for path in dict.fromkeys([*planned, *workspace.paths()]):
        if path.endswith(".py"):
            try:
                found += find_places(path, workspace.read(path), identifiers)
            except WorkspaceError:
                continue
    return found


def find_places(path: str, source: str, identifiers: Collection[str]) -> list[Place]:
    """The places of these requirements in one file, from top to bottom."""
    tree = parse_python(source)
    if tree is None:
        return []
    lines, in_tests = split_lines(source), is_test_file(path)
    places = []
    for definition in sorted(_walk_definitions(tree), key=lambda found: (found.node.lineno, found.node.col_offset)):
        node, is_test = definition.node, in_tests and _is_test(definition)
        named = [name for name in _ids_in(definition, lines, is_test=is_test) if name in identifiers]
        if in_tests and not (is_test and isinstance(node, Function) and _checks_something(node)):
            continue
        is_value = isinstance(node, Value)
        value = node.value if isinstance(node, Value) else None
        span = (_first_line(node), node.end_lineno or node.lineno)
        stub = not is_test and is_stub(node, inside_class=definition.inside is ast.ClassDef)
        places += [Place(name, path, definition.symbol, *span, stub, is_test, is_value, value) for name in named]
    return places


def split_lines(source: str) -> list[str]:
    """The lines as Python counts them."""
    return _LINE_END.split(source)


def is_test_file(path: str) -> bool:
    """Whether tests stand in a Python file of this path."""
    *directories, name = path.split("/")
    return bool({"tests", "test"} & set(directories)) or name.startswith("test_") or name.endswith("_test.py")


def value_difference(requirement: dict[str, Any], places: Sequence[Place]) -> str:
    """How a hyperparameter's constants differ from the plan's value, in words; empty where one agrees, or nobody can tell."""
    if requirement.get("kind") != "hyperparameter" or "value" not in requirement:
        return ""
    own = [(place, _literal_value(place.value)) for place in places if place.identifier == requirement["id"]]
    told = [(place.name, found) for place, found in own if isinstance(found, (str, int, float))]
    if any(_is_same_value(found, requirement["value"]) for _, found in told):
        return ""  # a requirement may be about more than the one value that the plan names
    return "; ".join(f"the plan says {requirement['value']!r}, {name} is {found!r}" for name, found in told)


def requirement_row(requirement: dict[str, Any], places: Sequence[Place]) -> dict[str, Any]:
    """One requirement: its places, its tests and its status."""
    own = [place for place in places if place.identifier == requirement["id"]]
    code = [place for place in own if not place.is_test]
    return {
        "id": requirement["id"],
        "text": requirement["text"],
        "status": _status_of(requirement.get("kind"), code),
        "places": list(dict.fromkeys(place.name for place in code)),
        "tests": list(dict.fromkeys(place.name for place in own if place.is_test)),
    }


def _status_of(kind: str | None, code: Sequence[Place]) -> str:
    """One stub among functions and classes leaves a requirement open, whatever stands beside it. A value is enough for a
    hyperparameter, and else where nothing but values names the requirement.
    """
    if not code:
        return MISSING
    working = [place for place in code if not place.is_value]
    # A stub beside working code leaves the requirement open: somebody meant to write it.
    if working and kind != "hyperparameter":
        return STUBBED if any(place.is_stub for place in working) else IMPLEMENTED
    return STUBBED if all(place.is_stub for place in code) else IMPLEMENTED


def _walk_definitions(tree: ast.Module) -> Iterator[_Definition]:
    """Every function, class and named value, however deep; by a list, because a chain of elif nests without end."""
    todo: list[tuple[str, int, type[ast.AST], list[ast.stmt]]] = [("", 0, ast.Module, tree.body)]
    while todo:
        prefix, after, inside, body = todo.pop()
        for node in body:
            if isinstance(node, Function | ast.ClassDef):
                yield _Definition(node, prefix + node.name, after, inside)
                todo.append((f"{prefix}{node.name}.", node.lineno, type(node), node.body))
            elif isinstance(node, Value):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, (ast.Name, ast.Attribute)):
                    name = target.id if isinstance(target, ast.Name) else target.attr
                    yield _Definition(node, prefix + name, after, inside)
            else:
                todo += [(prefix, node.lineno, inside, block) for block in _inner_blocks(node)]
            after = node.end_lineno or node.lineno


def _inner_blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for child in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            yield getattr(child, name, [])


def _ids_in(definition: _Definition, lines: list[str], *, is_test: bool) -> list[str]:
    """The ids that a definition names."""
    node, text = definition.node, [*_comments_above(definition, lines)]
    if isinstance(node, Value):
        text.append(_comment_behind(node, lines))
    else:
        text.append(ast.get_docstring(node, clean=False) or "")
        if is_test:
            text += [part.upper() for part in _ID_IN_NAME.findall(node.name)]
    return list(dict.fromkeys(_ID.findall("\n".join(text))))


def _comments_above(definition: _Definition, lines: list[str]) -> Iterator[str]:
    for number in range(_first_line(definition.node) - 1, definition.after, -1):
        line = lines[number - 1].strip() if number <= len(lines) else ""
        if not line.startswith("#"):
            return
        yield line


def _comment_behind(node: Value, lines: list[str]) -> str:
    line = lines[(node.end_lineno or node.lineno) - 1].encode("utf-8", "replace")[node.end_col_offset or 0 :]
    behind = line.decode("utf-8", "replace").strip()
    return behind if behind.startswith("#") else ""


def _first_line(node: Function | ast.ClassDef | Value) -> int:
    decorators = [] if isinstance(node, Value) else node.decorator_list
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _is_test(definition: _Definition) -> bool:
    return isinstance(definition.node, Function) and definition.node.name.startswith("test")


def _checks_something(node: Function) -> bool:
    """Whether a test can fail by its own words, and is not skipped."""
    marks = (child for decorator in node.decorator_list for child in ast.walk(decorator))
    if any(_last_word(mark).startswith("skip") for mark in marks):
        return False
    return any(_is_check(child) for child in ast.walk(node))


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    name = _last_word(node.func) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Raise) or name.startswith("assert") or name in _CHECKS


def _last_word(node: ast.AST) -> str:
    """The last word of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _literal_value(node: ast.expr | None) -> object:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_same_value(found: object, planned: object) -> bool:
    try:
        return float(str(found)) == float(str(planned))
    except ValueError:
        return str(found).strip().lower() == str(planned).strip().lower() or type(found) is not type(planned)


Function = ast.FunctionDef | ast.AsyncFunctionDef
Value = ast.Assign | ast.AnnAssign
_SETS_UP = ("__init__", "__post_init__", "__new__", "__repr__", "__str__")


def is_stub(node: Function | ast.ClassDef | Value, *, inside_class: bool = False) -> bool:
    """Whether a definition does nothing: a function that passes, returns nothing, or raises NotImplementedError; a class
    whose methods, but those that set it up, are all like that; a value that is None, an ellipsis, or not given.
    """
    if isinstance(node, Value):
        if node.value is None:
            return not inside_class  # a field that is filled in when an object is made
        return isinstance(node.value, ast.Constant) and node.value.value in (None, ...)
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, Function)]
        working = [method for method in methods if method.name not in _SETS_UP] or methods
        return all(is_stub(method) for method in working) if working else all(_is_nothing(child) for child in node.body)
    return all(_is_nothing(child) for child in node.body) or any(_gives_up(child) for child in node.body)


def _is_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Return):
        return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value in (None, ...))
    return _gives_up(node) or isinstance(
        node, (ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete)
    )


def _gives_up(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return False


_MOST_NAMED, _TEXT = 20, 80


def list_open_requirements(workspace: Workspace, plan: dict[str, Any]) -> list[str]:
    """One text, or none: each requirement that is missing or a stub, and each value that differs, in the plan's order."""
    places, told = find_all_places(workspace, plan), []
    for requirement in plan["requirements"]:
        name, status = requirement["id"], requirement_row(requirement, places)["status"]
        if status == MISSING:
            told.append(
                f"{name} is in no code; name {name} in the docstring of what implements it: {_short_text(requirement)}"
            )
        elif status != IMPLEMENTED:
            stubs = ", ".join(place.name for place in places if place.identifier == name and place.is_stub)
            told.append(f"{name} is a stub ({stubs}): {_short_text(requirement)}")
        elif other := value_difference(requirement, places):
            told.append(f"{name} has another value: {other}")
    if not told:
        return []
    more = len(told) - _MOST_NAMED
    lines = [*told[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
    return [f"{len(told)} of {len(plan['requirements'])} requirements of the plan are open:\n" + "\n".join(lines)]


def _short_text(requirement: Mapping[str, Any]) -> str:
    text = " ".join(str(requirement["text"]).split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"
