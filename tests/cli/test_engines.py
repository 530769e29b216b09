"""Papers on other machines: what each engine is given, and that the same command goes on after whatever died."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.cli.batch import batch_command
from pipeline.cli.engines import words_of
from pipeline.cli.run import resume_command
from tests.cli.test_batch import _WAITS, PAPER
from tests.papers import Command
from tests.toys import write_toy, write_toys
from tests.work import wait_until

# Stands in for Slurm's: it runs the elements of an array one after the other, as a node would.
SBATCH = """#!/bin/bash
echo "$@" >> "$RUNS/sbatch"
[ -e "$RUNS/refuse" ] && { echo "sbatch: error: invalid partition" >&2; exit 1; }
echo 4711
script=${@: -1}
count=$(sed -n 's/^#SBATCH --array=1-\\([0-9]*\\)%.*/\\1/p' "$script")
for number in $(seq "$count"); do SLURM_ARRAY_TASK_ID=$number bash "$script" > "${script%array.sh}$number.log" 2>&1; done
"""


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Toy phases of which one waits and notes its runs, four papers, and a Slurm that is none."""
    toys = write_toys(tmp_path / "toys", 3)
    write_toy(toys, 1, body=_WAITS)
    (tmp_path / "papers").mkdir()
    for name in ("one", "two", "three", "four"):
        (tmp_path / "papers" / f"{name}.pdf").write_text(PAPER.format(name))
    for name, text in (("sbatch", SBATCH), ("scancel", '#!/bin/bash\necho "$@" >> "$RUNS/scancel"\n')):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    command = Command(tmp_path, PIPELINE_PHASES=str(toys), RUNS=str(tmp_path), WAIT="0.05")
    command.environment["PATH"] = f"{tmp_path / 'bin'}:{command.environment['PATH']}"
    return command


def runs_of(command: Command) -> list[str]:
    path = command.folder / "runs"
    return sorted(os.path.basename(line) for line in path.read_text().splitlines()) if path.exists() else []


SLURM = ("batch", "--fast", "papers", "--jobs", "2", "--engine", "slurm", "--where", "--partition=cpu --time=4:00:00")
DASK = ("batch", "--fast", "papers", "--jobs", "2", "--engine", "dask")


@pytest.mark.parametrize(
    ("typed", "given"),
    [
        ([], []),
        (["--fast", "--jobs", "9", "--engine", "slurm", "--csv", "t.csv", "--json"], ["--fast"]),
        (["--full", "--no-evidence"], ["--full", "--no-evidence"]),
        (["--max-usd", "5", "--model", "a b"], ["--model=a b", "--max-usd=5"]),
        (["--unsandboxed", "--allow-install"], ["--unsandboxed", "--allow-install"]),
        (["--data", "a=/x", "--data", "b=/y"], ["--data=a=/x", "--data=b=/y"]),
        (["--reproduce"], ["--reproduce=full"]),
        (["--review", "file", "--until", "plan"], ["--review=file", "--until=plan"]),
    ],
)
def test_a_worker_is_given_what_was_typed_and_nothing_of_the_batch(typed: list[str], given: list[str]) -> None:
    with batch_command.make_context("batch", ["paper.pdf", *typed]) as context:
        assert words_of(context) == given
    known = {flag for option in resume_command.params for flag in (*option.opts, *option.secondary_opts)}
    assert {word.partition("=")[0] for word in given} <= known, "a worker runs resume"


@pytest.mark.slow
def test_slurm_gets_an_array_and_the_table_is_the_same(command: Command) -> None:
    ended = command(*SLURM, "--json")
    assert ended.code == 0, ended.err
    assert {os.path.basename(row["task"]): row["status"] for row in ended.json()} == dict.fromkeys(
        ("one", "two", "three", "four"), "completed"
    )
    assert "submitted as job 4711: 4 papers, 2 at a time" in ended.err
    assert runs_of(command) == ["four", "one", "three", "two"]
    assert not list((command.folder / "tasks").glob(".slurm-*"))
    again = command(*SLURM, "--json")
    assert [row["status"] for row in again.json()] == ["completed"] * 4
    assert runs_of(command) == ["four", "one", "three", "two"]
    assert len((command.folder / "sbatch").read_text().splitlines()) == 1, "nothing is submitted where nothing is to do"


def test_what_failed_on_a_node_leaves_its_script_and_its_words(command: Command) -> None:
    command.environment["WAIT"] = "no number"
    ended = command(*SLURM)
    assert ended.code == 70
    [folder] = (command.folder / "tasks").glob(".slurm-*")
    text = (folder / "array.sh").read_text()
    assert "#SBATCH --array=1-4%2\n" in text
    assert "ValueError" in (folder / "1.log").read_text()
    assert "#SBATCH --partition=cpu\n#SBATCH --time=4:00:00\n" in text


