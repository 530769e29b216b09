"""Typed functions for the work of the commands, which print nothing and never end the process.

The same settings hold as for the command line: defaults, then the user's file, then the environment (keys of models too),
then the arguments of a call. A call that cannot begin raises an error of `pipeline.base.errors`: UsageError, TaskBusy,
StorageError and so on, all of them PipelineError. A run that began always returns a Report. Several tasks may run in one
process, each in a thread of its own; one thread at a time works on a task.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any

from pipeline.base.errors import Interrupted, Paused, PipelineError
from pipeline.base.logs import Echo
from pipeline.base.threads import start_thread
from pipeline.cli.assembly import discover_phases, open_task, settings_from
from pipeline.cli.next_steps import next_steps
from pipeline.cli.read import read_document
from pipeline.cli.review import choose_reviewer, make_decision, user_name
from pipeline.cli.run_task import carry_out, check_settings
from pipeline.cli.status import describe_task
from pipeline.cli.task_factory import find_or_make_task
from pipeline.cli.trust import settings_in_force
from pipeline.engine.phase import Decision
from pipeline.engine.run_request import RunEvent
from pipeline.engine.store import TaskStore

PLAN = "initial_plan.txt"
_SIGTERM = 15
_MAKING = threading.Lock()
"""A task is made in a directory that is named after the process, and so by one thread at a time."""

Approve = Callable[["Plan"], bool]
"""Is shown the plan; True approves it, False leaves it open, and the run ends paused."""


@dataclass(frozen=True)
class Report:
    """Result of a run. `document` is report.json, which docs/guide.md and schemas/report.schema.json describe."""

    task: str
    """The task's id."""
    directory: str
    """Its directory, as an absolute path."""
    status: str
    """completed, warning, incomplete, error, cancelled or paused."""
    reason: str
    exit_code: int
    """Exit code of the command; the table is in README.md."""
    usd: float
    """Dollars that the task has cost by now, all its runs together."""
    next_steps: tuple[tuple[str, str], ...]
    """Commands to type next, each with what it does."""
    notes: tuple[str, ...]
    """Notes about the settings in force; empty for most runs."""
    document: Mapping[str, Any]

    @property
    def done(self) -> bool:
        """Return whether the code meets the plan and nothing speaks against it."""
        return self.status == "completed"

    @property
    def open_requirements(self) -> tuple[Mapping[str, Any], ...]:
        """Return the requirements that are stubs or not located in the code: id, text and status of each."""
        return tuple(self.document["requirements"]["open"])


@dataclass(frozen=True)
class Plan:
    """The plan of a task. `document` is all of initial_plan.txt; each row is a mapping with the fields of its schema."""

    title: str
    requirements: tuple[Mapping[str, Any], ...]
    """id, text, source (section, page, quote) and so on."""
    components: tuple[Mapping[str, Any], ...]
    values: tuple[Mapping[str, Any], ...]
    files: tuple[str, ...]
    """The planned files, as paths in generate_code/."""
    document: Mapping[str, Any]


@dataclass(frozen=True)
class PaperText:
    """Text and outline of a paper."""

    verdict: str
    """ok or partial."""
    title: str
    markdown: str
    """The whole paper in the dialect that docs/architecture.md describes, without front matter."""
    outline: Mapping[str, Any]
    """Sections, references, equations, tables and so on, as in outline.json."""


@dataclass(frozen=True)
class TaskStatus:
    """Progress of a task."""

    task: str
    status: str
    """Status of the last run; running or interrupted if none has ended since."""
    reason: str
    holder: str | None
    """The process that works on it now, in words."""
    phases: tuple[Mapping[str, Any], ...]
    """number, name, status, seconds, attempts, error, and `stale`: why it would run again, or None."""


