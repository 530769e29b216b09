"""Find stubs: definitions that do none of their work, by the syntax tree of Python and by the words of other languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Value = ast.Assign | ast.AnnAssign
SETS_UP = ("__init__", "__post_init__", "__new__", "__repr__", "__str__")
"""Methods that make or show an object and do nothing else."""


_TODO = r"""["'`]TODO\s*(?:["'`:]|implement)"""
_SAYS_SO = r"""["'`](?i:not (?:yet )?implemented|unimplemented)\b"""
_THROWS = r"\bthrow\s+(?:new\s+)?\w*(?:Error|Exception)\w*\s*\(\s*|\bpanic!?\(\s*"
_UNWRITTEN = re.compile(rf"(?:{_THROWS}){_TODO}|\btodo!\s*\(|\{{\s*(?://\s*TODO[^\n]*\n\s*|/\*\s*TODO[^*]*\*/\s*)\}}")
"""Text that marks any place as unfinished."""
_GIVES_UP = re.compile(rf"(?:{_THROWS}){_SAYS_SO}|\bunimplemented!\s*\(|\bthrow\s+new\s+NotImplementedException\s*\(")
"""Text that makes a function a stub if it does nothing else."""
_BEGINS_FUNCTION = re.compile(r"\)[^(){};=]*(?:=>\s*)?\{?\s*\Z")
_BEGINS_BRANCH = re.compile(r"\b(?:if|for|while|switch|catch|match|when)\b")
_COMMENTS = re.compile(r"(?:\s*(?://[^\n]*|/\*[^*]*\*/))+\Z")
_CLASS = re.compile(r"\bclass\s+(\w+)")
_EXTENDS = re.compile(r"(?:\bextends\s+|\bclass\s+\w+\s*:\s*(?:public\s+)?)(\w+)")
_LONGEST_HEAD = 2000
_LOREM = re.compile(r"\blorem ipsum\b", re.IGNORECASE)
_PAGES = (".html", ".htm", ".svelte", ".vue", ".jsx", ".tsx")
_NO_CODE = (".py", ".md", ".rst", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".css")


def text_stubs(path: str, text: str, bases: Collection[str] = ()) -> Iterator[tuple[int, str]]:
    """Yield the line and a description of each stub in a file other than Python, and of filler text in a page.

    `bases`: the classes that others extend, whose methods may leave the work to them.
    """
    found = [] if path.endswith(_NO_CODE) else [(match, "is not implemented") for match in _find_unwritten(text, bases)]
    found += [(match, "is filler text") for match in _LOREM.finditer(text) if path.endswith(_PAGES)]
    for match, what in found:
        line = text.count("\n", 0, match.start()) + 1
        yield line, f"`{text.split(chr(10))[line - 1].strip()[:60]}` {what}"


def _find_unwritten(text: str, bases: Collection[str]) -> Iterator[re.Match[str]]:
    yield from _UNWRITTEN.finditer(text)
    for match in _GIVES_UP.finditer(text):
        before = _COMMENTS.sub("", text[max(0, match.start() - _LONGEST_HEAD) : match.start()].rstrip())
        opening = before[before.rfind("\n") + 1 :]
        is_body = _BEGINS_FUNCTION.search(opening) and not _BEGINS_BRANCH.search(opening)
        if is_body and not set(_CLASS.findall(text, 0, match.start())[-1:]) & set(bases):
            yield match


def extended_classes(texts: Iterable[str]) -> set[str]:
    """Return the names of the classes that others extend, in languages that are not parsed."""
    return {name for text in texts for name in _EXTENDS.findall(text)}


def is_stub(node: Function | ast.ClassDef | Value, *, inside_class: bool = False) -> bool:
    """Return whether a definition does nothing.

    A function that passes, returns nothing or something empty, or gives up; a class with only such methods besides its set-up; a
    value that is None, an ellipsis, or missing.
    """
    if isinstance(node, Value):
        if node.value is None:
            return not inside_class  # a field that is filled in when an object is made
        return isinstance(node.value, ast.Constant) and node.value.value in (None, ...)
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, Function)]
        working = [method for method in methods if method.name not in SETS_UP] or methods
        if not working:
            return not node.bases and all(
                _is_nothing(child) for child in node.body
            )  # an error, or its base with a name
        return all(is_stub(method) for method in working)
    rest = [child for child in node.body if not _is_text(child)]
    returns = any(isinstance(child, (ast.Return, ast.Yield, ast.YieldFrom)) for child in ast.walk(node))
    gives = rest and (gives_up(rest[0]) or (gives_up(rest[-1]) and not returns))
    return not has_none(node) and bool(all(map(_is_nothing, rest)) or gives)


def has_none(node: Function) -> bool:
    """Return whether a function without arguments only returns an empty container: perhaps there are none by default."""
    *before, last = node.body
    is_empty = isinstance(last, ast.Return) and _is_empty(last.value)
    return is_empty and all(map(_is_nothing, before)) and not ast.unparse(node.args)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Return):
        is_none = isinstance(node.value, ast.Constant) and node.value.value in (None, ...)
        return is_none or node.value is None or _is_empty(node.value)
    return gives_up(node) or isinstance(
        node, (ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete)
    )


def _is_empty(node: ast.expr | None) -> bool:
    """Return whether an expression is an empty list, tuple or dict."""
    return (isinstance(node, (ast.List, ast.Tuple)) and not node.elts) or (isinstance(node, ast.Dict) and not node.keys)


def gives_up(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return False


def is_abstract(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, Function) and child.name not in SETS_UP]
        return is_protocol(node) or (bool(methods) and all(map(is_abstract, methods)))
    return any(
        "abstract" in last_word(mark) or last_word(mark) == "overload" for mark in getattr(node, "decorator_list", ())
    )


def is_protocol(node: ast.ClassDef) -> bool:
    return any(last_word(base.value if isinstance(base, ast.Subscript) else base) == "Protocol" for base in node.bases)


def last_word(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
