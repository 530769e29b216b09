"""CI runs every test: no combination of marks is left out by all of its runs."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).resolve().parent.parent


def marks_of(config: str) -> list[str]:
    """The marks that pyproject.toml declares."""
    rows = tomllib.loads(config)["tool"]["pytest"]["ini_options"]["markers"]
    return [row.partition(":")[0] for row in rows]


def selections(script: str, makefile: str) -> list[str]:
    """The mark expression of each whole run of pytest that a script starts by way of make; "" where it has none."""
    targets = re.findall(r"^make (\S+)$", script, re.MULTILINE)
    recipes = dict(re.findall(r"^([\w-]+):.*\n((?:\t.*\n?)+)", makefile, re.MULTILINE))
    found = []
    for target in targets:
        for line in recipes[target].splitlines():
            words = shlex.split(line.strip().lstrip("@"))
            if words[-1:] and "pytest" in words and not any(word.startswith("tests/") for word in words):
                found.append(words[words.index("-m", words.index("pytest")) + 1] if words.count("-m") > 1 else "")
    return found


def left_out(marks: Sequence[str], chosen: Iterable[str]) -> list[tuple[str, ...]]:
    """The combinations of marks that no expression selects."""
    tests = [held for count in range(len(marks) + 1) for held in combinations(marks, count)]
    return [held for held in tests if not any(_selects(text, held) for text in chosen)]


def _selects(text: str, held: Sequence[str]) -> bool:
    def has(name: str, /, **_: str | int | bool | None) -> bool:
        return name in held

    return not text or Expression.compile(text).evaluate(has)


def test_every_test_is_run_by_ci() -> None:
    marks = marks_of((ROOT / "pyproject.toml").read_text())
    chosen = selections((ROOT / ".ci" / "run").read_text(), (ROOT / "Makefile").read_text())
    assert len(chosen) >= 2, chosen
    assert left_out(marks, chosen) == []


@pytest.mark.parametrize(
    ("marks", "chosen", "missing"),
    [
        pytest.param(["slow"], ["not slow"], [("slow",)], id="a mark that no run selects"),
        pytest.param(
            ["slow", "drill"],
            ["not slow and not drill", "slow and not drill"],
            [("drill",), ("slow", "drill")],
            id="one that each run leaves out",
        ),
        pytest.param(["slow", "drill"], ["not slow", "slow and not drill"], [("slow", "drill")], id="two together"),
        pytest.param(["slow"], ["slow"], [()], id="tests without a mark"),
        pytest.param(["slow", "drill"], [""], [], id="a run of everything"),
    ],
)
def test_what_no_run_selects_is_found(marks: list[str], chosen: list[str], missing: list[tuple[str, ...]]) -> None:
    assert left_out(marks, chosen) == missing


def test_runs_of_ci_are_read_from_the_recipes_that_it_names() -> None:
    makefile = (
        'test: check ## quick\n\t@VARIABLE= python -m pytest -n auto -m "not slow" -rs\n\n'
        "all:\n\t@python -m pytest -n auto -rs\n\nsome:\n\t@python -m pytest tests/drills\n"
    )
    assert selections("set -eu\nmake test\nmake all\n", makefile) == ["not slow", ""]
    assert selections("make some\n", makefile) == []
