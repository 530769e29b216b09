"""Many papers in one command: what it takes, what it shows, and that each paper ends once, whatever is killed."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest

from pipeline.cli.batch import expand_source
from tests.papers import Command, good_pdf, paper
from tests.toys import write_toy, write_toys
from tests.work import wait_until

PAPER = "# Paper {0}\n\n## 1 Introduction\n\nWe propose a queue number {0} that keeps items on the disk.\n"
_WAITS = '''"""Toy phase {number}, which takes its time."""

import os
import time

from pipeline.engine.phase import Phase


def run(inputs, ctx):
    with open(os.path.join(os.environ["RUNS"], "runs"), "a", encoding="utf-8") as file:
        file.write(ctx.paths.root + "\\n")
    time.sleep(float(os.environ["WAIT"]))
    return {{"{name}.json": {{"step": {index}, "text": {before} + "x"}}}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run)
'''


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Toy phases, of which the last but one waits and notes each run of its."""
    toys = write_toys(tmp_path / "toys", 3)
    write_toy(toys, 1, body=_WAITS)
    for name in ("one", "two", "three"):
        papers = tmp_path / "papers"
        papers.mkdir(exist_ok=True)
        (papers / f"{name}.pdf").write_text(PAPER.format(name))
    return Command(tmp_path, PIPELINE_PHASES=str(toys), RUNS=str(tmp_path), WAIT="0.05")


def runs_of(command: Command) -> list[str]:
    """The tasks whose waiting phase was begun, once for each time."""
    path = command.folder / "runs"
    return [os.path.basename(line) for line in path.read_text().splitlines()] if path.exists() else []


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(line) for line in found.split()]


def statuses(command: Command) -> dict[str, str]:
    return {row["id"]: row["status"] for row in command("list", "--json").json()}


def test_a_directory_of_papers_becomes_a_task_each_and_the_same_command_does_nothing_twice(command: Command) -> None:
    first = command("batch", "papers", "--jobs", "2", "--json")
    assert (first.code, sorted(row["task"] for row in first.json())) == (0, ["tasks/one", "tasks/three", "tasks/two"])
    assert {row["status"] for row in first.json()} == {"completed"}
    again = command("batch", "papers", "--jobs", "2")
    assert again.code == 0
    assert again.err.count("up to date") == 3
    assert sorted(runs_of(command)) == ["one", "three", "two"]


def test_the_table_is_told_as_text_csv_and_a_page_alike(command: Command) -> None:
    shown = command("batch", "papers", "--csv", "t.csv", "--html", "t.html")
    rows = list(csv.DictReader(io.StringIO((command.folder / "t.csv").read_text())))
    page = (command.folder / "t.html").read_text()
    for name in ("one", "two", "three"):
        assert any(line.split()[:2] == [name, "completed"] for line in shown.out.splitlines()), shown.out
        assert any(row["task"] == f"tasks/{name}" and row["status"] == "completed" for row in rows)
        assert f'<td>{name}<td><span class="status completed">completed</span>' in page
    assert "3 papers: 3 completed" in shown.out


def test_one_paper_that_fails_stops_no_other_and_the_exit_code_tells_of_it(command: Command) -> None:
    failing = (command.folder / "toys" / "phase02_toy02.py").read_text()
    (command.folder / "toys" / "phase02_toy02.py").write_text(
        failing.replace(
            "    before =",
            "    from pipeline.base.errors import PhaseError\n"
            '    if ctx.paths.root.endswith("two"):\n        raise PhaseError("no good")\n    before =',
        )
    )
    ended = command("batch", "papers", "--json")
    told = {row["source"]: (row["status"], row["exit_code"]) for row in ended.json()}
    assert ended.code == 1
    assert told == {
        "papers/one.pdf": ("completed", 0),
        "papers/three.pdf": ("completed", 0),
        "papers/two.pdf": ("error", 1),
    }
    assert "no good" in ended.out


def test_a_source_that_is_not_there_is_a_row_of_the_table(tmp_path: Path) -> None:
    command = Command(tmp_path)
    (tmp_path / "paper.md").write_text(PAPER.format(1))
    ended = command("batch", "--fast", "nowhere.pdf", "paper.md", "--until", "outline", "--json")
    assert [(row["status"], row["exit_code"]) for row in ended.json()] == [("error", 2), ("paused", 0)]
    assert "nowhere.pdf does not exist" in ended.json()[0]["reason"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("l.txt", "# mine\none.pdf\n\ntwo.pdf\n", id="a line a source", marks=pytest.mark.slow),
        pytest.param("l.csv", "note,source\nfirst,one.pdf\nsecond,two.pdf\n", id="a column of sources"),
    ],
)
def test_a_list_names_sources_as_seen_from_its_own_directory(name: str, text: str, command: Command) -> None:
    (command.folder / "papers" / name).write_text(text)
    rows = command("batch", f"papers/{name}", "--json").json()
    assert [row["source"] for row in rows] == ["papers/one.pdf", "papers/two.pdf"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        pytest.param("l.txt", "# nothing\n", "names no source", id="an empty list"),
        pytest.param("l.csv", "paper\none.pdf\n", "no column 'source'", id="a table without that column"),
    ],
)
def test_a_list_that_names_nothing_is_refused(name: str, text: str, told: str, command: Command) -> None:
    (command.folder / name).write_text(text)
    refused = command("batch", name)
    assert refused.code == 2
    assert told in refused.err


