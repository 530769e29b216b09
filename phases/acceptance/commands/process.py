"""Runs one command line of a hook: feeds it, takes in what it prints, ends all that came of it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import IO, NamedTuple

from phases.acceptance.commands import keeper
from phases.acceptance.commands.outputs import Kept, Log
from phases.sandbox.process_tree import kin_of

_PIECE = 65_536
_LARGEST_REMAINDER = 2 * 2**20
"""What may still be in a pipe when nobody is left who writes to it."""
_PATIENCE = 10.0
"""Seconds that the keeper gets for its own part, before it is given up."""
_LEFT = "a process of it may be left: the one that watches over them was stopped, or had not the right to end it"
_LONGEST_WAIT = 3600.0
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 4)[0]
_DECIDED = (keeper.TELLS_FAULT, keeper.TELLS_TIMEOUT, keeper.TELLS_EXIT, keeper.TELLS_SIGNAL)


class Launch(NamedTuple):
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


class Ran(NamedTuple):
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


def run_process(launch: Launch) -> Ran:
    """Runs it, and returns when no process of it is left. Raises nothing but what a signal makes Python raise."""
    began = time.monotonic()
    with contextlib.closing(Log(launch.log, launch.heading)) as log:
        kept = (Kept(log), Kept(log))
        ran = _run(launch, kept)
    return ran._replace(
        stdout=kept[0].data(),
        stderr=kept[1].data(),
        is_whole=kept[0].is_whole(),
        seconds=time.monotonic() - began,
        notes=(*ran.notes, *log.faults),
    )


def _run(launch: Launch, kept: tuple[Kept, Kept]) -> Ran:
    try:
        order = keeper.packed(launch.seconds, launch.folder, launch.argv, launch.environment)
        running = _Running(launch.stdin, kept)
    except (OSError, ValueError) as error:  # ValueError: NUL bytes, halves of surrogate pairs
        return Ran(fault=str(error))
    try:
        running.follow(order, time.monotonic() + launch.seconds + keeper.GRACE + _PATIENCE)
    finally:
        running.end()
    return running.outcome()


class _Running:
    """The keeper of the command, the line to it, and the pipes of the command."""

    def __init__(self, given: bytes, kept: tuple[Kept, Kept]) -> None:
        self._given, self._told = memoryview(given), b""
        self._notes: list[str] = []
        self._line, theirs = socket.socketpair()
        python, number = os.path.realpath(sys.executable), str(theirs.fileno())
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                [python, "-I", "-S", "-c", keeper.START, _PACKAGES, number],
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
        self._open: dict[int, tuple[IO[bytes], Kept | None]] = {}
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
            for process in kin_of(self._process.pid):
                _kill(process.pid)
            self._process.kill()
            self._process.wait()
        if not self._decision() and (group := self._reports().get(keeper.TELLS_PID)):
            self._notes.append(_LEFT)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(int(group), signal.SIGKILL)
        for descriptor, (_, taker) in self._open.items():
            for _ in range(_LARGEST_REMAINDER // _PIECE if taker else 0):
                if not self._serve(descriptor):
                    break
        for pipe_end in self._pipes():
            pipe_end.close()

    def outcome(self) -> Ran:
        """What the keeper told."""
        word, notes = self._decision(), tuple(dict.fromkeys(self._notes))
        value = self._reports().get(word, b"").decode("utf-8", "replace")
        if word == keeper.TELLS_FAULT:
            return Ran(fault=value, notes=notes)
        if word == keeper.TELLS_TIMEOUT:
            return Ran(timed_out=True, notes=notes)
        if word == keeper.TELLS_EXIT:
            return Ran(exit_code=int(value), notes=notes)
        if word == keeper.TELLS_SIGNAL:
            return Ran(signal=int(value), notes=notes)
        code = self._process.returncode
        return Ran(fault=f"the process that watches over it was ended before it (exit code {code})", notes=notes)

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


def _kill(pid: int) -> None:
    for number in (signal.SIGSTOP, signal.SIGKILL):  # what is stopped makes no more of its kind
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
