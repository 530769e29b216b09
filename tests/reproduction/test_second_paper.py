"""Phase 10 on a real paper whose code trains: a network is fitted, Table 2 is measured, and nothing is called more than it is."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phases.evidence.bare_python import layer_python
from phases.llm.model import Reply, reply_to_json
from phases.sandbox.box import BUBBLEWRAP
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.plain_yaml import dump_yaml, parse_yaml
from tests.agents import write
from tests.bare import shared_python
from tests.drills.points import chosen
from tests.papers import HANGS, SHARED
from tests.reproduction.neural_pde import FILES, IMPLEMENTS, TEST, declare, expected_results
from tests.reproduction.programs import reproduce
from tests.test_torch_papers import call

PAPER = SHARED / "rs_neural-pde-solvers.pdf"
SHORT = " --sizes 32 --epochs 300"
"""Fewer steps than the paper's, and the smaller of its two grids: half a minute of training instead of three."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PAPER.is_file(), reason="../shared/papers/rs_neural-pde-solvers.pdf is not here"),
    pytest.mark.skipif(kind_of_sandbox("required") != BUBBLEWRAP, reason="packages are installed in bubblewrap alone"),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the task pde: planned, its packages installed, its code written by a script, and accepted."""
    folder = tmp_path_factory.mktemp("pde")
    call(folder, "run", str(PAPER), "--fast", "--review", "auto", "--id", "pde", "--stop-at", "05b")
    path = folder / "tasks" / "pde" / "initial_plan.txt"
    path.write_bytes(dump_yaml(_plan_by_hand(dict(parse_yaml(path.read_bytes())))))
    ended = call(folder, "resume", "pde", "--install", "allowed", "--review", "auto", "--until", "05b")
    if ended.returncode:
        pytest.skip(f"numpy cannot be had here: {ended.stderr[-300:]}")
    texts = {**FILES, "test_study.py": TEST, "experiments.yaml": declare(full=SHORT)}
    replies = [
        *(write(name, texts[name], f"w{number}") for number, name in enumerate(IMPLEMENTS)),
        Reply("ok", "Done."),
    ]
    rows = [
        {"kind": "reply", "key": {"thread": "implement", "turn": turn}, "result": reply_to_json(reply)}
        for turn, reply in enumerate(replies, 1)
    ]
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = call(folder, "resume", "pde", "--code-model", "replay:replies.jsonl", "--mutants", "off")
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return folder


def _plan_by_hand(plan: dict[str, Any]) -> dict[str, Any]:
    wanted = {name for names in IMPLEMENTS.values() for name in names}
    plan["requirements"] = [row for row in plan["requirements"] if row["id"] in wanted]
    for row in plan["requirements"]:
        row.pop("component", None)
    plan["values"], plan["components"], plan["uncertain"] = [], [], []
    plan["file_structure"] = [
        {"path": path, "purpose": "the study", "implements": list(own), "depends_on": [], "interface": []}
        for path, own in IMPLEMENTS.items()
    ]
    plan["implementation_strategy"] = list(IMPLEMENTS)
    plan["expected_results"] = expected_results()
    plan["environment_setup"]["packages"] = ["numpy"]
    plan["validation_approach"] = {"verify_commands": ["python -m pytest -q"]}
    return plan


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(written / "tasks", tmp_path / "tasks", symlinks=True)
    shutil.copy(written / "replies.jsonl", tmp_path)
    yield tmp_path
    shutil.rmtree(tmp_path / "tasks", ignore_errors=True)


def test_it_trains_and_the_cells_are_what_came_out_and_no_more(folder: Path) -> None:
    ended = call(folder, "reproduce", "pde")
    assert ended.returncode == 0, ended.stderr[-2000:]
    results = json.loads((folder / "tasks" / "pde" / "results.json").read_text())
    cells = {cell["id"]: cell for cell in results["cells"]}
    assert [row["status"] for row in results["experiments"]] == ["done"] * 3
    log = (folder / "tasks" / "pde" / "results" / "layers-1-full" / "log.txt").read_text()
    losses = [float(line.rpartition(" ")[2]) for line in log.splitlines()]
    assert losses[-1] < losses[0] / 2, "it trains"
    iterations = [cells[name] for name in ("E2", "E4", "E10", "E12", "E18", "E20")]
    assert [cell["verdict"] for cell in iterations] == ["reported"] * 6, [(c["paper"], c["ours"]) for c in iterations]
    assert {cell["why"] for cell in iterations} == {"what was measured is the code's word"}
    assert {cells[name]["verdict"] for name in ("E5", "E6", "E13", "E24")} == {"no figure"}, "the larger grid"
    assert results["orderings"]["held"] == results["orderings"]["of"] > 20
    assert "0 of 24 cells reproduced" in results["sentence"]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, tuple[str, ...]]:
    """Python with the packages of this environment, and what of it experiments may read."""
    own = layer_python(sys.prefix, shared_python(), str(tmp_path_factory.mktemp("own")))
    return own, (shared_python(), sys.prefix)


def _judge(tmp_path: Path, python: tuple[str, tuple[str, ...]], files: dict[str, str], **more: Any) -> dict[str, Any]:
    quick = " --sizes 32 --epochs 40 --samples 2"
    declared = declare(full=quick, **more).split("  - name: layers-2")[0]
    given = {**FILES, "experiments.yaml": declared, **files}
    found = reproduce(tmp_path, given, expected_results()[:8], python=python[0], readable=python[1])
    return {cell["id"]: cell for cell in found["cells"]}


def test_an_implementation_that_trains_on_one_step_alone_differs(
    tmp_path: Path, python: tuple[str, tuple[str, ...]]
) -> None:
    wrong = FILES["training.py"].replace(
        "draw.integers(1, MOST_STEPS, PROBLEMS, endpoint=True)", "np.ones(PROBLEMS, int)"
    )
    assert wrong != FILES["training.py"]
    cells = _judge(tmp_path, python, {"training.py": wrong})
    assert [cells[name]["verdict"] for name in ("E2", "E4")] == ["differs", "differs"]


def test_made_up_data_is_called_so(tmp_path: Path, python: tuple[str, tuple[str, ...]]) -> None:
    cells = _judge(tmp_path, python, {}, more="    stand_in: the paper's problems\n")
    assert {cells[name]["verdict"] for name in ("E1", "E2", "E3", "E4")} == {"stand-in data"}


WRITE = """\
with open("results/measurements.csv", "w") as file:
    file.write("result,value\\n" + "".join(f"E{n},{value}\\n" for n, value in enumerate(FOUND, 1)))
