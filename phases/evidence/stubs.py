"""Find stubs: definitions that do none of their work, by the syntax tree of Python and by the words of other languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Value = ast.Assign | ast.AnnAssign
SETS_UP = ("__init__", "__post_init__", "__new__", "__repr__", "__str__")
"""What makes or shows an object, and is no work of its own."""


_SAYS_SO = r"""["'](?:TODO|not (?:yet )?implemented|unimplemented)\b"""
_UNWRITTEN = re.compile(
    rf"\bthrow\s+(?:new\s+)?\w*(?:Error|Exception)\w*\s*\(\s*{_SAYS_SO}|\bpanic!?\(\s*{_SAYS_SO}"
    r"|\b(?:todo|unimplemented)!\s*\(|\bNotImplementedException\s*\("
    r"|\{\s*(?://\s*TODO[^\n]*\n\s*|/\*\s*TODO[^*]*\*/\s*)\}",
    re.IGNORECASE,
)
_LOREM = re.compile(r"\blorem ipsum\b", re.IGNORECASE)
_PAGES = (".html", ".htm", ".svelte", ".vue", ".jsx", ".tsx")
_NO_CODE = (".py", ".md", ".rst", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".css")


def text_stubs(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and a description of each stub in a file that is no Python, and of filler text in a page."""
    patterns = [] if path.endswith(_NO_CODE) else [(_UNWRITTEN, "is not implemented")]
    patterns += [(_LOREM, "is filler text")] if path.endswith(_PAGES) else []
    for pattern, what in patterns:
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield line, f"`{' '.join(match[0].split())[:60]}` {what}"


def is_stub(node: Function | ast.ClassDef | Value, *, inside_class: bool = False) -> bool:
    """Whether a definition does nothing: a function that passes, returns nothing or what is empty, or gives up; a class
    whose methods, but those that set it up, are all like that; a value that is None, an ellipsis, or not given.
    """
    if isinstance(node, Value):
        if node.value is None:
            return not inside_class  # a field that is filled in when an object is made
        return isinstance(node.value, ast.Constant) and node.value.value in (None, ...)
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, Function)]
        working = [method for method in methods if method.name not in SETS_UP] or methods
        return all(is_stub(method) for method in working) if working else all(_is_nothing(child) for child in node.body)
    rest = [child for child in node.body if not _is_text(child)]
    returns = any(isinstance(child, (ast.Return, ast.Yield, ast.YieldFrom)) for child in ast.walk(node))
    return all(map(_is_nothing, rest)) or gives_up(rest[0]) or (gives_up(rest[-1]) and not returns)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Return):
        empty = isinstance(node.value, (ast.List, ast.Tuple)) and not node.value.elts
        empty = empty or (isinstance(node.value, ast.Dict) and not node.value.keys)
        return empty or node.value is None or (isinstance(node.value, ast.Constant) and node.value.value in (None, ...))
    return gives_up(node) or isinstance(
        node, (ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete)
    )


def gives_up(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return False


def is_trivial(node: Function, *, inside_class: bool, is_method_of_plain_class: bool) -> bool:
    """Whether a function is given something and does nothing with it. An override may have to take what it does not need."""
    if node.name.startswith("__") or (inside_class and not is_method_of_plain_class):
        return False
    given = {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    given |= {each.arg for each in (node.args.vararg, node.args.kwarg) if each}
    wanted = {name for name in given if name not in ("self", "cls") and not name.startswith("_")}
    if not wanted:
        return False
    *before, last = [child for child in node.body if not _is_nothing(child)] or [ast.Pass()]
    renamed = all(
        isinstance(child, ast.Assign) and isinstance(child.value, (ast.Name, ast.Constant)) for child in before
    )
    if renamed and isinstance(last, ast.Return):
        names = wanted | {each.id for child in before for each in ast.walk(child) if isinstance(each, ast.Name)}
        if isinstance(last.value, ast.Constant) or (isinstance(last.value, ast.Name) and last.value.id in names):
            return True
    read = {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)}
    return not read & given


def is_abstract(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, Function) and child.name not in SETS_UP]
        return is_protocol(node) or (bool(methods) and all(map(is_abstract, methods)))
    return any("abstract" in last_word(mark) for mark in getattr(node, "decorator_list", ()))


def is_protocol(node: ast.ClassDef) -> bool:
    return any(last_word(base.value if isinstance(base, ast.Subscript) else base) == "Protocol" for base in node.bases)


def last_word(node: ast.AST) -> str:
    """The last word of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
