"""Phase 10 as a user meets it: asked for, told on the last screen, shown cell by cell, killed and resumed."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phases.evidence.traceability import describe_evidence
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from pipeline.cli.assembly import effective_settings
from pipeline.cli.task_factory import find_or_make_task
from pipeline.engine.settings import Settings
from tests.drills.points import chosen
from tests.papers import HANGS, Command, in_terminal, paper
from tests.web import says, serving

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
TASK = "paper-code-verify"
PAPER = """\
# Nearest Means

## Abstract

We classify points by the nearest class mean.

## 1 Method

We propose the nearest mean classifier (NMC). The border is the mean of the two class means.

## 2 Results

> **Table 1.** Test error in percent of our method and of a baseline.

| Method | Error | F1 |
|---|---|---|
| Majority | 50.25 | 0.00 |
| NMC (ours) | 19.25 | 0.81 |

Table 1 shows the test error. NMC has a lower error than the majority.
"""
STUDY = '''\
"""R1: the nearest mean classifier (NMC)."""
import random, sys, time


def border(training):
    """R1, R2: the mean of the class means."""
    means = [sum(x for x, y in training if y == label) / sum(y == label for x, y in training) for label in (0, 1)]
    return sum(means) / 2


def main(result):
    draw = random.Random(1)
    points = [(draw.gauss(1.75 * y, 1.0), y) for y in [draw.randrange(2) for _ in range(2000)]]
    cut = border(points[:1000])
    time.sleep(0.2)
    with open("results/predictions.csv", "w") as file:
        file.write("result,row,y_pred,y_true\\n")
        for row, (x, y) in enumerate(points[1000:]):
            file.write(f"{result},{row},{int(x > cut)},{y}\\n")
    print("done with", result)


if __name__ == "__main__":
    main(sys.argv[1])
'''
TEST = "from study import border\n\n\ndef test_r1():\n    assert border([(0.0, 0), (2.0, 1), (4.0, 1)]) == 1.5\n"
DECLARED = "experiments:\n" + "".join(
    f"  - name: part-{number}\n    results: [{result}]\n    quick: python study.py {result}\n    full: python study.py {result}\n"
    for number, result in enumerate(("E1", "E2"), 1)
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A task whose code is there, and was judged."""
    command = Command(tmp_path_factory.mktemp("reproduce"))
    code = command.folder / "code"
    code.mkdir()
    for name, text in {"study.py": STUDY, "test_study.py": TEST, "experiments.yaml": DECLARED}.items():
        (code / name).write_text(text)
    ended = command("verify", "--paper", paper(command.folder, PAPER), "--code", code)
    assert ended.code in (0, 3), ended.err
    return command


@pytest.fixture
def task(prepared: Command, tmp_path: Path) -> Iterator[Command]:
    """A copy of it."""
    copy = Command(tmp_path)
    shutil.rmtree(copy.home)
    shutil.copytree(prepared.home, copy.home, symlinks=True)
    shutil.copytree(prepared.folder / "tasks", copy.folder / "tasks", symlinks=True)
    yield copy
    shutil.rmtree(copy.folder / "tasks", ignore_errors=True)


def test_who_does_not_ask_for_it_sees_nothing_of_it(task: Command) -> None:
    assert "reproduce" not in task("status", TASK).out
    assert "reproduce" not in task("why", TASK).out
    assert not (task.task(TASK) / "results.json").exists()
    assert "reproduction" not in task.document(TASK, "report.json")
    ended = task("results", TASK)
    assert (ended.code, "pipeline reproduce paper-code-verify" in ended.err) == (2, True)
    assert "--reproduce" in task("step", TASK, "reproduce").err


