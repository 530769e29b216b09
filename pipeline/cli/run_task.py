"""Makes phases run: what the commands run, resume and step share."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from pipeline.base.errors import PipelineError, UsageError
from pipeline.base.files import make_directory
from pipeline.base.logs import log_event, task_log
from pipeline.cli.assembly import (
    cache_directory,
    command_name,
    config_directory,
    discover_phases,
    locate_task,
    model_for,
    open_model,
    read_user_hooks,
    settings_from,
    settings_to_store,
)
from pipeline.cli.given_code import take_given_code
from pipeline.cli.given_folder import copy_given
from pipeline.cli.options import flags_of
from pipeline.cli.output import (
    can_draw,
    notify,
    paint_text,
    print_warning,
    to_printable,
    width_of_terminal,
    wrap_text,
)
from pipeline.cli.review import ask_person, choose_reviewer
from pipeline.cli.summary import show_summary
from pipeline.cli.trust import refuse_outside, refuse_own_directories, settings_in_force, with_absolute_paths
from pipeline.cli.user_tests import copy_user_tests
from pipeline.engine.catalog import Catalog
from pipeline.engine.phase import Decision, Phase
from pipeline.engine.run_request import RunEvent, RunRequest, missing_input, stale_phases, stops_before
from pipeline.engine.runner import run_pipeline
from pipeline.engine.seal import make_key, seal_task
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore

_WITH_PLAN = (0, 3, 5)
"""How a run up to the plan ends where there is one then."""


def check_options(options: dict[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """The settings in force, and the flags among them. Raises UsageError for a phase or model that is not there, before
    anything is made or changed."""
    flags = flags_of(options)
    settings = with_absolute_paths(settings_from(flags))
    read_user_hooks()  # raises for hooks that no run could use
    named = [name for name in (settings.stop_at, settings.until, options.get("redo"), options.get("only")) if name]
    if named:
        graph = discover_phases(settings.phases)
        for name in named:
            graph.find(name)
    if {settings.model, settings.plan_model, settings.code_model} - {"", Settings().model}:
        for phase in ("", "plan", "implement"):
            open_model(settings._asdict(), phase)
    if not re.fullmatch(r"auto|off|[1-9][0-9]?", settings.mutants):
        raise UsageError(f"--mutants {settings.mutants}: give a number from 1 to 99, off, or auto")
    if settings.judge == Settings().model:
        raise UsageError(
            "--judge offline: rules cannot judge code; name a model (`pipeline models` lists them), or same"
        )
    if settings.judge:
        open_model(settings._asdict(), "judge")
    asked = [model_for(settings._asdict(), phase) for phase in ("plan", *(["judge"] if settings.judge else []))]
    if settings.batch_prices == "yes" and not any(name.startswith("openai:") for name in asked):
        raise UsageError(
            f"--batch-prices: {' and '.join(asked)} cannot be asked at such a price; only OpenAI's models plan and judge at its "
            "flex tariff; name one with --plan-model or --judge, or leave --batch-prices out"
        )
    return settings, flags


def run_task(store: TaskStore, settings: Settings, flags: dict[str, Any], options: dict[str, Any]) -> int:
    """Runs what is stale in a task, shows how it ended, and returns the exit code."""
    catalog = Catalog(os.path.dirname(store.root))
    with store.writing() as left:
        task = store.load("task.json")
        make_key(config_directory())
        allowed = settings_in_force(store, settings, flags)
        if allowed.told:
            notify(allowed.told)
        values = _with_more_money(allowed.values, options["add_usd"])
        refuse_outside(store, allowed)
        refuse_own_directories(values, store.path("code_base"))
        make_directory(store.path("logs"))
        progress = Progress(store.root)
        with task_log(store.path("logs/system.jsonl"), echo=progress.show_log if options["verbose"] else None):
            if left:
                print_warning(left)
                log_event(left, level="WARNING")
            if allowed.trusted and "judge_again" not in options:
                sealed = seal_task({**task, "settings": settings_to_store(values)}, config_directory())
                if sealed != task:
                    store.write({"task.json": sealed})
            if values["tests"]:
                copy_user_tests(values["tests"], store.path("user_tests"))
            if values["held_out"]:
                copy_given(values["held_out"], store.path("held_out"), keep_links=False)
                for phase in store.graph.phases:
                    if phase.asked:
                        store.reopen(phase, "other data were held out")
            if options.get("redo"):
                store.redo(store.graph.find(options["redo"]))
            elif why := options.get("judge_again") or _why_more_attempts(store, flags):
                store.reopen(store.graph.find("implement"), why)

            def record(status: str, reason: str) -> None:
                catalog.record(store.id, status, mode=values["mode"], source=task["source"], reason=reason)

            if options.get("given_code"):
                report, passed = _run_phases(store, {**values, "until": "plan"}, record, options, Progress(store.root))
                if report["exit_code"] in _WITH_PLAN:
                    take_given_code(store, options["given_code"])
                    report, passed = _run_phases(store, values, record, options, progress)
            else:
                report, passed = _run_phases(store, values, record, options, progress)
    return show_summary(store, report, as_json=options["as_json"], passed=passed)


def _run_phases(
    store: TaskStore,
    values: dict[str, Any],
    record: Callable[[str, str], None],
    options: dict[str, Any],
    progress: Progress,
) -> tuple[dict[str, Any], Phase | None]:
    """The report; and the phase that the run was to stop before, where that had its result already."""
    gc.freeze()
    gc.enable()
    reviewer = choose_reviewer(store, values)
    find = store.graph.find

    def review(plan: str, digest: str) -> Decision:
        with progress.aside():
            options.get("before_review", lambda: None)()
            return reviewer(plan, digest)

    run = RunRequest(
        settings=values,
        open_model=lambda phase: _open_model(values, phase, judges_only="judge_again" in options),
        review=review,
        ask=partial(_ask, progress, values),
        record=record,
        environment=os.environ,
        config_directory=config_directory(),
        cache_directory=cache_directory(),
        hooks=read_user_hooks(),
        spent=partial(_read_spending, store.path("logs/llm.jsonl")),
        watch=progress.show,
        stop_at=find(values["stop_at"]) if values["stop_at"] else None,
        until=find(values["until"]) if values["until"] else None,
    )
    if "only" in options:
        run = _request_for_one_phase(store, run, options["only"])
    try:
        report = run_pipeline(store, run)
    finally:
        progress.close()
    border = stops_before(store, run)
    if border is None or report["status"] in ("error", "cancelled"):
        return report, None
    return report, None if border in [phase for phase, _ in stale_phases(store, run)] else border


def _ask(progress: Progress, values: dict[str, Any], question: str, options: Sequence[str]) -> str | None:
    with progress.aside():
        return ask_person(question, options, values)


def _open_model(values: dict[str, Any], phase: str, *, judges_only: bool) -> object:
    """The model of a phase; who stands for it where code is only judged."""
    model = open_model(values, phase)
    if not judges_only or phase != "implement":
        return model
    from phases.agent.given_code import GivenCode  # imported here: TAB must import no phase
    from phases.llm.model import as_model

    served = as_model(model)
    return model if served is None else GivenCode(served.name)


def _why_more_attempts(store: TaskStore, flags: dict[str, Any]) -> str:
    """Why finished work goes on: it ended for want of attempts, and now there are more. Empty where that is not so."""
    wanted = flags.get("max_acceptance_continues")
    if wanted is None or not store.exists("acceptance.json"):
        return ""
    before = store.load("acceptance.json")
    out_of_attempts = before["stop_reason"] == "accept_continue_exhausted"
    more = out_of_attempts and int(wanted) > before["max_continues"]
    return f"{wanted} attempts are allowed now, and there were {before['max_continues']}" if more else ""


def _with_more_money(values: dict[str, Any], more: float | None) -> dict[str, Any]:
    if more is None:
        return values
    if not values["max_usd"]:
        raise UsageError("--add-usd raises the limit max_usd, and this task has none; set one with --max-usd")
    return {**values, "max_usd": round(values["max_usd"] + more, 6)}


def _read_spending(ledger: str) -> dict[str, Any]:
    """What models cost so far; nothing where nobody was asked, or where the record is damaged (its reader says so)."""
    if not os.path.exists(ledger) and not os.path.exists(os.path.join(os.path.dirname(ledger), "open_calls")):
        return {}
    from phases.llm.ledger_rows import rows_by_now, sum_rows  # imported here: TAB must import no phase

    try:
        total = sum_rows(rows_by_now(ledger))
    except PipelineError:
        return {}
    del total["seconds"]
    return {**total, "usd": round(total["usd"], 6)}


def _request_for_one_phase(store: TaskStore, run: RunRequest, wanted: str) -> RunRequest:
    """The run of one phase: the one that is named, or the first that is not up to date."""
    stale = [phase for phase, _ in stale_phases(store, run)]
    run = run._replace(only=store.graph.find(wanted) if wanted else (stale or store.graph.phases)[0])
    if run.only and not run.only.is_selected(run.settings):
        raise UsageError(
            f"phase {run.only.label} runs where it is asked for: pipeline step {command_name(store)} {run.only.number} "
            f"--{run.only.asked}"
        )
    if missing := missing_input(store, run):
        before, reason = missing
        label = run.only.label if run.only else ""
        raise UsageError(
            f"phase {label} needs phase {before.label} first ({reason}): "
            f"pipeline step {command_name(store)} {before.number}"
        )
    return run


_MARKS = {
    "done": "done",
    "fresh": "up to date",
    "skipped": "skipped",
    "degraded": "left out",
    "failed": "failed",
    "stopped": "stopped",
}
_TICK = 0.2
_HANGING = 20
"""Where the words after a phase's number and name stand."""


