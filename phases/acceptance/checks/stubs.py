"""Which definition does nothing: read from its syntax tree."""

from __future__ import annotations

import ast

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
