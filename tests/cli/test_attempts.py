"""What differs from the paper's tables goes back to the agent: told, mended, kept, judged again; and honest about it."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phases.llm.model import Reply, reply_to_json
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.plain_yaml import dump_yaml, parse_yaml
from tests.agents import call, write
from tests.cli.test_reproduce import PAPER, STUDY, TEST
from tests.drills.points import chosen
from tests.papers import HANGS, Command, Ended, paper
from tests.reproduction.programs import HONEST, hold_out

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
DECLARED = """\
experiments:
  - name: main
    results: [E1, E2]
    quick: python study.py
    full: python study.py
"""
RIGHT = STUDY.replace("def main(result):", "def main():").replace("main(sys.argv[1])", "main()")
RIGHT = RIGHT.replace('print("done with", result)', 'print("done")').replace(
    'file.write(f"{result},', 'for result in ("E1", "E2"):\n                file.write(f"{result},'
)
WRONG = RIGHT.replace("cut = border(points[:1000])", "cut = border(points[:1000]) + 1")
CHECK = TEST.replace("test_r1()", "test_r1_r2()")
FILES = {"study.py": WRONG, "test_study.py": CHECK, "experiments.yaml": DECLARED}
DONE = Reply("ok", "Done.")
CLASSIFIER = HONEST.split("\nborder = ")[0].replace(
    "def threshold(training):", 'def border(training):\n    """R1, R2: the nearest mean classifier (NMC)."""'
)
CLASSIFIER += """
if __name__ == "__main__":
    cut = border(rows("data/train.csv"))
    write([(row["row"], int(float(row["x"]) > cut)) for row in rows("data/test.csv")])
"""
CLASSIFIER_TEST = """\
from study import border


def test_r1_r2():
    assert border([{"x": x, "y": y} for x, y in ((0, "0"), (2, "1"), (4, "1"))]) == 1.5
"""


def mend(new: str, old: str = "cut = border(points[:1000]) + 1") -> Reply:
    return call("Edit", {"file_path": "study.py", "old_string": old, "new_string": new})


def record(folder: Path, replies: Sequence[Reply]) -> str:
    """The name of a model that says this, turn by turn, when it writes code."""
    rows = [
        {"kind": "reply", "key": {"thread": "implement", "turn": turn}, "result": reply_to_json(reply)}
        for turn, reply in enumerate(replies, 1)
    ]
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"replay:{folder / 'replies.jsonl'}"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A task with a plan of three files, and no code."""
    command = Command(tmp_path_factory.mktemp("attempts"))
    text = paper(command.folder, PAPER)
    ended = command("run", "--fast", text, "--id", "task", "--review", "auto", "--until", "05b")
    assert ended.code == 0, ended.err
    path = command.task("task") / "initial_plan.txt"
    plan: dict[str, Any] = dict(parse_yaml(path.read_bytes()))
    rows = [(name, ["R1", "R2"] if name == "study.py" else []) for name in FILES]
    plan["file_structure"] = [
        {"path": name, "purpose": "the study", "implements": own, "depends_on": [], "interface": []}
        for name, own in rows
    ]
    plan["components"], plan["implementation_strategy"] = [], list(FILES)
    for row in plan["requirements"]:
        row.pop("component", None)
    plan["validation_approach"] = {"verify_commands": ["python -m pytest -q"]}
    path.write_bytes(dump_yaml(plan))
    ended = command("resume", "task", "--review", "auto", "--until", "05b")
    assert ended.code == 0, ended.err
    return command


@pytest.fixture
def task(planned: Command, tmp_path: Path) -> Command:
    copy = Command(tmp_path)
    shutil.rmtree(copy.home)
    shutil.copytree(planned.home, copy.home, symlinks=True)
    shutil.copytree(planned.folder / "tasks", copy.folder / "tasks", symlinks=True)
    return copy


def begin(task: Command, later: Sequence[Reply], *words: str, files: dict[str, str] | None = None) -> Ended:
    """The code that a script writes, and its experiments, with what the script says to the tables."""
    first = [write(path, text, f"w{number}") for number, (path, text) in enumerate((files or FILES).items())]
    name = record(task.folder, [*first, DONE, *later])
    return task("resume", "task", "--code-model", name, "--evidence", "--mutants", "off", "--reproduce", *words)


