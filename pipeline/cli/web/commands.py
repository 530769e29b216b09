"""Start the commands of the terminal, as processes of their own that outlive the page."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.cli.output import to_printable

_STARTS, _DECIDES = 1.5, 60.0
_LONGEST = 2000
_running: list[subprocess.Popen[bytes]] = []
_lock = threading.Lock()


class Ended(NamedTuple):
    """Result of a command, as far as the page waited for it."""

    code: int | None
    """None: it is at work."""
    text: str
    """End of its output."""


def start_command(arguments: Sequence[str]) -> Ended:
    """Start a command that takes long, and wait for just long enough to hear that it cannot begin."""
    return _start(arguments, _STARTS)


def run_command_to_end(arguments: Sequence[str]) -> Ended:
    """Run a command that decides something, and wait for its word."""
    return _start(arguments, _DECIDES)


def _start(arguments: Sequence[str], patience: float) -> Ended:
    # a file and no pipe: who reads a pipe may die, and would take the run with it
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        _keep(process)
        length = output.seek(0, os.SEEK_END)
        output.seek(max(0, length - _LONGEST))
        text = output.read().decode("utf-8", "replace")
    return Ended(process.returncode, to_printable(text).strip())


def _keep(process: subprocess.Popen[bytes]) -> None:
    """Take the word of those that have ended, so that none stays in the table of processes."""
    with _lock:
        _running[:] = [one for one in (*_running, process) if one.poll() is None]
