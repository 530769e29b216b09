"""One child process that parses, seen from its parent: what it is asked, what it answered, how it ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from phases.reference.parse.frames import LARGEST, LENGTHS, Nonsense, frame, header, parsed_in
from phases.reference.parse.parsed import Parsed

_CHUNK = 1 << 18


class OneParser:
    """A running child. It has one file at a time; nothing here ever waits for it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "phases.reference.parse.child", str(max(1, int(seconds)))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        if not self._process.stdin or not self._process.stdout:
            raise OSError("a parser was started without its pipes")
        self.questions, self.answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self.questions, False)
        os.set_blocking(self.answers, False)
        self.until = 0.0
        """When the file that it has must be done."""
        self._going = memoryview(b"")
        self._come = bytearray()

    @property
    def has_more_to_say(self) -> bool:
        """Whether a part of the question is still to be written."""
        return len(self._going) > 0

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self._process.poll() is None

    def ask(self, language: str, data: bytes) -> None:
        """Hands it a file."""
        self.until = time.monotonic() + self._seconds
        self._going = memoryview(frame({"language": language}, data))
        self._come.clear()
        self.go_on_asking()

    def go_on_asking(self) -> None:
        """Writes what the pipe takes; a child that is gone is noticed when it is read."""
        try:
            while self._going:
                self._going = self._going[os.write(self.questions, self._going[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._going = memoryview(b"")

    def listen(self) -> Parsed | None:
        """Its answer, or None where that is not all there yet. Raises Nonsense, and EOFError where it has ended."""
        try:
            part = os.read(self.answers, _CHUNK)
        except BlockingIOError:
            return None
        if not part:
            raise EOFError
        self._come += part
        if len(self._come) < LENGTHS.size:
            return None
        head, body = LENGTHS.unpack_from(self._come)
        if head > LARGEST or body:
            raise Nonsense("an answer too long")
        if len(self._come) < LENGTHS.size + head:
            return None
        if len(self._come) > LENGTHS.size + head:
            raise Nonsense("more than an answer")
        return parsed_in(header(bytes(self._come[LENGTHS.size :])))

    def end(self) -> int:
        """Ends it, whatever it does; its exit code."""
        self._process.kill()
        with self._process:
            pass
        return self._process.returncode