def test_a_directory_with_a_latex_document_at_its_top_is_one_paper_and_pictures_beside_it_are_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "main.tex").write_text("\\documentclass{article}\n\\begin{document}\nx\n\\end{document}\n")
    (tmp_path / "figure.pdf").write_bytes(b"%PDF-1.4")
    assert expand_source(str(tmp_path)) == [str(tmp_path)]
    both = tmp_path / "sub"
    (tmp_path / "main.tex").unlink()
    both.mkdir()
    (both / "main.tex").write_text("\\documentclass{article}\n\\begin{document}\nx\n\\end{document}\n")
    (tmp_path / "notes.md").write_text("shopping list")
    assert expand_source(str(tmp_path)) == [str(tmp_path / "figure.pdf"), str(both)]


def test_each_whole_latex_document_of_a_directory_is_a_paper(tmp_path: Path) -> None:
    whole = "\\documentclass{article}\n\\begin{document}\n%s\n\\end{document}\n"
    for name, text in {"one": whole % "\\input{part}", "two": whole % "x", "part": "\\section{A}\nWords.\n"}.items():
        (tmp_path / f"{name}.tex").write_text(text)
    (tmp_path / "two.pdf").write_bytes(good_pdf())
    assert expand_source(str(tmp_path)) == [str(tmp_path / "one.tex"), str(tmp_path / "two.tex")]
    (tmp_path / "other.pdf").write_bytes(good_pdf())
    assert expand_source(str(tmp_path)) == [str(tmp_path / name) for name in ("one.tex", "other.pdf", "two.tex")]
    command = Command(tmp_path)
    ended = command("batch", "--fast", ".", "--until", "intake", "--json")
    assert (ended.code, len(ended.json())) == (0, 3)
    assert command.document("one", "input.json")["files"][1]["path"] == "source/part.tex"
    (tmp_path / "two.tex").unlink()
    assert expand_source(str(tmp_path)) == [str(tmp_path)]


@pytest.mark.slow
def test_ctrl_c_ends_every_worker_in_order_and_the_same_command_goes_on(command: Command) -> None:
    with command.start("batch", "papers", "--jobs", "2", WAIT="30") as process:
        wait_until(lambda: len(runs_of(command)) == 2)
        workers = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The same command continues what is not finished" in out
    assert len(workers) == 2
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)
    assert sorted(statuses(command).values()) == ["cancelled", "cancelled"]
    assert command("batch", "papers", "--jobs", "2").code == 0
    assert statuses(command) == dict.fromkeys(("one", "two", "three"), "completed")


@pytest.mark.slow
def test_workers_end_in_order_when_the_batch_is_killed(command: Command) -> None:
    with command.start("batch", "papers", "--jobs", "2", WAIT="30") as process:
        wait_until(lambda: len(runs_of(command)) == 2)
        workers = children_of(process.pid)
        process.kill()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers))
    assert sorted(statuses(command).values()) == ["cancelled", "cancelled"]


