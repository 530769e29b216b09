"""Which requirement is where in the code: read from the syntax tree, never taken from a model's word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from phases.agent.workspace import Workspace, WorkspaceError

IMPLEMENTED, STUBBED, MISSING = "implemented", "stubbed", "missing"
_Symbol = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def trace(workspace: Workspace, plan: dict[str, Any]) -> dict[str, Any]:
    """traceability.json: for each requirement its places, its tests and its status.

    A symbol belongs to a requirement when its docstring, or the comment behind a value, names the requirement's id.
    """
    places: dict[str, list[tuple[str, bool]]] = {row["id"]: [] for row in plan["requirements"]}
    tests: dict[str, list[str]] = {row["id"]: [] for row in plan["requirements"]}
    for row in plan["file_structure"]:
        path = row["path"]
        if not path.endswith(".py"):
            continue
        try:
            source = workspace.read(path)
            tree = ast.parse(source)
        except (WorkspaceError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if path.startswith("tests/"):
            _collect_tests(tree, path, tests)
        else:
            _collect_places(tree, source, path, places)
    return {
        "version": 1,
        "requirements": [_row(row, places[row["id"]], tests[row["id"]]) for row in plan["requirements"]],
    }


def is_stub(node: _Symbol) -> bool:
    """Whether a function or class does nothing: a docstring, then raise NotImplementedError, pass or `...`."""
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return all(is_stub(method) for method in methods) if methods else all(_is_nothing(child) for child in node.body)
    return all(_is_nothing(child) for child in node.body)


def _row(requirement: dict[str, Any], places: list[tuple[str, bool]], tests: list[str]) -> dict[str, Any]:
    status = STUBBED if all(stub for _, stub in places) else IMPLEMENTED
    status = status if places else MISSING
    return {
        "id": requirement["id"],
        "text": requirement["text"],
        "status": status,
        "places": [place for place, _ in places],
        "tests": tests,
    }


def _collect_places(tree: ast.Module, source: str, path: str, places: dict[str, list[tuple[str, bool]]]) -> None:
    lines = source.split("\n")
    for node in tree.body:
        if isinstance(node, _Symbol):
            for symbol, name in _with_methods(node):
                for identifier in _ids(ast.get_docstring(symbol) or ""):
                    if identifier in places:
                        places[identifier].append((f"{path}:{name}", is_stub(symbol)))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            after = lines[(node.end_lineno or node.lineno) - 1].encode("utf-8")[node.end_col_offset or 0 :]
            comment = after.decode("utf-8", "replace").partition("#")[2]
            for identifier in _ids(comment):
                if identifier in places and isinstance(target, ast.Name):
                    places[identifier].append((f"{path}:{target.id}", False))


def _collect_tests(tree: ast.Module, path: str, tests: dict[str, list[str]]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            named = {part.upper() for part in re.findall(r"(?<![a-z0-9])r[0-9]+(?![0-9])", node.name)}
            for identifier in sorted(named | set(_ids(ast.get_docstring(node) or ""))):
                if identifier in tests:
                    tests[identifier].append(f"{path}:{node.name}")


def _with_methods(node: _Symbol) -> Iterator[tuple[_Symbol, str]]:
    yield node, node.name
    if isinstance(node, ast.ClassDef):
        for child in node.body:
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield child, f"{node.name}.{child.name}"


def _ids(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\bR[0-9]+\b", text)))


def _is_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, ast.Pass)
