"""Code that people wrote for papers, with their own tests, on packages that are installed: accepted; one word wrong: refused.

It needs the network, gigabytes and minutes: `make test-slow TORCH=1` runs it, with the papers of ResearchCodeBench.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from benchmarks.fidelity.researchcodebench import PAPER, TESTS, Problem, fill_in_plan, find_problems, write_paper
from phases.llm.model import Reply, reply_to_json
from phases.sandbox.box import BUBBLEWRAP
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.plain_yaml import dump_yaml, parse_yaml
from tests.agents import write

ROOT = Path(__file__).parent.parent
DATA = ROOT / ".." / "shared" / "researchcodebench"
PAPERS = (
    "DyT",
    "minp",
    "schedule_free",
    "Tanh-Init",
    "OptimalSteps",
    "SISS",
    "TabDiff",
    "hyla",
    "LEN",
    "advantage-alignment",
)
_CALL = re.compile(r"\b(torch|nn|np|jnp|F|self)\.(\w+)\(")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("TORCH"), reason="takes gigabytes of packages; make test-slow TORCH=1 runs it"
    ),
    pytest.mark.skipif(not DATA.is_dir(), reason="../shared/researchcodebench is not here"),
    pytest.mark.skipif(kind_of_sandbox("required") != BUBBLEWRAP, reason="packages are installed in bubblewrap alone"),
]


@pytest.fixture(scope="module", params=PAPERS)
def planned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Problem, Path]:
    """The first block of a paper's code, and a folder with a task whose plan asks for it; its packages can be had."""
    folder = tmp_path_factory.mktemp("torch")
    problem = find_problems(DATA.resolve(), [request.param])[0]
    write_paper(problem, folder / "paper.tex")
    call(folder, "run", "paper.tex", "--fast", "--review", "auto", "--id", "task", "--stop-at", "05b")
    task = folder / "tasks" / "task"
    plan = parse_yaml((task / "initial_plan.txt").read_bytes())
    filled = fill_in_plan(problem, plan, json.loads((task / "outline.json").read_text()))
    (task / "initial_plan.txt").write_bytes(dump_yaml(filled))
    ended = call(folder, "resume", "task", "--install", "allowed", "--review", "auto", "--until", "05b")
    if ended.returncode:
        pytest.skip(f"the packages of {problem.paper} cannot be had here: {ended.stderr[-300:]}")
    return problem, folder


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command as the user gives it, with the cache of this user: packages are fetched once."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": os.path.expanduser("~/.cache")}
    command = [sys.executable, "-m", "pipeline", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def judge(problem: Problem, planned: Path, folder: Path, block: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """What comes of the authors' file with this block in it, judged by the authors' tests."""
    shutil.copytree(planned / "tasks", folder / "tasks", symlinks=True)
    shutil.copytree(problem.folder, folder / "mine", ignore=shutil.ignore_patterns("__pycache__", PAPER, problem.file))
    assert (folder / "mine" / TESTS).is_file()
    replies = [write(problem.file, problem.filled_with(f"# R1\n{block}")), *[Reply("ok", "Done.")] * 3]
    rows = [
        {"kind": "reply", "key": {"thread": "implement", "turn": turn}, "result": reply_to_json(reply)}
        for turn, reply in enumerate(replies, 1)
    ]
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--code-model", "replay:replies.jsonl", "--tests", "mine", "--max-acceptance-continues", "1")
    return call(folder, "resume", "task", *words), folder / "tasks" / "task"


def block_of(problem: Problem) -> str:
    lines = (problem.folder / problem.file).read_text().splitlines(keepends=True)
    return textwrap.dedent("".join(lines[problem.lines[0] : problem.lines[1]]))


def test_the_authors_code_is_accepted_by_their_own_tests(planned: tuple[Problem, Path], tmp_path: Path) -> None:
    problem, folder = planned
    ended, task = judge(problem, folder, tmp_path, block_of(problem))
    assert ended.returncode == 0, ended.stdout[-2000:]
    [row] = json.loads((task / "traceability.json").read_text())["requirements"]
    assert row["status"] == "run"
    assert row["user_tests"]


def test_a_misspelt_call_is_refused_and_named(planned: tuple[Problem, Path], tmp_path: Path) -> None:
    problem, folder = planned
    block = block_of(problem)
    wrong = _CALL.sub(r"\1.\2_misspelt(", block, count=1)
    wrong = f"{block}\nundefined_misspelt()\n" if wrong == block else wrong
    ended, task = judge(problem, folder, tmp_path, wrong)
    assert ended.returncode == 3, ended.stdout[-2000:]
    [attempt, *_] = json.loads((task / "acceptance.json").read_text())["attempts"]
    assert "misspelt" in json.dumps(attempt) + ended.stderr