def test_a_slurm_that_refuses_is_told(command: Command) -> None:
    (command.folder / "refuse").touch()
    command("batch", "--fast", "papers/one.pdf")
    ended = command(*SLURM)
    assert ended.code == 2
    assert "sbatch refused the array (sbatch: error: invalid partition); no paper was begun" in ended.complaints[-1]
    listed = {row["id"]: (row["status"], row["reason"]) for row in command("list", "--json").json()}
    assert listed.pop("one") == ("completed", "every phase is done")
    assert set(listed.values()) == {("paused", "it has not begun yet")}
    assert command("status", "two", "--json").json()["reason"] == "it has not begun yet"
    assert command("list", "--rebuild", "--json").json()[0]["status"] == "paused"
    assert not list((command.folder / "tasks").glob(".slurm-*"))
    (command.folder / "refuse").unlink()
    assert command(*SLURM).code == 0, "the same command goes on"
    (command.folder / "bin" / "sbatch").unlink()
    ended = command(*SLURM, PATH=f"{command.folder / 'bin'}:/nowhere")
    assert (ended.code, "sbatch is not here" in ended.err) == (2, True)


def test_ctrl_c_takes_the_job_back(command: Command) -> None:
    command.environment["WAIT"] = "30"
    with command.start(*SLURM) as process:
        wait_until(lambda: runs_of(command), "the job runs")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert (command.folder / "scancel").read_text() == "4711\n"
    for pid in processes_of(command):  # what the stand-in left, which is no Slurm
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_local_cluster_of_dask_runs_them_and_again_nothing(command: Command) -> None:
    ended = command(*DASK, "--json")
    assert ended.code == 0, ended.err
    assert [row["status"] for row in ended.json()] == ["completed"] * 4
    assert runs_of(command) == ["four", "one", "three", "two"]
    assert command(*DASK).code == 0
    assert runs_of(command) == ["four", "one", "three", "two"]


@pytest.mark.slow
def test_workers_of_dask_that_are_killed_lose_nothing(command: Command) -> None:
    """Papers' processes are killed at random; the same command goes on until every paper has ended once."""
    command.environment["WAIT"] = "0.4"
    chance = random.Random(7)
    with command.start(*DASK) as process:
        while process.poll() is None:
            time.sleep(0.3)
            if victims := processes_of(command):
                os.kill(chance.choice(victims), signal.SIGKILL)
    command.environment["WAIT"] = "0.05"
    ended = command(*DASK, "--json")
    assert ended.code == 0, ended.err
    assert [row["status"] for row in ended.json()] == ["completed"] * 4
    done = len(runs_of(command))
    assert command(*DASK).code == 0
    assert len(runs_of(command)) == done


@pytest.mark.parametrize(
    ("where", "told"),
    [("nosuch.Cluster", "there is no such class"), ("distributed.LocalCluster cores", "not an argument like cores=4")],
)
def test_a_cluster_that_is_not_there_is_told(where: str, told: str, command: Command) -> None:
    ended = command(*DASK, "--where", where)
    assert (ended.code, told in ended.err) == (2, True)


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_told(command: Command) -> None:
    ended = command(*DASK, "--where", "tcp://127.0.0.1:9")
    assert (ended.code, "no scheduler answers there" in ended.err) == (2, True)


@pytest.mark.slow
def test_a_scheduler_that_dies_takes_no_paper_with_it(command: Command) -> None:
    """What had ended is told as it ended; the rest is lost until the same command is typed."""
    command.environment["WAIT"] = "1.5"
    port = str(random.Random(os.getpid()).randrange(20000, 30000))
    address = f"tcp://127.0.0.1:{port}"
    with (
        start_dask(command, "scheduler", "--port", port) as scheduler,
        start_dask(command, "worker", address, "--nthreads", "1") as worker,
        command.start(*DASK, "--where", address, "--json") as process,
    ):
        wait_until(lambda: len(runs_of(command)) >= 2, "two papers run")
        scheduler.kill()
        out, err = process.communicate(timeout=90)
        worker.kill()
    assert process.returncode == 75, err
    statuses = [row["status"] for row in json.loads(out)]
    assert "lost" in statuses
    assert "completed" in statuses
    command.environment["WAIT"] = "0.05"
    assert [row["status"] for row in command(*DASK, "--json").json()] == ["completed"] * 4


def start_dask(command: Command, *words: str) -> subprocess.Popen[bytes]:
    """A part of a cluster, as a process of its own."""
    line = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(line, cwd=command.folder, env=command.environment, stdout=quiet, stderr=quiet)


def processes_of(command: Command) -> list[int]:
    """The processes that run a paper of this test."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                line = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if b"resume" in line and str(command.folder).encode() in line:
                found.append(int(entry))
    return found
