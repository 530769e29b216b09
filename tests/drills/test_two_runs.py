"""Drills 18 and 20: one writer a task, whoever else tries; and a lock is taken over only from somebody who is gone."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drills import scenes
from tests.drills.ground import Ended, Ground, held, let_go, until
from tests.drills.points import EVERY
from tests.drills.trees import tree_of

pytestmark = pytest.mark.slow

TRIES = 100 if EVERY else 3


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return scenes.waiting(tmp_path)


@pytest.mark.parametrize(
    "second", ["run paper.md", "resume paper", "resume", "step paper", "run tasks/paper --redo 00"]
)
def test_a_second_run_ends_at_once_with_the_name_of_the_first(ground: Ground, second: str) -> None:
    with held(ground) as first:
        before = tree_of(ground)
        ground.call(*second.split()).assert_failed(f"process {first.pid} on {socket.gethostname()}")
        assert tree_of(ground) == before
        let_go(ground)
        assert ground.wait(first).code == 0
    assert _phases_run(ground) == 1


@pytest.mark.parametrize("command", ["run paper.md", "resume paper"])
def test_of_two_runs_started_together_exactly_one_works(ground: Ground, command: str) -> None:
    ground.call("run", "paper.md", "--until", "00")
    for _ in range(TRIES):
        _race(ground, command)
        ground.call("run", "tasks/paper", "--redo", "01", "--until", "00")


def test_of_two_first_runs_of_a_paper_started_together_exactly_one_works(ground: Ground) -> None:
    for _ in range(TRIES):
        ground.fresh()
        _race(ground, "run paper.md")
        assert sorted(path.name for path in ground.tasks.iterdir() if path.is_dir()) == ["paper"]
        assert ground.call("check", "paper").code == 0


@pytest.mark.parametrize("command", ["status paper", "list", "show paper toy00.json", "why paper", "logs paper"])
def test_a_task_can_be_read_while_it_is_worked_on(ground: Ground, command: str) -> None:
    with held(ground):
        ended = ground.call(*command.split())
        assert (ended.code, ended.err) == (0, "")


def test_the_lock_of_a_killed_run_is_taken_over_and_the_reason_is_told(ground: Ground) -> None:
    with held(ground) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        let_go(ground)
        ended = ground.call("resume", "paper")
    assert ended.code == 0
    assert f"took over from process {first.pid} on {socket.gethostname()}" in ended.err


@pytest.mark.parametrize(
    "words",
    [
        {"pid": os.getppid(), "host": socket.gethostname()},
        {"pid": 4194303, "host": socket.gethostname()},
        {"pid": 1, "host": socket.gethostname(), "boot": "before the machine was started again"},
    ],
    ids=["its number is another process's now", "its process is gone", "the machine was started again"],
)
def test_a_lock_that_nobody_holds_any_more_is_taken_over(ground: Ground, words: dict[str, object]) -> None:
    _leave_lock(ground, json.dumps({"boot": _boot(), "started": "2001-01-01T00:00:00.000Z", **words}).encode())
    ended = ground.call("resume", "paper")
    assert ended.code == 0, ended.err
    assert f"warning: took over from process {words['pid']} on" in ended.err


def test_a_lock_from_another_machine_is_not_taken_over(ground: Ground) -> None:
    words = {"pid": 1, "host": "elsewhere", "boot": "another", "started": "2001-01-01T00:00:00.000Z"}
    _leave_lock(ground, json.dumps(words).encode())
    before = tree_of(ground)
    ground.call("resume", "paper").assert_failed(str(ground.task / ".lock"), "process 1 on elsewhere")
    assert tree_of(ground) == before
    assert (ground.task / ".lock").read_text() == json.dumps(words), "the words of the other are kept"


@pytest.mark.parametrize(
    "content",
    [b"\0\0\0\0", b"{", b"[]", b"12", b'"text"', b"\xff\xfe", b"{}", b"x" * 100_000, b'{"pid": {"a": [1]}}'],
    ids=["NUL", "half", "a list", "a number", "a text", "no UTF-8", "nothing in it", "very long", "odd values"],
)
def test_garbage_in_a_lock_that_nobody_holds_is_no_obstacle(ground: Ground, content: bytes) -> None:
    _leave_lock(ground, content)
    ended = ground.call("resume", "paper")
    assert ended.code == 0, ended.err
    assert "warning: took over from" in ended.err or content == b"{}"


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff"], ids=["empty", "garbage", "no UTF-8"])
def test_a_lock_that_is_held_counts_whatever_is_written_in_it(ground: Ground, content: bytes) -> None:
    _leave_lock(ground, content)
    with (ground.task / ".lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ground.call("resume", "paper").assert_failed("paper is in use by")


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link"])
def test_a_lock_that_is_no_file_is_named_and_not_waited_for(ground: Ground, kind: str) -> None:
    _leave_lock(ground, b"")
    path, aside = ground.task / ".lock", ground.base / "aside"
    path.unlink()
    make: dict[str, Callable[[], object]] = {
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
        "a link": lambda: path.symlink_to(aside),
    }
    make[kind]()
    ground.call("resume", "paper", patience=20).assert_failed(".lock")
    assert not aside.exists()


def _race(ground: Ground, command: str) -> None:
    """Starts two, waits until one has given up, and lets the other end."""
    signs = ground.base / "signs"
    for sign in signs.iterdir():
        sign.unlink()
    two = [ground.start(*command.split()) for _ in range(2)]
    until(lambda: any(process.poll() is not None for process in two), "one of two gives up")
    until(lambda: (signs / "begun").exists() or _both_ended(two), "the other one begins")
    let_go(ground)
    ended = {process.pid: ground.wait(process) for process in two}
    winners = [pid for pid, end in ended.items() if end.code == 0]
    assert len(winners) == 1, _told(ended)
    loser = next(end for pid, end in ended.items() if pid != winners[0])
    loser.assert_failed(f"process {winners[0]} on {socket.gethostname()}")
    assert _phases_run(ground) == 1


def _both_ended(two: list[subprocess.Popen[str]]) -> bool:
    return all(process.poll() is not None for process in two)


def _told(ended: dict[int, Ended]) -> str:
    return "\n".join(f"{pid} ends with {end.code}: {end.err}" for pid, end in ended.items())


def _phases_run(ground: Ground) -> int:
    """How often the waiting phase began."""
    return (ground.base / "signs" / "begun").read_text().count("\n")


def _leave_lock(ground: Ground, content: bytes) -> None:
    """A task that stopped early, with these words in its lock; nothing in it will wait."""
    ground.call("run", "paper.md", "--until", "00")
    (ground.task / ".lock").write_bytes(content)
    let_go(ground)


def _boot() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else "unknown"
