"""Parses many files in a few child processes: hostile bytes may crash, hang or swell a child, and nothing else."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from phases.reference.parse.frames import Nonsense
from phases.reference.parse.one_parser import OneParser
from phases.reference.parse.parsed import Parsed

SECONDS = 20.0
_MOST_CHILDREN = 4
_TINY_JOB = 20
"""So few files are not worth a second child."""
_FILES_AHEAD, _BYTES_AHEAD = 64, 16 * 1024 * 1024
Key = TypeVar("Key")


class _Job(NamedTuple):
    number: int
    language: str
    data: bytes
    fault: str = ""
    """What went wrong with it before, where it is now tried as plain text."""


class _Given(NamedTuple, Generic[Key]):
    """A file that is not given back yet."""

    number: int
    key: Key
    size: int


class Parsers:
    """Children that parse, started when there is something to parse, ended with the block."""

    def __init__(self, count: int | None = None, seconds: float = SECONDS) -> None:
        """`count` children at most (one for each processor, four at most, if not given); `seconds` that one file may take."""
        self._count = max(1, count if count is not None else min(_MOST_CHILDREN, _processors()))
        self._seconds = seconds
        self._children: list[OneParser] = []
        self._jobs: dict[OneParser, _Job] = {}
        """What each busy child has."""
        self._waiting: deque[_Job] = deque()
        self._done: dict[int, Parsed] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while self._children:
            self._end(self._children[-1])

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are running."""
        return tuple(child.pid for child in self._children)

    def parse(self, files: Iterable[tuple[Key, str, bytes]]) -> Iterator[tuple[Key, Parsed]]:
        """For each key, language and content what the file holds, in the order given; a few files are read ahead of need."""
        self._drop_busy()
        given: deque[_Given[Key]] = deque()
        ahead = 0
        for number, (key, language, data) in enumerate(files):
            given.append(_Given(number, key, len(data)))
            ahead += len(data)
            self._waiting.append(_Job(number, language, data))
            self._work(wait=False)
            while len(given) >= _FILES_AHEAD or ahead >= _BYTES_AHEAD:
                first, parsed = self._first(given)
                ahead -= first.size
                yield first.key, parsed
        while given:
            first, parsed = self._first(given)
            yield first.key, parsed

    def _first(self, given: deque[_Given[Key]]) -> tuple[_Given[Key], Parsed]:
        """Works until the file that was given first is done."""
        first = given.popleft()
        while first.number not in self._done:
            self._work(wait=True)
        return first, self._done.pop(first.number)

    def _drop_busy(self) -> None:
        """What an earlier call left undone nobody asks for any more."""
        self._waiting.clear()
        self._done.clear()
        for child in [child for child in self._children if child in self._jobs]:
            self._end(child)

    def _work(self, *, wait: bool) -> None:
        """Hands out what waits, and takes what has come; with `wait` something has happened when it returns."""
        while self._waiting and (child := self._idle(self._waiting[0].number)):
            job = self._waiting.popleft()
            self._jobs[child] = job
            child.ask(job.language, job.data)
        if not self._jobs:
            return
        now = time.monotonic()
        ready = self._ready(max(0.0, min(child.until for child in self._jobs) - now) if wait else 0.0)
        for child in list(self._jobs):
            if child.questions in ready:
                child.go_on_asking()
            if child.answers in ready:
                self._hear(child)
            elif time.monotonic() >= child.until:
                self._give_up(child, f"parsing it took more than {self._seconds:g} s")

    def _idle(self, number: int) -> OneParser | None:
        """A child that has nothing to do, a new one if there may be one more."""
        for child in [child for child in self._children if child not in self._jobs]:
            if child.runs:
                return child
            self._end(child)
        if len(self._children) >= (self._count if number >= _TINY_JOB else 1):
            return None
        child = OneParser(self._seconds)
        self._children.append(child)
        return child

    def _ready(self, seconds: float) -> set[int]:
        """The ends of pipes at which something can be done, waited for so long at most."""
        poll = select.poll()
        for child in self._jobs:
            poll.register(child.answers, select.POLLIN)
            if child.has_more_to_say:
                poll.register(child.questions, select.POLLOUT)
        return {end for end, _ in poll.poll(seconds * 1000 + 1 if seconds else 0)}

    def _hear(self, child: OneParser) -> None:
        try:
            parsed = child.listen()
        except Nonsense:
            self._give_up(child, "the parser answered nonsense over it")
        except EOFError:
            self._give_up(child, "")
        else:
            if parsed is not None:
                job = self._jobs.pop(child)
                self._done[job.number] = parsed._replace(fault=job.fault or parsed.fault)

    def _give_up(self, child: OneParser, why: str) -> None:
        """Ends a child that failed over its file; the file is tried once more as plain text, so that a search still finds it."""
        job = self._jobs[child]
        code = self._end(child)
        fault = job.fault or why or _ending(code)
        if job.language in ("text", "notebook"):
            self._done[job.number] = Parsed(job.data.count(b"\n") + 1, fault=fault)
        else:
            self._waiting.appendleft(_Job(job.number, "text", job.data, fault))

    def _end(self, child: OneParser) -> int:
        self._jobs.pop(child, None)
        self._children.remove(child)
        return child.end()


def _ending(code: int) -> str:
    if code > 0:
        return "the parser has a fault that this file brings out, please report it"
    return f"parsing it ended with signal {-code}, as damage or a trap in a file makes it end"


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