@dataclass(frozen=True)
class LoadedTask:
    """A task on the disk. What it reads is read anew each time, so it is never out of date."""

    id: str
    directory: str
    _store: TaskStore

    @property
    def plan(self) -> Plan:
        """Return the plan. Raises StorageError if there is none yet, ContractError if it is damaged."""
        return _plan_of(self._store.load(PLAN))

    @property
    def report(self) -> Report:
        """Return the result of the last run. Raises StorageError if none has ended yet."""
        return _report_of(self._store, self._store.load("report.json"))

    def documents(self) -> list[str]:
        """Return the names of the existing documents, for `read`."""
        return sorted(filter(self._store.exists, {*self._store.graph.documents, "task.json", "report.json"}))

    def read(self, document: str) -> Any:
        """Read and validate a document: JSON and YAML as plain values, Markdown with `text` and `front`.

        Raises StorageError if it is missing, ContractError if it is damaged.
        """
        return self._store.load(document)


class Events(Iterator[RunEvent]):
    """Live events of a run, as `events` yields them; the iteration ends with the run.

    An event has `kind` (started, progress, told, fresh, or what a phase ended with: done, skipped, degraded, failed,
    stopped), `phase` (number, name), `text`, `seconds`, `done` and `total`.
    """

    def __init__(self, work: Callable[[Callable[[RunEvent], None]], Report]) -> None:
        self._queue: SimpleQueue[RunEvent | None] = SimpleQueue()
        self._stopping, self._over = threading.Event(), False
        self._report: Report | None = None
        self._error: PipelineError | None = None
        self._thread = start_thread(partial(self._run, work), "pipeline run")

    @property
    def report(self) -> Report | None:
        """Return the result of the run, or None while it runs."""
        return self._report

    def __next__(self) -> RunEvent:
        event = None if self._over else self._queue.get()
        if event is not None:
            return event
        self._over = True
        self._thread.join()
        if self._error:
            raise self._error
        raise StopIteration

    def close(self) -> None:
        """Stop the run at its next event, as Ctrl-C would, and wait for its end: it can be resumed."""
        self._stopping.set()
        self._thread.join()

    def _run(self, work: Callable[[Callable[[RunEvent], None]], Report]) -> None:
        try:
            self._report = work(self._take)
        except PipelineError as error:
            self._error = error
        finally:
            self._queue.put(None)

    def _take(self, event: RunEvent) -> None:
        self._queue.put(event)
        if self._stopping.is_set():
            raise Interrupted(_SIGTERM)


def run(
    source: str | os.PathLike[str],
    *,
    task_id: str | None = None,
    new: bool = False,
    on_event: Callable[[RunEvent], None] | None = None,
    approve: Approve | None = None,
    **settings: Any,
) -> Report:
    """Turn a source into code, or continue its task; finished work is not done or paid for again.

    `source` is what `pipeline run` takes: a file, an address, an arXiv id, or a task directory. `task_id` names the task, and
    `new` makes another one even if there is one. `on_event` is called with each event, from any thread. Settings are those that
    `pipeline config` lists: mode="fast", model="openai:gpt-5", max_usd=5, until="plan", tasks_dir="work". The terminal is never
    used for questions: without `approve`, review="ask" waits as "file" does.
    """
    given = check_settings(settings)
    with _MAKING:
        store = find_or_make_task(os.fspath(source), given, settings, wanted_id=task_id, new=new)
    return _carry_out(store, settings, on_event, approve)


def resume(
    task: str | os.PathLike[str],
    *,
    only: str | None = None,
    redo: str | None = None,
    add_usd: float | None = None,
    on_event: Callable[[RunEvent], None] | None = None,
    approve: Approve | None = None,
    **settings: Any,
) -> Report:
    """Continue a task, by its id or any path in it.

    `only` runs one phase, `redo` runs a phase and everything after it again (both by number or name), and `add_usd` raises
    the task's limit. The rest is as for `run`.
    """
    store = open_task(check_settings(settings, [only, redo]), os.fspath(task))
    options = {"redo": redo, "add_usd": add_usd, **({} if only is None else {"only": only})}
    return _carry_out(store, settings, on_event, approve, options)


def events(source: str | os.PathLike[str], **options: Any) -> Events:
    """Run a source, or continue a task directory, in a thread, and give its events as they come. Takes what `run` takes.

    What keeps the run from beginning is raised by the iteration. `close()` stops it; `report` tells how it ended.
    """
    return Events(lambda take: run(source, **{**options, "on_event": take}))


