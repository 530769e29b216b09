"""Other people's benchmarks: the authors' code passes, no code fails, and a run that is played again scores the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fidelity.researchcodebench import Problem, find_problems
from tests.papers import SHARED

DATA = SHARED.parent / "researchcodebench"
RUN = Path(__file__).resolve().parents[2] / "benchmarks" / "fidelity" / "run.py"
BLOCKS = 3
needs_data = pytest.mark.skipif(not (DATA / "papers.yaml").exists(), reason="ResearchCodeBench is not on this machine")


def fidelity(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(RUN), *arguments], capture_output=True, text=True, check=False)
    if "cannot be installed" in done.stderr:
        pytest.skip("numpy and scipy cannot be installed here")
    assert done.returncode == 0, done.stderr
    return done.stdout


def code_bench(out: Path, *arguments: str) -> str:
    wanted = ("--papers", "LEN", "--blocks", str(BLOCKS), "--out", str(out))
    return fidelity("researchcodebench", "--data", str(DATA), *wanted, *arguments)


def record(folder: Path, problem: Problem, text: str | None) -> None:
    """What a model would say that writes this file, or none."""
    call = {"id": "w", "name": "Write", "arguments": {"file_path": problem.file, "content": text}}
    turns = [[call], []] if text is not None else [[]]
    fields = {"outcome": "ok", "text": "Done.", "tokens_in": 0, "tokens_cached": 0, "tokens_out": 0, "usd": 0.0}
    rows = [
        {
            "kind": "reply",
            "key": {"thread": "implement", "turn": turn},
            "result": {**fields, "detail": "", "wait": None, "calls": calls},
        }
        for turn, calls in enumerate(turns, 1)
    ]
    folder.mkdir(exist_ok=True)
    (folder / f"{problem.name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def passed(out: Path) -> dict[str, bool]:
    rows = [json.loads(path.read_text()) for path in (out / "results").glob("*.json")]
    return {row["block"]: row["passed"] for row in rows}


@needs_data
@pytest.mark.slow
def test_the_authors_code_passes_no_code_fails_and_a_played_run_scores_the_same(tmp_path: Path) -> None:
    problems = find_problems(DATA, ["LEN"])[:BLOCKS]
    for number, problem in enumerate(problems):
        record(tmp_path / "right", problem, problem.whole_text())
        record(tmp_path / "none", problem, None)
        record(tmp_path / "half", problem, problem.whole_text() if number == 0 else problem.masked_text())

    said = code_bench(tmp_path / "of right", "--model", f"replay:{tmp_path / 'right'}")
    assert "3 of 3 blocks pass; of 7 lines of code 100.0%" in said
    code_bench(tmp_path / "of none", "--model", f"replay:{tmp_path / 'none'}")
    assert passed(tmp_path / "of none") == {problem.block: False for problem in problems}
    code_bench(tmp_path / "of half", "--model", f"replay:{tmp_path / 'half'}")
    half = passed(tmp_path / "of half")
    assert half == {problem.block: number == 0 for number, problem in enumerate(problems)}

    code_bench(tmp_path / "again", "--model", f"replay:{tmp_path / 'of half' / 'tasks'}")
    assert passed(tmp_path / "again") == half


@needs_data
@pytest.mark.slow
def test_code_that_ends_the_tests_early_or_leaves_some_out_does_not_pass(tmp_path: Path) -> None:
    problem = find_problems(DATA, ["LEN"])[0]
    record(tmp_path / "sly", problem, problem.whole_text() + "\n\nimport os\nos._exit(0)\n")
    code_bench(tmp_path / "out", "--model", f"replay:{tmp_path / 'sly'}", "--blocks", "1")
    assert passed(tmp_path / "out") == {problem.block: False}


@needs_data
@pytest.mark.slow
def test_a_peer_gets_the_paper_and_the_code_without_the_block_and_never_the_tests(tmp_path: Path) -> None:
    command = (
        "grep -q 'is left out here' {file} && grep -q 'block: split' {paper} && ls > seen.txt && cat {task} >> seen.txt"
    )
    code_bench(tmp_path, "--peer", f"sh={command}", "--blocks", "1")
    seen = (tmp_path / "peers" / "sh" / "LEN-split-input-vector" / "seen.txt").read_text().splitlines()
    assert seen[:4] == ["Synthetic.py", "paper.tex", "seen.txt", "task.txt"]
    assert passed(tmp_path) == {"split input vector": False}


def test_a_block_is_left_out_whole_and_comes_back_whole(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    folder.mkdir()
    (tmp_path / "papers.yaml").write_text("- id: toy\n  annotated_file_paths: toy.py\n")
    (folder / "paper2code_test.py").write_text("import toy\n")
    lines = ["def mean(values):", '    # <paper2code name="mean">', "    count = len(values)", "    # so many"]
    lines += ['    # <paper2code name="sum">', "    total = sum(values)", '    # </paper2code name="sum">']
    lines += ["    return total / count", '    # </paper2code name="mean">', ""]
    (folder / "toy.py").write_text("\n".join(lines))

    inner, outer = find_problems(tmp_path, [])
    assert (inner.block, inner.weight, outer.block, outer.weight) == ("sum", 1, "mean", 3)
    whole = (
        "def mean(values):\n    count = len(values)\n    # so many\n    total = sum(values)\n    return total / count\n"
    )
    assert inner.whole_text() == outer.whole_text() == whole
    assert inner.filled_with("total = sum(values)\n") == whole
    assert outer.masked_text() == 'def mean(values):\n    # TODO: the block "mean" is left out here\n'


@pytest.mark.slow
def test_a_paper_of_paperbench_becomes_a_repository_that_its_judges_take(tmp_path: Path) -> None:
    paper = tmp_path / "papers" / "toy"
    paper.mkdir(parents=True)
    (paper / "paper.md").write_text(
        "# A small study\n\n## Method\n\nWe use a mean over 3 values. The mean is the sum by 3.\n"
    )
    (paper / "addendum.md").write_text("The learning rate of the method is 0.1.\n")
    (paper / "blacklist.txt").write_text("https://github.com/someone/toy\n")
    out = tmp_path / "out"
    fidelity("paperbench", "--data", str(tmp_path / "papers"), "--model", "offline", "--out", str(out))

    row = json.loads((out / "results" / "toy.json").read_text())
    source = (out / "tasks" / "toy" / "paper.md").read_text()
    assert "learning rate of the method is 0.1" in source
    assert "https://github.com/someone/toy" in source
    submission = out / row["submission"]
    tracked = subprocess.run(["git", "ls-files"], cwd=submission, capture_output=True, text=True, check=True).stdout
    assert {"reproduce.sh", "README.md"} <= set(tracked.split())
    assert os.access(submission / "reproduce.sh", os.X_OK)
    assert (row["status"], row["blacklisted_addresses_named"]) == ("incomplete", [])