def tables(task: Command) -> dict[str, Any]:
    return dict(task("results", "task", "--json").json())


def rows_told(task: Command) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (task.task("task") / "journal.jsonl").read_text().splitlines()]
    return [row["result"] for row in rows if row["kind"] == "tables"]


def test_what_differs_goes_back_is_mended_and_what_changed_is_kept(task: Command) -> None:
    ended = begin(task, [mend("cut = border(points[:1000])"), DONE], "--reproduce-attempts", "2")
    assert ended.code == 0, ended.out + ended.err
    assert "attempt 1: the agent is told of 2 figures that differ" in ended.err
    found = tables(task)
    assert (
        found["sentence"]
        == "0 of 2 cells reproduced, 2 reported by the code alone (all agree); attempts at what differs: 1"
    )
    [row] = found["attempts"]
    assert row["before"].startswith("0 of 2 cells reproduced, 2 differ")
    assert (row["told"], row["changed"], row["changes"]) == (2, ["study.py"], "attempts/1/changes.diff")
    changes = (task.task("task") / row["changes"]).read_text()
    assert "-    cut = border(points[:1000]) + 1\n+    cut = border(points[:1000])\n" in changes
    [told] = rows_told(task)
    assert "the paper: 19.25, your code: " in told["text"]
    shown = task("results", "task").out
    assert "attempt 1: the agent was sent 2 cells, and changed study.py (attempts/1/changes.diff)" in shown
    assert task("check", "task").code == 0
    task("results", "task", "--html", "page.html")
    assert "Attempt 1: the agent was sent 2 cells, and changed study.py" in (task.folder / "page.html").read_text()


@pytest.mark.slow
def test_an_attempt_keeps_the_limits_of_the_task_and_goes_on_where_it_paused(task: Command) -> None:
    ended = begin(task, [mend("cut = border(points[:1000])"), DONE], "--reproduce-attempts", "1", "--max-turns", "5")
    assert ended.code == 5, ended.err
    assert "the limit max_turns = 5 is reached" in ended.err
    again = task("reproduce", "task")
    assert again.code == 5, "the attempt comes first"
    ended = task("resume", "task", "--max-turns", "9")
    assert ended.code == 0, ended.err
    assert tables(task)["attempts"][0]["changed"] == ["study.py"]
    assert len(rows_told(task)) == 1


@pytest.mark.slow
def test_a_replay_of_the_task_is_told_the_same_and_changes_the_same(task: Command, tmp_path: Path) -> None:
    assert begin(task, [mend("cut = border(points[:1000])"), DONE], "--reproduce-attempts", "1").code == 0
    before, [told] = (task.task("task") / "generate_code" / "study.py").read_text(), rows_told(task)
    shutil.copytree(task.task("task"), tmp_path / "recorded")
    words = ("--redo", "implement", "--code-model", f"replay:{tmp_path / 'recorded'}", "--reproduce-attempts", "2")
    shutil.rmtree(task.task("task") / "attempts")
    ended = task("resume", "task", *words)
    assert ended.code == 0, ended.err
    assert (task.task("task") / "generate_code" / "study.py").read_text() == before
    [again] = rows_told(task)
    assert again["text"].replace('of="2"', 'of="1"') == told["text"]


def test_the_code_of_an_attempt_must_be_accepted_like_any_other(task: Command) -> None:
    broken = mend("    return 0.0\n", "    return sum(means) / 2\n")
    ended = begin(task, [broken, DONE, DONE, DONE, DONE], "--reproduce-attempts", "1")
    assert ended.code == 3
    assert task.document("task", "acceptance.json")["stop_reason"] == "accept_continue_exhausted"
    assert "to undo the last attempt: patch -R -p1 -d tasks/task/generate_code" in " ".join(ended.out.split())
    undo = ended.out.rpartition("to undo the last attempt: ")[2].splitlines()
    command = shlex.split(undo[0] + " " + undo[1]) if "-i" not in undo[0] else shlex.split(undo[0])
    subprocess.run(command, cwd=task.folder, check=True, capture_output=True)
    assert (task.task("task") / "generate_code" / "study.py").read_text() == WRONG
    assert task("resume", "task").code == 0, "what was accepted is accepted again"


