"""Drills on the sandbox that take their time: commands that try to hurt the machine, in each kind that it has.

Every one is bounded by itself: were the sandbox to fail, the machine would be slow for a while, and not be harmed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, Box, Limits
from phases.sandbox.commands import run_command
from phases.sandbox.probe import probe_kind
from tests.papers import HANGS

pytestmark = pytest.mark.slow
KINDS = [
    pytest.param(
        kind, marks=pytest.mark.skipif(not probe_kind(kind).usable, reason=f"{kind}: {probe_kind(kind).detail}")
    )
    for kind in (BUBBLEWRAP, LANDLOCK)
]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "task" / "generate_code").mkdir(parents=True)
    (tmp_path / "task" / "paper.md").write_text("the paper")
    return tmp_path / "task" / "generate_code"


def count(mark: str) -> int:
    found = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += mark.encode() in Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
    return found


@EVERY_KIND
def test_a_fork_bomb_is_stopped_and_all_of_it_is_gone(workspace: Path, kind: str) -> None:
    mark = f"bomb-{os.getpid()}"
    bomb = f": {mark}; b() {{ [ $1 = 0 ] && sleep 50 || {{ b $(($1 - 1)) | b $(($1 - 1)) & }}; }}; b 9; sleep 60"
    for _ in range(5):
        finished = run_command(Box(str(workspace), kind, limits=Limits(processes=30)), bomb, seconds=HANGS)
        assert finished.limit == "processes: 30"
        assert count(mark) == 0


@EVERY_KIND
def test_a_chain_of_processes_that_each_start_the_next_and_end_is_gone(workspace: Path, kind: str) -> None:
    mark = f"chain-{os.getpid()}"
    code = """
import os, time
ends = time.monotonic() + 20
while time.monotonic() < ends:
    if os.fork(): os._exit(0)
    os.setsid()
"""
    (workspace / "chain.py").write_text(code)
    finished = run_command(Box(str(workspace), kind), f"python chain.py {mark} & sleep 0.5; exit 3", seconds=HANGS)
    assert finished.exit_code == 3
    assert count(mark) == 0


@EVERY_KIND
def test_a_gigabyte_of_output_is_stopped(workspace: Path, kind: str) -> None:
    finished = run_command(Box(str(workspace), kind), "head -c 1000000000 /dev/zero", seconds=HANGS)
    assert finished.limit == "output: 64 MiB"
    assert len(finished.output) < 100_000


@EVERY_KIND
def test_memory_taken_by_many_processes_is_stopped(workspace: Path, kind: str) -> None:
    hog = "python -c 'import time; x = bytearray(b\"x\") * 150_000_000; time.sleep(60)' & "
    finished = run_command(Box(str(workspace), kind, limits=Limits(memory=2**29)), hog * 6 + "wait", seconds=HANGS)
    assert finished.limit == "memory: 512 MiB"


@EVERY_KIND
def test_memory_that_many_processes_share_counts_once(workspace: Path, kind: str) -> None:
    code = """
import mmap, os, time
shared = mmap.mmap(-1, 100_000_000)
shared.write(b"x" * 100_000_000)
for _ in range(9):
    if not os.fork():
        sum(shared[::4096]); time.sleep(1.5); os._exit(0)
for _ in range(9): os.wait()
"""
    (workspace / "share.py").write_text(code)
    finished = run_command(Box(str(workspace), kind, limits=Limits(memory=2**29)), "python share.py", seconds=HANGS)
    assert (finished.exit_code, finished.limit) == (0, None), finished


@EVERY_KIND
@pytest.mark.parametrize(
    "command",
    [
        "for i in $(seq 60); do head -c 20000000 /dev/zero > $HOME/$i || exit 9; done; sleep 60",
        "python -c 'for i in range(10**6): open(str(i), \"w\").close()'; sleep 60",
        "truncate -s 100G sparse; while :; do head -c 50000000 /dev/zero >> real; done",
    ],
    ids=["temporary files", "a million files", "sparse and real"],
)
def test_a_disk_is_not_filled(command: str, workspace: Path, kind: str) -> None:
    limits = Limits(disk=2**28, scratch=2**28, file=2**31)
    finished = run_command(Box(str(workspace), kind, limits=limits), command, seconds=HANGS)
    full = kind == BUBBLEWRAP and finished.exit_code == 9  # its folder for temporary files has an end of its own
    assert full or (finished.limit or "").startswith("disk: 256 MiB"), finished


@EVERY_KIND
def test_a_busy_loop_ends_in_time(workspace: Path, kind: str) -> None:
    finished = run_command(Box(str(workspace), kind), "while :; do :; done & while :; do :; done", seconds=2)
    assert finished.limit == "time: 2 s"


@EVERY_KIND
def test_a_hundred_commands_leave_no_file_no_process_and_no_descriptor(workspace: Path, kind: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(100):
        assert run_command(Box(str(workspace), kind), f"echo {number} > last; mktemp", seconds=HANGS).exit_code == 0
    assert [path.name for path in workspace.iterdir()] == ["last"]
    assert len(os.listdir("/proc/self/fd")) == before


@EVERY_KIND
def test_everything_may_be_deleted_and_only_the_workspace_suffers(workspace: Path, kind: str) -> None:
    (workspace / "mine").write_text("x")
    run_command(
        Box(str(workspace), kind), 'rm -rf ~ / .. $HOME "$UNSET"/ --no-preserve-root 2>/dev/null', seconds=HANGS
    )
    assert (workspace.parent / "paper.md").read_text() == "the paper"
    assert os.path.exists(sys.executable)
    assert workspace.is_dir()
