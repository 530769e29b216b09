"""A runner that is killed while bubblewrap starts leaves no process: not one that runs on, and not one that waits for ever."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phases.sandbox.box import BUBBLEWRAP, Box
from phases.sandbox.bubblewrap import find_bubblewrap
from phases.sandbox.launch import launch_command
from phases.sandbox.probe import probe_kind
from phases.sandbox.process_tree import descendants_of
from pipeline.base.errors import Interrupted
from tests.drills.points import EVERY, seed
from tests.work import deadline_in, is_over

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_bubblewrap(), reason="there is no bubblewrap"),
]
LONGEST = 0.06
"""Seconds from the start of bubblewrap to the kill: a start takes about ten milliseconds, and longer on a busy machine."""
PATIENCE = 15.0


def _left(mark: str) -> list[int]:
    """The processes with this in their command line."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in command:
            found.append(int(name))
    return found


def _run_until(folder: Path, stop: Callable[[int], None], delay: float) -> list[int]:
    """What is left of a runner that is stopped so long after it began to start bubblewrap."""
    sign, signs = os.pipe()
    runner = os.fork()
    if not runner:
        sys.addaudithook(
            lambda event, words: _tell(signs) if event == "subprocess.Popen" and "bwrap" in words[0] else None
        )
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            launch_command(Box(str(folder), BUBBLEWRAP), "sleep 333", 300)
        finally:
            os._exit(0)
    os.close(signs)
    os.read(sign, 1)
    os.close(sign)
    time.sleep(delay)
    watch = [process.pid for process in descendants_of(runner) if process.parent == runner]
    stop(runner)
    os.waitpid(runner, 0)
    ends = deadline_in(PATIENCE)
    while (left := [*_left(str(folder)), *filter(_is_watch, watch)]) and not is_over(ends):
        time.sleep(0.005)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


def _is_watch(pid: int) -> bool:
    """Whether it is the process beside the runner, which ends after it."""
    try:
        return b"orphan_watch" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _tell(signs: int) -> None:
    os.write(signs, b"x")


def _interrupt(number: int, frame: object) -> None:
    raise Interrupted(number)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_a_runner_that_is_stopped_while_bubblewrap_starts_leaves_no_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    count = (500 if EVERY else 30) // (5 if number == signal.SIGTERM else 1)
    if not (found := probe_kind(BUBBLEWRAP)).usable:
        pytest.skip(found.detail)
    random_delay, left = random.Random(seed()), 0
    for turn in range(count):
        folder = tmp_path / f"turn{turn}"
        folder.mkdir()
        left += bool(_run_until(folder, lambda pid: os.kill(pid, number), random_delay.uniform(0, LONGEST)))
    assert left == 0, f"{left} of {count} left a process"