@pytest.mark.slow
def test_an_attempt_that_changes_nothing_is_the_last_one(task: Command) -> None:
    ended = begin(task, [DONE, DONE, DONE], "--reproduce-attempts", "3")
    assert "attempt 1 changed nothing, so there is no further attempt" in ended.err
    assert len(rows_told(task)) == 1
    assert tables(task)["attempts"][0]["changed"] == []


@pytest.mark.slow
def test_an_attempt_that_writes_the_figures_down_is_suspect(task: Command) -> None:
    cheat = mend('open("results/metrics.json", "w").write("{\\"E1\\": 19.25}"); cut = border(points[:1000]) + 1')
    ended = begin(task, [cheat, DONE], "--reproduce-attempts", "1")
    assert ended.code == 0, ended.err
    first, second = tables(task)["cells"]
    assert (first["verdict"], second["verdict"]) == ("suspect", "differs")
    assert "attempt 1 of 1 was the last one; more: --reproduce-attempts 2" in ended.err


def test_what_an_attempt_was_told_of_is_no_proof_on_the_same_labels(task: Command, tmp_path: Path) -> None:
    files = {**FILES, "study.py": CLASSIFIER.replace("> cut)", "> cut + 1)"), "test_study.py": CLASSIFIER_TEST}
    files["experiments.yaml"] = DECLARED.replace("[E1, E2]", "[E1]")
    held = hold_out(tmp_path)
    words = ("--reproduce-attempts", "1", "--held-out", str(held), "--tolerance", "15")
    ended = begin(task, [mend("> cut)", "> cut + 1)"), DONE], *words, files=files)
    assert ended.code == 0, ended.err
    [told] = rows_told(task)
    assert "on labels that are held back, differs" in told["text"]
    assert "your code: " not in told["text"]
    first = tables(task)["cells"][0]
    assert (first["verdict"], first["agrees"]) == ("reported", "yes")
    assert first["why"] == "attempt 1 was informed of a difference on these labels"
    task("reproduce", "task", "--redo")
    assert tables(task)["cells"][0]["verdict"] == "reported", "a redo does not forget it"
    labels = held / "labels" / "main.csv"
    lines = labels.read_text().splitlines()
    labels.write_text(
        "\n".join([lines[0], *(f"{row.split(',')[0]},{row.split(',')[1]}" for row in reversed(lines[1:]))])
    )
    task("reproduce", "task", "--held-out", held)
    assert tables(task)["cells"][0]["verdict"] == "reproduced", "labels that no attempt was told of"


def _kill_and_resume(task: Command, moments: list[float]) -> None:
    later = [mend("cut = border(points[:1000])"), DONE]
    first = [write(path, text, f"w{number}") for number, (path, text) in enumerate(FILES.items())]
    name = record(task.folder, [*first, DONE, *later])
    words = ("resume", "task", "--code-model", name, "--mutants", "off", "--reproduce", "--reproduce-attempts", "1")
    for moment in moments:
        with task.start(*words) as process:
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=HANGS)
    ended = task(*words)
    assert ended.code == 0, ended.err
    found = tables(task)
    assert (
        found["sentence"]
        == "0 of 2 cells reproduced, 2 reported by the code alone (all agree); attempts at what differs: 1"
    )
    assert [(row["number"], row["changed"]) for row in found["attempts"]] == [(1, ["study.py"])]
    assert len(rows_told(task)) == 1
    assert not list((task.task("task") / "attempts").glob("*.next"))


@pytest.mark.slow
def test_killed_at_any_moment_an_attempt_goes_on(task: Command) -> None:
    draw = random.Random(1)
    _kill_and_resume(task, [draw.uniform(0.5, 3) for _ in range(2)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", chosen(range(10, 20), 1))
def test_killed_at_forty_moments_an_attempt_goes_on(seed: int, task: Command) -> None:
    draw = random.Random(seed)
    _kill_and_resume(task, [draw.uniform(0.3, 9) for _ in range(4)])