def test_the_tables_are_compared_and_told_in_each_form(task: Command) -> None:
    ended = task("reproduce", TASK)
    sentence = "0 of 2 cells reproduced, 2 reported by the code alone (all agree)"
    assert f"The paper's tables: {sentence}" in ended.out, ended.err
    assert task.document(TASK, "report.json")["reproduction"] == {
        "size": "full",
        "cells": 2,
        "verdicts": {"reported": 2},
        "sentence": sentence,
    }
    shown = task("results", TASK, "--csv", "cells.csv", "--html", "page.html").out
    assert sentence in shown
    assert "E1  NMC (ours)  Error   19.25  19.2     reported" in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80, "a sentence is wrapped in a terminal, and a table cannot be"
    rows = list(csv.DictReader((task.folder / "cells.csv").read_text().splitlines()))
    assert [(row["id"], row["verdict"], row["measure"]) for row in rows] == [
        ("E1", "reported", "error_rate"),
        ("E2", "reported", "f1"),
    ]
    page = (task.folder / "page.html").read_text()
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http-equiv", "")
    cells = task("results", TASK, "--json").json()["cells"]
    assert [cell["samples"] for cell in cells] == [1000, 1000]
    assert "10  reproduce     done" in task("status", TASK).out
    assert (task.task(TASK) / "results" / "part-1-full" / "log.txt").read_text() == "done with E1\n"
    assert task("check", TASK).code == 0


@pytest.mark.slow
def test_what_is_done_is_not_run_again_until_it_is_asked_for(task: Command) -> None:
    task("reproduce", TASK)
    before = _runs_of(task)
    again = task("reproduce", TASK)
    assert "up to date" in again.err or "0 of 2 cells" in again.out
    task("reproduce", TASK, "--tolerance", "50")  # another comparison of the same runs
    assert _runs_of(task) == before
    assert task("results", TASK, "--json").json()["cells"][0]["tolerance_from"] == "--tolerance"
    task("reproduce", TASK, "--redo")
    assert _runs_of(task).keys() == before.keys()
    assert set(_runs_of(task).values()).isdisjoint(before.values())
    assert (task.task(TASK) / "results.prev").is_dir()


def test_experiments_that_failed_run_again_by_the_next_reproduce_and_those_that_are_done_do_not(task: Command) -> None:
    code = task.task(TASK) / "generate_code" / "experiments.yaml"
    code.write_text(DECLARED.replace("full: python study.py E2", "full: python nowhere.py E2"))
    task("resume", TASK)  # the code was changed by hand, and is judged again
    task("reproduce", TASK)
    first = _runs_of(task)
    assert "10 reproduce" not in task("why", TASK).out, "a plain resume runs nothing again"
    again = task("reproduce", TASK)
    assert "0 of 2 cells reproduced" in again.out, again.err
    runs = _runs_of(task)
    assert [runs[name] == first[name] for name in sorted(runs)] == [True, False]
    assert task.attempts(TASK)["reproduce"] == 2


