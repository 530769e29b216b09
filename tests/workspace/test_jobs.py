"""Jobs: long commands on a copy of their own, which can do no more than any command, and outlive a run that is cut off."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from phases.sandbox.box import Box, Limits
from phases.workspace.command_runner import CommandRunner
from phases.workspace.jobs import ENDED, MOST, MOST_AT_ONCE, RUNNING, Jobs, JobState
from phases.workspace.manifest import tree_digest
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace, WorkspaceError
from tests.papers import HANGS
from tests.sandbox.test_agent_sandbox import EVERY_KIND
from tests.work import wait_until

COUNTS = "for i in $(seq 1 200); do echo $i > step; sleep 0.1; done"


class Ground:
    """A task with a workspace, and the jobs of one run after the other."""

    def __init__(self, folder: Path) -> None:
        self.task, self.code = folder / "task", folder / "task" / "generate_code"
        self.code.mkdir(parents=True)
        (self.code / "train.py").write_text("print('trained')\n")
        self.told: list[str] = []
        self.jobs = self.anew()

    def anew(self) -> Jobs:
        """As the next run of the pipeline has them."""
        self.jobs = Jobs(str(self.task / "jobs"), self.told.append)
        return self.jobs

    def box(self, kind: str, **limits: int) -> Box:
        return Box(str(self.code), kind, limits=Limits(**limits))

    def commands(self, kind: str) -> CommandRunner:
        return CommandRunner(self.box(kind), Snapshot(str(self.code), str(self.task / "kept")), jobs=self.jobs)

    def file(self, name: str, number: int = 1) -> Path:
        return self.task / "jobs" / str(number) / name


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path)
    yield ground
    for number in list(ground.jobs._running):
        ground.jobs.stop(number)


def row(job: JobState) -> dict[str, Any]:
    return {"kind": "result", "result": {"job": job._asdict()}}


def until(path: Path) -> None:
    wait_until(lambda: path.exists() and path.read_text(), f"{path} has a text")


@EVERY_KIND
def test_a_job_leaves_the_workspace_alone_and_commands_read_what_it_wrote(ground: Ground, kind: str) -> None:
    before = tree_digest(Workspace(str(ground.code)))
    ground.jobs.start(1, "python train.py | tee result.txt; rm train.py; mkdir x; ln -s /etc x/link", ground.box(kind))
    ended = ground.jobs.wait(1, HANGS)
    assert (ended.state, ended.exit_code, ended.why) == (ENDED, 0, "")
    assert ground.jobs.read_tail(1) == "trained\n"
    assert tree_digest(Workspace(str(ground.code))) == before
    commands = ground.commands(kind)
    assert commands.bash("cat $JOBS/1/result.txt && cp $JOBS/1/result.txt .", HANGS) == (0, "trained\n")
    assert (ground.code / "result.txt").read_text() == "trained\n"
    assert commands.bash("echo mine > $JOBS/1/result.txt", HANGS)[0] != 0
    assert commands.bash("echo mine > $JOBS/1.json", HANGS)[0] != 0


@EVERY_KIND
def test_a_check_does_not_find_what_jobs_wrote(ground: Ground, kind: str) -> None:
    ground.jobs.start(1, "echo 1 > weights", ground.box(kind))
    ground.jobs.wait(1, HANGS)
    seen = ground.commands(kind).run(f"echo [$JOBS]; cat {ground.file('weights')}", HANGS)
    assert seen.exit_code != 0
    assert seen.output.startswith("[]")


@EVERY_KIND
def test_a_job_can_write_nothing_but_its_own_files(ground: Ground, kind: str) -> None:
    (ground.code / ".pipeline").mkdir()
    (ground.task / "journal.jsonl").write_text("theirs\n")
    own = [ground.task / "jobs" / name for name in ("1.json", "1.log", "2")]
    attempts = (ground.code / "train.py", ground.task / "journal.jsonl", *own, ground.file(".pipeline") / "hooks.yaml")
    ground.jobs.start(1, "\n".join(f"echo mine > {path}" for path in attempts), ground.box(kind))
    ground.jobs.wait(1, HANGS)
    assert (ground.task / "journal.jsonl").read_text() == "theirs\n"
    assert "mine" not in (ground.task / "jobs" / "1.log").read_text().split("\n")
    assert (ground.code / "train.py").read_text() == "print('trained')\n"
    assert json.loads((ground.task / "jobs" / "1.json").read_text())["number"] == 1
    assert not (ground.task / "jobs" / "2").exists()


@EVERY_KIND
@pytest.mark.parametrize(
    ("command", "limits", "limit"),
    [
        pytest.param("sleep 60", {"job_seconds": 1}, "time: 1 s", id="seconds of its own"),
        pytest.param("yes", {"output": 2**20}, "output: 1 MiB", id="output"),
        pytest.param(
            "python -c 'b = bytearray(300 << 20); import time; time.sleep(60)'",
            {"memory": 200 << 20},
            "memory: 200 MiB",
            id="memory",
        ),
        pytest.param(
            "for i in $(seq 50); do sleep 60 & done; wait", {"processes": 20}, "processes: 20", id="processes"
        ),
        pytest.param(
            "for i in 1 2 3; do head -c 20M /dev/zero > f$i; done; sleep 60",
            {"disk": 30 << 20},
            "disk: 30 MiB in the workspace",
            id="disk",
        ),
    ],
)
def test_a_job_is_held_to_the_limits_of_commands(
    ground: Ground, kind: str, command: str, limits: Mapping[str, int], limit: str
) -> None:
    ground.jobs.start(1, command, ground.box(kind, **limits))
    ended = ground.jobs.wait(1, HANGS)
    assert (ended.state, ended.exit_code, ended.why) == (ENDED, None, limit)


@EVERY_KIND
def test_a_job_that_is_stopped_is_gone_with_all_its_processes(ground: Ground, kind: str) -> None:
    ground.jobs.start(1, f"(setsid bash -c '{COUNTS}' &) ; sleep 60", ground.box(kind))
    until(ground.file("step"))
    assert ground.jobs.stop(1).why == "it was told to stop"
    last = ground.file("step").read_text()
    time.sleep(0.5)
    assert ground.file("step").read_text() == last


@EVERY_KIND
def test_a_run_that_is_cut_off_ends_its_job_and_the_next_one_starts_it_again_where_it_was(
    ground: Ground, kind: str
) -> None:
    command = f"echo start >> starts; test -e step && echo from $(cat step) && exit 3; {COUNTS}"

    def cut_off() -> None:
        with ground.jobs.at_work([], ground.box(kind)):
            ground.jobs.start(1, command, ground.box(kind))
            until(ground.file("step"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    job = JobState(1, command)
    step = ground.file("step").read_text()
    assert "ends with this run; a resume starts it again" in ground.told[-1]
    ground.anew()
    with ground.jobs.at_work([row(job)], ground.box(kind)):
        ended = ground.jobs.wait(1, HANGS)
    assert "was cut off with the run before, and is started again" in ground.told[-1]
    assert (ended.state, ended.exit_code, ended.starts) == (ENDED, 3, 2)
    assert ground.file("starts").read_text() == "start\nstart\n"
    assert f"from {step}" in ground.jobs.read_tail(1)
    ground.anew()
    with ground.jobs.at_work([row(job)], ground.box(kind)):
        assert ground.jobs.look(1) == ended, "what has ended is not started once more"


@EVERY_KIND
def test_a_job_that_still_runs_when_the_work_is_over_is_stopped_for_good(ground: Ground, kind: str) -> None:
    with ground.jobs.at_work([], ground.box(kind)):
        job = ground.jobs.start(1, "sleep 60", ground.box(kind))
    assert "is stopped: the work is over" in ground.told[-1]
    with ground.anew().at_work([row(job)], ground.box(kind)):
        assert ground.jobs.look(1).state == ENDED


@EVERY_KIND
def test_a_job_whose_files_are_gone_is_told_of_and_not_run(ground: Ground, kind: str) -> None:
    with ground.anew().at_work([row(JobState(1, "echo made > made"))], ground.box(kind)):
        assert ground.jobs.look(1).state == RUNNING or "files are gone" in ground.jobs.look(1).why
    assert "its files are gone: it is not started again" in ground.told[-1]


@EVERY_KIND
def test_only_so_many_jobs_run_at_once_and_in_all(ground: Ground, kind: str) -> None:
    for number in range(1, MOST_AT_ONCE + 1):
        ground.jobs.start(number, "sleep 60", ground.box(kind))
    with pytest.raises(WorkspaceError, match="jobs run already"):
        ground.jobs.start(MOST_AT_ONCE + 1, "true", ground.box(kind))
    ground.jobs.stop(1)
    ground.jobs.start(MOST_AT_ONCE + 1, "true", ground.box(kind))
    with pytest.raises(WorkspaceError, match="no more may be"):
        ground.jobs.start(MOST + 1, "true", ground.box(kind))


@EVERY_KIND
def test_what_a_job_printed_is_shown_from_its_end_and_harmless(ground: Ground, kind: str) -> None:
    ground.jobs.start(
        1, "printf '\\033[2J'; for i in $(seq 1 5000); do echo line $i; done; printf 'é\\033]0;x'", ground.box(kind)
    )
    ground.jobs.wait(1, HANGS)
    tail = ground.jobs.read_tail(1)
    assert tail.startswith("… ")
    assert "\033" not in tail
    assert "line 5000\n" in tail
    assert "é" in tail
    assert len(tail) < 7_000


@EVERY_KIND
def test_what_a_start_that_was_not_recorded_left_is_no_part_of_the_next(ground: Ground, kind: str) -> None:
    """The pipeline was killed between the start and its record: the call is made again."""
    left = ground.task / "jobs" / "1"
    left.mkdir(parents=True)
    (left / "old").write_text("x")
    (ground.task / "jobs" / "1.log").write_text("old words\n")
    os.chmod(left, 0o500)
    ground.jobs.start(1, "ls", ground.box(kind))
    assert ground.jobs.wait(1, HANGS).exit_code == 0
    assert ground.jobs.read_tail(1) == "train.py\n"
