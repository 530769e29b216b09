"""The parent of a command where there is no namespace of processes: it ends every child, however far it went.

A process of its own, started for one command. It dies with the runner: the runner holds the other end of its input.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

from phases.sandbox.confine import hold_signals_in
from phases.sandbox.confine import main as confine
from phases.sandbox.process_tree import descendants_of

_SUBREAPER, _DIE_WITH_PARENT = 36, 1
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from phases.sandbox.supervise import main; "
    "raise SystemExit(main(sys.argv[2], sys.argv[3:]))"
)
"""What `python -I -S -c` is given, with the folder of the packages, the scratch folder, and the words of confine.py."""


def main(scratch: str, words: list[str]) -> int:
    """Runs the command, returns its exit code (128 and the signal that ended it), and leaves no process behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the end of the input is the one way to stop this
    ended, wakes = os.pipe()
    for descriptor in (ended, wakes):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    alone = any(word.startswith("fs:") for word in words) and hold_signals_in()
    child = os.fork()
    if not child:
        return _become_the_command(words)
    _let_go_of_the_output()
    code = _wait_for_end(child, ended)
    end_descendants(child, alone=alone)
    if code is None:
        _remove_scratch(scratch)
    return 0 if code is None else code


def _become_the_command(words: list[str]) -> int:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return confine(words)


def _let_go_of_the_output() -> None:
    """So that the output ends with the last process that can write to it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)


def _wait_for_end(child: int, ended: int) -> int | None:
    """The exit code of the command; None when the runner wants no more of it, or is gone."""
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    waiting.register(ended, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in waiting.poll()}
        if 0 in ready:
            return None
        with contextlib.suppress(BlockingIOError):
            os.read(ended, 4096)
        statuses = dict(reap_children())
        if child in statuses:
            code = os.waitstatus_to_exitcode(statuses[child])
            return code if code >= 0 else 128 - code


def reap_children() -> list[tuple[int, int]]:
    found = []
    with contextlib.suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(dead)
    return found


def end_descendants(child: int, *, alone: bool) -> None:
    """Until the kernel says that there is no child left: orphans become children of this process.

    `alone`: nobody but its children can be reached by a signal of this process, so one call ends them all at once.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    while True:
        if alone:
            _send_signal(-1, signal.SIGKILL)
        else:
            for number in (signal.SIGSTOP, signal.SIGKILL):  # what is stopped makes no more of its kind
                for process in descendants_of(os.getpid()):
                    _send_signal(process.pid, number)
        reap_children()
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        time.sleep(0.001)


def _send_signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _remove_scratch(scratch: str) -> None:
    """The runner does this, too, if it still lives."""
    import shutil  # its start costs as much as that of all the rest here

    shutil.rmtree(scratch, ignore_errors=True)
