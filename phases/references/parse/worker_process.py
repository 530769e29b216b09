"""One child process that parses, seen from its parent: what it is asked, what it answered, how it ended."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from typing import Any

from phases.references.parse.ipc import LARGEST, LENGTHS, InvalidAnswer, pack_message, parse_answer, parse_header
from phases.references.parse.model import Parsed
from pipeline.base.errors import PhaseError
from pipeline.base.workers import worker_environment

_CHUNK = 1 << 18
_PIPE = 1 << 20
"""Bytes that a pipe holds, where the system grants it: the child works on while its parent is busy elsewhere."""


class WorkerProcess:
    """A running child. It answers files in the order they were asked; nothing here ever waits for it."""

    def __init__(self, seconds: int, environment: Mapping[str, str]) -> None:
        """`seconds` of processor time for each file; `environment` is the user's, of which little is passed on."""
        self._process = _start_worker(seconds, environment)
        if not self._process.stdin or not self._process.stdout:
            raise OSError("a parser was started without its pipes")
        self.questions, self.answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        for end in (self.questions, self.answers):
            os.set_blocking(end, False)
            _widen_pipe(end)
        self._going: deque[memoryview] = deque()
        self._come = bytearray()
        self._heard = 0
        self.is_ready = False
        """Whether it said that it has begun; one that never does so fails for the machine's reasons, not for a file's."""

    @property
    def has_more_to_say(self) -> bool:
        """Whether a part of the questions is still to be written."""
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
        """Hands it a file, after those that it has."""
        self._going.append(memoryview(pack_message({"language": language}, data)))
        self.go_on_asking()

    def go_on_asking(self) -> None:
        """Writes what the pipe takes; a child that is gone is noticed when it is read."""
        try:
            while self._going:
                rest = self._going[0][os.write(self.questions, self._going[0][:_CHUNK]) :]
                if rest:
                    self._going[0] = rest
                else:
                    self._going.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._going.clear()

    def listen(self) -> Parsed | None:
        """Its next answer, or None where that is not all there yet. Raises Nonsense, and EOFError where it has ended."""
        if not self.is_ready:
            head = self._next()
            if head is None:
                return None
            if head != {"ready": True}:
                raise InvalidAnswer("an answer before it was ready")
            self.is_ready = True
        head = self._next()
        if head is None:
            return None
        if head.get("number") != self._heard:
            raise InvalidAnswer("an answer to another question")
        self._heard += 1
        return parse_answer(head)

    def _next(self) -> dict[str, Any] | None:
        """What it says next; None where that has not all come."""
        while (size := self._size_of_next()) is None:
            try:
                part = os.read(self.answers, _CHUNK)
            except BlockingIOError:
                return None
            if not part:
                raise EOFError
            self._come += part
        head = parse_header(bytes(self._come[LENGTHS.size : size]))
        del self._come[:size]
        return head

    def _size_of_next(self) -> int | None:
        """The length of an answer that has come; None where some of it has not."""
        if len(self._come) < LENGTHS.size:
            return None
        head, body = LENGTHS.unpack_from(self._come)
        if head > LARGEST or body:
            raise InvalidAnswer("an answer too long")
        size = int(LENGTHS.size + head)
        return size if len(self._come) >= size else None

    def end(self) -> int:
        """Ends it, whatever it does; its exit code."""
        self._process.kill()
        with self._process:
            pass
        return self._process.returncode


def _start_worker(seconds: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-m", "phases.references.parse.worker", str(max(1, seconds))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=worker_environment(environment),
            start_new_session=True,
        )
    except OSError as error:
        raise worker_start_error(error.strerror or str(error)) from error


def worker_start_error(why: str) -> PhaseError:
    """The error of a machine that runs no parser."""
    return PhaseError(
        f"cannot start a process that parses code ({why}): the machine is short of memory or processes, or"
        f" {sys.executable or 'the Python'} is damaged; mend that, and index again with: pipeline resume"
    )


def _widen_pipe(end: int) -> None:
    try:
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE)
    except (AttributeError, OSError):
        return  # not Linux, or all that one user may have is taken: it works with a narrow one
