"""Count the tests that a command ran, in many languages, and run the commands of the README."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.evidence.places import is_test_file
from phases.workspace.syntax import parse_python

PYTEST, UNITTEST = "pytest", "unittest"
WITH_PYTEST = "python -m pytest -q"
_COUNT = re.compile(r"(\d+) (\w+)")
_NAMED_COUNT = re.compile(r"([a-z ]+)=(\d+)")
_PYTEST_COUNT = r"\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun|subtests passed)"


class SuiteCounts(NamedTuple):
    """Test counts of one command."""

    passed: int
    failed: int
    skipped: int
    """With those that were expected to fail: they check nothing either."""
    styles: frozenset[str]
    """The runners that printed a summary."""

    @property
    def run(self) -> int:
        return self.passed + self.failed


Counts = tuple[int, int, int]
"""Passed, failed, skipped."""


def _count_words(match: re.Match[str]) -> Counts:
    """Read "3 passed, 1 failed", in any order."""
    found: dict[str, int] = {}
    for count, word in _COUNT.findall(match[0]):
        found[word.rstrip("s")] = found.get(word.rstrip("s"), 0) + int(count)
    passed = found.get("passed", 0) + found.get("xpassed", 0)
    skipped = sum(found.get(word, 0) for word in ("skipped", "xfailed", "todo", "ignored", "pending"))
    return passed, found.get("failed", 0) + found.get("error", 0), skipped


def _count_unittest(match: re.Match[str]) -> Counts:
    ran, found = int(match[1]), {name.strip(): int(count) for name, count in _NAMED_COUNT.findall(match[2] or "")}
    skipped = min(found.get("skipped", 0) + found.get("expected failures", 0), ran)
    failed = min(found.get("failures", 0) + found.get("errors", 0), ran - skipped)
    return ran - skipped - failed, failed, skipped


def _count_groups(match: re.Match[str]) -> Counts:
    """Read the named groups passed or total, failed, errors, skipped."""
    found = {name: int(value) if value else 0 for name, value in match.groupdict().items()}
    failed, skipped = found.get("failed", 0) + found.get("errors", 0), found.get("skipped", 0)
    return found.get("passed", found.get("total", 0) - failed - skipped), failed, skipped


def _count_go(match: re.Match[str]) -> Counts:
    """Read one package of `go test`, which prints no number unless it is verbose."""
    return (0, 0, 0) if "no test" in match[0] else (0, 1, 0) if match[1] == "FAIL" else (1, 0, 0)


_RUNNERS: Sequence[tuple[str, str, Callable[[re.Match[str]], Counts]]] = (
    (PYTEST, rf"^=* ?(?:{_PYTEST_COUNT}(?:, {_PYTEST_COUNT})*|no tests ran) in \S", _count_words),
    (
        UNITTEST,
        r"^Ran (\d+) tests? in [^\n]*\n(?:\s*\n)*(?:OK|FAILED|NO TESTS RAN)?(?: \(([^)\n]*)\))?",
        _count_unittest,
    ),
    (
        "node",
        (
            r"^(?:#|ℹ) pass (?P<passed>\d+)\n(?:#|ℹ) fail (?P<failed>\d+)"
            r"(?:\n(?:#|ℹ) cancelled \d+)?(?:\n(?:#|ℹ) skipped (?P<skipped>\d+))?"
        ),
        _count_groups,
    ),
    ("jest", r"^ *Tests:? +(?:\d+ \w+(?:, | \| )?)+(?:total|\(\d+\))?", _count_words),
    ("mocha", r"^ +(?P<passed>\d+) passing\b[^\n]*(?:\n +\d+ pending)?(?:\n +(?P<failed>\d+) failing)?", _count_groups),
    ("ctest", r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)", _count_groups),
    ("ctest", r"^No tests were found!!!", _count_groups),
    (
        "googletest",
        r"^\[  PASSED  \] (?P<passed>\d+) tests?\.(?:\s*\n\[  FAILED  \] (?P<failed>\d+) tests?)?",
        _count_groups,
    ),
    ("catch2", r"^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)", _count_groups),
    ("catch2", r"^test cases: +(?P<total>\d+) \|(?: +\d+ passed \|)? +(?P<failed>\d+) failed", _count_groups),
    ("doctest", r"^\[doctest\] test cases: +\d+ \| +(?P<passed>\d+) passed \| +(?P<failed>\d+) failed", _count_groups),
    ("unity", r"^(?P<total>\d+) Tests (?P<failed>\d+) Failures (?P<skipped>\d+) Ignored", _count_groups),
    (
        "cargo",
        r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored",
        _count_groups,
    ),
    (
        "go",
        r"^(ok|FAIL|\?)[ \t]+[\w./-]+[ \t]+(?:\(cached\)|[\d.]+s|\[no test files\])(?: *\[no tests to run\])?",
        _count_go,
    ),
    (
        "junit",
        (
            r"^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), "
            r"Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)\s*$"
        ),
        _count_groups,
    ),
    (
        "junit xml",
        r"<testsuite\b(?=[^>]*\btests=\"(?P<total>\d+)\")(?=[^>]*\bfailures=\"(?P<failed>\d+)\")(?=(?:[^>]*\berrors=\"(?P<errors>\d+)\")?)",
        _count_groups,
    ),
    (
        "testthat",
        r"\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP (?P<skipped>\d+) \| PASS (?P<passed>\d+) \]\s*\Z",
        _count_groups,
    ),
)

_OWN_WORDS = re.compile(
    r"^(?=.*(?:test|check|failed))(?:[\w.-]+: )?(?:all )?(?P<passed>\d+)(?:/\d+)? (?:(?:tests?|checks?) )?passed"
    r"(?:[,;] (?P<failed>\d+) (?:(?:tests?|checks?) )?failed)?(?: \([^()\n]{1,80}\))?[.!]?$",
    re.IGNORECASE | re.MULTILINE,
)
_OWN_TOTAL = re.compile(
    r"^(?:[\w.-]+: )?(?P<total>\d+) tests?,(?: \d+ \w+,){0,3} (?P<failed>\d+) (?:tests? )?fail(?:ed|ures?)[.!]?$",
    re.IGNORECASE | re.MULTILINE,
)
"""The summaries of a test program without a framework: "12 passed, 0 failed"; "test_cli: 9 tests, 103 checks, 0 failed"."""
_TAP_PLAN = re.compile(r"^1\.\.\d+\s*$", re.MULTILINE)
_TAP_LINE = re.compile(r"^(not )?ok \d+[^#\n]*(# ?(?:SKIP|TODO))?", re.MULTILINE | re.IGNORECASE)


def count_tests(output: str) -> SuiteCounts | None:
    """Return the sum of the summaries that test runners printed in an output; None if there are none."""
    found = [
        (style, count(match))
        for style, pattern, count in _RUNNERS
        for match in re.finditer(pattern, output, re.MULTILINE)
    ]
    found += [("julia", counts) for counts in _julia_counts(output)]
    own = (match for pattern in (_OWN_WORDS, _OWN_TOTAL) for match in pattern.finditer(output))
    found = found or [("own words", _count_groups(match)) for match in own]
    if not found and _TAP_PLAN.search(output):
        lines = _TAP_LINE.findall(output)
        states = ["skipped" if mark else "failed" if negated else "passed" for negated, mark in lines]
        found = [("tap", (states.count("passed"), states.count("failed"), states.count("skipped")))]
    if not found:
        return None
    passed, failed, skipped = (sum(counts[number] for _, counts in found) for number in range(3))
    return SuiteCounts(passed, failed, skipped, frozenset(style for style, _ in found))


def _julia_counts(output: str) -> list[Counts]:
    """Read the tables of Julia's Test: a heading of columns, then one row a test set; indented rows are parts of one."""
    counts, columns = [], list[str]()
    for line in output.splitlines():
        head, mark, rest = line.partition(" | ")
        if head.startswith("Test Summary:") and mark:
            columns = rest.split()
        elif columns and mark and head[:1].strip():
            cells = dict(zip(columns, [int(each) for each in rest.split() if each.isdigit()], strict=False))
            counts.append((cells.get("Pass", 0), cells.get("Fail", 0) + cells.get("Error", 0), cells.get("Broken", 0)))
        elif not mark:
            columns = []
    return counts


def find_tests_not_run(python: Mapping[str, str], counts: Sequence[SuiteCounts]) -> list[str]:
    """Return the Python test files of a style that no command has run. pytest runs those of unittest too."""
    ran = frozenset[str]().union(*(each.styles for each in counts)) & {PYTEST, UNITTEST}
    if PYTEST in ran:
        return []
    wanted = {PYTEST} if ran else {PYTEST, UNITTEST}
    return [path for path, source in sorted(python.items()) if is_test_file(path) and wanted & _styles_in(source)]


def _styles_in(source: str) -> set[str]:
    """Return which runners would find tests in a file: plain functions and classes are pytest's, a TestCase is unittest's."""
    tree = parse_python(source)
    styles = set[str]()
    for node in tree.body if tree else ():
        if _is_test(node):
            styles.add(PYTEST)
        elif isinstance(node, ast.ClassDef) and any(map(_is_test, node.body)):
            if any("Test" in ast.unparse(base) for base in node.bases):
                styles.add(UNITTEST)
            elif node.name.startswith("Test"):
                styles.add(PYTEST)
    return styles


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def counts_row(counts: SuiteCounts | None) -> dict[str, Any] | None:
    """Return the counts as the journal and the documents keep them."""
    return None if counts is None else {"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped}
