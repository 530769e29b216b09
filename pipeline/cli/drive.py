"""Makes phases run: what the commands run, resume and step share."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from pipeline.base.errors import PipelineError, UsageError
from pipeline.cli.assembly import (
    command_name,
    discover,
    open_model,
    settings_from,
    stored,
)
from pipeline.cli.closing import show_report
from pipeline.cli.console import tell, warn
from pipeline.cli.own import config_folder, own_hooks
from pipeline.cli.progress import Progress
from pipeline.cli.reviewer import choose_reviewer
from pipeline.cli.seal import make_key, sealed
from pipeline.cli.vouched import in_force, refuse_outside, refuse_own_folders, whole
from pipeline.engine.phase import Decision, Phase
from pipeline.engine.run_request import Run, missing_input, stale_phases, stops_before
from pipeline.engine.runner import run_pipeline
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore


def checked_settings(flags: dict[str, Any], options: dict[str, Any]) -> Settings:
    """The settings in force. Raises UsageError for a phase or model that is not there, before anything is made or changed."""
    settings = whole(settings_from(flags))
    own_hooks()  # raises for hooks that no run could use
    named = [name for name in (settings.stop_at, settings.until, options["redo"], options.get("only")) if name]
    if named:
        graph = discover(settings.phases)
        for name in named:
            graph.find(name)
    if {settings.model, settings.plan_model, settings.code_model} - {"", Settings().model}:
        for phase in ("", "plan", "implement"):
            open_model(settings._asdict(), phase)
    return settings


def drive(store: TaskStore, settings: Settings, flags: dict[str, Any], options: dict[str, Any]) -> int:
    """Runs what is stale in a task, shows how it ended, and returns the exit code."""
    from pipeline.base.files import make_folder
    from pipeline.base.logs import story, task_log
    from pipeline.engine.catalog import Catalog

    catalog = Catalog(os.path.dirname(store.root))
    with store.writing() as left:
        task = store.load("task.json")
        make_key()
        allowed = in_force(store, settings, flags)
        if allowed.told:
            tell(allowed.told)
        values = _with_more_money(allowed.values, options["add_usd"])
        refuse_outside(store, allowed)
        refuse_own_folders(values, store.path("code_base"))
        make_folder(store.path("logs"))
        with task_log(store.path("logs/system.jsonl")):
            if left:
                warn(left)
                story(left, level="WARNING")
            begun = sealed({**task, "settings": stored(values)}) if allowed.trusted else task
            if begun != task:
                store.write({"task.json": begun})
            if options["redo"]:
                store.redo(store.graph.find(options["redo"]))

            def record(status: str, reason: str) -> None:
                catalog.record(store.id, status, mode=values["mode"], source=task["source"], reason=reason)

            report, passed = _run(store, values, record, options)
    return show_report(store, report, as_json=options["as_json"], passed=passed)


def _run(
    store: TaskStore, values: dict[str, Any], record: Callable[[str, str], None], options: dict[str, Any]
) -> tuple[dict[str, Any], Phase | None]:
    """The report; and the phase that the run was to stop before, where that had its result already."""
    gc.freeze()
    gc.enable()
    progress, reviewer = Progress(), choose_reviewer(store, values)
    find = store.graph.find

    def review(plan: str, digest: str) -> Decision:
        with progress.aside():
            options.get("before_review", lambda: None)()
            return reviewer(plan, digest)

    run = Run(
        settings=values,
        open_model=lambda phase: open_model(values, phase),
        review=review,
        record=record,
        environment=os.environ,
        own_folder=config_folder(),
        hooks=own_hooks(),
        spent=partial(_spent, store.path("logs/llm.jsonl")),
        watch=progress.show,
        stop_at=find(values["stop_at"]) if values["stop_at"] else None,
        until=find(values["until"]) if values["until"] else None,
    )
    if "only" in options:
        run = _only(store, run, options["only"])
    try:
        report = run_pipeline(store, run)
    finally:
        progress.close()
    border = stops_before(store, run)
    if border is None or report["status"] in ("error", "cancelled"):
        return report, None
    return report, None if border in [phase for phase, _ in stale_phases(store, run)] else border


def _with_more_money(values: dict[str, Any], more: float | None) -> dict[str, Any]:
    if more is None:
        return values
    if not values["max_usd"]:
        raise UsageError("--add-usd raises the limit max_usd, and this task has none; set one with --max-usd")
    return {**values, "max_usd": round(values["max_usd"] + more, 6)}


def _spent(ledger: str) -> dict[str, Any]:
    """What models cost so far; nothing where nobody was asked, or where the record is damaged (its reader says so)."""
    if not os.path.exists(ledger) and not os.path.exists(os.path.join(os.path.dirname(ledger), "open_calls")):
        return {}
    from phases.llm.ledger_rows import rows_by_now, sums

    try:
        total = sums(rows_by_now(ledger))
    except PipelineError:
        return {}
    del total["seconds"]
    return {**total, "usd": round(total["usd"], 6)}


def _only(store: TaskStore, run: Run, wanted: str) -> Run:
    """The run of one phase: the one that is named, or the first that is not up to date."""
    stale = [phase for phase, _ in stale_phases(store, run)]
    run = run._replace(only=store.graph.find(wanted) if wanted else (stale or store.graph.phases)[0])
    if missing := missing_input(store, run):
        before, reason = missing
        label = run.only.label if run.only else ""
        raise UsageError(
            f"phase {label} needs phase {before.label} first ({reason}): "
            f"pipeline step {command_name(store)} {before.number}"
        )
    return run
