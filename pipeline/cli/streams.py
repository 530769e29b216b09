"""Write stdout and stderr as best effort: a lost reader, a full disk or an ASCII terminal stops no command."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

from pipeline.base.files import storage_error
from pipeline.cli.output import print_error


class _BestEffort(io.FileIO):
    """Raw file under a stream that drops what cannot be written, so that no buffer above tries it again."""

    # at the raw file, because a buffer above it would try the same bytes again (decision 126)
    error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            while (written := super().write(data)) is None:  # the other end of a non-blocking pipe is slow
                _wait_until_writable(self.fileno())
        except OSError as error:
            self.error = self.error or error
            return len(data)
        return written


def open_streams() -> None:
    """Replace stdout and stderr. A standard stream that was closed at the start leads nowhere, in child processes too: its
    number must not go to the next file that is opened."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout, sys.stderr = _open_stream(1, sys.stdout), _open_stream(2, sys.stderr)


def reader_left() -> bool:
    """Return whether the reader of stdout is gone."""
    error = _error_of(sys.stdout)
    return error is not None and error.errno == errno.EPIPE


def finish_output() -> bool:
    """Flush stdout; return whether output was lost, and report that once. A reader that left had enough."""
    sys.stdout.flush()
    error = _error_of(sys.stdout)
    if error is None or reader_left():
        return False
    print_error(str(storage_error("print to", "stdout", error)))
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    return True


def _open_stream(number: int, before: TextIO | None) -> TextIO:
    raw = _BestEffort(number, "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=before.encoding if before else "utf-8",
        errors="backslashreplace",
        line_buffering=raw.isatty() or number == 2,
    )


def _error_of(stream: TextIO) -> OSError | None:
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw.error if isinstance(raw, _BestEffort) else None


def _wait_until_writable(number: int) -> None:
    import select

    select.select((), (number,), ())
