"""End commands in bubblewrap whose runner was killed before they were bound to its life.

bubblewrap binds a command to its parent only once its namespaces stand, some milliseconds after it began, and longer on a busy
machine. Who is killed before that leaves a command that runs on, or a first process that waits for ever. So one process beside
each runner holds the other end of a connection: it is told of each launch before it is made, and when the runner is gone, it ends
what that has left.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from functools import cache
from itertools import count

PATIENCE = 10.0
"""Seconds that bubblewrap gets to tell of its first process."""
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from phases.sandbox.orphan_watch import main; main(int(sys.argv[2]))"
)
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
_FIRST = re.compile(rb'"child-pid": *([0-9]+)[^0-9]')
_GROUP = 2
"""A field of /proc/PID/stat, counted from the state, which stands after the name."""
_PROGRAM = "bwrap"
_STARTING = threading.Lock()


class OrphanWatch:
    """The runner's end. What cannot be told is not: the command runs as it would without."""

    def __init__(self) -> None:
        """Start the process. Raises OSError."""
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._launches = count(1)  # of all threads: each gets a number that no other has
        # It ends by itself, and is not waited for; a paper of a batch, which is a fork, has one of its own.
        os.register_at_fork(after_in_child=self._connection.close)
        with theirs:
            theirs.set_inheritable(True)
            python = os.path.realpath(sys.executable)
            nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)
            os.posix_spawn(
                *(python, [python, "-I", "-S", "-c", _START, _PACKAGES, str(theirs.fileno())], {}),
                file_actions=[nothing, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)],
                setsid=True,
            )

    def announce(self, info: socket.socket) -> int:
        """Announce a launch before it: `info` is where bubblewrap reports its first process. Returns its number."""
        launch = next(self._launches)
        with contextlib.suppress(OSError):
            socket.send_fds(self._connection, [b"open %d" % launch], [info.fileno()])
        return launch

    def name(self, launch: int, pid: int) -> None:
        """Report which process bubblewrap is, after the launch."""
        self._send(b"pid %d %d" % (launch, pid))

    def forget(self, launch: int) -> None:
        """Forget a launch after its end."""
        self._send(b"done %d" % launch)

    def _send(self, message: bytes) -> None:
        with contextlib.suppress(OSError):
            self._connection.send(message)


def orphan_watch() -> OrphanWatch:
    """Return the watch of this process, started at the first use. Raises OSError."""
    with _STARTING:
        return _watch_of(os.getpid())


@cache
def _watch_of(pid: int) -> OrphanWatch:
    return OrphanWatch()


def read_first(info: socket.socket, seconds: float) -> int | None:
    """Return the first process inside, by bubblewrap's word; None if it ends before, or is late.

    The words are left where they are: the runner and its watch read the same ones.
    """
    ends = time.monotonic() + seconds
    while select.select([info], [], [], max(0.0, ends - time.monotonic()))[0]:
        told = info.recv(4096, socket.MSG_PEEK)
        if found := _FIRST.search(told):
            return int(found[1])
        if not told:
            return None
        time.sleep(0.001)  # half of the words are there
    return None


def main(connection: int) -> None:
    """Wait for the end of the runner, and end what it has not ended itself."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    launches: dict[bytes, tuple[socket.socket, int]] = {}
    with socket.socket(fileno=connection) as runner:
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(runner, 100, 1)
            except OSError:
                break
            if not message:
                break
            word, launch, *rest = message.split()
            if word == b"open" and descriptors:
                launches[launch] = socket.socket(fileno=descriptors[0]), 0
            elif word == b"pid" and launch in launches:
                launches[launch] = launches[launch][0], int(rest[0])
            elif word == b"done" and launch in launches:
                launches.pop(launch)[0].close()
    for info, pid in launches.values():
        _end_launch(info, pid)
        info.close()


def _end_launch(info: socket.socket, pid: int) -> None:
    # With the first process inside the kernel ends all the others, and bubblewrap itself ends.
    first = read_first(info, PATIENCE)
    for process in (first, *_group_of(pid)):
        if process and _is_bubblewrap(process):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)


def _group_of(pid: int) -> list[int]:
    """Return bubblewrap and its first process, until that has a session of its own."""
    found = []
    for name in os.listdir("/proc") if pid else ():
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
            told = file.read()
            if int(told[told.rindex(b")") + 2 :].split()[_GROUP]) == pid:
                found.append(int(name))
    return found


def _is_bubblewrap(pid: int) -> bool:
    """Return whether it is still that process: numbers are reused."""
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
            return file.read().startswith(_PROGRAM)
    except OSError:
        return False
