"""Run one command line of a hook to its end, and keep what it prints: bounded in memory, and up to a cap in a log."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import IO, NamedTuple

from phases.sandbox.output import OutputBuffer
from phases.sandbox.process import PATIENCE, SupervisedProcess, Taker, follow_process
from phases.sandbox.supervisor import pack_order
from pipeline.base.safe_tree import open_regular

MOST_KEPT = 65_536
"""Bytes of each stream that are kept: the first quarter, and the last three."""
MOST_LOGGED = 16 * 2**20
GRACE = 2.0
"""Seconds between the request to end and the end."""


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
    """Log heading before the output."""


class ProcessOutcome(NamedTuple):
    """Process result: one of an exit code, a signal, a timeout and a fault."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    fault: str = ""
    """Reason why it could not be run."""
    stdout: bytes = b""
    """Output of at most 64 KiB, with a note on the omission between its beginning and its end."""
    stderr: bytes = b""
    seconds: float = 0.0
    is_whole: bool = True
    """Nothing of `stdout` is left out."""
    notes: tuple[str, ...] = ()
    """Faults without an effect on the verdict: a log that could not be written, a process that could not be ended."""


def run_process(launch: CommandLaunch) -> ProcessOutcome:
    """Run it, and return when no process of it is left. Raises nothing but what a signal makes Python raise."""
    began = time.monotonic()
    output, errors = OutputBuffer(MOST_KEPT), OutputBuffer(MOST_KEPT)
    with contextlib.closing(OutputLog(launch.log, launch.heading)) as log:
        outcome = _run_supervised(launch, (log.also(output.add), log.also(errors.add)))
    return outcome._replace(
        stdout=output.data(),
        stderr=errors.data(),
        is_whole=output.is_whole(),
        seconds=time.monotonic() - began,
        notes=(*outcome.notes, *log.faults),
    )


def _run_supervised(launch: CommandLaunch, takers: tuple[Taker, Taker]) -> ProcessOutcome:
    try:
        order = pack_order(launch.argv, launch.environment, launch.folder, seconds=launch.seconds, grace=GRACE)
        with SupervisedProcess(order, takers, launch.stdin) as process:
            follow_process(process, launch.seconds + GRACE + PATIENCE)
    except (OSError, ValueError) as error:  # ValueError: NUL bytes, halves of surrogate pairs
        return ProcessOutcome(fault=str(error))
    return ProcessOutcome(**process.outcome()._asdict())


class OutputLog:
    """A file that takes in all of the output, up to a cap."""

    def __init__(self, path: str, heading: str) -> None:
        self.faults: tuple[str, ...] = ()
        self._room, self._left_out = MOST_LOGGED, 0
        self._file: IO[bytes] | None = None
        if path:
            try:
                self._file = os.fdopen(_open_log(path), "ab", buffering=0)
            except OSError as error:
                self._give_up(error.strerror or str(error))
            except ValueError as error:  # a NUL byte in the path
                self._give_up(str(error))
        if heading:
            self.write(f"{heading}\n".encode("utf-8", "replace"))

    def also(self, taker: Taker) -> Taker:
        """Return a function that also logs each piece."""

        def take(piece: bytes) -> None:
            self.write(piece)
            taker(piece)

        return take

    def write(self, piece: bytes) -> None:
        """Write the next bytes. No error is raised: `faults` lists them."""
        fitting = piece[: self._room]
        self._room -= len(fitting)
        self._left_out += len(piece) - len(fitting)
        self._put(fitting)

    def close(self) -> None:
        """Close the log with a note on what did not fit."""
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


def _open_log(path: str) -> int:
    """Open a regular file of this user that has no other name, to append to it."""
    descriptor = open_regular(path, flags=os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode=0o600)
    status = os.fstat(descriptor)
    if status.st_nlink != 1 or status.st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(f"{path} is not an ordinary file of this user")
    os.fchmod(descriptor, 0o600)
    return descriptor
