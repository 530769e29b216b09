"""Run many tasks, some at a time, each in a process forked from this one."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from typing import IO, Any

from pipeline.base.errors import Interrupted, PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.cli.assembly import relative_path
from pipeline.cli.boundary import end_children, exit_code_of
from pipeline.cli.output import can_draw, notify, paint_text, to_printable, width_of_terminal
from pipeline.cli.run_task import run_task
from pipeline.cli.status import plain_run
from pipeline.cli.streams import finish_output
from pipeline.cli.task_factory import find_or_make_task
from pipeline.cli.trust import settings_in_force
from pipeline.engine.run_request import stale_phases
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore

_PDEATHSIG = 1
_STARTS = 3
"""Starts of a paper whose process is killed from outside."""
_GRACE = 20.0
"""Seconds that workers have to end in order."""
_TICK = 0.2
_BUSY, _USAGE, _BUG = 75, 2, 70
_TAIL = 4096


@dataclass
class Paper:
    """One paper of a batch, and its result."""

    source: str
    root: str = ""
    """Task directory; empty before there is one."""
    status: str = "waiting"
    reason: str = ""
    exit_code: int = 5
    seconds: float = 0.0
    usd: float = 0.0
    requirements: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    starts: int = 0

    @property
    def name(self) -> str:
        return os.path.basename(self.root) or os.path.basename(self.source.rstrip(os.sep)) or self.source

    def facts(self) -> dict[str, Any]:
        """Return a row of the table, for programs."""
        names = ("source", "status", "reason", "exit_code", "requirements", "counts", "starts")
        numbers = {"seconds": round(self.seconds, 2), "usd": round(self.usd, 6)}
        return {"task": self.root, **{name: getattr(self, name) for name in names}, **numbers}


class _Worker:
    """A process that runs one task, and the file of its output."""

    def __init__(self, paper: Paper, pid: int, output: IO[bytes]) -> None:
        self.paper, self.pid, self.output, self.began = paper, pid, output, time.monotonic()

    def last_line(self) -> str:
        size = os.fstat(self.output.fileno()).st_size
        return last_line_of(os.pread(self.output.fileno(), _TAIL, max(0, size - _TAIL)))


def run_batch(
    papers: list[Paper], jobs: int, settings: Settings, flags: dict[str, Any], options: dict[str, Any]
) -> int:
    """Run every paper that is not finished, and fill in what came of each. Returns 0, or the exit code of the signal that
    ended the batch; the workers have ended then, too."""
    batch = _Batch(papers, jobs, settings, flags, options)
    try:
        batch.run()
    except Interrupted as error:
        notify("stopping; each paper keeps what it has")
        batch.stop()
        return error.exit_code
    finally:
        batch.close()
    return 0


class _Batch:
    def __init__(
        self, papers: list[Paper], jobs: int, settings: Settings, flags: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self._papers, self._jobs = papers, jobs
        self._settings, self._flags, self._options = settings, flags, options
        self._waiting = deque(papers)
        self._workers: dict[int, _Worker] = {}
        self._screen = _Screen(len(papers))

    def run(self) -> None:
        while self._waiting or self._workers:
            while self._waiting and len(self._workers) < self._jobs:
                self._begin(self._waiting.popleft())
            self._reap(_TICK)
            self._screen.draw(list(self._workers.values()))

    def stop(self) -> None:
        """Let every worker end in order; who does not within the grace is killed: its task resumes all the same."""
        for number, grace in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, _GRACE)):
            for pid in self._workers:
                os.kill(pid, number)
            until = time.monotonic() + grace
            while self._workers and time.monotonic() < until:
                self._reap(_TICK, again=False)

    def close(self) -> None:
        """Take the live lines away, and leave no worker, whatever happened."""
        self._screen.clear()
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)

    def _begin(self, paper: Paper) -> None:
        """Start a worker for a paper, unless it is finished or cannot be begun at all."""
        store = prepare_paper(paper, self._settings, self._flags)
        if store is None:
            self._screen.tell(paper, "up to date" if paper.status in _ENDED else "")
            return
        paper.starts, paper.status = paper.starts + 1, "running"
        worker = _fork(paper, store, self._settings, self._flags, self._options)
        self._workers[worker.pid] = worker

    def _reap(self, seconds: float, *, again: bool = True) -> None:
        """Wait until a worker ends, or so long, and record the result of each ended paper."""
        _wait_for_any(list(self._workers), seconds)
        for pid in list(self._workers):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            worker = self._workers.pop(pid)
            paper, killed = worker.paper, os.WIFSIGNALED(status)
            if killed and again and paper.starts < _STARTS:
                self._screen.tell(paper, f"was killed by signal {os.WTERMSIG(status)}; it continues")
                self._waiting.append(paper)
            else:
                _conclude(worker, status)
                self._screen.tell(paper)
            worker.output.close()


_ENDED = ("completed", "warning", "incomplete")


def prepare_paper(paper: Paper, settings: Settings, flags: dict[str, Any]) -> TaskStore | None:
    """Return the paper's task, found or made; None with a reason in the paper if it is finished or cannot start."""
    try:
        store = find_or_make_task(paper.source, settings, flags, wanted_id=None, new=False)
        paper.root = relative_path(store.root)
        if not _is_finished(store, settings, flags):
            return store
    except PipelineError as error:
        paper.status, paper.reason, paper.exit_code = "error", str(error), error.exit_code
        return None
    _take_report(paper)
    return None


