"""Run a command: feed it, read its output, and end it with all its descendants.

There are two ways. Without namespaces a supervisor of our own is its parent (supervisor.py). bubblewrap makes a namespace of
processes, and with the first process inside the kernel ends all the others.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NamedTuple, Self

from phases.sandbox import supervisor
from phases.sandbox.orphan_watch import orphan_watch, read_first

PATIENCE = 10.0
"""Seconds that a supervisor gets for its own part, before it is given up."""
TIME = "time"
"""Result of follow_process after a timeout."""
_PIECE = 65_536
_LARGEST_REMAINDER = 2 * 2**20
"""Largest rest in a pipe without a writer."""
_LONGEST_WAIT = 3600.0
_LEFT = "a process of it may still run: its supervisor was stopped, or lacked the right to end it"
_DECIDED = (supervisor.TELLS_FAULT, supervisor.TELLS_TIMEOUT, supervisor.TELLS_EXIT, supervisor.TELLS_SIGNAL)
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
Taker = Callable[[bytes], object]
"""Callback for each piece of output."""


class CommandOutcome(NamedTuple):
    """Command result: one of an exit code, a signal, a timeout and a fault."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    fault: str = ""
    """Reason why it could not be run."""
    notes: tuple[str, ...] = ()
    """Faults without an effect on the verdict, like a process that could not be ended."""


class SupervisedProcess:
    """A command under a supervisor of its own. The first taker gets its output, the second one, if any, its errors.

    A context manager: at the end of the block nothing of it is left. The same holds for the other one.
    """

    def __init__(
        self, order: bytes, takers: Sequence[Taker], given: bytes | None = None, *, hold: bool = False
    ) -> None:
        """`order` as pack_order makes it; `given` is its standard input. `hold`: that stays open and empty for as long as this
        process is there. Raises OSError.
        """
        self._order, self._told = order, b""
        self._notes: list[str] = []
        self._connection, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [os.path.realpath(sys.executable), "-I", "-S", "-c", supervisor.START, _PACKAGES, str(theirs.fileno())],
                # Nothing that lies in the workspace is taken for a part of this program, and no variable that the command
                # is given changes how its supervisor runs.
                cwd="/",
                env={},
                stdin=subprocess.PIPE if hold or given is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if len(takers) > 1 else subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
        except OSError:
            self._connection.close()
            raise
        finally:
            theirs.close()
        self._pipes = _Pipes(self._process, takers, given)
        self._pipes.watch(self._connection.fileno())
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def begin(self) -> None:
        """Give the order: before it nothing is run."""
        self._connection.settimeout(PATIENCE)
        with contextlib.suppress(OSError):  # a supervisor that is gone is noticed at the next step
            self._connection.sendall(self._order)

    def serve(self, seconds: float) -> bool:
        """Feed and read the command, or wait for so long; False when it has ended with all that it started."""
        if self._connection.fileno() not in self._pipes.serve(seconds):
            return True
        try:
            piece = self._connection.recv(_PIECE)
        except OSError:
            return False
        self._told += piece
        return bool(piece)

    def is_decided(self) -> bool:
        """Return whether the command's result is known; its children may still run."""
        return bool(self._decision())

    def end(self) -> None:
        """End the command and all that it started, waits until they are gone, and give back every descriptor."""
        self._connection.close()  # the supervisor ends them all, then itself
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._notes.append(_LEFT)
            supervisor.kill_descendants(self.pid)
            self._process.kill()
            self._process.wait()
        # The supervisor was killed before it had told what came of the command: its group is all that is known by name.
        if not self._decision() and (group := self._reports().get(supervisor.TELLS_PID)):
            self._notes.append(_LEFT)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(int(group), signal.SIGKILL)
        self._pipes.close()
        if self._process.stdin:
            self._process.stdin.close()

    def outcome(self) -> CommandOutcome:
        """Return the supervisor's result. Raises OSError if the machine had no room for it."""
        word, notes = self._decision(), tuple(dict.fromkeys(self._notes))
        value = self._reports().get(word, b"").decode("utf-8", "replace")
        if word == supervisor.TELLS_TIMEOUT:
            return CommandOutcome(timed_out=True, notes=notes)
        if word == supervisor.TELLS_EXIT:
            return CommandOutcome(exit_code=int(value), notes=notes)
        if word == supervisor.TELLS_SIGNAL:
            return CommandOutcome(signal=int(value), notes=notes)
        code = self._process.returncode
        if not word and code == supervisor.NO_ROOM:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        fault = value if word else f"its supervising process ended first (exit code {code})"
        return CommandOutcome(fault=fault, notes=notes)

    def _reports(self) -> dict[bytes, bytes]:
        return {word: rest for word, _, rest in (line.partition(b" ") for line in self._told.split(b"\n"))}

    def _decision(self) -> bytes:
        return next((word for word in _DECIDED if word in self._reports()), b"")


