"""Parent of one command: it keeps the time, and ends every descendant process.

A process of its own, started for one command that has no namespace of processes. It dies with the runner, which holds the other
end of its connection. A command that kills this process first can leave others behind: only a sandbox holds one that wants that.
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

from phases.sandbox.confine import hold_signals_in
from phases.sandbox.confine import main as confine
from phases.sandbox.process_tree import descendants_of

TELLS_PID, TELLS_EXIT, TELLS_SIGNAL, TELLS_TIMEOUT, TELLS_FAULT = b"pid", b"exit", b"signal", b"timeout", b"fault"
"""Messages to the runner, each with a number or words and a line end; the command's result comes last."""
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from phases.sandbox.supervisor import main; "
    "raise SystemExit(main(int(sys.argv[2])))"
)
"""Program of `python -I -S -c`, which gets the directory of the packages and the descriptor of the connection."""
_SUBREAPER, _DIE_WITH_PARENT = 36, 1
_LENGTH = 8
_TICK_MS = 20
_LONGEST_WAIT = 3600.0
_NOT_STARTED = 127
NO_ROOM = 75
"""The exit code of a supervisor that got no descriptor, process or memory for its own part: nothing was run."""


class Order(NamedTuple):
    """A command to run. Everything is bytes, because the name of a file need not be text."""

    seconds: float
    grace: float
    """Seconds between the request to end (SIGTERM) and the end; 0 asks for nothing."""
    directory: bytes
    scratch: bytes
    """A directory to remove when the runner is gone; empty for none."""
    is_confined: bool
    """The arguments are those of confine.py, which gives up rights first."""
    argv: tuple[bytes, ...]
    environment: Mapping[bytes, bytes]


def pack_order(
    argv: Sequence[str], environment: Mapping[str, str], directory: str, *,
    seconds: float = float("inf"), grace: float = 0.0, scratch: str = "", is_confined: bool = False,
) -> bytes:  # fmt: skip
    """Encode an order. Raises ValueError if no program can take it."""
    variables = [f"{name}={value}" for name, value in environment.items() if _is_variable(name, value)]
    head = [repr(float(seconds)), repr(float(grace)), directory, scratch, str(int(is_confined)), str(len(argv))]
    parts = [*head, *argv, *variables]
    if not argv or any("\0" in part for part in parts):
        raise ValueError("there is a NUL character in the command or in a variable" if argv else "the command is empty")
    body = b"\0".join(map(os.fsencode, parts))
    return len(body).to_bytes(_LENGTH, "big") + body


def main(connection: int) -> int:
    """Run what the runner orders, tells what came of it, and leave no process behind."""
    os.set_inheritable(connection, False)
    # A child that calls setsid leaves its group, and when orphaned still becomes a child of this process (decision 81).
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    # The end of the connection is the one way to stop this: Ctrl-C reaches the runner, which closes it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        ended, wakes = os.pipe()
    except OSError:
        return NO_ROOM
    for descriptor in (ended, wakes):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    # Over the connection, because on a command line everybody could read it (decision 145).
    order = _receive_order(connection)
    if order is None:
        return 0
    alone = order.is_confined and any(word.startswith(b"fs:") for word in order.argv) and hold_signals_in()
    try:
        child = os.fork()
    except OSError:
        return NO_ROOM
    if not child:
        return _become_command(order, connection)
    # Before the end is told: a pipe must end with the last process of the command, not with this one.
    _release_streams()
    outcome = _wait_for_end(child, ended, connection, time.monotonic() + order.seconds)
    if outcome == TELLS_TIMEOUT and order.grace:
        _ask_to_end(child, connection, order.grace)
    if outcome is not None:
        _tell(connection, outcome)
    end_descendants(child, alone=alone)
    if outcome is None and order.scratch:
        _remove_scratch(os.fsdecode(order.scratch))
    return 0


