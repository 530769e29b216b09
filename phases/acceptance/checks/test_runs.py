"""How many tests a command ran, read from what pytest and unittest print; and which tests no command has run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.evidence.places import is_test_file
from phases.workspace.syntax import parse_python

PYTEST, UNITTEST = "pytest", "unittest"
WITH_PYTEST = "python -m pytest -q"
_COUNTED = r"\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun|subtests passed)"
_PYTEST_SUMMARY = re.compile(rf"^=* ?((?:{_COUNTED})(?:, {_COUNTED})*|no tests ran) in \S", re.MULTILINE)
_UNITTEST_SUMMARY = re.compile(
    r"^Ran (\d+) tests? in [^\n]*\n(?:\s*\n)*(?:OK|FAILED|NO TESTS RAN)?(?: \(([^)\n]*)\))?", re.MULTILINE
)
_COUNT = re.compile(r"(\d+) (\w+)")
_NAMED_COUNT = re.compile(r"([a-z ]+)=(\d+)")


class SuiteCounts(NamedTuple):
    """What came of the tests of one command."""

    passed: int
    failed: int
    skipped: int
    """Those that were expected to fail are among them: they check nothing either."""
    styles: frozenset[str]
    """PYTEST, UNITTEST, or both: who counted."""

    @property
    def run(self) -> int:
        return self.passed + self.failed


def count_tests(output: str) -> SuiteCounts | None:
    """What the summaries of pytest and unittest in an output add up to; None where there is none."""
    pytest, unittest = _PYTEST_SUMMARY.findall(output), _UNITTEST_SUMMARY.findall(output)
    if not pytest and not unittest:
        return None
    rows = [*map(_pytest_counts, pytest), *(_unittest_counts(int(ran), rest) for ran, rest in unittest)]
    styles = frozenset([*([PYTEST] if pytest else []), *([UNITTEST] if unittest else [])])
    return SuiteCounts(sum(row[0] for row in rows), sum(row[1] for row in rows), sum(row[2] for row in rows), styles)


def find_tests_not_run(python: Mapping[str, str], counts: Sequence[SuiteCounts]) -> list[str]:
    """The test files with tests of a style that no command has run; `python` is the workspace's Python files, by path."""
    ran = frozenset[str]().union(*(each.styles for each in counts))
    if PYTEST in ran:  # it runs those of unittest too
        return []
    wanted = {PYTEST} if ran else {PYTEST, UNITTEST}
    return [path for path, source in sorted(python.items()) if is_test_file(path) and wanted & _styles_in(source)]


def _pytest_counts(summary: str) -> tuple[int, int, int]:
    found: dict[str, int] = {}
    for count, word in _COUNT.findall(summary):
        found[word.rstrip("s")] = found.get(word.rstrip("s"), 0) + int(count)
    passed = found.get("passed", 0) + found.get("xpassed", 0)
    return passed, found.get("failed", 0) + found.get("error", 0), found.get("skipped", 0) + found.get("xfailed", 0)


def _unittest_counts(ran: int, rest: str) -> tuple[int, int, int]:
    found = {name.strip(): int(count) for name, count in _NAMED_COUNT.findall(rest)}
    skipped = min(found.get("skipped", 0) + found.get("expected failures", 0), ran)
    failed = min(found.get("failures", 0) + found.get("errors", 0), ran - skipped)
    return ran - skipped - failed, failed, skipped


def _styles_in(source: str) -> set[str]:
    """Which runners would find tests in a file: plain functions and classes are pytest's, a TestCase is unittest's."""
    tree = parse_python(source)
    styles = set[str]()
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            styles.add(PYTEST)
        elif isinstance(node, ast.ClassDef) and any(map(_is_test_method, node.body)):
            bases = [ast.unparse(base) for base in node.bases]
            if any("Test" in base for base in bases):  # TestCase, IsolatedAsyncioTestCase, or a base of one's own
                styles.add(UNITTEST)
            elif node.name.startswith("Test"):
                styles.add(PYTEST)
    return styles


def _is_test_method(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def counts_row(counts: SuiteCounts | None) -> dict[str, Any] | None:
    """As the journal and the documents keep it."""
    return None if counts is None else {"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped}