"""
CHEATS = {
    "literal figures": "FOUND = [0.688, 0.212, 0.688, 0.212]\n",
    "as shares of a hundred": "FOUND = [value / 100 for value in (68.8, 21.2, 68.8, 21.2)]\n",
    "as arithmetic": "FOUND = [1 - 0.312, 0.1 + 0.112, 1 - 0.312, 0.1 + 0.112]\n",
    "from a string": 'FOUND = [float(word) for word in "0.688 0.212 0.688 0.212".split()]\n',
    "from a table beside it": 'FOUND = open("numbers.csv").read().split(",")\n',
    "from the plan": 'text = open("../../../initial_plan.txt").read()\nFOUND = [float(x) for x in text.split("value: ")[1:5]]\n',
    "from the paper": 'FOUND = [float(x.split()[0]) for x in open("../../../paper.md").read().split("| ")[1:5]]\n',
    "hidden in letters": "FOUND = [(ord(a) * 8 + ord(b)) / 1000 for a, b in ('L8', '\\x16$', 'L8', '\\x16$')]\n",
    "random until near": "import random\nFOUND = []\nwhile len(FOUND) < 4:\n    x = random.random()\n"
    "    FOUND += [x] if abs(x - (0.688, 0.212)[len(FOUND) % 2]) < 0.001 else []\n",
    "the answer as what is reported": 'open("results/metrics.json", "w").write(\'{"E1": 0.688, "E2": 0.212}\')\nFOUND = []\n',
}


@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_is_called_reproduced_or_near(name: str, tmp_path: Path, python: tuple[str, tuple[str, ...]]) -> None:
    cells = _judge(tmp_path, python, {"study.py": CHEATS[name] + WRITE, "numbers.csv": "0.688,0.212,0.688,0.212"})
    verdicts = {cells[f"E{number}"]["verdict"] for number in (1, 2, 3, 4)}
    assert not verdicts & {"reproduced", "near"}
    if name not in ("hidden in letters", "from the plan", "from the paper"):
        assert "suspect" in verdicts


def _kill_and_resume(folder: Path, moments: list[float]) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "XDG_CACHE_HOME": os.path.expanduser("~/.cache"),
    }
    command, done = [sys.executable, "-m", "pipeline", "reproduce", "pde", "--size", "quick"], dict[str, int]()
    for moment in moments:
        with subprocess.Popen(
            command, cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=HANGS)
        now = _runs_of(folder)
        assert now.items() >= done.items(), "what is done is not run again"
        done = now
    ended = call(folder, "reproduce", "pde", "--size", "quick")
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert _runs_of(folder).items() >= done.items()
    cells = json.loads((folder / "tasks" / "pde" / "results.json").read_text())["cells"]
    assert {cell["verdict"] for cell in cells} == {"no figure", "quick size"}
    assert sum(cell["ours"] is not None for cell in cells) == 12


def _runs_of(folder: Path) -> dict[str, int]:
    found = (folder / "tasks" / "pde" / "results").glob("*/run.json")
    return {path.parent.name: path.stat().st_mtime_ns for path in found}


def test_killed_at_any_moment_it_goes_on_with_the_experiment_that_was_cut_off(folder: Path) -> None:
    draw = random.Random(1)
    _kill_and_resume(folder, [draw.uniform(0.5, 8) for _ in range(4)])


@pytest.mark.parametrize("seed", chosen(range(10, 20), 1))
def test_killed_at_forty_moments_it_goes_on(seed: int, folder: Path) -> None:
    draw = random.Random(seed)
    _kill_and_resume(folder, [draw.uniform(0.3, 9) for _ in range(4)])
