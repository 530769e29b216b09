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
_FILES_AHEAD, _BYTES_AHEAD = 256, 16 * 1024 * 1024
"""What is read before it is needed."""
_FILES_AT_CHILD, _BYTES_AT_CHILD = 32, 1024 * 1024
"""What a child has at most, the file that it works on among it: it must not stand idle while its parent writes."""
_AWAY = 1.0
Key = TypeVar("Key")


class _Job(NamedTuple):
    number: int
    language: str
    data: bytes
    fault: str = ""
    """What went wrong with it before, where it is now tried as plain text."""
    again: bool = False
    """Whether a child failed over it already, which might have been spoilt by the file before."""


class _Busy:
    """A child, with the files that it has."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.child = OneParser(int(seconds))
        self.jobs: deque[_Job] = deque()
        self._bytes = 0
        self.until = 0.0
        """When the first of its files must be done."""

    def takes(self, job: _Job) -> bool:
        """Whether there is room for one more."""
        room = len(self.jobs) < _FILES_AT_CHILD and self._bytes + len(job.data) <= _BYTES_AT_CHILD
        return room or not self.jobs

    def take(self, job: _Job) -> None:
        """Hands the child a file."""
        if not self.jobs:
            self.until = time.monotonic() + self._seconds
        self.jobs.append(job)
        self._bytes += len(job.data)
        self.child.ask(job.language, job.data)

    def answered(self) -> _Job:
        """The file that an answer is about."""
        if not self.jobs:
            raise Nonsense("an answer that nobody asked for")
        self.until = time.monotonic() + self._seconds
        self._bytes -= len(self.jobs[0].data)
        return self.jobs.popleft()


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
        self._children: list[_Busy] = []
        self._waiting: deque[_Job] = deque()
        self._done: dict[int, Parsed] = {}
        self._looked = time.monotonic()
        """When the children were last looked at."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while self._children:
            self._end(self._children[-1])

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are running."""
        return tuple(one.child.pid for one in self._children)

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

    def go_on(self) -> None:
        """Keeps the children at work, without waiting; for who does something long between two results."""
        self._work(wait=False)

    def _drop_busy(self) -> None:
        """What an earlier call left undone nobody asks for any more."""
        self._waiting.clear()
        self._done.clear()
        for one in [one for one in self._children if one.jobs]:
            self._end(one)

    def _work(self, *, wait: bool) -> None:
        """Hands out what waits, and takes what has come; with `wait` something has happened when it returns."""
        self._forgive()
        while self._waiting and (free := self._free(self._waiting[0])):
            free.take(self._waiting.popleft())
        busy = [one for one in self._children if one.jobs]
        if not busy:
            return
        ready = _ready(busy, max(0.0, min(one.until for one in busy) - time.monotonic()) if wait else 0.0)
        self._looked = time.monotonic()
        for one in busy:
            if one.child.questions in ready:
                one.child.go_on_asking()
            if one.child.answers in ready:
                self._hear(one)
            if one in self._children and one.jobs and time.monotonic() >= one.until:
                self._give_up(one, f"parsing it took more than {self._seconds:g} s", again=False)

    def _forgive(self) -> None:
        """While nobody looks, as while a writer waits for another, a child may be kept waiting: that is not its fault."""
        away = time.monotonic() - self._looked
        for one in self._children if away > _AWAY else ():
            one.until += away
        self._looked += away

    def _free(self, job: _Job) -> _Busy | None:
        """The child that has least to do and takes a file, a new one if there may be one more and all are busy."""
        for one in [one for one in self._children if not one.jobs and not one.child.runs]:
            self._end(one)
        free = min(self._children, key=lambda one: len(one.jobs), default=None)
        most = self._count if job.number >= _TINY_JOB else 1
        if len(self._children) < most and (free is None or free.jobs):
            free = _Busy(self._seconds)
            self._children.append(free)
        return free if free and free.takes(job) else None

    def _hear(self, one: _Busy) -> None:
        try:
            while (parsed := one.child.listen()) is not None:
                job = one.answered()
                self._done[job.number] = parsed._replace(fault=job.fault or parsed.fault)
        except Nonsense:
            self._give_up(one, "the parser answered nonsense over it", again=True)
        except EOFError:
            self._give_up(one, "", again=True)

    def _give_up(self, one: _Busy, why: str, *, again: bool) -> None:
        """Ends a child that failed. Its first file is tried again if it may, then as plain text: a search still finds it."""
        jobs = list(one.jobs)
        code = self._end(one)
        self._waiting.extendleft(reversed(jobs[1:]))
        for job in jobs[:1]:
            if again and not job.again:
                self._waiting.appendleft(job._replace(again=True))
                continue
            fault = job.fault or why or _ending(code)
            if job.language in ("text", "notebook"):
                self._done[job.number] = Parsed(job.data.count(b"\n") + 1, fault=fault)
            else:
                self._waiting.appendleft(_Job(job.number, "text", job.data, fault))

    def _end(self, one: _Busy) -> int:
        self._children.remove(one)
        return one.child.end()


def _ready(busy: Iterable[_Busy], seconds: float) -> set[int]:
    """The ends of pipes at which something can be done, waited for so long at most."""
    poll = select.poll()
    for one in busy:
        poll.register(one.child.answers, select.POLLIN)
        if one.child.has_more_to_say:
            poll.register(one.child.questions, select.POLLOUT)
    return {end for end, _ in poll.poll(seconds * 1000 + 1 if seconds else 0)}


def _ending(code: int) -> str:
    if code > 0:
        return "the parser has a fault that this file brings out, please report it"
    return f"parsing it ended with signal {-code}, as damage or a trap in a file makes it end"


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