# No supervisor for bubblewrap: it would cost each command the start of one more Python (decision 145).
class BubblewrapProcess:
    """A command in bubblewrap, its output and its errors together."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], taker: Taker) -> None:
        """Raise OSError, and ValueError for a NUL byte or half a surrogate pair in the command."""
        self._first: int | None = None
        self._begun = False
        self._info, tells = socket.socketpair()
        self._watch = orphan_watch()
        self._launch = self._watch.announce(self._info)
        try:
            self._process = subprocess.Popen(
                [argv[0], "--info-fd", str(tells.fileno()), *argv[1:]],
                cwd="/",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                pass_fds=(tells.fileno(),),
            )
        except (OSError, ValueError):
            self._info.close()
            self._watch.forget(self._launch)
            raise
        finally:
            tells.close()
        self.pid = self._process.pid
        self._watch.name(self._launch, self.pid)
        self._pipes = _Pipes(self._process, (taker,))
        self._handle = _open_handle(self.pid)
        if self._handle is not None:
            self._pipes.watch(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def begin(self) -> None:
        """Wait until bubblewrap has told of the first process inside."""
        if first := read_first(self._info, PATIENCE):
            self._first = _open_handle(first)
        self._begun = True

    def serve(self, seconds: float) -> bool:
        """Read what is printed, or wait for so many seconds; False when the command has ended."""
        self._pipes.serve(seconds)
        return self._process.poll() is None

    def is_decided(self) -> bool:
        """Return whether the command ended: it ends with all its children at once."""
        return False

    def end(self) -> None:
        """End the command and all that it started, waits until they are gone, and give back every descriptor."""
        # With the first process inside the kernel ends all the others, and lets them make no more.
        if not self._begun and (first := read_first(self._info, 0)):
            self._first = _open_handle(first)
        if self._first is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        if self._process.returncode is None:  # the first process is in this group until it has a session of its own
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        if self._first is not None:
            select.select([self._first], [], [], PATIENCE)
        self._pipes.close()
        for descriptor in (self._first, self._handle):
            if descriptor is not None:
                os.close(descriptor)
        self._info.close()
        self._watch.forget(self._launch)

    def outcome(self) -> CommandOutcome:
        """Return its exit code, which bubblewrap passes on."""
        return CommandOutcome(exit_code=self._process.returncode)


def follow_process(
    process: SupervisedProcess | BubblewrapProcess, seconds: float, *, tick: float = _LONGEST_WAIT,
    find_breach: Callable[[], str | None] = lambda: None,
) -> str | None:  # fmt: skip
    """Serve a process until it has ended, or has to be: None, `time`, or the limit that `find_breach` names.

    `find_breach` is asked after every `tick` seconds at least.
    """
    deadline = time.monotonic() + seconds
    process.begin()
    while (left := deadline - time.monotonic()) > 0:
        if not process.serve(min(tick, left)):
            return None
        if breach := find_breach():
            return breach
        # All that is left to wait for is the end of its children, which must not take the rest of its time.
        if process.is_decided():
            deadline = min(deadline, time.monotonic() + PATIENCE)
    return None if process.is_decided() else TIME


class _Pipes:
    """The pipes of a process: what it is given, and what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], takers: Sequence[Taker], given: bytes | None = None) -> None:
        self._given = memoryview(given or b"")
        self._waiting = select.poll()
        self._open: dict[int, tuple[IO[bytes], Taker | None]] = {}
        stdin = None if given is None else process.stdin
        for end, taker in zip((stdin, process.stdout, process.stderr), (None, *takers, None), strict=False):
            if end:
                os.set_blocking(end.fileno(), False)
                self._open[end.fileno()] = end, taker
                self._waiting.register(end.fileno(), select.POLLIN if taker else select.POLLOUT)

    def watch(self, descriptor: int) -> None:
        """End serving early also when this one has something to read."""
        self._waiting.register(descriptor, select.POLLIN)

    def serve(self, seconds: float) -> set[int]:
        """Handle each ready pipe after a wait of at most so long; return the ready watched descriptors."""
        ready = set()
        for descriptor, _ in self._waiting.poll(min(seconds, _LONGEST_WAIT) * 1000 + 1):
            if descriptor not in self._open:
                ready.add(descriptor)
            elif not self._step(descriptor):
                self._waiting.unregister(descriptor)  # closed by the command, which may go on without
                self._open.pop(descriptor)[0].close()
        return ready

    def close(self) -> None:
        """Take in what is still in the pipes, and close them."""
        for descriptor, (end, taker) in self._open.items():
            for _ in range(_LARGEST_REMAINDER // _PIECE if taker else 0):
                if not self._step(descriptor):
                    break
            end.close()

    def _step(self, descriptor: int) -> bool:
        """Read or write one piece; False when there is nothing more to do with this pipe."""
        taker = self._open[descriptor][1]
        try:
            if taker:
                piece = os.read(descriptor, _PIECE)
                taker(piece)
                return bool(piece)
            self._given = self._given[os.write(descriptor, self._given[:_PIECE]) :] if self._given else self._given
        except BlockingIOError:
            return True
        except OSError:  # it does not read its input, which is its own affair
            return False
        return bool(self._given)


def _open_handle(pid: int) -> int | None:
    """Return a handle that reports the end of a process; None if the kernel has no such thing."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None
