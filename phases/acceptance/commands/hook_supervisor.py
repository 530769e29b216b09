"""The parent of one hook: it keeps the time, and leaves no process behind, however far one went.

A process of its own, started for one command. It dies with the runner: the runner holds the other end of its line.
What kills this process first can leave others behind: nothing but a sandbox holds a program that wants that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from phases.sandbox.supervise import end_descendants, reap_children

GRACE = 2.0
"""Seconds between the request to end and the end."""
TELLS_PID, TELLS_EXIT, TELLS_SIGNAL, TELLS_TIMEOUT, TELLS_FAULT = b"pid", b"exit", b"signal", b"timeout", b"fault"
"""What stands on the line, with a number or words behind it, and a line end: what came of the command comes last."""
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from phases.acceptance.commands.hook_supervisor import main; "
    "raise SystemExit(main(int(sys.argv[2])))"
)
"""What `python -I -S -c` is given, with the folder of the packages and the descriptor of the line."""
_SUBREAPER, _DIE_WITH_PARENT = 36, 1
_LENGTH = 8
_TICK_MS = 20
_LONGEST_WAIT = 3600.0
_NOT_STARTED = 127


class SupervisorOrder(NamedTuple):
    """What to run, in bytes: a name of a file need be no text."""

    seconds: float
    folder: bytes
    argv: tuple[bytes, ...]
    environment: Mapping[bytes, bytes]


def pack_order(seconds: float, folder: str, argv: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """An order as it goes over the line. Raises ValueError for what no program can be given."""
    variables = [f"{name}={value}" for name, value in environment.items() if _check_variable(name, value)]
    parts = [repr(float(seconds)), folder, str(len(argv)), *argv, *variables]
    if not argv or any("\0" in part for part in parts):
        raise ValueError("there is a NUL character in the command or in a variable" if argv else "the command is empty")
    body = b"\0".join(map(os.fsencode, parts))
    return len(body).to_bytes(_LENGTH, "big") + body


def main(line: int) -> int:
    """Runs what the runner orders, tells what came of it, and leaves no process behind."""
    os.set_inheritable(line, False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the end of the line is the one way to stop this
    ended, wakes = os.pipe()
    for descriptor in (ended, wakes):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    order = _receive_order(line)
    if order is None:
        return 0
    child = os.fork()
    if not child:
        return _become_command(order, line)
    _close_streams()
    _send_report(line, TELLS_PID, str(child))
    told = _wait_for_end(child, ended, line, time.monotonic() + order.seconds)
    if told == TELLS_TIMEOUT:
        _ask_to_end(child, line)
    if told is not None:
        _send_report(line, told)
    end_descendants(child, alone=False)
    return 0


def _check_variable(name: str, value: str) -> bool:
    if not name or "=" in name or "\0" in name + value:
        raise ValueError(f"no program can be given a variable of this name or value: {name!a}")
    return True


def _receive_order(line: int) -> SupervisorOrder | None:
    """The order; None when the runner is gone before it has given one."""
    head = _read_exactly(line, _LENGTH)
    body = _read_exactly(line, int.from_bytes(head, "big")) if head else None
    if body is None:
        return None
    seconds, folder, count, *rest = body.split(b"\0")
    words, pairs = rest[: int(count)], rest[int(count) :]
    variables = (pair.partition(b"=") for pair in pairs)
    return SupervisorOrder(float(seconds), folder, tuple(words), {name: value for name, _, value in variables})


def _read_exactly(line: int, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        piece = os.read(line, length - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _become_command(order: SupervisorOrder, line: int) -> int:
    """Turns this process into the command. Returns only when that cannot be."""
    fault, where = "it ended before it began", b"a process of its own"
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores some of them, and what is ignored stays so
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        where = order.folder
        os.chdir(where)
        where = order.argv[0]
        os.execvpe(where, order.argv, order.environment)  # noqa: S606 - to become the command is what this is for
    except OSError as error:
        fault = f"{os.fsdecode(where)}: {error.strerror}"
    finally:
        _send_report(line, TELLS_FAULT, fault)
    return _NOT_STARTED


def _close_streams() -> None:
    """So that each pipe ends with the last process of the hook that holds it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _wait_for_end(child: int, ended: int, line: int, deadline: float) -> bytes | None:
    """What came of the command; None when the runner wants no more of it, or is gone."""
    waiting = select.poll()
    waiting.register(line, select.POLLIN)
    waiting.register(ended, select.POLLIN)
    while True:
        left = deadline - time.monotonic()
        ready = {descriptor for descriptor, _ in waiting.poll(min(max(left, 0), _LONGEST_WAIT) * 1000 + 1)}
        if line in ready:
            return None
        with contextlib.suppress(BlockingIOError):
            os.read(ended, 4096)
        statuses = dict(reap_children())
        if child in statuses:
            code = os.waitstatus_to_exitcode(statuses[child])
            return b"%b %d" % (TELLS_EXIT if code >= 0 else TELLS_SIGNAL, abs(code))
        if left <= 0:
            return TELLS_TIMEOUT


def _ask_to_end(child: int, line: int) -> None:
    """Lets the group of the command end by itself, for a while."""
    waiting = select.poll()
    waiting.register(line, select.POLLIN)
    deadline = time.monotonic() + GRACE
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGTERM)
        while time.monotonic() < deadline:
            reap_children()
            os.killpg(child, 0)
            if waiting.poll(_TICK_MS):
                return


def _send_report(line: int, word: bytes, rest: str = "") -> None:
    with contextlib.suppress(OSError):
        os.write(line, b" ".join(filter(None, (word, os.fsencode(rest.replace("\n", " "))))) + b"\n")