class Progress:
    """Shows events. In a terminal the last line lives: it carries the running phases, their time, and files done."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._live = can_draw(sys.stderr)
        self._running: dict[str, tuple[RunEvent, float]] = {}
        self._best: dict[str, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._aside = False
        if self._live:
            threading.Thread(target=self._tick, daemon=True).start()

    def show(self, event: RunEvent) -> None:
        """Takes one event of the runner, from whichever thread."""
        label = f"{event.phase.number:<3} {event.phase.name:<13}"
        with self._lock:
            if event.kind == "started":
                self._running[event.phase.number] = (event, time.monotonic())
                self._best[event.phase.number] = (-1, "")
            elif event.kind == "progress":
                self._advance(event, label)
            elif event.kind == "told":
                self._line(f"  {label} {event.text}")
            else:
                self._running.pop(event.phase.number, None)
                timed = event.kind in ("done", "failed", "degraded", "stopped")
                took = f"{event.seconds:8.2f} s" if timed else " " * 10
                self._line(f"  {label} {took}", _MARKS[event.kind], event.text)
            self._redraw()

    def show_log(self, level: str, message: str) -> None:
        """Shows a line of the log, from whichever thread."""
        with self._lock:
            self._line(f"  {level:<7} {message}")
            self._redraw()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Inside, the live line is away: somebody is asked something."""
        with self._lock:
            self._redraw(hidden=True)
            self._aside = True
        try:
            yield
        finally:
            with self._lock:
                self._aside = False

    def close(self) -> None:
        """Takes the live line away."""
        self._closed.set()
        with self._lock:
            self._running.clear()
            self._redraw()

    def _advance(self, event: RunEvent, label: str) -> None:
        said = (event.done, event.text)
        if event.phase.number not in self._running or said[0] < self._best[event.phase.number][0]:
            return  # a late word: progress never goes backwards
        if said == self._best[event.phase.number]:
            return
        self._best[event.phase.number] = said
        self._running[event.phase.number] = (event, self._running[event.phase.number][1])
        if not self._live and not event.text.endswith("…"):  # what is still coming is for those who watch
            self._line(f"  {label} {event.done} of {event.total}: {event.text}")

    def _line(self, text: str, mark: str = "", more: str = "") -> None:
        ended = f"  {mark}: {more}" if more else f"  {mark}" if mark else ""
        told = locate_task(text + ended, self._root)
        shown = wrap_text(to_printable(told), hanging=_HANGING, stream=sys.stderr)
        shown = shown.replace(f"  {mark}", f"  {paint_text(mark, mark, stream=sys.stderr)}", 1) if mark else shown
        sys.stderr.write(("\r\x1b[K" if self._live else "") + shown + "\n")
        sys.stderr.flush()

    def _redraw(self, *, hidden: bool = False) -> None:
        if not self._live or self._aside:
            return
        parts = []
        for event, since in () if hidden else self._running.values():
            counted = f" {event.done} of {event.total}: {event.text}" if event.total else ""
            parts.append(f"{event.phase.label} {time.monotonic() - since:.0f} s{counted}")
        line = to_printable("  … " + " | ".join(parts))[: width_of_terminal(sys.stderr) - 1] if parts else ""
        sys.stderr.write("\r\x1b[K" + line)
        sys.stderr.flush()

    def _tick(self) -> None:
        while not self._closed.wait(_TICK):
            with self._lock:
                self._redraw()
