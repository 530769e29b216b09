"""Runs one command line of a hook: feeds it, takes in what it prints, ends all that came of it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import IO, NamedTuple

from phases.acceptance.commands import hook_supervisor
from phases.acceptance.commands.sanitize import head_of, join_with_note, tail_of
from phases.sandbox.process_tree import descendants_of

_PIECE = 65_536
_LARGEST_REMAINDER = 2 * 2**20
"""What may still be in a pipe when nobody is left who writes to it."""
_PATIENCE = 10.0
"""Seconds that the keeper gets for its own part, before it is given up."""
_LEFT = "a process of it may be left: the one that watches over them was stopped, or had not the right to end it"
_LONGEST_WAIT = 3600.0
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 4)[0]
_DECIDED = (
    hook_supervisor.TELLS_FAULT,
    hook_supervisor.TELLS_TIMEOUT,
    hook_supervisor.TELLS_EXIT,
    hook_supervisor.TELLS_SIGNAL,
)


class CommandLaunch(NamedTuple):
    """A command line, ready to start."""

    argv: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    """All of it: nothing is inherited."""
    stdin: bytes
    seconds: float
    log: str = ""
    """The file that all of the output is appended to, up to 16 MiB a run; empty: none."""
    heading: str = ""
    """What stands in the log before the output."""


class ProcessOutcome(NamedTuple):
    """What came of it: one of an exit code, a signal, a timeout and a fault."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    fault: str = ""
    """Why it could not be run, in words."""
    stdout: bytes = b""
    """At most 64 KiB, with what is left out said between its beginning and its end."""
    stderr: bytes = b""
    seconds: float = 0.0
    is_whole: bool = True
    """Nothing of `stdout` is left out."""
    notes: tuple[str, ...] = ()
    """What went wrong and changes no verdict: a log that could not be written, a process that could not be ended."""


def run_process(launch: CommandLaunch) -> ProcessOutcome:
    """Runs it, and returns when no process of it is left. Raises nothing but what a signal makes Python raise."""
    began = time.monotonic()
    with contextlib.closing(OutputLog(launch.log, launch.heading)) as log:
        kept = (BoundedOutput(log), BoundedOutput(log))
        ran = _run_supervised(launch, kept)
    return ran._replace(
        stdout=kept[0].data(),
        stderr=kept[1].data(),
        is_whole=kept[0].is_whole(),
        seconds=time.monotonic() - began,
        notes=(*ran.notes, *log.faults),
    )


def _run_supervised(launch: CommandLaunch, kept: tuple[BoundedOutput, BoundedOutput]) -> ProcessOutcome:
    try:
        order = hook_supervisor.pack_order(launch.seconds, launch.folder, launch.argv, launch.environment)
        running = _SupervisedProcess(launch.stdin, kept)
    except (OSError, ValueError) as error:  # ValueError: NUL bytes, halves of surrogate pairs
        return ProcessOutcome(fault=str(error))
    try:
        running.follow(order, time.monotonic() + launch.seconds + hook_supervisor.GRACE + _PATIENCE)
    finally:
        running.end()
    return running.outcome()


