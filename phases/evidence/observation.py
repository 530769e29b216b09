"""Read the notes of watched commands: which tests ran, how each ended, and the lines of Python and JavaScript they ran.

The notes are made inside the sandbox, by code that a hostile workspace may reach. So they are untrusted: a
workspace can make itself look better or worse in them, and do nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from phases.evidence.places import is_test_file
from phases.workspace.backup_tree import remove_directory
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
OF_USER = "../user_tests/"
"""Prefix of the user's own tests, which are next to the workspace."""
_LARGEST = 64 * 2**20
_OF_NODE = "node"
_MOST_FILES, _LONGEST_NUMBER = 2000, 15
_MOST_BYTES = 512 * 2**20
"""Of all notes of one look."""
SUFFIXES = (".js", ".mjs", ".cjs")
_MOST_NODE_FILES, _LARGEST_NODE_FILE = 500, 16 * 2**20


class Observation(NamedTuple):
    """Observed tests and lines."""

    tests: Mapping[str, str]
    """`path::Class::test` → passed, failed or skipped. A test with parameters passed where all of them did."""
    lines: Mapping[str, Mapping[int, frozenset[str]]]
    """By file and line: the tests that ran it; an empty name stands for what runs outside of tests."""
    unrun: Mapping[str, frozenset[int]] = {}
    """By file: the lines that could have run and did not."""
    paths: tuple[str, ...] = (".",)
    """Directories of the workspace in which tests find modules."""
    suffixes: tuple[str, ...] = (".py",)
    """Of what files it is known which lines ran."""
    cut_off: bool = False
    """A test run began and did not come to its end, whatever its exit code."""
    is_blind: bool = False
    """Nothing could be seen: there is no sandbox, or the notes could not be read."""

    def count(self, outcome: str) -> int:
        return sum(each == outcome for each in self.tests.values())

    def tests_of(self, path: str, spans: tuple[tuple[int, int], ...]) -> frozenset[str]:
        """Return the passing tests that ran a line within these spans."""
        lines = self.lines.get(path, {})
        found = (names for line, names in lines.items() if any(first <= line <= last for first, last in spans))
        return frozenset(name for names in found for name in names if self.tests.get(name) == PASSED)


NOTHING = Observation({}, {}, is_blind=True)


class Watch:
    """A private directory for the notes."""

    def __init__(self, notes: str) -> None:
        self.notes = notes

    def begin(self) -> None:
        """Make an empty directory for the notes. Raises StorageError."""
        self.end()
        os.makedirs(self.notes, mode=0o700, exist_ok=True)

    def end(self) -> None:
        """Delete the notes, whatever rights a check gave them. Raises StorageError: a finished phase would never retry."""
        remove_directory(self.notes)

    def variables(self, workspace: str) -> dict[str, str]:
        """Return the variables that make the Python processes of a command note what they do."""
        return {
            "PIPELINE_EVIDENCE": self.notes,
            "PIPELINE_WORKSPACE": workspace,
            "PIPELINE_LINES": "noted",
            "PYTEST_ADDOPTS": "-p evidence_pytest",
            "NODE_V8_COVERAGE": os.path.join(self.notes, _OF_NODE),
        }

    def count(self, command: str) -> tuple[int, int, int] | None:
        """Return how many tests of a command passed, failed and were skipped; None if none was noted."""
        outcomes = [
            row["outcome"]
            for row in _all_rows(self.notes)
            if row.get("command") == command and row.get("outcome") in (PASSED, FAILED, SKIPPED)
        ]
        return (outcomes.count(PASSED), outcomes.count(FAILED), outcomes.count(SKIPPED)) if outcomes else None

    def collect(self, workspace: str = "", sources: Mapping[str, str] = {}) -> Observation:
        """Return what was noted so far. `sources`: the text files of the workspace by path."""
        seen = _read_notes(self.notes)
        ran = read_node_coverage(os.path.join(self.notes, _OF_NODE), workspace, sources)
        if not ran:
            return seen
        # a test file that fails ends its command with an error, and then nothing of this is asked for
        tests = {name: PASSED for lines in ran.values() for by in lines.values() for name in by}
        return seen._replace(
            tests={**tests, **seen.tests}, lines={**seen.lines, **ran}, suffixes=(*seen.suffixes, *SUFFIXES)
        )


