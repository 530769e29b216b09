"""Runs of hooks that end in every way there is: no process, no descriptor and no memory is left behind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from phases.acceptance.command_hooks import MOST_KEPT, CommandLaunch, ProcessOutcome, run_process
from tests.drills.points import EVERY, seed
from tests.papers import ROOT

MARK = "HOOK_UNDER_TEST"
MOST_GROWTH = 6 * 2**20
SYSTEM = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
FORKS = (
    "import os, time\n"
    "for turn in range(3):\n"
    "    if not os.fork():\n"
    "        os.setsid()\n"
    "        if os.fork(): os._exit(0)\n"
    "        os.closerange(0, 3)\n"
    "        time.sleep(999)\n"
)
KINDS = {
    "exit": (50, "echo text; echo more >&2; exit {code}"),
    "timeout": (10, "echo begun; sleep 999 & sleep 999"),
    "deaf": (2, "trap '' TERM; while :; do sleep 0.05; done"),
    "flood": (5, "head -c 50000000 /dev/zero; exit {code}"),
    "flood of errors": (3, "head -c 50000000 /dev/zero >&2; exit {code}"),
    "session": (10, "(setsid sh -c 'sleep 999 & exec sleep 999' >/dev/null 2>&1 &); exit {code}"),
    "daemons": (5, "{python} forks.py; exit {code}"),
    "holds the output": (5, "sleep 999 & exit {code}"),
    "signal": (5, "sleep 999 & kill -KILL $$"),
    "dead children": (3, "for i in 1 2 3 4 5; do sh -c 'kill -SEGV $$' & done; exit {code}"),
    "no command": (2, "no-such-command"),
}

INTERRUPTED = """
import os, random, signal, sys
from phases.acceptance.command_hooks import CommandLaunch, run_process
from pipeline.base.errors import Interrupted
from tests.drills.test_hook_soak import MARK, SYSTEM, left_behind

def stop(number, frame):
    raise Interrupted(number)

signal.signal(signal.SIGALRM, stop)
chance, cut = random.Random(sys.argv[2]), 0
script = ("/bin/sh", "-c", "setsid sleep 999 & sleep 999 & exit 0")
for turn in range(int(sys.argv[3])):
    mark = f"{os.getpid()}-{turn}"
    launch = CommandLaunch(script, sys.argv[1], {**SYSTEM, MARK: mark}, b"x" * 9, 60)
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0001, 0.06))
        run_process(launch)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupted:
        cut += 1
    for patience in range(2000):
        if not left_behind(mark):
            break
    else:
        raise SystemExit(f"left: {left_behind(mark)}")
print(cut)
"""


def left_behind(mark: str) -> list[str]:
    """The processes that carry a mark in their environment, as the kernel lists them. Empty where there is no /proc."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        try:
            if f"{MARK}={mark}\0".encode() in Path("/proc", name, "environ").read_bytes():
                found.append(f"{name} {Path('/proc', name, 'cmdline').read_bytes()!r}")
        except OSError:
            continue
    return found


def descriptors() -> int:
    """How many this process has open; 0 where the kernel does not tell."""
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def memory() -> int:
    """The memory of this process in bytes; 0 where the kernel does not tell."""
    if not os.path.exists("/proc/self/statm"):
        return 0
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def soak(folder: Path, *, runs: int) -> dict[str, int]:
    """Runs hooks that end in ways drawn at random, looks for what is left after each, and tells what grew."""
    chance = random.Random(seed())
    (folder / "forks.py").write_text(FORKS)
    warm = max(10, runs // 10)
    before = grown_from = 0
    for turn in range(-warm, runs):
        if turn == 0:
            before, grown_from = descriptors(), memory()
        _one(folder, chance, f"{os.getpid()}-{turn}")
    assert descriptors() == before
    return {"runs": runs, "descriptors": descriptors() - before, "bytes": memory() - grown_from}


def _one(folder: Path, chance: random.Random, mark: str) -> None:
    kind = chance.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
    code = chance.choice([0, 1, 2, 5, 101, 255])
    script = KINDS[kind][1].format(code=code, python=sys.executable)
    seconds = chance.uniform(0.05, 0.3) if kind in ("timeout", "deaf") else 60
    given = b"x" * chance.choice([0, 100, 2_000_000])
    log = folder / f"{mark}.log"
    result = run_process(
        CommandLaunch(("/bin/sh", "-c", script), str(folder), {**SYSTEM, MARK: mark}, given, seconds, str(log))
    )
    assert left_behind(mark) == [], kind
    assert _outcome(result) == _expected(kind, code), (kind, result)
    assert max(len(result.stdout), len(result.stderr)) <= MOST_KEPT
    log.unlink()


def _outcome(result: ProcessOutcome) -> tuple[int | None, int | None, bool, str]:
    return result.exit_code, result.signal, result.timed_out, result.fault


def _expected(kind: str, code: int) -> tuple[int | None, int | None, bool, str]:
    if kind in ("timeout", "deaf"):
        return None, None, True, ""
    if kind == "signal":
        return None, 9, False, ""
    return 127 if kind == "no command" else code, None, False, ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is counted in /proc")
def test_many_runs_leave_no_process_no_descriptor_and_no_memory(tmp_path: Path) -> None:
    grown = soak(tmp_path, runs=1000 if EVERY else 100)
    print(grown)
    assert grown["bytes"] < MOST_GROWTH


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is counted in /proc")
def test_a_hook_that_is_interrupted_at_any_moment_leaves_no_process(tmp_path: Path) -> None:
    """In a process of its own: the interrupt comes wherever it comes, also inside the standard library."""
    runner = tmp_path / "runner.py"
    runner.write_text(INTERRUPTED)
    turns = 200 if EVERY else 40
    ended = subprocess.run(
        [sys.executable, str(runner), str(tmp_path), seed(), str(turns)],
        cwd=ROOT,
        env={**SYSTEM, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is counted in /proc")
def test_a_hook_that_holds_the_process_that_watches_over_it_is_ended_all_the_same(tmp_path: Path) -> None:
    mark, before = f"{os.getpid()}-held", descriptors()
    script = "setsid sleep 999 & kill -STOP $PPID; sleep 999"
    result = run_process(CommandLaunch(("/bin/sh", "-c", script), str(tmp_path), {**SYSTEM, MARK: mark}, b"", 0.1))
    assert _outcome(result) == (
        None,
        None,
        False,
        "its supervising process ended first (exit code -9)",
    )
    assert result.notes[0].startswith("a process of it may still run")
    for _ in range(2000):
        if not left_behind(mark):
            break
    assert left_behind(mark) == []
    assert descriptors() == before
