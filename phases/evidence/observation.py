"""The commands of one look at the work, watched: which tests ran, how each ended, and which lines each of them ran.

The notes are made inside the sandbox, by code that a hostile workspace may reach. So they are read as a stranger's text: a
workspace can make itself look better or worse in them, and do nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from phases.evidence.bare_python import coverage_settings
from phases.evidence.places import read_ids
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes
from pipeline.base.logs import logger

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_LARGEST = 64 * 2**20
_MOST_FILES = 2000
_LINES = "lines.json"
_COLLECT = (
    "python -m coverage combine -q --rcfile={settings} && python -m coverage json -q --rcfile={settings} -o {notes}/"
    + _LINES
)
_SECONDS = 120
RunInBox = Callable[[str, int, Mapping[str, str]], int | None]
"""Runs a command with these variables for so many seconds: its exit code."""


class Observation(NamedTuple):
    """What the notes say."""

    tests: Mapping[str, str]
    """`path::Class::test` → passed, failed or skipped. A test with parameters passed where all of them did."""
    lines: Mapping[str, Mapping[int, frozenset[str]]]
    """By file and line: the tests that ran it; an empty name stands for what runs outside of tests."""
    unrun: Mapping[str, frozenset[int]] = {}
    """By file: the lines that could have run and did not."""
    named: Mapping[str, frozenset[str]] = {}
    """By test: the ids in the names of its parameters."""
    paths: tuple[str, ...] = (".",)
    """Where in the workspace the tests find modules."""
    cut_off: bool = False
    """A test run began and did not come to its end, whatever its exit code."""
    is_blind: bool = False
    """Nothing could be seen: there is no sandbox, or the notes could not be read."""

    def count(self, outcome: str) -> int:
        return sum(each == outcome for each in self.tests.values())

    def tests_of(self, path: str, spans: tuple[tuple[int, int], ...]) -> frozenset[str]:
        """The passing tests that ran a line within these spans."""
        lines = self.lines.get(path, {})
        found = (names for line, names in lines.items() if any(first <= line <= last for first, last in spans))
        return frozenset(name for names in found for name in names if self.tests.get(name) == PASSED)


NOTHING = Observation({}, {}, is_blind=True)


class Watch:
    """Where the notes of one look go. `bare` is the environment that has the tools, `notes` a directory of nobody else."""

    def __init__(self, bare: str, notes: str) -> None:
        self.bare, self.notes = bare, notes

    def begin(self) -> None:
        """Forgets what an earlier look noted."""
        shutil.rmtree(self.notes, ignore_errors=True)
        os.makedirs(self.notes, mode=0o700)

    def end(self) -> None:
        """Leaves nothing behind."""
        shutil.rmtree(self.notes, ignore_errors=True)

    def variables(self, workspace: str) -> dict[str, str]:
        """What makes the Pythons of a command note what they do."""
        return {
            "PIPELINE_EVIDENCE": self.notes,
            "PIPELINE_WORKSPACE": workspace,
            "COVERAGE_PROCESS_START": coverage_settings(self.bare),
            "PYTEST_ADDOPTS": "-p evidence_pytest",
        }

    def count(self, command: str) -> tuple[int, int, int] | None:
        """How many tests of a command passed, failed and were skipped; None where none was noted."""
        outcomes = [
            row["outcome"]
            for row in _all_rows(self.notes)
            if row.get("command") == command and row.get("outcome") in (PASSED, FAILED, SKIPPED)
        ]
        return (outcomes.count(PASSED), outcomes.count(FAILED), outcomes.count(SKIPPED)) if outcomes else None

    def collect(self, run: RunInBox, workspace: str) -> Observation:
        """What was noted so far. The lines are put together in the sandbox: here nothing reads a database of a stranger."""
        seen = _read_notes(self.notes)
        if not seen.tests:
            return seen
        variables = {
            name: value for name, value in self.variables(workspace).items() if name != "COVERAGE_PROCESS_START"
        }
        command = _COLLECT.format(settings=coverage_settings(self.bare), notes=self.notes)
        if run(command, _SECONDS, variables) != 0:
            logger.info("which lines the tests ran is not known: coverage.py could not put its notes together")
            return seen._replace(is_blind=True)
        lines, unrun = _read_lines(os.path.join(self.notes, _LINES), workspace)
        return seen._replace(lines=lines, unrun=unrun)


def _read_notes(notes: str) -> Observation:
    """How each test ended, and whether a run of tests did not end."""
    tests, named, paths, begun, ended = dict[str, str](), dict[str, frozenset[str]](), list[str](), 0, 0
    for row in _all_rows(notes):
        test, outcome = row.get("test"), row.get("outcome")
        if isinstance(test, str) and outcome in (PASSED, FAILED, SKIPPED):
            tests[test] = _worse(tests.get(test), outcome)
            named[test] = named.get(test, frozenset()).union(read_ids(str(row.get("parameters", ""))))
        begun += row.get("session") == "begun"
        ended += row.get("session") == "ended"
        given = row.get("paths")
        paths += [str(path) for path in given] if isinstance(given, list) else []
    return Observation(tests, {}, {}, named, tuple(dict.fromkeys(paths)) or (".",), begun > ended)


def _all_rows(notes: str) -> list[dict[str, Any]]:
    names = [name for name in sorted(os.listdir(notes)) if name.startswith("notes.")]
    return [row for name in names[:_MOST_FILES] for row in read_rows(os.path.join(notes, name))]


def _worse(before: str | None, now: str) -> str:
    return next(each for each in (FAILED, PASSED, SKIPPED) if each in (before, now))


def read_rows(path: str) -> list[dict[str, Any]]:
    """The lines of a file of the sandbox that are JSON objects; none where it cannot be read."""
    try:
        lines = read_bytes(path, limit=_LARGEST).split(b"\n")
    except StorageError:
        return []
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _read_lines(path: str, workspace: str) -> tuple[dict[str, dict[int, frozenset[str]]], dict[str, frozenset[int]]]:
    """The lines that ran, by the tests that ran them; and those that did not."""
    try:
        files = json.loads(read_bytes(path, limit=_LARGEST))["files"]
        root = os.path.realpath(workspace)
        names = {name: os.path.relpath(os.path.realpath(os.path.join(root, name)), root) for name in files}
        lines = {
            names[name]: {
                int(line): frozenset(str(test).partition("|")[0] for test in tests)
                for line, tests in row["contexts"].items()
            }
            for name, row in files.items()
        }
        return lines, {names[name]: frozenset(map(int, row["missing_lines"])) for name, row in files.items()}
    except (StorageError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}, {}