@pytest.mark.slow
def test_data_that_the_user_names_are_there_for_experiments(task: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("of mine\n")
    code = task.task(TASK) / "generate_code"
    study = (code / "study.py").read_text()
    (code / "study.py").write_text(
        study.replace('print("done with", result)', 'print(open("/data/mine/note.txt").read())')
    )
    declared = (code / "experiments.yaml").read_text()
    (code / "experiments.yaml").write_text(declared.replace("    quick", "    data: [mine]\n    quick", 1))
    ended = task("resume", TASK, "--reproduce")
    assert "part-1: mine is missing; give it with --data mine=PATH" in " ".join(ended.out.split()), ended.err
    ended = task("reproduce", TASK, "--data", f"mine={tmp_path / 'mine'}")
    log = (task.task(TASK) / "results" / "part-1-full" / "log.txt").read_text()
    assert log.strip() == "of mine", ended.err
    assert "2 reported by the code alone" in ended.out


@pytest.fixture
def reader(task: Command) -> Command:
    """The task with an experiment that reads a data set."""
    code = task.task(TASK) / "generate_code"
    study = (code / "study.py").read_text()
    (code / "study.py").write_text(
        study.replace('print("done with", result)', 'print(open("/data/Iris/iris.csv").read())')
    )
    declared = (code / "experiments.yaml").read_text()
    (code / "experiments.yaml").write_text(declared.replace("    quick", "    data: [Iris]\n    quick", 1))
    task("resume", TASK)  # the code was changed by hand, and is judged again
    return task


def test_a_data_set_is_fetched_told_and_read_by_the_experiment(reader: Command) -> None:
    with serving(says(b"a row\n")) as server:
        address = f"{server.base}/iris.csv"
        refused = reader("reproduce", TASK, "--data", f"iris={address}")
        assert f"let it be fetched with --allow-data from {address}" in " ".join(refused.err.split()), refused.err
        assert "part-1 (full): not run; iris is missing; give it with --data iris=PATH" in reader("results", TASK).out
        ended = reader("reproduce", TASK, "--allow-data", PIPELINE_PRIVATE_ADDRESSES="true")
        again = reader("reproduce", TASK, "--redo", PIPELINE_PRIVATE_ADDRESSES="true")
    assert (ended.code, again.code, len(server.questions)) == (0, 0, 1), ended.err
    assert f"data: fetches iris from {address}" in ended.err
    assert (reader.task(TASK) / "results" / "part-1-full" / "log.txt").read_text() == "a row\n\n"
    (row,) = reader("results", TASK, "--json").json()["data"]
    assert (row["state"], row["address"], row["bytes"], row["licence"]) == ("fetched", address, 6, "not stated")
    assert reader.document(TASK, "report.json")["reproduction"]["data"] == [row]
    assert "data: iris was fetched from" in reader("results", TASK, "--html", "page.html").out
    assert row["sha256"][:16] in (reader.folder / "page.html").read_text()
    assert row["sha256"] in reader("show", TASK, "data").out
    removed = reader("rm", "--data", "--yes")
    assert (removed.code, list((reader.home / ".cache" / "pipeline").glob("data*"))) == (0, [])


@pytest.mark.slow
def test_another_setting_of_what_experiments_are_given_is_told_by_why(reader: Command, tmp_path: Path) -> None:
    reader("reproduce", TASK)
    (tmp_path / "iris").mkdir()
    (tmp_path / "iris" / "iris.csv").write_text("mine\n")
    before = reader.attempts(TASK)
    reader("config", "data", "Iris=iris")
    why = " ".join(reader("why", TASK).out.split())
    assert f"10 reproduce would run: data changed from nothing to Iris={tmp_path / 'iris'}" in why
    assert reader("resume", TASK).code == 0
    assert reader.attempts(TASK) == {**before, "reproduce": before["reproduce"] + 1}
    assert (reader.task(TASK) / "results" / "part-1-full" / "log.txt").read_text() == "mine\n\n"
    reader("config", "gpu", "auto")
    assert "10 reproduce would run: gpu changed from none to auto" in reader("why", TASK).out


def test_a_task_that_a_flag_told_of_no_card_and_no_data_keeps_to_that(task: Command, tmp_path: Path) -> None:
    (tmp_path / "iris").mkdir()
    assert task("resume", TASK, "--reproduce", "--gpu", "none", "--data", "").code == 0
    assert task.document(TASK, "task.json")["said"] == ["data", "gpu"]
    task("config", "gpu", "auto")
    task("config", "data", "Iris=iris")
    assert "reproduce would run" not in task("why", TASK).out
    path = task.task(TASK) / "task.json"
    task_json = json.loads(path.read_text())
    del task_json["said"]
    path.write_text(json.dumps(task_json))
    assert "was not started here" in task("resume", TASK).err, "the seal is on what was said, too"


def test_a_setting_of_data_is_checked_as_the_flag_is(task: Command, tmp_path: Path) -> None:
    ended = task("config", "data", "foo=/nowhere")
    assert (ended.code, "data foo names /nowhere, and there is no such folder or file" in ended.err) == (2, True)
    (tmp_path / "own").mkdir()
    assert task("config", "data", "foo=own").code == 0
    assert task("config", "data", "--json").json()["settings"][0]["value"] == f"foo={tmp_path / 'own'}", (
        "from elsewhere, too"
    )
    assert task("config", "gpu", "many").code == 2
    assert task("config", "data", "foo=http://localhost:99999/x").code == 2


def test_attempts_without_tables_are_refused_with_the_command_that_works(task: Command) -> None:
    before = (task.task(TASK) / "task.json").read_bytes()
    ended = task("resume", TASK, "--reproduce-attempts", "2")
    assert (task.task(TASK) / "task.json").read_bytes() == before, "what is refused is not kept"
    wanted = f"pipeline resume {TASK} --reproduce --reproduce-attempts 2"
    assert (ended.code, wanted in " ".join(ended.err.split())) == (2, True)
    assert task(*wanted.split()[1:]).code == 0


def test_a_run_that_is_refused_for_its_flags_makes_no_task(tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command("run", "--fast", paper(tmp_path, PAPER), "--reproduce-attempts", "2")
    assert (ended.code, "ask for both: --reproduce --reproduce-attempts 2" in " ".join(ended.err.split())) == (2, True)
    assert not (tmp_path / "tasks").exists()


def test_a_task_begun_with_no_card_keeps_to_that_before_it_has_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    settings = Settings(tasks_dir=str(tmp_path / "tasks"))
    for name, flags, gpu in (("told", {"gpu": "none"}, "none"), ("untold", {"gpu": None}, "auto")):
        store = find_or_make_task("typed:wait and count", settings, flags, wanted_id=name, new=False)
        in_force = effective_settings(settings._replace(gpu="auto"), store.load("task.json"), {})
        assert in_force["gpu"] == gpu


@pytest.mark.slow
def test_the_quick_size_says_nothing_of_the_papers_size(task: Command) -> None:
    ended = task("reproduce", TASK, "--size", "quick")
    assert "0 of 2 cells reproduced, 2 at the quick size only" in ended.out
    shown = task("results", TASK).out
    assert "E1  NMC (ours)  Error   19.25  19.2     quick size" in shown
    assert "not run" not in shown


def test_results_of_code_that_was_changed_since_are_called_old(task: Command) -> None:
    task("reproduce", TASK)
    plan = task.task(TASK) / "initial_plan.txt"
    plan.write_text(plan.read_text().replace("value: 19.25", "value: 91.25"))
    assert "these results are old (initial_plan.txt changed)" in task("results", TASK).err


LONG = "Fixed weighting of the global and the local loss"


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        pytest.param((f"{LONG}, circle", f"{LONG}, dino"), "KL Divergence", id="rows that differ at their end"),
        pytest.param(("circle", "dino"), f"{LONG}, KL Divergence (lower is better)", id="a long column"),
        pytest.param((f"{LONG}, circle", f"{LONG}, dino"), f"{LONG}, KL", id="both are long"),
        pytest.param(("circle_" * 12, "circle_" * 12 + "dino"), "KL", id="words that no line holds"),
    ],
)
@pytest.mark.parametrize("columns", [80, 120])
def test_rows_of_a_table_are_never_cut(task: Command, rows: tuple[str, str], column: str, columns: int) -> None:
    task("reproduce", TASK)
    path = task.task(TASK) / "results.json"
    results = json.loads(path.read_text())
    for cell, row in zip(results["cells"], rows, strict=True):
        cell.update(table="Table 1", row=row, column=column)
    path.write_text(json.dumps(results))
    lines = in_terminal(task, "results", TASK, columns=columns).text.splitlines()
    assert max(map(len, lines)) <= columns
    first = next(number for number, line in enumerate(lines) if line.startswith("ID "))
    table = lines[first : lines.index("", first)]
    begins, ends = table[0].index("ROW"), table[0].index("COLUMN")
    starts = [number for number, line in enumerate(table) if line[:1] == "E"]
    for row, start, end in zip(rows, starts, [*starts[1:], len(table)], strict=True):
        own = table[start : next((n for n in range(start + 1, end) if table[n][:4].strip()), end)]
        assert "".join("".join(line[begins:ends].split()) for line in own) == "".join(row.split())
    assert not any("…" in line for line in table)