def test_a_worker_that_somebody_kills_is_begun_again_and_every_paper_ends_once(command: Command) -> None:
    chance = random.Random(7)
    with command.start("batch", "papers", "--jobs", "3", "--json", WAIT="0.5") as process:
        wait_until(lambda: len(runs_of(command)) == 3)
        os.kill(chance.choice(children_of(process.pid)), signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert sorted(row["starts"] for row in json.loads(out)) == [1, 1, 2]
    assert statuses(command) == dict.fromkeys(("one", "two", "three"), "completed")
    for name in ("one", "two", "three"):
        assert command.attempts(name)["toy02"] == 1, "what comes after the kill is done once"


def test_a_second_batch_leaves_alone_what_the_first_one_works_on(command: Command) -> None:
    with command.start("batch", "papers", "--jobs", "3", WAIT="3") as process:
        wait_until(lambda: len(runs_of(command)) == 3)
        second = command("batch", "papers", "--jobs", "3", "--json")
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert second.code == 75
    assert {row["status"] for row in second.json()} == {"busy"}
    assert all("is in use by process" in row["reason"] for row in second.json())
    assert sorted(runs_of(command)) == ["one", "three", "two"]


@pytest.mark.parametrize(
    ("sources", "offered"),
    [
        pytest.param(["papers/one.pdf", "papers/two.pdf"], "pipeline batch papers/one.pdf papers/two.pdf", id="files"),
        pytest.param(["texts"], "pipeline batch --fast texts", id="a directory of papers"),
    ],
)
def test_several_papers_given_to_run_lead_to_batch(sources: list[str], offered: str, tmp_path: Path) -> None:
    command = Command(tmp_path)
    (tmp_path / "texts").mkdir()
    for name in ("a", "b"):
        (tmp_path / "texts" / f"{name}.md").write_text(PAPER.format(name))
    refused = command("run", *sources)
    assert (refused.code, command("list", "--json").json()) == (2, [])
    assert offered in refused.err


def test_names_that_a_spreadsheet_would_take_for_a_formula_are_quoted(command: Command) -> None:
    (command.folder / "=cmd.md").write_text(PAPER.format(1))
    assert command("batch", "=cmd.md", "--csv", "t.csv").code == 0
    rows = list(csv.DictReader(io.StringIO((command.folder / "t.csv").read_text())))
    assert [row["source"] for row in rows] == ["'=cmd.md"]


@pytest.mark.parametrize("source", ["nowhere/", "nowhere.txt"])
def test_a_directory_or_list_that_is_not_there_is_an_error_without_a_table(command: Command, source: str) -> None:
    ended = command("batch", source)
    assert (ended.code, ended.out) == (2, "")
    assert ended.complaints == [f"pipeline: {source} does not exist; check the name"]


def test_where_no_paper_could_be_begun_there_is_no_table(command: Command) -> None:
    ended = command("batch", "nowhere.pdf", "elsewhere.pdf", PIPELINE_PHASES="")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("does not exist; check the name") == 2


def test_a_subdirectory_with_a_paper_in_it_is_one_and_a_pdf_beside_latex_is_told(command: Command) -> None:
    for name in ("p1", "p2"):
        (command.folder / "mine" / name).mkdir(parents=True)
        paper(command.folder / "mine" / name)
    (command.folder / "mine" / "p2" / "addendum.md").write_text("# Notes\n\nThe waiter waits for 3 rooms.\n")
    ended = command("batch", "--fast", "mine")
    assert ended.code == 0, ended.err
    assert {path.parent.name for path in (command.folder / "tasks").glob("*/task.json")} >= {"p1", "p2"}
    (command.folder / "latex").mkdir()
    (command.folder / "latex" / "main.tex").write_text("\\documentclass{article}\\begin{document}Words.\\end{document}")
    (command.folder / "latex" / "other.pdf").write_bytes(b"%PDF-1.4")
    assert (
        "latex is one paper in LaTeX; PDFs in it are treated as its figures (1)"
        in command("batch", "--fast", "latex").err
    )


def test_an_archive_of_code_is_no_paper_of_a_directory_and_says_what_an_archive_must_hold(command: Command) -> None:
    papers = command.folder / "papers"
    for name, member in (("paper.zip", "generate_code/main.py"), ("source.zip", "source/main.tex")):
        with zipfile.ZipFile(papers / name, "w") as archive:
            archive.writestr(member, "\\documentclass{article}")
    (papers / "broken.zip").write_bytes(b"PK\x03\x04")
    found = [os.path.basename(paper) for paper in expand_source(str(papers))]
    assert found == ["broken.zip", "one.pdf", "source.zip", "three.pdf", "two.pdf"]
    ended = command("batch", "papers", "--json")
    assert (
        "left out: papers/paper.zip: an archive must hold LaTeX source (a .tex file), or one PDF or Word file"
        in ended.err
    )


def test_stop_without_a_name_stops_the_one_that_is_running_and_asks_where_there_are_several(command: Command) -> None:
    assert "no task in tasks is running" in command("stop").complaints[0]
    command.environment["WAIT"] = "30"
    with command.start("run", "--fast", "papers/one.pdf") as first:
        wait_until(lambda: runs_of(command) == ["one"])
        with command.start("run", "--fast", "papers/two.pdf") as second:
            wait_until(lambda: runs_of(command) == ["one", "two"])
            assert (
                "2 tasks are running; stop one of them: pipeline stop one or pipeline stop two" in command("stop").err
            )
            assert command("stop", "two").code == 0
            second.communicate(timeout=60)
        assert command("stop").code == 0
        first.communicate(timeout=60)
    assert statuses(command) == {"one": "cancelled", "two": "cancelled"}
