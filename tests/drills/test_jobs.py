"""A job of a run that is killed with -9 in its middle: it dies with the run, and a resume starts it again where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phases.agent.implement import implement_plan
from phases.llm.model import Reply, Request
from phases.sandbox.box import LANDLOCK
from phases.sandbox.commands import kind_of_sandbox
from phases.sandbox.probe import probe_kind
from tests.agents import CONTRACTS, Scripted, assignment_in, call, small_plan, tree
from tests.drills.points import EVERY
from tests.papers import HANGS, ROOT
from tests.work import wait_until

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")
SECONDS = int(os.environ.get("JOB_DRILL_SECONDS", "180" if EVERY else "8"))
"""How long the job of the drill works; 1200 for twenty minutes."""
TRAIN = """\
import json, os, sys, time
state = json.load(open("checkpoint.json")) if os.path.exists("checkpoint.json") else {"step": 0, "total": 0}
print("begins at step", state["step"], flush=True)
with open("starts", "a") as file:
    file.write(f"{state['step']}\\n")
while state["step"] < int(sys.argv[1]):
    time.sleep(0.1)
    state = {"step": state["step"] + 1, "total": state["total"] + state["step"]}
    with open("checkpoint.new", "w") as file:
        json.dump(state, file)
    os.replace("checkpoint.new", "checkpoint.json")
print("total", state["total"], flush=True)
"""
RUN = """
import sys
from pathlib import Path
from tests.drills.test_jobs import work
work(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
"""


def replies(steps: int) -> Callable[[Request], Reply]:
    """Writes the code, trains in the background, waits until it is done, takes the result, and is done."""

    def reply(request: Request) -> Reply:
        last = request.messages[-1].text if request.messages else ""
        if request.turn == 1:
            return call("Write", {"file_path": "train.py", "content": TRAIN}, "w")
        if request.turn == 2:
            return call("Bash", {"command": f"python train.py {steps}", "background": True}, "b")
        if "job 1 ended: exit code 0" in last:
            return call("Bash", {"command": "cp $JOBS/1/checkpoint.json result.json"}, "c")
        if request.turn == 3 or "job 1 runs" in last:
            return call("Job", {"number": 1, "action": "wait", "seconds": 10}, f"j{request.turn}")
        return Reply("ok", "done")

    return reply


def work(folder: Path, steps: int, sandbox: str) -> dict[str, Any]:
    """Phase 09 with such a model, in this process."""
    told = open(folder / "told.txt", "a", buffering=1)  # noqa: SIM115 - killed with the process
    assignment = assignment_in(
        folder / "task", small_plan("train.py"), sandbox=sandbox, tell=lambda text: print(text, file=told)
    )
    made = implement_plan(assignment, Scripted(replies(steps)), lambda done, total, text: None)
    CONTRACTS.serialise("implementation.json", made["implementation"], writer="a test")
    (folder / "jobs.json").write_text(json.dumps(made["implementation"]["jobs"]))
    return made


def start(folder: Path, steps: int, sandbox: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", RUN, str(folder), str(steps), sandbox]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def step_of(folder: Path) -> int:
    try:
        return int(json.loads((folder / "task" / "jobs" / "1" / "checkpoint.json").read_text())["step"])
    except (OSError, ValueError):
        return 0


def kill_at(folder: Path, process: subprocess.Popen[bytes], step: int) -> int:
    """Kills a run once its job has come so far; the step at which the job stood still then."""
    wait_until(lambda: step_of(folder) >= step or process.poll() is not None, f"the job comes to step {step}")
    assert process.poll() is None, process.communicate()[1].decode()[-2000:]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    time.sleep(0.5)
    reached = step_of(folder)
    time.sleep(1)
    assert step_of(folder) == reached, "the job goes on without its run"
    return reached


def drill(folder: Path, steps: int, kills: int, sandbox: str) -> None:
    reached = [0]
    for number in range(1, kills + 1):
        reached.append(kill_at(folder, start(folder, steps, sandbox), steps * number // (kills + 1)))
        journal = (folder / "task" / "journal.jsonl").read_bytes()
    process = start(folder, steps, sandbox)
    _, errors = process.communicate(timeout=steps * 0.3 + 10 * HANGS)
    assert process.returncode == 0, errors.decode()[-2000:]
    assert (
        tree(folder / "task")["result.json"] == json.dumps({"step": steps, "total": steps * (steps - 1) // 2}).encode()
    )
    starts = (folder / "task" / "jobs" / "1" / "starts").read_text().split()
    assert list(map(int, starts)) == reached, "each start went on from the last checkpoint"
    row = {"number": 1, "command": f"python train.py {steps}", "starts": kills + 1, "exit_code": 0, "why": ""}
    assert json.loads((folder / "jobs.json").read_text()) == [row]
    told = (folder / "told.txt").read_text()
    assert told.count("was cut off with the run before, and is started again") == kills
    assert (folder / "task" / "journal.jsonl").read_bytes().startswith(journal), "what was on record stays so"
    before = (folder / "task" / "journal.jsonl").read_bytes()
    process = start(folder, steps, sandbox)  # walked once more, from the journal alone
    process.communicate(timeout=10 * HANGS)
    assert (folder / "task" / "journal.jsonl").read_bytes() == before
    assert len((folder / "task" / "jobs" / "1" / "starts").read_text().split()) == kills + 1


@pytest.mark.slow
@pytest.mark.skipif(not probe_kind(LANDLOCK).usable, reason="no Landlock on this machine")
def test_a_job_by_rules_alone_survives_a_kill_of_its_run(tmp_path: Path) -> None:
    drill(tmp_path, 40, 2, LANDLOCK)


@pytest.mark.slow
def test_a_long_job_survives_two_kills_of_its_run(tmp_path: Path) -> None:
    """For some seconds, in `make drills` for minutes; JOB_DRILL_SECONDS says for how many seconds."""
    drill(tmp_path, SECONDS * 10, 2, "required")