def test_another_look_at_the_same_code_leaves_its_results_valid(task: Command) -> None:
    task("reproduce", TASK)
    before = (task.task(TASK) / "implementation.json").read_bytes()
    task("verify", TASK, "--mutants", "1")
    assert (task.task(TASK) / "implementation.json").read_bytes() != before
    assert "old" not in task("results", TASK).err
    assert "reproduce" not in task("why", TASK).out
    assert "reproduction" in task.document(TASK, "report.json")


def test_a_verify_that_refuses_ends_incomplete_with_3_after_a_reproduce(task: Command) -> None:
    task("reproduce", TASK)
    (task.task(TASK) / "generate_code" / "test_study.py").write_text(TEST.replace("1.5", "2.5"))
    ended = task("verify", TASK)
    assert (ended.code, "Task paper-code-verify: incomplete." in ended.out) == (3, True), ended.out
    assert task.document(TASK, "report.json")["status"] == "incomplete"
    assert "these results are old (generate_code/ changed)" in task("results", TASK).err


def test_data_that_are_held_out_need_labels(task: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    ended = task("reproduce", TASK, "--held-out", tmp_path / "mine")
    assert ended.code == 2
    assert "there is no labels/NAME.csv in it" in ended.err


@pytest.mark.parametrize(
    ("flip", "verdict", "ours", "vouches"),
    [(1, "differs", 80.8, []), (0, "reproduced", 19.2, ["held-out figures (2 of 2)"])],
    ids=["other labels", "those of the paper"],
)
def test_labels_that_are_held_out_decide_and_what_they_reproduce_vouches_for_the_code(
    flip: int, verdict: str, ours: float, vouches: list[str], task: Command, tmp_path: Path
) -> None:
    labels = tmp_path / "mine" / "labels"
    labels.mkdir(parents=True)
    draw = random.Random(1)
    true = [draw.randrange(2) for _ in range(2000)][1000:]
    (labels / "test.csv").write_text("row,y_true\n" + "".join(f"{row},{y ^ flip}\n" for row, y in enumerate(true)))
    ended = task("reproduce", TASK, "--held-out", tmp_path / "mine")
    (first, _) = task("results", TASK, "--json").json()["cells"]
    assert (first["verdict"], first["known_from"], first["ours"]) == (verdict, "labels held back", pytest.approx(ours))
    verified_by = task.document(TASK, "report.json")["verified_by"]
    assert verified_by == ["own tests (1)", *vouches]
    assert describe_evidence(task.document(TASK, "report.json")["requirements"], verified_by)[1:] in ended.out
    assert not any("labels" in name for name in os.listdir(task.task(TASK) / "results" / "part-1-full"))


def _runs_of(task: Command) -> dict[str, int]:
    """The runs that are on record, each with a mark that another run would change."""
    found = (task.task(TASK) / "results").glob("*/run.json")
    return {path.parent.name: path.stat().st_mtime_ns for path in found}


def _kill_and_resume(task: Command, moments: list[float]) -> None:
    """Kills the command at these moments, one after another; what was done once is never done again."""
    done: dict[str, int] = {}
    for moment in moments:
        with task.start("reproduce", TASK) as process:
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=HANGS)
        now = _runs_of(task)
        assert now.items() >= done.items()
        done = now
    ended = task("reproduce", TASK)
    assert "0 of 2 cells reproduced, 2 reported by the code alone (all agree)" in ended.out, ended.err
    assert _runs_of(task).items() >= done.items()
    assert not list((task.task(TASK) / "results").glob("*/work"))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_goes_on_with_the_experiment_that_was_cut_off(seed: int, task: Command) -> None:
    draw = random.Random(seed)
    _kill_and_resume(task, [draw.uniform(0.2, 1.8) for _ in range(4)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", chosen(range(10, 20), 2))
def test_killed_at_forty_moments_it_goes_on(seed: int, task: Command) -> None:
    draw = random.Random(seed)
    _kill_and_resume(task, [draw.uniform(0.05, 2.5) for _ in range(4)])


def test_a_run_that_asks_for_it_runs_it_last_and_a_scaffold_has_no_experiments(tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command("run", "--fast", paper(tmp_path, PAPER), "--reproduce", "quick")
    assert ended.code == 3, ended.err
    assert (
        "0 of 2 cells reproduced, 2 not run (the code has no experiments.yaml, so it declares no experiments)"
        in ended.out
    )
    assert json.loads((command.task("paper") / "state.json").read_text())["phases"]["10"]["status"] == "done"
    assert "everything is up to date" in command("why", "paper").out
    assert "reproduce" not in command("why", "paper", "--json").out
