"""Record the lines of the workspace that run: each run of statements in a row is compiled with a probe in front of it.

A probe is one store into a list, 15 ns; a tracer is asked at each line, and makes a tight loop three times as slow. A script
that is not a module is compiled by Python itself before anything can be put into it, so that one file is traced.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from typing import Any

_NAME = "__pipeline_probes__"
_COMPILED_ELSEWHERE = ("jit", "njit", "vectorize", "guvectorize", "stencil", "compile", "script", "kernel")
"""Decorators whose compilers take no strange bytecode."""
_INNER = ("body", "orelse", "finalbody")
_LEFT_OUT = ("site-packages", ".venv", "venv")
Function = (ast.FunctionDef, ast.AsyncFunctionDef)

PROBES: list[int] = []
"""1 where a probe was passed since the last look."""
_PLACES: list[tuple[str, tuple[int, ...]]] = []
"""The file and the lines that each probe stands for."""
_TRACED: set[tuple[str, int]] = set()


def begin(workspace: str, tell_file: Callable[[str, list[int]], None]) -> None:
    """Put probes into all later imports from the workspace. `tell_file` gets the possible lines of each file."""
    root = os.path.realpath(workspace) + os.sep
    usual = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> Any:
        path = self.get_filename(fullname)
        name = _name_inside(root, path)
        if name is None:
            return usual(self, fullname)
        data = self.get_data(path)
        try:
            tree = ast.parse(data, path)
            first = len(_PLACES)
            _Compiler(name).add_probes(tree)
        except (SyntaxError, ValueError, RecursionError):
            return usual(self, fullname)  # says what is wrong, as without probes
        PROBES.extend([0] * (len(_PLACES) - len(PROBES)))
        tell_file(name, sorted({line for _, lines in _PLACES[first:] for line in lines}))
        return compile(tree, path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]
    if script := _script_inside(root):
        _trace(*script)


def take() -> dict[str, list[int]]:
    """Return the lines that ran since the last call, by file."""
    found: dict[str, set[int]] = {}
    for number, passed in enumerate(PROBES):
        if passed:
            name, lines = _PLACES[number]
            found.setdefault(name, set()).update(lines)
    PROBES[:] = [0] * len(PROBES)
    for name, line in _TRACED:
        found.setdefault(name, set()).add(line)
    _TRACED.clear()
    return {name: sorted(lines) for name, lines in found.items()}


def _name_inside(root: str, path: str) -> str | None:
    """Return the path within the workspace; None if it is outside."""
    real = os.path.realpath(path)
    inside = real.startswith(root) and not any(part in _LEFT_OUT for part in real[len(root) :].split(os.sep))
    return real[len(root) :] if inside else None


class _Compiler:
    """Puts the probes into the tree of one file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def add_probes(self, tree: ast.Module) -> None:
        first = next((number for number, each in enumerate(tree.body) if not _comes_first(each)), len(tree.body))
        tree.body[first:] = self._with_probes(tree.body[first:])
        tree.body.insert(first, ast.parse(f"from line_probes import PROBES as {_NAME}").body[0])
        ast.fix_missing_locations(tree)

    def _with_probes(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """Return the block with a probe before each run of statements that execute together."""
        made, run = list[ast.stmt](), list[ast.stmt]()
        for statement in block:
            run.append(statement)
            if self._go_into(statement):
                made += [self._probe(run), *run]
                run = []
        return [*made, *([self._probe(run), *run] if run else [])]

    def _go_into(self, statement: ast.stmt) -> bool:
        """Put probes into a compound statement; False for a simple one, behind which the next is sure to run."""
        if isinstance(statement, Function):
            if not _is_compiled_elsewhere(statement):
                docstring = statement.body[:1] if _comes_first(statement.body[0]) else []
                statement.body = docstring + (self._with_probes(statement.body[len(docstring) :]) or [ast.Pass()])
            return False
        if isinstance(statement, ast.ClassDef):
            docstring = statement.body[:1] if _comes_first(statement.body[0]) else []
            statement.body = docstring + self._with_probes(statement.body[len(docstring) :])
            return True
        blocks = [(node, name) for node in (statement, *_clauses(statement)) for name in _INNER if _block(node, name)]
        for node, name in blocks:
            setattr(node, name, self._with_probes(_block(node, name)))
        return bool(blocks)

    def _probe(self, run: list[ast.stmt]) -> ast.stmt:
        _PLACES.append((self._name, tuple(dict.fromkeys(line for each in run for line in _first_lines(each)))))
        target = ast.Subscript(ast.Name(_NAME, ast.Load()), ast.Constant(len(_PLACES) - 1), ast.Store())
        probe = ast.Assign([target], ast.Constant(1), lineno=run[0].lineno, col_offset=run[0].col_offset)
        return ast.copy_location(probe, run[0])


def _first_lines(statement: ast.stmt) -> list[int]:
    decorators = getattr(statement, "decorator_list", [])
    return [statement.lineno, *(each.lineno for each in decorators)]


def _clauses(statement: ast.stmt) -> list[ast.AST]:
    return [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]


def _block(node: ast.AST, name: str) -> list[ast.stmt]:
    block = getattr(node, name, None)
    return block if isinstance(block, list) else []


def _comes_first(node: ast.stmt) -> bool:
    """Return whether a statement must stay first: a docstring, or an import from __future__."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _is_compiled_elsewhere(function: Any) -> bool:
    marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in function.decorator_list]
    names = [mark.attr if isinstance(mark, ast.Attribute) else getattr(mark, "id", "") for mark in marks]
    return any(name in _COMPILED_ELSEWHERE for name in names)


def _script_inside(root: str) -> tuple[str, str] | None:
    """Return the workspace script that this process runs, as Python and the notes name it; None if there is none."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-W", "-X"):
            next(words, "")
        elif word in ("-c", "-m", "-"):
            return None
        elif not word.startswith("-"):
            name = _name_inside(root, word) if word.endswith(".py") else None
            return (word, name) if name else None
    return None


def _trace(path: str, name: str) -> None:
    def trace_lines(frame: Any, event: str, argument: object) -> Any:
        if event == "line":
            _TRACED.add((name, frame.f_lineno))
        return trace_lines

    paths = (path, os.path.abspath(path))

    def trace(frame: Any, event: str, argument: object) -> Any:
        return trace_lines if frame.f_code.co_filename in paths else None

    threading.settrace(trace)
    sys.settrace(trace)
