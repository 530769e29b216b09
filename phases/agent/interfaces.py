"""Extract the interface of a written file in a few lines, from its syntax tree."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from phases.workspace.syntax import parse_python, planned_file_fault
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.text_escaping import escape_text, one_line

LARGEST = 4000
_LONGEST_VALUE, _LONGEST_SIGNATURE, _LONGEST_LINE = 80, 400, 160
# To write a long literal out again costs far more than what is kept of it.
_MOST_ROWS, _MOST_SPAN = 50, 4000
_ROOM_FOR_THE_REST = 60
_MOST_ARGUMENTS = 60
_DEEPEST_CLASS = "    " * 2
_DEFINES = re.compile(r"(?:async def|def|class) (\w+)")
_CODE = re.compile(
    r"\.(?:[cm]?[jt]sx?|c|cc|cpp|cxx|h|hh|hpp|rs|go|java|kt|swift|cs|rb|php|jl|r|lua|scala)", re.IGNORECASE
)
_HEADERS = (".h", ".hh", ".hpp")
_TOP_LEVEL = re.compile(
    r"( *)(?!(?:if|for|while|switch|return|throw|else|catch|new|delete|print\w*)\b)(?:(?:export|pub|public|static|async"
    r"|default|inline|constexpr|extern|abstract|final|local|unsafe|template ?<[^<>]{0,60}>) )*(?:(?:function|class|struct|enum"
    r"|union|interface|type|trait|impl|fn|func|def|module|namespace|const|let|var|using|typedef)\b|module\.exports|#define\b"
    r"|[A-Za-z_][\w:<>,*& ]{0,80}\()"
)
"""Start of a line that defines a top-level symbol, in languages that are not parsed."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def interface_of(path: str, source: str) -> str:
    """Return the interface of a file, of at most LARGEST characters: of Python its symbols, of others lines that define."""
    tree = parse_python(source) if path.endswith((".py", ".pyi")) else None
    if tree is None:
        return _outline_other(path, source)
    return _bound_lines(f"# {path}", [*_doc_line(tree, ""), *_import_lines(tree), *_symbol_lines(tree.body, "")])


def state_of(workspace: Workspace, path: str) -> dict[str, Any]:
    """Return the `interface` of a planned file, and whether it is `sound`."""
    fault = planned_file_fault(workspace, path)
    if fault:
        return {"sound": False, "interface": f"{path} is not usable: {fault}"}
    try:
        return {"sound": True, "interface": interface_of(path, workspace.read(path))}
    except WorkspaceError as error:
        return {"sound": False, "interface": f"{path} is not usable: {error}"}


def interfaces_of(workspace: Workspace, paths: Sequence[str]) -> dict[str, Any]:
    states: Mapping[str, Mapping[str, Any]] = {path: state_of(workspace, path) for path in paths}
    return {path: state["interface"] for path, state in states.items() if state["sound"]}


def outline_of(interface: str) -> str:
    """Return the first line of an interface and the names that it defines."""
    first, *rest = interface.split("\n")
    names = [match.group(1) for line in rest if (match := _DEFINES.match(line))]
    return f"{first[:200]}\ndefines {', '.join(names)}"[:1000] if names else first[:200]


def _outline_other(path: str, source: str) -> str:
    """Return the outline of a file that is not Python or does not parse."""
    first = next((line for line in source.split("\n", 50) if line.strip()), "")
    size = f"{source.count(chr(10)) + bool(source and not source.endswith(chr(10)))} lines, {len(source):,} characters"
    note = ", does not parse" if path.endswith((".py", ".pyi")) else ""
    head = f"# {one_line(path, 300)}: {size}{note}"
    return _bound_lines(
        head, [line.rstrip()[:_LONGEST_LINE] for line in _defining_lines(path, source) or [first]]
    ).rstrip()


def _defining_lines(path: str, source: str) -> list[str]:
    """Return the lines of a file in another language that define something at its top, or in the one function around all."""
    ending = os.path.splitext(path)[1].lower()
    if ending in _HEADERS:
        return [line for line in source.split("\n") if line.strip()]
    if not _CODE.fullmatch(ending):
        return []
    defining = [
        (len(match[1]), line) for line in source.split("\n") if (match := _TOP_LEVEL.match(line[:_LONGEST_SIGNATURE]))
    ]
    depths = Counter(depth for depth, _ in defining)
    top = min((depth for depth, count in depths.items() if count > 1), default=0)
    return [line for depth, line in defining if depth <= top]


def _bound_lines(head: str, lines: list[str]) -> str:
    shown_lines, room = [one_line(head, 300)], LARGEST - _ROOM_FOR_THE_REST - 300
    for number, line in enumerate(lines):
        shown = escape_text(line)
        room -= len(shown) + 1
        if room < 0:
            shown_lines.append(f"# … {len(lines) - number} lines more are left out here")
            break
        shown_lines.append(shown)
    return "\n".join(shown_lines)


def _doc_line(node: ast.Module | ast.ClassDef | _Function, indent: str) -> list[str]:
    text = (ast.get_docstring(node, clean=False) or "").strip()
    return [f'{indent}"""{one_line(text.splitlines()[0], _LONGEST_LINE)}"""'] if text else []


