"""Right code that carries no id of the plan, written by an agent of the user's own, is accepted as its user would accept it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phases.evidence.traceability import describe_evidence
from phases.sandbox.commands import kind_of_sandbox
from tests.papers import Command, paper

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")
PAPER = r"""# Scoring excerpts by their overlap

## 1 Introduction

Excerpts of recordings are compared by their peaks.

## 2 Method

### 2.1 Overlap

The overlap of two sets of peaks is the number of peaks that they share.

### 2.2 Score

The score of two sets is their overlap divided by the size of the smaller set. $s = |A \cap B| / \min(|A|, |B|)$ (1)

### 2.3 Decision

An excerpt matches a track if the score is at least 0.6.
"""
CODE = '''"""Compare excerpts by their peaks."""
from scoring_excerpts_overlap.config import THRESHOLD


def overlap(one, other):
    """Count the peaks that two sets share{0}."""
    return len(set(one) & set(other))


def score(one, other):
    """Divide the overlap by the size of the smaller set{1}."""
    return overlap(one, other) / min(len(one), len(other))


def decision(one, other):
    """Return whether an excerpt matches a track{2}."""
    return score(one, other) >= THRESHOLD
'''
TESTS = """import unittest

from scoring_excerpts_overlap.overlap import decision, overlap, score


class PeaksTest(unittest.TestCase):
    def test_two_of_three_are_shared(self):
        self.assertEqual(overlap({1, 2, 3}, {2, 3, 4}), 2)

    def test_the_smaller_set_is_what_it_is_divided_by(self):
        self.assertEqual(score({1, 2}, {2, 3, 4, 5}), 0.5)

    def test_an_excerpt_is_found_from_three_fifths_on(self):
        self.assertTrue(decision({1, 2, 3, 4, 5}, {1, 2, 3, 6, 7}))
        self.assertFalse(decision({1, 2, 3, 4, 5}, {1, 2, 6, 7, 8}))
"""
FILES = {
    "scoring_excerpts_overlap/__init__.py": '"""Scores of excerpts."""\n',
    "scoring_excerpts_overlap/config.py": '"""Settings."""\nTHRESHOLD = 0.6\n',
    "scoring_excerpts_overlap/__main__.py": "import argparse\n\nargparse.ArgumentParser().parse_args()\n",
    "README.md": "# Scores of excerpts\n",
    "tests/__init__.py": '"""Tests."""\n',
    "tests/test_scaffold.py": TESTS,
}
MODULE = "scoring_excerpts_overlap/overlap.py"
AGENT = """import pathlib
for path, text in {files!r}.items():
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(text)
print("written")
"""


def run(folder: Path, module: str) -> Command:
    """A run on the paper, of which an agent writes the module in this way."""
    command = Command(folder)
    script = paper(folder, AGENT.format(files={**FILES, MODULE: module}), "agent.py")
    own = f"{sys.executable} {script}"
    command("run", "--fast", paper(folder, PAPER), "--id", "peaks", "--agent", own, "--max-acceptance-continues", "1")
    return command


@pytest.mark.parametrize(
    ("cites", "how", "symbols"),
    [
        pytest.param(
            [" (section 2.1)", " (section 2.2, equation 1)", " (section 2.3)"], "cited", ["overlap", "score", "decision"],
            id="sections",
        ),
        pytest.param(
            [", see §2.1", ": Sec. 2.2", " as in Section 2.3"], "cited", ["overlap", "score", "decision"],
            id="sections in other words", marks=pytest.mark.slow,
        ),
        pytest.param(["", "", ""], "planned", ["(module)"] * 3, id="nothing", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_right_code_is_accepted_at_the_first_attempt_whatever_its_docstrings_cite(
    cites: list[str], how: str, symbols: list[str], tmp_path: Path
) -> None:
    command = run(tmp_path, CODE.format(*cites))
    report = command.document("peaks", "report.json")
    assert (report["status"], report["verified_by"]) == ("completed", ["own tests (3)"]), report["reason"]
    assert describe_evidence(report["requirements"], report["verified_by"]).startswith("checked by its own tests only; 3 of 3")
    assert len(command.document("peaks", "acceptance.json")["attempts"]) == 1
    rows = command.document("peaks", "traceability.json")["requirements"]
    assert [(row["status"], row["how"], row["places"]) for row in rows] == [
        ("run", how, [f"{MODULE}:{name}"]) for name in symbols
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param("return len(set(one) & set(other))", "raise NotImplementedError", "is a stub", id="a stub"),
        pytest.param("min(len(one)", "max(len(one)", "FAILED (failures=1)", id="a wrong formula", marks=pytest.mark.slow),
        pytest.param("import THRESHOLD", "import LIMIT", "cannot import name", id="an import that fails", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_code_of_which_a_fact_does_not_hold_is_refused_for_it(old: str, new: str, told: str, tmp_path: Path) -> None:
    command = run(tmp_path, CODE.replace(old, new).format(" (section 2.1)", "", ""))
    report = command.document("peaks", "report.json")
    assert (report["status"], report["verified_by"]) == ("incomplete", [])
    assert told in (command.task("peaks") / "logs" / "agent-2.prompt.md").read_text()
