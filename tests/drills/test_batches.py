"""Batches under fault: workers killed at random, a scheduler that dies, a full disk, two batches on one directory, clocks apart.

Each paper asks a "model" five times through a real journal, and each answer is noted when it is paid for: so what is paid twice
is counted, and not believed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.test_batch import PAPER, children_of
from tests.cli.test_engines import start_dask
from tests.drills.faults import small_disk
from tests.drills.points import EVERY, seed
from tests.papers import Command
from tests.toys import toy_name, write_toy, write_toys
from tests.work import wait_until

pytestmark = pytest.mark.slow
CALLS = 5
PAYS = '''"""Toy phase {number}, which pays for five answers."""

import os
import time

from phases.llm.journal import Journal
from pipeline.engine.phase import Phase


def run(inputs, ctx):
    journal = Journal(os.path.join(ctx.paths.root, "journal.jsonl"), {{"toy": {index}}}, in_place=ctx.in_place)

    def pay(step):
        time.sleep(float(os.environ["WAIT"]))
        with open(os.environ["PAID"], "a", encoding="utf-8") as file:
            file.write(os.path.basename(ctx.paths.root) + " " + str(step) + chr(10))
        row = {{"failed": False, "touched": [], "seen": {{}}, "text": "answer " + str(step)}}
        return {{**row, "filler": "x" * int(os.environ.get("FILL", "0"))}}

    for step in range(5):
        journal.replay_or_record("result", {{"turn": step, "call": "pay"}}, lambda: pay(step))
    return {{"{name}.json": {{"step": {index}, "text": {before} + "x"}}}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run)
'''
CLOCK_AHEAD = "import time\nreal = time.time\ntime.time = lambda: real() + 3600\n"
NO_LOCKS = "import fcntl\ndef fail(*_):\n    raise OSError(37, 'No locks available')\nfcntl.flock = fail\n"


class Papers:
    """So many papers, with phases that pay, in a directory of their own."""

    def __init__(self, folder: Path, count: int, **environment: str) -> None:
        toys = write_toys(folder / "toys", 3)
        write_toy(toys, 1, body=PAYS)
        (folder / "papers").mkdir()
        self.names = [f"p{number:02}" for number in range(count)]
        for name in self.names:
            (folder / "papers" / f"{name}.pdf").write_text(PAPER.format(name))
        paid = {"PAID": str(folder / "paid"), "WAIT": "0.05"}
        self.command = Command(folder, PIPELINE_PHASES=str(toys), **{**paid, **environment})
        (folder / "paid").touch()

    def paid(self) -> Counter[str]:
        """How often each answer was paid for."""
        return Counter((self.command.folder / "paid").read_text().splitlines())

    def finish(self, *more: str) -> None:
        """The same command until nothing is left to do; then every paper has ended, once, and nothing is done any more."""
        for _ in range(20):
            ended = self.command("batch", "papers", "--jobs", "4", *more)
            if ended.code == 0:
                break
        assert ended.code == 0, ended.err
        before = self.paid()
        assert self.command("batch", "papers", "--jobs", "4", *more).code == 0
        assert self.paid() == before
        assert sorted(before) == sorted(f"{name} {step}" for name in self.names for step in range(CALLS))
        for name in self.names:
            assert self.command.document(name, "report.json")["status"] == "completed"
            attempts = {row["name"]: row["attempts"] for row in self.command.document(name, "report.json")["phases"]}
            assert attempts[toy_name(2)] <= 2, (
                "what was done is not done again; one more where the kill hit the very stamp"
            )

    @property
    def twice(self) -> int:
        """How many answers were paid for more than they had to be."""
        return sum(count - 1 for count in self.paid().values())


def test_workers_killed_at_random_lose_no_more_than_the_call_in_flight(tmp_path: Path) -> None:
    kills, count = (200, 40) if EVERY else (20, 8)
    papers, chance, killed = Papers(tmp_path, count, WAIT="0.3"), random.Random(seed()), 0
    while killed < kills:
        with papers.command.start("batch", "papers", "--jobs", "4") as batch:
            while killed < kills and batch.poll() is None:
                time.sleep(chance.uniform(0.0, 0.3))
                if workers := children_of(batch.pid):
                    with suppress(ProcessLookupError):
                        os.kill(chance.choice(workers), signal.SIGKILL)
                        killed += 1
            batch.send_signal(signal.SIGINT) if killed >= kills else None
            batch.communicate(timeout=60)
        if batch.returncode == 0:
            break  # every paper is done, whatever was tried
    papers.command.environment["WAIT"] = "0.01"
    papers.finish()
    print(f"\n{killed} kills, {papers.twice} of {count * CALLS} answers paid twice")
    assert killed > 0
    assert papers.twice <= killed


def test_a_dask_scheduler_that_dies_in_the_middle_loses_nothing_that_was_paid(tmp_path: Path) -> None:
    papers = Papers(tmp_path, 12, WAIT="0.15")
    port = str(random.Random(os.getpid()).randrange(20000, 30000))
    address = f"tcp://127.0.0.1:{port}"
    with (
        start_dask(papers.command, "scheduler", "--port", port) as scheduler,
        start_dask(papers.command, "worker", address, "--nthreads", "1", "--nworkers", "2") as worker,
        papers.command.start("batch", "papers", "--engine", "dask", "--where", address, "--jobs", "2") as batch,
    ):
        wait_until(lambda: sum(papers.paid().values()) >= 20, "twenty calls are paid")
        scheduler.kill()
        batch.communicate(timeout=120)
        worker.send_signal(signal.SIGTERM)
    time.sleep(1)  # the papers' processes end with their workers, in order
    before = papers.twice
    papers.finish()
    print(f"\nexit code {batch.returncode}; {papers.twice} of {12 * CALLS} answers paid twice")
    assert batch.returncode == 75
    assert (before, papers.twice <= 2) == (0, True), "two were in flight"


def test_a_disk_that_fills_up_ends_papers_in_a_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk", "size=12m"):
        papers = Papers(tmp_path, 12, PIPELINE_TASKS_DIR=str(tmp_path / "disk" / "tasks"), FILL="300000", WAIT="0.02")
        ended = papers.command("batch", "papers", "--jobs", "4", "--json")
        rows = ended.json()
        full = [row for row in rows if "No space left on device" in row["reason"]]
        assert full, "the disk was too large for this drill"
        assert ended.code == 1
        assert "Traceback" not in ended.err
        subprocess.run(["mount", "-o", "remount,size=200m", str(tmp_path / "disk")], check=True)
        again = papers.command("batch", "papers", "--jobs", "4", "--json")
        assert (again.code, {row["status"] for row in again.json()}) == (0, {"completed"}), again.err
        print(f"\n{len(full)} of 12 papers met a full disk; {papers.twice} of {12 * CALLS} answers paid twice")
        assert papers.twice <= len(full)


@pytest.mark.parametrize("patch", ["", CLOCK_AHEAD, NO_LOCKS, CLOCK_AHEAD + NO_LOCKS],
                         ids=["as it is", "an hour apart", "without locks", "without locks, an hour apart"])  # fmt: skip
def test_two_batches_on_one_directory_share_the_papers(patch: str, tmp_path: Path) -> None:
    """The second one runs in a world that is patched; where there are no locks the first one runs so, too."""
    papers = Papers(tmp_path, 16)
    for name, text in (("one", NO_LOCKS if NO_LOCKS in patch else ""), ("two", patch)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sitecustomize.py").write_text(text)
    with (
        papers.command.start("batch", "papers", "--jobs", "3", "--json", PYTHONPATH=str(tmp_path / "one")) as first,
        papers.command.start("batch", "papers", "--jobs", "3", "--json", PYTHONPATH=str(tmp_path / "two")) as second,
    ):
        tables = [json.loads(batch.communicate(timeout=200)[0]) for batch in (first, second)]
    busy = sum(row["status"] == "busy" for table in tables for row in table)
    assert {row["status"] for table in tables for row in table} <= {"completed", "busy"}
    papers.finish()
    print(f"\n{busy} times busy; {papers.twice} of {16 * CALLS} answers paid twice")
    assert papers.twice == 0
    assert len(papers.command("list", "--json").json()) == 16
