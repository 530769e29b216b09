"""One child at work: the files that it has, in their order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple, Self

from phases.references.parse.ipc import InvalidAnswer
from phases.references.parse.model import Parsed
from phases.references.parse.worker_process import WorkerProcess
from pipeline.base.workers import PATIENCE

_FILES_AT_CHILD, _BYTES_AT_CHILD = 32, 1024 * 1024
"""What a child has at most, the file that it works on among it: it must not stand idle while its parent writes."""
_START = 60.0
"""Seconds until it must be ready, on however busy a machine."""


class ParseJob(NamedTuple):
    number: int
    language: str
    data: bytes
    fault: str = ""
    """What went wrong with it before, where it is now tried as plain text."""
    again: bool = False
    """Whether a child failed over it already, which might have been spoilt by the file before."""

    def as_text(self, fault: str) -> Self | None:
        """The same to be taken as plain text, so that a search still finds it; None where it is that already or can not be."""
        return (
            None if self.language in ("text", "notebook") else self._replace(language="text", fault=fault, again=False)
        )

    def as_nothing(self, fault: str) -> Parsed:
        """What stands for it where not even its text is taken."""
        return Parsed(self.data.count(b"\n") + 1, fault=fault)


class BusyWorker:
    """A child, with the files that it has."""

    def __init__(self, seconds: float, environment: Mapping[str, str]) -> None:
        self._seconds = seconds * PATIENCE  # of the clock: the child counts its processor time itself
        self.child = WorkerProcess(int(seconds), environment)
        self.jobs: deque[ParseJob] = deque()
        self._bytes = 0
        self.until = 0.0
        """When the first of its files must be done."""

    @property
    def spent(self) -> float:
        """Seconds that it has been at its first file."""
        return min(self._seconds, self._seconds - (self.until - time.monotonic()))

    def takes(self, job: ParseJob) -> bool:
        """Whether there is room for one more."""
        room = len(self.jobs) < _FILES_AT_CHILD and self._bytes + len(job.data) <= _BYTES_AT_CHILD
        return room or not self.jobs

    def take(self, job: ParseJob) -> None:
        """Hands the child a file."""
        if not self.jobs:
            self.until = time.monotonic() + (self._seconds if self.child.is_ready else _START)
        self.jobs.append(job)
        self._bytes += len(job.data)
        self.child.ask(job.language, job.data)

    def listen(self) -> Parsed | None:
        """What OneParser.listen gives; the time of its first file begins when it is ready."""
        was_ready = self.child.is_ready
        parsed = self.child.listen()
        if not was_ready and self.child.is_ready:
            self.until = time.monotonic() + self._seconds
        return parsed

    def answered(self) -> ParseJob:
        """The file that an answer is about."""
        if not self.jobs:
            raise InvalidAnswer("an answer that nobody asked for")
        self.until = time.monotonic() + self._seconds
        self._bytes -= len(self.jobs[0].data)
        return self.jobs.popleft()