class _SupervisedProcess:
    """The keeper of the command, the line to it, and the pipes of the command."""

    def __init__(self, given: bytes, kept: tuple[BoundedOutput, BoundedOutput]) -> None:
        self._given, self._told = memoryview(given), b""
        self._notes: list[str] = []
        self._line, theirs = socket.socketpair()
        python, number = os.path.realpath(sys.executable), str(theirs.fileno())
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                [python, "-I", "-S", "-c", hook_supervisor.START, _PACKAGES, number],
                cwd="/",  # nothing that lies in the workspace is taken for a part of this program
                env={},  # what the hook is given could change how the keeper runs
                stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )  # fmt: skip
        except OSError:
            self._line.close()
            raise
        finally:
            theirs.close()
        self._open: dict[int, tuple[IO[bytes], BoundedOutput | None]] = {}
        for pipe_end, taker in zip(self._pipes(), (None, *kept), strict=True):
            os.set_blocking(pipe_end.fileno(), False)
            self._open[pipe_end.fileno()] = (pipe_end, taker)

    def follow(self, order: bytes, deadline: float) -> None:
        """Gives the order, then feeds the command and reads it until the keeper has ended, or should have."""
        line, waiting = self._line.fileno(), select.poll()
        waiting.register(line, select.POLLIN)
        for descriptor, (_, taker) in self._open.items():
            waiting.register(descriptor, select.POLLIN if taker else select.POLLOUT)
        self._line.settimeout(_PATIENCE)
        with contextlib.suppress(OSError):  # a keeper that is gone is noticed at the next step
            self._line.sendall(order)
        while (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in waiting.poll(min(left, _LONGEST_WAIT) * 1000 + 1):
                if descriptor == line:
                    if not self._hear():
                        return
                    if self._decision():
                        deadline = min(deadline, time.monotonic() + _PATIENCE)
                elif not self._serve(descriptor):
                    waiting.unregister(descriptor)
                    self._open.pop(descriptor)[0].close()

    def end(self) -> None:
        """Ends the command and all that it started, waits until they are gone, and gives back every descriptor."""
        self._line.close()  # the keeper ends them all, then itself
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._notes.append(_LEFT)
            for process in descendants_of(self._process.pid):
                _stop_and_kill(process.pid)
            self._process.kill()
            self._process.wait()
        if not self._decision() and (group := self._reports().get(hook_supervisor.TELLS_PID)):
            self._notes.append(_LEFT)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(int(group), signal.SIGKILL)
        for descriptor, (_, taker) in self._open.items():
            for _ in range(_LARGEST_REMAINDER // _PIECE if taker else 0):
                if not self._serve(descriptor):
                    break
        for pipe_end in self._pipes():
            pipe_end.close()

    def outcome(self) -> ProcessOutcome:
        """What the keeper told."""
        word, notes = self._decision(), tuple(dict.fromkeys(self._notes))
        value = self._reports().get(word, b"").decode("utf-8", "replace")
        if word == hook_supervisor.TELLS_FAULT:
            return ProcessOutcome(fault=value, notes=notes)
        if word == hook_supervisor.TELLS_TIMEOUT:
            return ProcessOutcome(timed_out=True, notes=notes)
        if word == hook_supervisor.TELLS_EXIT:
            return ProcessOutcome(exit_code=int(value), notes=notes)
        if word == hook_supervisor.TELLS_SIGNAL:
            return ProcessOutcome(signal=int(value), notes=notes)
        code = self._process.returncode
        return ProcessOutcome(
            fault=f"the process that watches over it was ended before it (exit code {code})", notes=notes
        )

    def _hear(self) -> bool:
        """Takes in what the keeper tells; False when it is gone."""
        try:
            piece = self._line.recv(_PIECE)
        except OSError:
            return False
        self._told += piece
        return bool(piece)

    def _reports(self) -> dict[bytes, bytes]:
        return {word: rest for word, _, rest in (line.partition(b" ") for line in self._told.split(b"\n"))}

    def _decision(self) -> bytes:
        return next((word for word in _DECIDED if word in self._reports()), b"")

    def _serve(self, descriptor: int) -> bool:
        """One step with a pipe; False when there is nothing more to do with it."""
        taker = self._open[descriptor][1]
        try:
            if taker:
                piece = os.read(descriptor, _PIECE)
                taker.add(piece)
                return bool(piece)
            self._given = self._given[os.write(descriptor, self._given[:_PIECE]) :] if self._given else self._given
        except BlockingIOError:
            return True
        except OSError:  # nobody reads what it is given: that is its own affair
            return False
        return bool(self._given)

    def _pipes(self) -> list[IO[bytes]]:
        process = self._process
        return [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe]


def _stop_and_kill(pid: int) -> None:
    for number in (signal.SIGSTOP, signal.SIGKILL):  # what is stopped makes no more of its kind
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


MOST_KEPT = 65_536
"""Bytes of each stream that are kept: the first quarter, and the last three."""
MOST_LOGGED = 16 * 2**20
_HEAD = MOST_KEPT // 4
_ROOM_TO_SAY_SO = 60


class BoundedOutput:
    """The beginning and the end of a stream of any length."""

    def __init__(self, log: OutputLog) -> None:
        self._log, self._taken = log, 0
        self._head, self._tail = b"", bytearray()

    def add(self, piece: bytes) -> None:
        """The next bytes."""
        self._log.write(piece)
        self._taken += len(piece)
        room = _HEAD - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        del self._tail[: -(MOST_KEPT - _HEAD)]

    def is_whole(self) -> bool:
        """Nothing is left out."""
        return self._taken <= MOST_KEPT

    def data(self) -> bytes:
        """What is kept, with what is left out said in between."""
        if self.is_whole():
            return self._head + self._tail
        head, tail = head_of(self._head, _HEAD), tail_of(bytes(self._tail), MOST_KEPT - _HEAD - _ROOM_TO_SAY_SO)
        return join_with_note(head, tail, self._taken)


class OutputLog:
    """A file that takes in all of the output, up to a cap."""

    def __init__(self, path: str, heading: str) -> None:
        self.faults: tuple[str, ...] = ()
        self._room, self._left_out = MOST_LOGGED, 0
        self._file: IO[bytes] | None = None
        if path:
            try:
                self._file = open(path, "ab", buffering=0, opener=_open_log)  # noqa: SIM115 - this class closes it
            except OSError as error:
                self._give_up(error.strerror or str(error))
            except ValueError as error:  # a NUL byte in the path
                self._give_up(str(error))
        if heading:
            self.write(f"{heading}\n".encode("utf-8", "replace"))

    def write(self, piece: bytes) -> None:
        """The next bytes. Nothing that goes wrong is raised: `faults` tells of it."""
        fitting = piece[: self._room]
        self._room -= len(fitting)
        self._left_out += len(piece) - len(fitting)
        self._put(fitting)

    def close(self) -> None:
        """Says what did not fit."""
        if self._left_out:
            self._put(f"\n… the log of a run ends here: {self._left_out:,} more bytes are left out …\n".encode())
        if self._file:
            self._file.close()

    def _put(self, data: bytes) -> None:
        try:
            if self._file and data and self._file.write(data) != len(data):
                self._give_up("no room is left")
        except OSError as error:
            self._give_up(error.strerror or str(error))

    def _give_up(self, why: str) -> None:
        self.faults = (f"its log could not be written: {why}",)
        if self._file:
            self._file.close()
        self._file = None


def _open_log(path: str, flags: int) -> int:
    """Follows no link, waits for nobody, and writes to nothing but an ordinary file that has this one name."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(f"{path} is not an ordinary file of this user")
    os.fchmod(descriptor, 0o600)
    return descriptor