def _import_lines(tree: ast.Module) -> Iterator[str]:
    """Yield the imports from the workspace and from packages, without the standard library."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            if node.level or (node.module or "").partition(".")[0] not in sys.stdlib_module_names:
                yield _unparse(node, _LONGEST_SIGNATURE)
        elif isinstance(node, ast.Import):
            own = [alias for alias in node.names if alias.name.partition(".")[0] not in sys.stdlib_module_names]
            if own:
                yield _unparse(ast.Import(own), _LONGEST_SIGNATURE)


def _symbol_lines(body: Iterable[ast.stmt], indent: str) -> Iterator[str]:
    """Yield public symbols and the methods that Python calls."""
    for node in body:
        if isinstance(node, ast.ClassDef | _Function) and _is_private(node.name):
            continue
        if isinstance(node, _Function):
            yield from _function_lines(node, indent)
        elif isinstance(node, ast.ClassDef):
            yield from _class_lines(node, indent)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            yield from _value_line(node, indent)
        elif isinstance(node, (ast.If, ast.Try)) and not indent:
            yield from _symbol_lines(_branch_body(node), indent)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _branch_body(node: ast.If | ast.Try) -> Iterator[ast.stmt]:
    """Yield definitions under a condition, one level deep."""
    handlers = [child for row in node.handlers for child in row.body] if isinstance(node, ast.Try) else []
    for child in (*node.body, *handlers, *node.orelse):
        if not isinstance(child, (ast.If, ast.Try)):
            yield child


def _function_lines(node: _Function, indent: str) -> Iterator[str]:
    for decorator in node.decorator_list:
        yield f"{indent}@{_unparse(decorator, _LONGEST_VALUE)}"
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {_unparse(node.returns, _LONGEST_VALUE)}" if node.returns else ""
    lines = _doc_line(node, f"{indent}    ")
    yield f"{indent}{word} {node.name}({_signature_of(node.args)}){returns}:" + ("" if lines else " ...")
    yield from lines


def _class_lines(node: ast.ClassDef, indent: str) -> Iterator[str]:
    for decorator in node.decorator_list:
        yield f"{indent}@{_unparse(decorator, _LONGEST_VALUE)}"
    bases = ", ".join(_unparse(base, _LONGEST_VALUE) for base in [*node.bases, *node.keywords])
    lines = [*_doc_line(node, f"{indent}    "), *_field_lines(node, f"{indent}    ")]
    if len(indent) < len(_DEEPEST_CLASS):
        lines += _symbol_lines(node.body, f"{indent}    ")
    yield f"{indent}class {node.name}" + (f"({bases})" if bases else "") + (":" if lines else ": ...")
    yield from lines


def _field_lines(node: ast.ClassDef, indent: str) -> Iterator[str]:
    """Yield the public attributes set in __init__."""
    starts = [child for child in node.body if isinstance(child, _Function) and child.name == "__init__"]
    for statement in starts[0].body if starts else ():
        targets: Sequence[ast.expr]
        if isinstance(statement, ast.AnnAssign):
            targets, note = [statement.target], f": {_unparse(statement.annotation, _LONGEST_VALUE)}"
        elif isinstance(statement, ast.Assign):
            targets, note = statement.targets, ""
        else:
            continue
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id == "self":
                    yield from [] if _is_private(name.attr) else [f"{indent}self.{name.attr}{note}"]


def _value_line(node: ast.Assign | ast.AnnAssign, indent: str) -> Iterator[str]:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, (ast.Name, ast.Tuple)) or (isinstance(target, ast.Name) and _is_private(target.id)):
        return
    note = f": {_unparse(node.annotation, _LONGEST_VALUE)}" if isinstance(node, ast.AnnAssign) else ""
    value = f" = {_unparse(node.value, _LONGEST_VALUE)}" if node.value else ""
    yield f"{indent}{_unparse(target, _LONGEST_VALUE)}{note}{value}"


def _signature_of(given: ast.arguments) -> str:
    """Return the signature with annotations and defaults; long ones become an ellipsis."""
    if len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) > _MOST_ARGUMENTS:
        return "…"

    def bare(argument: ast.arg) -> ast.arg:
        return ast.arg(argument.arg, _shorten_long(argument.annotation))

    return _unparse(
        ast.arguments(
            posonlyargs=[bare(argument) for argument in given.posonlyargs],
            args=[bare(argument) for argument in given.args],
            vararg=given.vararg and bare(given.vararg),
            kwonlyargs=[bare(argument) for argument in given.kwonlyargs],
            kw_defaults=[_shorten_long(value) for value in given.kw_defaults],
            kwarg=given.kwarg and bare(given.kwarg),
            defaults=[_shorten_long(value) or value for value in given.defaults],
        ),
        _LONGEST_SIGNATURE,
    )


def _shorten_long(node: ast.expr | None) -> ast.expr | None:
    return ast.Name("…", ast.Load()) if node and _is_long(node) else node


def _is_long(node: ast.expr | ast.stmt | ast.keyword) -> bool:
    first, last = node.lineno, node.end_lineno or node.lineno
    return last - first > _MOST_ROWS or (first == last and (node.end_col_offset or 0) - node.col_offset > _MOST_SPAN)


def _unparse(node: ast.AST, most: int) -> str:
    """Return a node as Python on one line; an ellipsis if it is too long or too deep."""
    if isinstance(node, ast.expr | ast.stmt | ast.keyword) and getattr(node, "end_lineno", None) and _is_long(node):
        return "…"
    try:
        return one_line(ast.unparse(node), most)
    except (RecursionError, ValueError, MemoryError):
        return "…"
