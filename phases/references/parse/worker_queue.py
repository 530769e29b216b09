"""Parses many files in a few child processes: hostile bytes may crash, hang or swell a child, and nothing else."""

from __future__ import annotations

import os
import select
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from phases.references.parse.busy_worker import BusyWorker, ParseJob
from phases.references.parse.ipc import GIVEN_UP, InvalidAnswer
from phases.references.parse.model import Parsed
from phases.references.parse.worker_process import worker_start_error
from pipeline.base.workers import PATIENCE

SECONDS = 20.0
_MOST_CHILDREN = 4
_TINY_JOB = 20
"""So few files are not worth a second child."""
_FILES_AHEAD, _BYTES_AHEAD = 256, 16 * 1024 * 1024
"""What is read before it is needed."""
_AWAY = 1.0
MOST_GIVEN_UP, LONGEST_GIVEN_UP = 20, 300.0
"""Files, and seconds spent on them, after which what is left is taken as text: a repository of traps would take days."""
_ENOUGH = GIVEN_UP + "so many other files of the repository could not be parsed in time that this one was not tried"
_MOST_STARTS = 3
"""Children that end before they are ready, one after the other, before that is an error."""
Key = TypeVar("Key")


class _PendingFile(NamedTuple, Generic[Key]):
    """A file that is not given back yet."""

    number: int
    key: Key
    size: int


class ParserPool:
    """Children that parse, started when there is something to parse, ended with the block."""

    def __init__(
        self, count: int | None = None, seconds: float = SECONDS, environment: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`count` children at most (one for each processor, four at most, if not given); `seconds` of processor time for a file.

        `environment` is the user's, of which little is passed on to the children.
        """
        self._count = max(1, count if count is not None else min(_MOST_CHILDREN, _count_processors()))
        self._seconds, self._environment = seconds, environment
        self._children: list[BusyWorker] = []
        self._waiting: deque[ParseJob] = deque()
        self._done: dict[int, Parsed] = {}
        self._looked = time.monotonic()
        """When the children were last looked at."""
        self._given_up, self._spent, self._unstarted = 0, 0.0, 0

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
        given: deque[_PendingFile[Key]] = deque()
        ahead = 0
        for number, (key, language, data) in enumerate(files):
            given.append(_PendingFile(number, key, len(data)))
            ahead += len(data)
            self._waiting.append(ParseJob(number, language, data))
            self._work(wait=False)
            while len(given) >= _FILES_AHEAD or ahead >= _BYTES_AHEAD:
                first, parsed = self._first(given)
                ahead -= first.size
                yield first.key, parsed
        while given:
            first, parsed = self._first(given)
            yield first.key, parsed

    def _first(self, given: deque[_PendingFile[Key]]) -> tuple[_PendingFile[Key], Parsed]:
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
        self._spare()
        while self._waiting and (free := self._free(self._waiting[0])):
            free.take(self._waiting.popleft())
        busy = [one for one in self._children if one.jobs]
        if not busy:
            return
        ready = _wait_ready(busy, max(0.0, min(one.until for one in busy) - time.monotonic()) if wait else 0.0)
        self._looked = time.monotonic()
        for one in busy:
            if one.child.questions in ready:
                one.child.go_on_asking()
            if one.child.answers in ready:
                self._hear(one)
            if one in self._children and one.jobs and time.monotonic() >= one.until:
                self._give_up(one, f"{GIVEN_UP}parsing it took more than {self._seconds * PATIENCE:g} s", again=False)

    def _spare(self) -> None:
        """Where too much was given up already, takes what waits as text, and what fails as that too as nothing."""
        if self._given_up < MOST_GIVEN_UP and self._spent < LONGEST_GIVEN_UP:
            return
        hopeless = self._given_up >= 2 * MOST_GIVEN_UP or self._spent >= 2 * LONGEST_GIVEN_UP
        for _ in range(len(self._waiting)):
            job = self._waiting.popleft()
            spared = job.as_text(_ENOUGH)
            if spared and not hopeless:
                self._waiting.append(spared)
            elif hopeless or job.language == "notebook":
                self._done[job.number] = job.as_nothing(job.fault or _ENOUGH)
            else:
                self._waiting.append(job)

    def _forgive(self) -> None:
        """While nobody looks, as while a writer waits for another, a child may be kept waiting: that is not its fault."""
        away = time.monotonic() - self._looked
        for one in self._children if away > _AWAY else ():
            one.until += away
        self._looked += away

    def _free(self, job: ParseJob) -> BusyWorker | None:
        """The child that has least to do and takes a file, a new one if there may be one more and all are busy."""
        for one in [one for one in self._children if not one.jobs and not one.child.runs]:
            self._end(one)
        free = min(self._children, key=lambda one: len(one.jobs), default=None)
        most = self._count if job.number >= _TINY_JOB else 1
        if len(self._children) < most and (free is None or free.jobs):
            free = BusyWorker(self._seconds, self._environment)
            self._children.append(free)
        return free if free and free.takes(job) else None

    def _hear(self, one: BusyWorker) -> None:
        try:
            while (parsed := one.listen()) is not None:
                self._unstarted = 0
                job = one.answered()
                self._done[job.number] = parsed._replace(fault=job.fault or parsed.fault)
        except InvalidAnswer:
            self._give_up(one, "the parser answered nonsense over it", again=True)
        except EOFError:
            self._give_up(one, "", again=True)

    def _give_up(self, one: BusyWorker, why: str, *, again: bool) -> None:
        """Ends a child that failed. Its first file is tried again if it may, then as plain text: a search still finds it."""
        jobs, spent = list(one.jobs), one.spent
        code = self._end(one)
        if code == -signal.SIGXCPU:
            why, again = f"{GIVEN_UP}parsing it took more than {self._seconds:g} s of processor time", False
        self._waiting.extendleft(reversed(jobs[1:]))
        if not one.child.is_ready:
            self._waiting.extendleft(jobs[:1])
            self._count_start(why.removeprefix(GIVEN_UP) or f"it ended with code {code} before it was ready")
            return
        self._spent += spent
        for job in jobs[:1]:
            if again and not job.again:
                self._waiting.appendleft(job._replace(again=True))
                continue
            self._given_up += 1
            fault = job.fault or why or _describe_exit(code)
            if text := job.as_text(fault):
                self._waiting.appendleft(text)
            else:
                self._done[job.number] = job.as_nothing(fault)

    def _count_start(self, why: str) -> None:
        """A child that ends before it is ready has met no file."""
        self._unstarted += 1
        if self._unstarted >= _MOST_STARTS:
            raise worker_start_error(why)

    def _end(self, one: BusyWorker) -> int:
        self._children.remove(one)
        return one.child.end()


def _wait_ready(busy: Iterable[BusyWorker], seconds: float) -> set[int]:
    """The ends of pipes at which something can be done, waited for so long at most."""
    poll = select.poll()
    for one in busy:
        poll.register(one.child.answers, select.POLLIN)
        if one.child.has_more_to_say:
            poll.register(one.child.questions, select.POLLOUT)
    return {end for end, _ in poll.poll(seconds * 1000 + 1 if seconds else 0)}


def _describe_exit(code: int) -> str:
    if code > 0:
        return "the parser has a fault that this file brings out, please report it"
    return f"{GIVEN_UP}parsing it ended with signal {-code}, as damage or a trap in a file makes it end"


def _count_processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
