"""Drill 100: each promise of SECURITY.md names the tests that hold it, and these tests are there."""

from __future__ import annotations

import ast
import re

from tests.papers import ROOT

_NAMED = re.compile(r"`([\w/]+\.py)`")


def _promises() -> list[tuple[str, str, str]]:
    """Return threat, defence and drills of each row of the table."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    defended = text.split("## What is defended")[1].split("## What is not")[0]
    return re.findall(r"(?m)^\| (.+) \| (.+) \| (.+) \|$", defended)[1:]


def test_each_promise_names_its_drills() -> None:
    promises = _promises()
    assert len(promises) >= 30
    assert [threat for threat, _, drills in promises if not _NAMED.search(drills)] == []


def test_the_drills_that_a_promise_names_exist_and_assert_something() -> None:
    for path in {path for *_, drills in _promises() for path in _NAMED.findall(drills)}:
        tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
        tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        assert tests, f"{path} has no test"
        assert any(isinstance(node, ast.Assert) for node in ast.walk(tree)), f"{path} asserts nothing"


def test_the_privacy_page_fits_one_screen_and_is_named() -> None:
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert "docs/privacy.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_drills_is_whole_and_names_tests_that_are_there() -> None:
    rows = re.findall(
        r"(?m)^\| (\d+) \| (.+) \| (.+) \| (.*) \|$", (ROOT / "docs" / "drills.md").read_text(encoding="utf-8")
    )
    assert [int(number) for number, *_ in rows] == list(range(1, 101))
    for number, _, status, tests in rows:
        named = re.findall(r"`([\w/]+\.py)`", tests)
        assert status.startswith(("there", "partly: ", "missing")), number
        assert bool(named) == (not status.startswith("missing")), number
        assert [path for path in named if not (ROOT / "tests" / path).exists()] == [], number