def _read_notes(notes: str) -> Observation:
    """Return how each test ended, which lines it ran, and whether a test run did not finish."""
    tests, paths, begun, ended = dict[str, str](), list[str](), 0, 0
    lines, could_run = dict[str, dict[int, set[str]]](), dict[str, set[int]]()
    for row in _all_rows(notes):
        test, outcome = row.get("test"), row.get("outcome")
        if isinstance(test, str) and outcome in (PASSED, FAILED, SKIPPED):
            tests[test] = _worse(tests.get(test), outcome)
        begun += row.get("session") == "begun"
        ended += row.get("session") == "ended"
        given = row.get("paths")
        paths += [str(path) for path in given] if isinstance(given, list) else []
        for path, numbers in _lines_by_file(row.get("lines")):
            for line in numbers:
                lines.setdefault(path, {}).setdefault(line, set()).add(str(row.get("ran", "")))
        for path, numbers in _lines_by_file(row.get("could_run")):
            could_run.setdefault(path, set()).update(numbers)
    ran = {
        path: {line: frozenset(_with_those_set_up(by, tests)) for line, by in found.items()}
        for path, found in lines.items()
    }
    unrun = {path: frozenset(numbers - ran.get(path, {}).keys()) for path, numbers in could_run.items()}
    where = tuple(dict.fromkeys(paths)) or (".",)
    return Observation(tests, ran, unrun, where, cut_off=begun > ended)


def _with_those_set_up(by: set[str], tests: Mapping[str, str]) -> set[str]:
    """Return the tests that ran a line; the setup of a class or module counts for all of its tests."""
    found = set[str]()
    for name in by:
        inside = {test for test in tests if test.startswith(f"{name}::")} if name and name not in tests else set[str]()
        found |= inside or {name}
    return found


def _lines_by_file(noted: object) -> Iterator[tuple[str, list[int]]]:
    """Return the valid line numbers by file."""
    for path, numbers in noted.items() if isinstance(noted, dict) else ():
        if isinstance(path, str) and isinstance(numbers, list):
            yield path, [number for number in numbers if isinstance(number, int)]


def _all_rows(notes: str) -> list[dict[str, Any]]:
    try:
        names = [name for name in sorted(os.listdir(notes)) if name.startswith("notes.")][:_MOST_FILES]
        sizes = [os.lstat(os.path.join(notes, name)).st_size for name in names]
    except OSError:
        return []
    if sum(sizes) > _MOST_BYTES:
        return []
    return [row for name in names for row in read_rows(os.path.join(notes, name))]


def _bounded_int(digits: str) -> int:
    """Parse a number as Python's own tools write it. Raises ValueError."""
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError("too large")
    return int(digits)


def _worse(before: str | None, now: str) -> str:
    return next(each for each in (FAILED, PASSED, SKIPPED) if each in (before, now))


def read_rows(path: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a file from the sandbox, one a line; none if it cannot be read."""
    try:
        lines = read_bytes(path, limit=_LARGEST).split(b"\n")
    except StorageError:
        return []
    rows = []
    for line in lines:
        try:
            row = json.loads(line, parse_int=_bounded_int)
            line.decode("utf-8")
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and b"\\ud" not in line.lower():  # half a character could not be written down again
            rows.append(row)
    return rows


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
        names = sorted(os.listdir(directory))[:_MOST_NODE_FILES]
    except OSError:
        return
    for name in names:
        try:
            noted = json.loads(read_bytes(os.path.join(directory, name), limit=_LARGEST_NODE_FILE))
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
