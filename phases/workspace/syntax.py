"""Check whether a file of the workspace parses as what its name says: Python, JSON or TOML; it is never run."""

from __future__ import annotations

import ast
import re
import threading
import warnings

from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json

_ALONE = threading.Lock()
"""CPython before 3.11.8 counts the depth of its syntax tree for all threads at once, and fails where two parse together."""
_MOST_DOTS = 100
LARGEST_PYTHON = 512 * 1024
"""Maximum bytes of a Python file to parse: a hostile one of this size takes 2 s and 500 MB."""
_LONG_CHAIN = re.compile(rf"(?<!\w)\w++(?:[\s\\]*+\.[\s\\]*+\w++){{{_MOST_DOTS}}}")
"""A long dotted import: the parser needs memory by the square of its parts, tens of GB for 400 KB."""
_TEST_DIRECTORIES = ("test", "tests", "spec", "__tests__")
_CODE = (
    ".py",
    ".js",
    ".ts",
    ".jsx",
    ".tsx",
    ".mjs",
    ".rs",
    ".go",
    ".java",
    ".c",
    ".cpp",
    ".cs",
    ".jl",
    ".R",
    ".rb",
    ".php",
)
_MARKERS = ("__init__.py", "py.typed", ".gitkeep", ".keep")
_MAY_HAVE_COMMENTS = re.compile(r"(?:^|/)(?:[tj]sconfig[^/]*|devcontainer)\.json$")
"""JSON by name, and read by tools that allow comments and commas before a bracket."""
_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions that Python's parser raises on hostile text."""


def parse_python(source: str) -> ast.Module | None:
    """Return the syntax tree of a Python text; None if it does not parse, or exceeds LARGEST_PYTHON."""
    tree = _parse_or_fault(source)
    return tree if isinstance(tree, ast.Module) else None


def find_syntax_fault(path: str, text: str) -> str | None:
    """Return why a file does not parse, with line and column, or None. YAML and other formats are not checked."""
    if path.endswith((".py", ".pyi")):
        fault = _parse_or_fault(text)
        return None if isinstance(fault, ast.Module) else fault
    if path.endswith(".json") and not _MAY_HAVE_COMMENTS.search(path):
        return _json_fault(text)
    return _toml_fault(text) if path.endswith(".toml") else None


def planned_file_fault(workspace: Workspace, path: str) -> str | None:
    """Return why a planned file does not count as written, or None."""
    try:
        text = workspace.read(path)
    except WorkspaceError as error:
        return f"is planned and not there ({error})"
    if not text.strip():
        return None if may_be_empty(path) else "is empty"
    if is_test_data(path):
        return None
    fault = find_syntax_fault(path, text)
    return f"does not parse: {fault}" if fault else None


def may_be_empty(path: str) -> bool:
    """Return whether an empty file of this name is useful: it marks a package, keeps a directory, or is test data."""
    return path.rsplit("/", 1)[-1] in _MARKERS or is_test_data(path)


def is_test_data(path: str) -> bool:
    """Return whether a file is what tests are given, which may be empty or broken on purpose."""
    directories = set(path.split("/")[:-1])
    is_given = bool(directories & {"data", "resources"}) or not path.endswith(_CODE)
    return bool(directories & {"fixtures", "testdata"}) or (is_given and bool(directories & set(_TEST_DIRECTORIES)))


def _parse_or_fault(source: str) -> ast.Module | str:
    if len(source.encode("utf-8", "replace")) > LARGEST_PYTHON:
        return f"it is over {LARGEST_PYTHON // 1024} KiB, and no such file is taken for code"
    if _LONG_CHAIN.search(source):
        return f"line 1, column 1: a name of more than {_MOST_DOTS} parts is not taken for code"
    try:
        # a doubtful escape in a string is the author's affair, and whose warnings are off holds for all threads
        with _ALONE, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.removeprefix("\ufeff"))  # the mark of an editor, which Python passes over
    except SyntaxError as error:
        line = (error.text or "").strip()
        return f"line {error.lineno or 1}, column {error.offset or 1}: {error.msg}" + (
            f": {line[:120]}" if line else ""
        )
    except _FAULTS as error:
        return f"line 1, column 1: {error or 'nested too deeply'}"


def _json_fault(text: str) -> str | None:
    try:
        parse_json(text.encode("utf-8", "surrogatepass"))
    except FormatError as error:
        return f"line {error.line or 1}, column {error.column or 1}: {error}"
    return None


def _toml_fault(text: str) -> str | None:
    import tomllib  # late: few workspaces have TOML, and every turn of the agent imports this module

    # The library needs time and memory beyond measure for a key of many parts.
    if len(text) > LARGEST_PYTHON or any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return f"it is over {LARGEST_PYTHON // 1024} KiB, or has a line of more than {_MOST_DOTS} dots, and is not looked at"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).rpartition(" (at ")
        end = f"line {text.count(chr(10)) + 1}, column {len(text) - text.rfind(chr(10))}"
        return f"{place.removesuffix(')') if place.startswith('line') else end}: {message}"
    except RecursionError:
        return "line 1, column 1: nested too deeply"
    return None