def _is_finished(store: TaskStore, settings: Settings, flags: dict[str, Any]) -> bool:
    """Return whether a run would find nothing to do."""
    if not store.exists("report.json") or store.load("report.json")["status"] not in _ENDED:
        return False
    return not stale_phases(store, plain_run(settings_in_force(store, settings, flags).values))


def _fork(
    paper: Paper, store: TaskStore, settings: Settings, flags: dict[str, Any], options: dict[str, Any]
) -> _Worker:
    """Start a process that runs the task, and dies with this one in order."""
    # forked and not started: everything is imported already, so that a paper costs milliseconds more (decision 214)
    output = tempfile.TemporaryFile()  # noqa: SIM115 - the worker's, closed when it has ended
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return _Worker(paper, pid, output)
    code = _BUG
    try:
        os.setpgid(0, 0)  # a Ctrl-C is this batch's, and is passed on once
        die_with(parent)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        code = exit_code_of(lambda: run_task(store, settings, flags, options))
        finish_output()
        sys.stderr.flush()
        end_children()
    finally:
        os._exit(code)


def die_with(parent: int) -> None:
    """Ask the kernel for a SIGTERM when the batch dies, of whatever. Where it knows no such wish, the worker goes on."""
    if sys.platform.startswith("linux"):
        import ctypes  # imported here: only a worker needs it

        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before the wish was made
            os.kill(os.getpid(), signal.SIGTERM)


def _wait_for_any(pids: list[int], seconds: float) -> None:
    """Return when a process has ended, or after so many seconds."""
    if not pids:
        return
    if not hasattr(os, "pidfd_open"):
        time.sleep(0.05)
        return
    import select

    handles = [os.pidfd_open(pid) for pid in pids]
    try:
        select.select(handles, (), (), seconds)
    finally:
        for handle in handles:
            os.close(handle)


def _conclude(worker: _Worker, status: int) -> None:
    """Fill in what came of a paper, as its report says it; where there is none of this run, as its last line does."""
    paper = worker.paper
    if os.WIFSIGNALED(status):
        paper.status, paper.exit_code = "killed", 1
        paper.reason = f"its process was killed by signal {os.WTERMSIG(status)}, {paper.starts} times"
        return
    conclude_paper(paper, os.WEXITSTATUS(status), worker.last_line())


def last_line_of(output: bytes) -> str:
    """Return the last non-empty line of a run's output."""
    lines = output[-_TAIL:].decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def conclude_paper(paper: Paper, code: int, last_line: str) -> None:
    """Record a paper's result by the exit code of its run."""
    if code not in (_BUSY, _USAGE) and _take_report(paper, code):
        return
    paper.status, paper.exit_code = "busy" if code == _BUSY else "error", code
    paper.reason = last_line.removeprefix("pipeline: ")


def _take_report(paper: Paper, code: int | None = None) -> bool:
    """Read a paper's report. False where there is none, or none that ended with this exit code."""
    try:
        report = parse_json(read_bytes(os.path.join(paper.root, "report.json")))
    except PipelineError:
        return False
    if code is not None and report["exit_code"] != code:
        return False
    paper.status, paper.reason, paper.exit_code = report["status"], report["reason"], report["exit_code"]
    paper.seconds = sum(row["seconds"] for row in report["phases"])
    paper.usd, paper.requirements = report["usage"]["usd"], report["requirements"]["total"]
    paper.counts = {name: count for name, count in report["requirements"].items() if isinstance(count, int)}
    return True


class _Screen:
    """Live lines in a terminal, one a running paper; elsewhere a line for each paper that ends."""

    def __init__(self, total: int) -> None:
        self._total, self._ended, self._usd, self._drawn = total, 0, 0.0, 0
        self._live = can_draw(sys.stderr)

    def tell(self, paper: Paper, instead: str = "") -> None:
        """Note for good what came of a paper."""
        self.clear()
        again = paper.status == "running"
        self._ended += not again
        self._usd += 0.0 if again else paper.usd
        status = "" if instead else f"  {paint_text(paper.status, paper.status, stream=sys.stderr)}"
        why = f": {paper.reason}" if paper.status in ("error", "paused", "busy", "killed", "cancelled") else ""
        words = to_printable(f"{paper.name}{f'  {instead}' if instead else ''}")
        sys.stderr.write(f"  {self._ended:>3} of {self._total}  {words}{status}{to_printable(why)}\n")
        sys.stderr.flush()

    def draw(self, workers: list[_Worker]) -> None:
        """Draw one line a running paper, and one for all."""
        if not self._live:
            return
        self.clear()
        width = width_of_terminal(sys.stderr) - 1
        lines = [f"  … {w.paper.name}  {time.monotonic() - w.began:.0f} s  {w.last_line()}" for w in workers]
        lines.append(f"  {self._ended} of {self._total} papers have ended, ${self._usd:.2f}")
        sys.stderr.write("".join(to_printable(line)[:width] + "\n" for line in lines))
        sys.stderr.flush()
        self._drawn = len(lines)

    def clear(self) -> None:
        """Take the live lines away."""
        if self._drawn:
            sys.stderr.write(f"\x1b[{self._drawn}A\x1b[J")
            sys.stderr.flush()
        self._drawn = 0
