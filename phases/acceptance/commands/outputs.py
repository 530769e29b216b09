"""What is kept of the output of a hook: a bounded beginning and end of it, all of it in a log up to a cap."""

from __future__ import annotations

import os
import stat
from typing import IO

from phases.acceptance.commands.clean import head_of, left_out, tail_of

MOST_KEPT = 65_536
"""Bytes of each stream that are kept: the first quarter, and the last three."""
MOST_LOGGED = 16 * 2**20
_HEAD = MOST_KEPT // 4
_ROOM_TO_SAY_SO = 60


class Kept:
    """The beginning and the end of a stream of any length."""

    def __init__(self, log: Log) -> None:
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
        return left_out(head, tail, self._taken)


class Log:
    """A file that takes in all of the output, up to a cap."""

    def __init__(self, path: str, heading: str) -> None:
        self.faults: tuple[str, ...] = ()
        self._room, self._left_out = MOST_LOGGED, 0
        self._file: IO[bytes] | None = None
        if path:
            try:
                self._file = open(path, "ab", buffering=0, opener=_opened)  # noqa: SIM115 - this class closes it
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


def _opened(path: str, flags: int) -> int:
    """Follows no link, waits for nobody, and writes to nothing but an ordinary file that has this one name."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(f"{path} is not an ordinary file of this user")
    os.fchmod(descriptor, 0o600)
    return descriptor
