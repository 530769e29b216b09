"""Runs one command line to its end: takes in what it prints, holds it to its limits, leaves nobody behind."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from phases.sandbox.box import CommandResult, Limits, format_bytes
from phases.sandbox.output import OutputBuffer
from phases.sandbox.watch import LimitWatch

_TICK = 0.05
_TIME = "time"
_PIECE = 65536
_PATIENCE = 60.0
_LARGEST_REMAINDER = 2**20
"""What may still be in the pipe when the command has ended."""


class ProcessSpec(NamedTuple):
    """A command line, ready to start."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    counted: tuple[str, ...]
    """The folders that it may fill."""
    namespaced: bool
    """It is bubblewrap: it tells who is the first process inside, and nothing inside outlives that one."""


def run_to_end(launch: ProcessSpec, limits: Limits, seconds: float) -> CommandResult:
    """Starts it, waits, and returns when no process of it is left."""
    started = time.monotonic()
    try:
        running = _SandboxedProcess(launch)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte or half a surrogate pair in the command
        return CommandResult(None, f"not run: {error}\n")
    kept = OutputBuffer()
    try:
        running.find_first()
        limit = _follow_process(
            running, kept, LimitWatch(running.process.pid, launch.counted, limits), (limits, started + seconds)
        )
    finally:
        running.end()
        running.take_rest(kept)
        running.close()
    if limit == _TIME:
        limit = f"time: {seconds:g} s"
    if limit is None and running.process.returncode in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ):
        limit = f"file: {format_bytes(limits.file)} each"
    if limit:
        return CommandResult(None, f"stopped at a limit ({limit})\n{kept.text()}", limit)
    return CommandResult(running.process.returncode, kept.text())


def _follow_process(
    running: _SandboxedProcess, kept: OutputBuffer, watch: LimitWatch, bounds: tuple[Limits, float]
) -> str | None:
    """Reads and watches until the command has ended, or has to be: then the limit that it broke."""
    limits, deadline = bounds
    while not running.has_ended():
        left = deadline - time.monotonic()
        if left <= 0:
            return _TIME
        running.take(kept, min(_TICK, left))
        if kept.taken > limits.output:
            return f"output: {format_bytes(limits.output)}"
        if broken := watch.breach():
            return broken
    return None


class _SandboxedProcess:
    """The started process, the pipe of its output, and the way to end all that came of it."""

    def __init__(self, launch: ProcessSpec) -> None:
        self._namespaced = launch.namespaced
        self._first: int | None = None
        self.process, self._told = _start_process(launch)
        self._output = self.process.stdout.fileno() if self.process.stdout else -1
        os.set_blocking(self._output, False)
        self._waiting = select.poll()
        self._waiting.register(self._output, select.POLLIN)
        self._handle = _open_handle(self.process.pid)
        if self._handle is not None:
            self._waiting.register(self._handle, select.POLLIN)

    def find_first(self) -> None:
        """Waits until bubblewrap has told of the first process inside."""
        if self._told is not None:
            self._first = _handle_of_first(self._told)

    def has_ended(self) -> bool:
        """Whether the command itself has; its children may go on."""
        return self.process.poll() is not None

    def take(self, kept: OutputBuffer, seconds: float) -> None:
        """Takes in what was printed, or waits for some until then."""
        for descriptor, _ in self._waiting.poll(seconds * 1000):
            if descriptor == self._output and self._read(kept) == 0:
                self._waiting.unregister(self._output)  # closed; the command may go on without

    def take_rest(self, kept: OutputBuffer) -> None:
        """Takes in what is still in the pipe."""
        for _ in range(_LARGEST_REMAINDER // _PIECE):
            if not self._read(kept):
                return

    def _read(self, kept: OutputBuffer) -> int | None:
        try:
            piece = os.read(self._output, _PIECE)
        except BlockingIOError:
            return None
        kept.add(piece)
        return len(piece)

    def end(self) -> None:
        """Ends the command and all that it started, and waits until they are gone."""
        if self._first is not None:  # with it the kernel ends all the others, and lets them make no more
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        if self._namespaced:
            self.process.kill()
        elif self.process.stdin:
            self.process.stdin.close()  # its supervisor ends them all, then itself
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self._first is not None:
            select.select([self._first], [], [], _PATIENCE)

    def close(self) -> None:
        """Gives back what the kernel lent."""
        for descriptor in (self._first, self._handle, self._told):
            if descriptor is not None:
                os.close(descriptor)
        if self.process.stdout:
            self.process.stdout.close()


def _start_process(launch: ProcessSpec) -> tuple[subprocess.Popen[bytes], int | None]:
    """The process, and for bubblewrap the pipe in which it tells of the first process inside."""
    told, tells = os.pipe() if launch.namespaced else (None, None)
    argv = list(launch.argv)
    argv[1:1] = ["--info-fd", str(tells)] if tells is not None else []
    try:
        process = subprocess.Popen(
            argv,
            cwd="/",  # nothing that lies in the workspace is taken for a part of this program
            env=launch.environment,
            stdin=subprocess.DEVNULL if launch.namespaced else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            bufsize=0,
            pass_fds=(tells,) if tells is not None else (),
        )
    except (OSError, ValueError):
        if told is not None:
            os.close(told)
        raise
    finally:
        if tells is not None:
            os.close(tells)
    return process, told


def _handle_of_first(told: int) -> int | None:
    """A handle on the first process of the namespace; None when bubblewrap ended before there was one."""
    text = b""
    while not text.rstrip().endswith(b"}"):
        if not select.select([told], [], [], _PATIENCE)[0] or not (piece := os.read(told, _PIECE)):
            return None
        text += piece
    try:
        return _open_handle(int(json.loads(text)["child-pid"]))
    except (ValueError, KeyError, TypeError):
        return None


def _open_handle(pid: int) -> int | None:
    """What tells of the end of a process; None where the kernel has no such thing."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None
