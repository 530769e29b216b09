"""Run long commands next to the agent's work, each in the sandbox on its own copy of the workspace.

Everything else assumes that the workspace does not change between two calls: repeated commands, checks, evidence, the journal.
With a copy, none of them has to know that a job runs (decision 288). An ordinary command takes the results over from $JOBS.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from typing import Any, NamedTuple

from phases.sandbox.box import STOPPED, Box, CommandResult, Listener
from phases.sandbox.commands import run_command
from phases.sandbox.output import escape_unseen, tail_of
from phases.workspace.backup_tree import back_up_tree
from phases.workspace.tree import open_root, remove_tree
from phases.workspace.workspace import CONTROL, WorkspaceError, remove_bytecode
from pipeline.base.errors import FormatError, PipelineError, StorageError
from pipeline.base.files import make_directory, read_bytes, write_durable
from pipeline.base.formats import parse_json
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_file
from pipeline.base.text_escaping import one_line
from pipeline.base.threads import start_thread

RUNNING, ENDED = "running", "ended"
VARIABLE = "JOBS"
"""Variable with the directory of job output: $JOBS/1 belongs to job 1."""
MOST_AT_ONCE, MOST = 2, 20
_VERSION = 1
_LONGEST_TAIL = 6_000
_AGAIN = b"\n[the run was cut off here; the same command was started again]\n"
_OVER = "the work is over"


class JobState(NamedTuple):
    """State of a job: running or ended."""

    number: int
    command: str
    state: str = RUNNING
    starts: int = 1
    exit_code: int | None = None
    """None while it runs, and where it was stopped."""
    why: str = ""
    """The reason for a missing exit code: the exceeded limit, or who stopped it."""
    seconds: int = 0
    """Seconds since its last start; 0 once it has ended."""


@dataclass
class _Running:
    job: JobState
    stop: Event = field(default_factory=Event)
    is_cut: bool = False
    """The run ends before the job: a resume starts it again."""
    thread: Thread | None = None
    began: float = field(default_factory=time.monotonic)


class Jobs:
    """The jobs of one run. `directory` holds of each its files (1/), its log (1.log) and what became of it (1.json)."""

    def __init__(self, directory: str, tell: Callable[[str], None] = lambda text: None) -> None:
        self.directory, self._tell = directory, tell
        self._running: dict[int, _Running] = {}
        self._ended: dict[int, JobState] = {}

    def start(self, number: int, command: str, box: Box) -> JobState:
        """Start a job on a copy of the workspace as it is now. Raises WorkspaceError where that cannot be."""
        at_work = sum(job.state == RUNNING for job in map(self.look, list(self._running)))
        if number > MOST:
            raise WorkspaceError(f"{MOST} jobs were started in this run, and no more may be")
        if at_work >= MOST_AT_ONCE:
            raise WorkspaceError(f"{at_work} jobs run already, and no more may: wait for one, or stop it")
        make_directory(self.directory)
        files = self._path(number)
        with open_root(self.directory) as root:
            if os.path.lexists(files):  # of a start that was cut off before it was on record
                remove_tree(root, str(number))
        with suppress(FileNotFoundError):
            os.unlink(self._path(number, ".log"))
        if not back_up_tree(box.workspace, files):
            raise WorkspaceError(
                "no copy can be made of the workspace: something in it cannot be read, or the disk is full"
            )
        remove_bytecode(files)
        self._ended.pop(number, None)
        return self._begin(JobState(number, command), box)

    def look(self, number: int) -> JobState:
        """Return the current state of a job."""
        running = self._running.get(number)
        if number not in self._ended and running:
            return running.job._replace(seconds=int(time.monotonic() - running.began))
        return self._ended.get(number) or self._read(number)

    def wait(self, number: int, seconds: float) -> JobState:
        """Return the state once the job has ended, or after so many seconds."""
        running = self._running.get(number)
        if running and running.thread:
            running.thread.join(seconds)
        return self.look(number)

    def stop(self, number: int) -> JobState:
        """End a job with all its processes, for good."""
        if running := self._running.get(number):
            running.stop.set()
            if running.thread:
                running.thread.join()
        return self.look(number)

    def read_tail(self, number: int) -> str:
        """Return the end of a job's output, safe to show."""
        try:
            with open_file(self._path(number, ".log")) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _LONGEST_TAIL - 4))
                data = file.read()
        except OSError:
            return ""
        left = size - len(tail_of(data, _LONGEST_TAIL))
        return (f"… {left:,} bytes before this …\n" if left else "") + escape_unseen(
            tail_of(data, _LONGEST_TAIL).decode("utf-8", "replace")
        )

    def report(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the jobs of a journal for implementation.json."""
        wanted = ("number", "command", "starts", "exit_code", "why")
        reports = (self.look(job.number)._replace(command=job.command)._asdict() for job in jobs_on_record(rows))
        return [{name: row[name] for name in wanted} for row in reports]

    @contextmanager
    def at_work(self, rows: Iterable[Mapping[str, Any]], box: Box) -> Iterator[None]:
        """Restart the jobs that a journal lists as running, and end them with the block: for good if the work is
        over, and else to be started again by the next run.
        """
        for job in jobs_on_record(rows):
            if job.state == RUNNING and self._read(job.number).state == RUNNING:
                self._start_again(job, box)
        is_over = False
        try:
            yield
            is_over = True
        finally:
            self._end_all(for_good=is_over)

    def forget(self) -> None:
        """Remove files of jobs of other work."""
        if os.path.lexists(self.directory):
            parent, name = os.path.split(self.directory)
            with open_root(parent) as root:
                remove_tree(root, name)

    def _start_again(self, job: JobState, box: Box) -> None:
        """In the directory as it was left, so that the command finds its checkpoints."""
        known = self._read(job.number)
        words = f"job {job.number} ({one_line(job.command, 80)})"
        if not os.path.isdir(self._path(job.number)) or os.path.islink(self._path(job.number)):
            self._tell(f"{words} was cut off, and its files are gone: it is not started again")
            self._keep(job._replace(state=ENDED, why="its files are gone"))
            return
        self._tell(f"{words} was cut off with the run before, and is started again on what it had written")
        with open_file(self._path(job.number, ".log"), "ab") as log:
            log.write(_AGAIN)
        self._begin(job._replace(starts=known.starts + 1), box)

    def _begin(self, job: JobState, box: Box) -> JobState:
        self._write(job)
        files = self._path(job.number)
        own = box._replace(
            workspace=files, readable=(*box.readable, self.directory), read_only=(os.path.join(files, CONTROL),)
        )
        running = _Running(job)
        running.thread = start_thread(partial(self._follow, running, own), f"job {job.number}")
        self._running[job.number] = running
        return job

    def _follow(self, running: _Running, box: Box) -> None:
        """Run the command to its end, in its own thread; the command ends with it and with this process."""
        job = running.job
        try:
            with open_file(self._path(job.number, ".log"), "ab", 0) as log:
                finished = run_command(
                    box,
                    job.command,
                    seconds=box.limits.job_seconds,
                    variables={VARIABLE: self.directory},
                    listener=Listener(log.write, running.stop.is_set),
                )
        except OSError as error:
            finished = CommandResult(None, f"not run: {error}")
        if not (running.is_cut and finished.limit == STOPPED):
            self._keep(job._replace(state=ENDED, exit_code=finished.exit_code, why=_why_without_code(finished)))

    def _end_all(self, *, for_good: bool) -> None:
        for number, running in self._running.items():
            if self.look(number).state == RUNNING:
                running.is_cut = not for_good
                self.stop(number)
                words = f"job {number} ({one_line(running.job.command, 80)})"
                if not for_good:
                    self._tell(f"{words} ends with this run; a resume starts it again on what it has written")
                elif self.look(number).why == STOPPED:
                    self._tell(f"{words} was still running and is stopped: {_OVER}")
        self._running.clear()

    def _keep(self, job: JobState) -> None:
        self._ended[job.number] = job
        try:
            self._write(job)
        except PipelineError as error:  # a resume starts it once more, which is a pity and no more
            logger.warning("what became of job {} could not be written down: {}", job.number, error)

    def _write(self, job: JobState) -> None:
        record = {"version": _VERSION, **job._replace(seconds=0)._asdict()}
        write_durable(self._path(job.number, ".json"), json.dumps(record).encode() + b"\n")

    def _read(self, number: int) -> JobState:
        """Return the record of a job on the disk; running if it cannot be read."""
        unknown = JobState(number, "")
        try:
            record = parse_json(read_bytes(self._path(number, ".json")))
        except (StorageError, FormatError):
            return unknown
        if (
            not isinstance(record, dict)
            or record.pop("version", None) != _VERSION
            or record.keys() != set(JobState._fields)
        ):
            return unknown
        return JobState(**record)

    def _path(self, number: int, suffix: str = "") -> str:
        return os.path.join(self.directory, f"{number}{suffix}")


def jobs_on_record(rows: Iterable[Mapping[str, Any]]) -> list[JobState]:
    """Return the jobs of a journal by number, each in its last recorded state."""
    results = (row["result"]["job"] for row in rows if row["kind"] == "result" and "job" in row["result"])
    return sorted({job["number"]: JobState(**job) for job in results}.values())


def _why_without_code(finished: CommandResult) -> str:
    if finished.exit_code is not None:
        return ""
    return finished.limit or one_line(finished.output.strip().partition("\n")[0], 300)
