"""Parse many files in worker processes; hostile bytes can only crash, stall or bloat a worker.

Each batch of files goes to a fresh worker, which answers in order, so the first missing answer identifies the file that it failed
over. That file is tried once more alone, then as plain text; the rest of its batch goes to another worker.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import IO, NamedTuple, Self, TypeVar

from phases.references.parse.ipc import GIVEN_UP, LARGEST, READY, InvalidAnswer, pack_request, parse_answer
from phases.references.parse.model import Parsed
from pipeline.base.errors import PhaseError
from pipeline.base.threads import reporting_thread_shortage
from pipeline.base.workers import (
    MEMORY,
    PATIENCE,
    UNCONFINED,
    WorkerStart,
    exit_code_of,
    is_starved,
    why_starved,
    worker_environment,
)

SECONDS = 20.0
"""Processor time for one file."""
_MAX_WORKERS = 4
BATCH_FILES, _BATCH_BYTES = 200, 6 * 1024 * 1024
"""Files and bytes of a batch. To start its worker costs as much as some 20 files."""
MOST_GIVEN_UP, LONGEST_GIVEN_UP = 20, 300.0
"""Files given up, and seconds spent on them, after which the rest is taken as text: a repository of traps would take days."""
_ENOUGH = GIVEN_UP + "so many other files of the repository could not be parsed in time that this one was not tried"
_MAX_STARTS = 3
_START_SECONDS = 60.0
"""Until a worker must be ready, on however busy a machine."""
_CHUNK, _PIPE = 1 << 18, 1 << 20
Key = TypeVar("Key")
Item = TypeVar("Item")


class ParseJob(NamedTuple):
    """A file to be parsed, and what went wrong with it before, where it is now taken as less than it is."""

    language: str
    data: bytes
    fault: str = ""

    def as_text(self, fault: str) -> Self | None:
        """Return the job as plain text, so that a search still finds it; None if it is text already, or a notebook."""
        return None if self.language in ("text", "notebook") else self._replace(language="text", fault=fault)

    def as_blank(self, fault: str) -> Self:
        """Return a file with as many empty lines: no parser fails over it."""
        return self._replace(language="text", data=b"\n" * (self.data.count(b"\n") + 1), fault=self.fault or fault)


class _Failure(NamedTuple):
    """The reason for a missing answer. `is_final`: the file itself is to blame, not an earlier one."""

    why: str
    is_final: bool


def parse_files(
    files: Iterable[tuple[Key, str, bytes]],
    *,
    count: int | None = None,
    seconds: float = SECONDS,
    start: WorkerStart = UNCONFINED,
) -> Generator[tuple[Key, Parsed], None, None]:
    """For each key, language and content what the file holds, in the order given; a few batches are read ahead of need.

    `count`: how many workers there may be (one for each processor, four at most, if not given). No worker outlives this
    generator: close it. Raises PhaseError if no worker can be started.
    """
    count = max(1, count if count is not None else min(_MAX_WORKERS, count_processors()))
    workers = _Workers(seconds, start)
    pending: deque[tuple[list[Key], Future[list[Parsed]]]] = deque()
    # decision 148: threads only wait for workers, so that none of them waits while our caller writes what it got
    with reporting_thread_shortage(), ThreadPoolExecutor(count) as executor:
        try:
            for batch in batch_by_size(files, lambda one: len(one[2]), BATCH_FILES, _BATCH_BYTES):
                jobs = [ParseJob(language, data) for _, language, data in batch]
                pending.append(([key for key, _, _ in batch], executor.submit(workers.parse_batch, jobs)))
                if len(pending) > count + 1:  # one more than can run, so that no worker waits for our reader
                    keys, future = pending.popleft()
                    yield from zip(keys, future.result(), strict=True)
            while pending:
                keys, future = pending.popleft()
                yield from zip(keys, future.result(), strict=True)
        finally:
            workers.stop()


def batch_by_size(
    items: Iterable[Item], size_of: Callable[[Item], int], most: int, largest: int
) -> Iterator[list[Item]]:
    """Yield the items in order in batches of limited number; a batch ends once it has reached the largest size."""
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if len(batch) >= most or size >= largest:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Workers:
    """The worker processes of one run, and how much it has lost to files that cannot be parsed. Its threads share it."""

    def __init__(self, seconds: float, start: WorkerStart) -> None:
        self._seconds, self._start = seconds, start
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._given_up, self._spent = 0, 0.0

    def stop(self) -> None:
        """End every worker; files that are not parsed yet are dropped."""
        self._stopped = True
        for process in [*self._running]:
            process.kill()

    def parse_batch(self, jobs: Sequence[ParseJob]) -> list[Parsed]:
        """Return the parsed files. Each worker that fails has one file less to fail over."""
        done: list[Parsed] = []
        while len(done) < len(jobs):
            rest = [self._spare(job) for job in jobs[len(done) :]]
            answers, failure = self._run_worker(rest)
            done += answers
            if failure:
                done.append(self._parse_alone(rest[len(answers)], failure))
        return done

    def _spare(self, job: ParseJob) -> ParseJob:
        """Return the job, reduced to text if too many files were given up."""
        if self._given_up < MOST_GIVEN_UP and self._spent < LONGEST_GIVEN_UP:
            return job
        return job.as_blank(_ENOUGH) if job.language == "notebook" else job.as_text(_ENOUGH) or job

    def _parse_alone(self, job: ParseJob, failure: _Failure) -> Parsed:
        """Parse a file that a worker failed over, each time in a fresh worker: as it is, then as plain text."""
        # once more as it is: an earlier file of the batch may have damaged the worker (decision 148)
        if not failure.is_final:
            answers, again = self._run_worker([job])
            if again is None:
                return answers[0]
            failure = again
        self._given_up += 1
        fault = job.fault or failure.why
        if text := job.as_text(fault):
            answers, again = self._run_worker([text])
            if again is None:
                return answers[0]
        return Parsed(job.data.count(b"\n") + 1, fault=fault)

    def _run_worker(self, jobs: Sequence[ParseJob]) -> tuple[list[Parsed], _Failure | None]:
        """Return the answers of a fresh worker, and why it did not answer the next file."""
        answers: list[Parsed] = []
        # A file, not a pipe: nobody has to write while the worker reads, and it never waits for its next request.
        with tempfile.TemporaryFile() as requests:
            requests.writelines(pack_request(job.language, job.data) for job in jobs)
            process, lines = self._start_ready(requests)
            began = time.monotonic()
            try:
                for number, job in enumerate(jobs):
                    parsed = parse_answer(lines.next_line(self._seconds * PATIENCE), number)
                    answers.append(parsed._replace(fault=job.fault or parsed.fault))
                    began = time.monotonic()
                return answers, None
            except TimeoutError:
                if is_starved(process.pid):  # the clock says nothing of a file (decision 254)
                    busy = f"it did not get {self._seconds:g} s of processor time in {self._seconds * PATIENCE:g} s"
                    raise _start_error(busy) from None
                failure = _Failure(f"{GIVEN_UP}parsing it took more than {self._seconds * PATIENCE:g} s", True)
            except InvalidAnswer:
                failure = _Failure("the parser answered nonsense over it", False)
            except EOFError:
                failure = self._failure_of(_end_process(process))
            finally:
                self._end(process)
        # Not by the clock alone: a run that was suspended has not spent that time.
        self._spent += min(time.monotonic() - began, self._seconds * PATIENCE)
        return answers, failure

    def _failure_of(self, code: int) -> _Failure:
        if why := why_starved(seconds=self._seconds, memory=MEMORY):
            raise _start_error(why)
        if code == -signal.SIGXCPU:
            return _Failure(f"{GIVEN_UP}parsing it took more than {self._seconds:g} s of processor time", True)
        if code > 0:
            return _Failure("the parser has a fault that this file brings out, please report it", False)
        return _Failure(
            f"{GIVEN_UP}parsing it ended with signal {-code}, as damage or a trap in a file makes it end", False
        )

    def _start_ready(self, requests: IO[bytes]) -> tuple[subprocess.Popen[bytes], _Lines]:
        """Return a worker that is ready, and its output. Raises PhaseError.

        One that ends before it is ready has not seen a file: the machine is to blame, and it is tried again.
        """
        why = ""
        for _ in range(_MAX_STARTS):
            requests.seek(0)
            process = start_worker(requests.fileno(), self._seconds, self._start)
            self._running.add(process)
            lines, is_ready = _Lines(process), False
            try:
                if self._stopped:
                    raise CancelledError
                is_ready = lines.next_line(_START_SECONDS) == READY
                if is_ready:
                    return process, lines
                why = "it said something else than that it is ready"
            except InvalidAnswer:
                why = "it said too much before it was ready"
            except TimeoutError:
                why = f"it was not ready after {_START_SECONDS:g} s"
            except EOFError:
                why = f"it ended with code {_end_process(process)} before it was ready"
            finally:
                if not is_ready:
                    self._end(process)
        raise _start_error(why)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        _end_process(process)
        self._running.discard(process)


class _Lines:
    """The lines that a worker writes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is None:
            raise OSError("a worker was started without its pipe")
        self._descriptor = process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self._come, self._total = bytearray(), 0
        _widen_pipe(self._descriptor)

    def next_line(self, seconds: float) -> bytes:
        """Return the next line. Raises TimeoutError, InvalidAnswer if there is too much, and EOFError at the end."""
        searched = 0
        while (end := self._come.find(b"\n", searched)) < 0:
            searched = len(self._come)
            before = time.monotonic()
            if self._poll.poll(min(1.0, max(0.0, seconds)) * 1000):
                part = os.read(self._descriptor, _CHUNK)
                if not part:
                    raise EOFError
                self._come += part
                self._total += len(part)
                if self._total > LARGEST:
                    raise InvalidAnswer("an answer too long")
            elif seconds <= 0:
                raise TimeoutError
            # A second at most, whatever the clock says: the time that all of us were suspended is not the file's.
            seconds -= min(1.0, time.monotonic() - before)
        line = bytes(self._come[:end])
        del self._come[: end + 1]
        return line


def start_worker(requests: int, seconds: float, start: WorkerStart) -> subprocess.Popen[bytes]:
    """Start a worker that answers the requests in an open file. Raises PhaseError."""
    argv = [sys.executable, "-I", "-m", "phases.references.parse.worker", str(max(1, int(seconds)))]
    try:
        return subprocess.Popen(
            start.command(argv, ()),
            stdin=requests,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=worker_environment(start.environment),
            start_new_session=True,
        )
    except OSError as error:
        raise _start_error(error.strerror or str(error)) from error


def _start_error(why: str) -> PhaseError:
    return PhaseError(
        f"the process that parses code could not work ({why}): the machine is busy, or short of memory or processes, or"
        f" {sys.executable or 'the Python'} is damaged; mend that, and index again with: pipeline resume"
    )


def _end_process(process: subprocess.Popen[bytes]) -> int:
    """End a process unconditionally, and return its exit code."""
    process.kill()
    with process:
        pass
    return exit_code_of(process.returncode)


def _widen_pipe(end: int) -> None:
    """So many bytes may wait in a pipe, where the system grants it: the worker works on while we are busy elsewhere."""
    try:
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE)
    except (AttributeError, OSError):
        return  # not Linux, or all that one user may have is taken: it works with a narrow one


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