def end_descendants(child: int, *, alone: bool) -> None:
    """End all descendants, until the kernel reports no child: orphans become children of this process.

    `alone`: a signal of this process reaches only its own children, so one call ends them all at once.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    while True:
        if alone:
            _send_signal(-1, signal.SIGKILL)
        else:
            kill_descendants(os.getpid())
        _reap_children()
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        time.sleep(0.001)


def kill_descendants(root: int) -> None:
    """Kill what a process has brought forth by now, one by one: each is stopped first, so that it makes no more of its kind."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in descendants_of(root):
            _send_signal(process.pid, number)


def _is_variable(name: str, value: str) -> bool:
    if not name or "=" in name or "\0" in name + value:
        raise ValueError(f"no program can be given a variable of this name or value: {name!a}")
    return True


def _receive_order(connection: int) -> Order | None:
    """Receive an order; None if the runner is gone before it has given one."""
    head = _read_exactly(connection, _LENGTH)
    body = _read_exactly(connection, int.from_bytes(head, "big")) if head else None
    if body is None:
        return None
    seconds, grace, directory, scratch, is_confined, count, *rest = body.split(b"\0")
    words, pairs = rest[: int(count)], rest[int(count) :]
    variables = {name: value for name, _, value in (pair.partition(b"=") for pair in pairs)}
    return Order(float(seconds), float(grace), directory, scratch, is_confined == b"1", tuple(words), variables)


def _read_exactly(connection: int, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        piece = os.read(connection, length - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _become_command(order: Order, connection: int) -> int:
    """Turn this process into the command. Returns only when that cannot be."""
    fault, where = "it ended before it began", b"a process of its own"
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores some of them, and what is ignored stays so
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        _tell(connection, TELLS_PID, str(os.getpid()))  # before the command, which may end its parent
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        if order.is_confined:
            return confine(list(map(os.fsdecode, order.argv)), dict(order.environment))
        where = order.directory
        os.chdir(where)
        where = order.argv[0]
        os.execvpe(where, order.argv, order.environment)  # noqa: S606 - to become the command is what this is for
    except OSError as error:
        fault = f"{os.fsdecode(where)}: {error.strerror}"
    finally:
        _tell(connection, TELLS_FAULT, fault)  # confine.py has closed the connection, and says itself what is wrong
    return _NOT_STARTED


def _release_streams() -> None:
    """Close our streams, so that each pipe ends with the last process of the command that holds it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _wait_for_end(child: int, ended: int, connection: int, deadline: float) -> bytes | None:
    """Wait for the command's result; None if the runner no longer wants it, or is gone."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    waiting.register(ended, select.POLLIN)
    while True:
        left = deadline - time.monotonic()
        ready = {descriptor for descriptor, _ in waiting.poll(min(max(left, 0), _LONGEST_WAIT) * 1000 + 1)}
        if connection in ready:
            return None
        with contextlib.suppress(BlockingIOError):
            os.read(ended, 4096)
        statuses = dict(_reap_children())
        if child in statuses:
            code = os.waitstatus_to_exitcode(statuses[child])
            return b"%b %d" % (TELLS_EXIT if code >= 0 else TELLS_SIGNAL, abs(code))
        if left <= 0:
            return TELLS_TIMEOUT


def _ask_to_end(child: int, connection: int, grace: float) -> None:
    """Let the group of the command end by itself, for a while."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    deadline = time.monotonic() + grace
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGTERM)
        while time.monotonic() < deadline:
            _reap_children()
            os.killpg(child, 0)
            if waiting.poll(_TICK_MS):
                return


def _reap_children() -> list[tuple[int, int]]:
    """Return the children that ended since the last call, with their status."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(dead)
    return found


def _send_signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _tell(connection: int, word: bytes, rest: str = "") -> None:
    with contextlib.suppress(OSError):
        os.write(connection, b" ".join(filter(None, (word, os.fsencode(rest.replace("\n", " "))))) + b"\n")


def _remove_scratch(scratch: str) -> None:
    import shutil  # late: its start costs as much as that of all the rest here, and this is hardly ever needed

    shutil.rmtree(scratch, ignore_errors=True)
