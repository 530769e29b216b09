"""Read which functions of JavaScript files ran, from the coverage files that Node's engine writes (NODE_V8_COVERAGE).

Node runs each test file in a process of its own, so coverage is known by test file. The files are written inside the sandbox
and are untrusted: they can make a workspace look better or worse, and do nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from phases.evidence.places import is_test_file
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes

SUFFIXES = (".js", ".mjs", ".cjs")
_MOST_FILES, _LARGEST = 500, 16 * 2**20


def read_node_coverage(
    directory: str, workspace: str, sources: Mapping[str, str]
) -> dict[str, dict[int, frozenset[str]]]:
    """Return, by file and line, the test files whose process ran a function there; empty if nothing was noted.

    Args:
        directory: Where Node wrote its files.
        workspace: The directory of the code, as the commands saw it.
        sources: The text files of the workspace by path.
    A file without functions is run when it is loaded; else only the bodies that were entered count.
    """
    found = dict[str, dict[int, set[str]]]()
    for scripts in _read_processes(directory):
        ran = {path: functions for url, functions in scripts if (path := _path_of(url, workspace)) in sources}
        tests = {path for path in ran if is_test_file(path)}
        for path, functions in ran.items():
            if path not in tests:
                for line in _lines_run(sources[path], functions):
                    found.setdefault(path, {}).setdefault(line, set()).update(tests)
    return {path: {line: frozenset(by) for line, by in lines.items()} for path, lines in found.items()}


def _read_processes(directory: str) -> Iterator[list[tuple[str, list[Any]]]]:
    """Yield the scripts of each process, each with its functions."""
    try:
        names = sorted(os.listdir(directory))[:_MOST_FILES]
    except OSError:
        return
    for name in names:
        try:
            noted = json.loads(read_bytes(os.path.join(directory, name), limit=_LARGEST))
        except (StorageError, ValueError, RecursionError):
            continue
        rows = noted.get("result") if isinstance(noted, dict) else None
        rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        yield [(str(row.get("url")), row["functions"]) for row in rows if isinstance(row.get("functions"), list)]


def _path_of(url: str, workspace: str) -> str:
    path = unquote(urlsplit(url).path) if url.startswith("file:") else ""
    return os.path.relpath(path, workspace) if path.startswith(f"{workspace}{os.path.sep}") else ""


def _lines_run(source: str, functions: list[Any]) -> set[int]:
    """Return the lines of the functions that were entered. Offsets count UTF-16 units, as JavaScript does."""
    units = source.encode("utf-16-le", "surrogatepass")
    entered, bodies = set[int](), 0
    for function in functions:
        match function:
            case {"ranges": [{"startOffset": int(start), "endOffset": int(end), "count": int(count)}, *_]}:
                if start == 0 and 2 * end >= len(units):  # the file itself, which runs when it is loaded
                    continue
                bodies += 1
                if count > 0:
                    entered |= set(range(_line_at(units, start), _line_at(units, end) + 1))
    return entered if bodies else set(range(1, source.count("\n") + 2))


def _line_at(units: bytes, offset: int) -> int:
    return units[: 2 * max(offset, 0)].decode("utf-16-le", "replace").count("\n") + 1
