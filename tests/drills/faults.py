"""Faults on purpose: at the Nth system call (strace), at the Nth audited event (a hook in the process), on a small disk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.drills.ground import Ended, Ground

CHANGING = "write pwrite64 fsync fdatasync rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir ftruncate"
"""The calls that change a disk. Some are absent from some machines."""

_LAUNCHER = '''"""Runs the command, and does something at the Nth audited event under a folder; tells how many there were."""

import os
import sys

place, nth, action, told, *arguments = sys.argv[1:]
EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "subprocess.Popen", "socket.connect")
from pipeline.cli import main

seen, record = [], os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def here(name):
    """In the working folder, or relative to a folder that is open already."""
    return isinstance(name, (str, bytes)) and (place in os.fsdecode(name) or not os.path.isabs(os.fsdecode(name)))


def hook(event, details):
    if event in EVENTS and (not event.startswith("o") or any(map(here, details[:2]))):
        seen.append(event)
        os.write(record, f"{event} {details[:2]}\\n".encode("utf-8", "replace"))
        if int(nth) in (len(seen), -1):
            exec(action)


sys.addaudithook(hook)
main(arguments)
'''


@dataclass(frozen=True)
class Call:
    """One system call of a run: the nth of its name."""

    name: str
    nth: int
    text: str

    def __str__(self) -> str:
        return f"{self.name} number {self.nth}: {self.text[:120]}"


def path_of(call: Call) -> str:
    """The path that a call is about, as it was given to it; relative to a directory that it named. Empty for none."""
    named = re.match(r'(?:\w+<([^>]*)>, )?"([^"]*)"', call.text)
    return os.path.join(named[1] or "", named[2]) if named else ""


def calls_of(ground: Ground, names: str = CHANGING) -> list[Call]:
    """The calls of these names that the drill's command makes, in their order; not those of processes that it starts."""
    need_strace()
    log = ground.base / "calls"
    ended = ground.call(before=[*_strace(names, log, others=ground.tools), "-y"])
    assert "Traceback" not in ended.err, ended.err
    counts: dict[str, int] = {}
    calls, first = [], None
    for line in log.read_text(errors="backslashreplace").splitlines():
        match = re.match(r"(?:(\d+) +)?(\w+)\((.*)", line)
        if match and match[1] == (first := first or match[1]):
            counts[match[2]] = counts.get(match[2], 0) + 1
            calls.append(Call(match[2], counts[match[2]], match[3]))
    assert calls, f"strace saw nothing: {ended}"
    return calls


def call_with(ground: Ground, fault: str, call: Call, *, for_ever: bool = False) -> Ended:
    """Runs the drill's command with a fault (`signal=KILL`, `error=ENOSPC`) at that call, or from it on."""
    # Followed, a check of the code would meet the fault at its own Nth call, and its exit code would tell so; and under
    # seccomp-bpf strace takes an injected signal and never sends it.
    before = _strace(call.name, ground.base / "faults", others=True)
    when = f"{call.nth}{'+' * for_ever}"
    return ground.call(before=[*before, "-e", f"inject={call.name}:{fault}:when={when}"])


def stopped_at_its_first_child(ground: Ground) -> list[str]:
    """What stands before a command that is told to stop at the moment at which it starts another process."""
    need_strace()
    names = "vfork fork"
    inject = "inject=" + ",".join(f"?{name}" for name in names.split()) + ":signal=TERM:when=1"
    return [*_strace(names, ground.base / "faults", others=True), "-e", inject]


def launched(ground: Ground, nth: int, action: str = "os._exit(137)", *, arguments: Sequence[str] = ()) -> Ended:
    """Runs the drill's command and does something, in Python, at its nth audited event in the working folder; -1: at each."""
    launcher = ground.base / "launcher.py"
    launcher.write_text(_LAUNCHER)
    words = [sys.executable, str(launcher), str(ground.work), str(nth), action, str(ground.base / "events")]
    process = subprocess.run(
        [*words, *(arguments or ground.arguments)],
        cwd=ground.work,
        env=ground.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        timeout=120,
        check=False,
    )
    return Ended(process.returncode, process.stdout, process.stderr)


def events_of(ground: Ground) -> list[str]:
    """The audited events of the drill's command, in their order."""
    launched(ground, 0)
    return (ground.base / "events").read_text().splitlines()


@cache
def _strace_refuses() -> str:
    if not shutil.which("strace"):
        return "strace is not installed (apt-get install strace)"
    tried = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-o", os.devnull, "-e", "trace=?rename", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"strace does not work here: {tried.stderr.strip()}" if tried.returncode else ""


def need_strace() -> None:
    """Skips the drill where there is no strace, or where it may not trace."""
    if reason := _strace_refuses():
        pytest.skip(reason)


def _strace(names: str, log: Path, *, others: bool) -> list[str]:
    # Processes that the command starts have counts of their own, so they are not followed; and without following there
    # is no seccomp-bpf, which makes strace five times faster.
    follow = [] if others else ["-f", "--seccomp-bpf"]
    strace = shutil.which("strace") or "strace"
    return [strace, *follow, "-qq", "-o", str(log), "-e", "trace=" + ",".join(f"?{name}" for name in names.split())]


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[None]:
    """A tmpfs of that size at a folder. Skips the drill where mounting is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def mount(*arguments: str) -> None:
    """Mounts, or skips the drill with the reason."""
    if not shutil.which("mount"):
        pytest.skip("mount is not installed")
    tried = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"mounting is not allowed here: {tried.stderr.strip()}")