def status(task: str | os.PathLike[str], **settings: Any) -> TaskStatus:
    """Return the progress of a task and its next phases, also while it runs."""
    given = settings_from(settings)
    store = open_task(given, os.fspath(task))
    told = describe_task(store, settings_in_force(store, given, settings).values)
    return TaskStatus(told["id"], told["status"], told["reason"], told["holder"], tuple(told["phases"]))


def load_task(task: str | os.PathLike[str], **settings: Any) -> LoadedTask:
    """Load a task by its id or any path in it: its plan, report and documents. Raises UsageError if there is none."""
    store = open_task(settings_from(settings), os.fspath(task))
    return LoadedTask(store.id, store.root, store)


def read_paper(source: str | os.PathLike[str], **settings: Any) -> PaperText:
    """Read a source without making a task of it. Raises PhaseError if it cannot be read.

    `password` opens an encrypted PDF.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = read_document(os.fspath(source), folder, settings_from(settings), tell=lambda text: None)
    paper, outline = found.paper, found.outline
    body = paper.text[paper.body_start :].lstrip("\n")
    return PaperText(str(paper.front["verdict"]), str(outline["title"] or ""), body, outline)


def phases() -> dict[str, Mapping[str, Any]]:
    """Return the phases by number: their names, the documents they read and write, and whether they run on request only."""
    return {
        phase.number: {"name": phase.name, "reads": phase.reads, "writes": phase.writes, "asked": bool(phase.asked)}
        for phase in discover_phases(settings_from({}).phases).phases
    }


class _Listener:
    """Listener of a run without a terminal."""

    echo: Echo | None = None

    def __init__(self, on_event: Callable[[RunEvent], None] | None, approve: Approve | None) -> None:
        self.show = on_event or (lambda event: None)
        self.notes: list[str] = []
        self._approve = approve

    def tell(self, text: str, *, warning: bool = False) -> None:
        self.notes.append(text)

    def choose_reviewer(self, store: TaskStore, values: dict[str, Any]) -> Callable[[str, str], Decision]:
        approve = self._approve
        if approve is None:
            return choose_reviewer(
                store, {**values, "review": "file" if values["review"] in ("ask", "file") else "auto"}
            )

        def review(plan: str, digest: str) -> Decision:
            if not approve(_plan_of(store.contracts.parse(PLAN, plan.encode(), writer="phase 05"))):
                raise Paused(f"plan {digest[:12]} was not approved; to approve it, resume with another answer")
            return make_decision("approve", user_name(), digest)

        return review

    def ask(self, values: Mapping[str, Any], question: str, options: Sequence[str]) -> str | None:
        return None


def _carry_out(
    store: TaskStore,
    flags: Mapping[str, Any],
    on_event: Callable[[RunEvent], None] | None,
    approve: Approve | None,
    options: Mapping[str, Any] | None = None,
) -> Report:
    listener = _Listener(on_event, approve)
    given = {"redo": None, "add_usd": None, **(options or {})}
    report, passed = carry_out(store, check_settings(dict(flags)), dict(flags), given, listener)
    return _report_of(store, report, tuple(listener.notes), next_steps(store, report, passed))


def _report_of(
    store: TaskStore,
    report: Mapping[str, Any],
    notes: tuple[str, ...] = (),
    steps: Sequence[tuple[str, str]] | None = None,
) -> Report:
    return Report(
        task=store.id,
        directory=store.root,
        status=report["status"],
        reason=report["reason"],
        exit_code=report["exit_code"],
        usd=report["usage"]["usd"],
        next_steps=tuple(next_steps(store, dict(report)) if steps is None else steps),
        notes=notes,
        document=report,
    )


def _plan_of(document: Mapping[str, Any]) -> Plan:
    return Plan(
        title=str(document.get("paper", {}).get("title", "")),
        requirements=tuple(document.get("requirements", ())),
        components=tuple(document.get("components", ())),
        values=tuple(document.get("values", ())),
        files=tuple(row["path"] for row in document["file_structure"]),
        document=document,
    )
