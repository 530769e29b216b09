"""Makes phases run: what the commands run, resume and step share."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from pipeline.cli.assembly import command_name, discover, effective, mode_of, open_model, settings_from, stored
from pipeline.cli.closing import show_report
from pipeline.cli.console import warn
from pipeline.cli.progress import Progress
from pipeline.cli.reviewer import choose_reviewer
from pipeline.errors import PipelineError, UsageError
from pipeline.phase import Decision
from pipeline.request import Run, missing_input, stale_phases
from pipeline.runner import run_pipeline
from pipeline.settings import Settings
from pipeline.store import TaskStore

_Command = Callable[..., Any]
_PLAIN = (
    *("tasks_dir", "model", "plan_model", "code_model", "base_url", "review", "stop_at", "until", "sandbox", "install"),
    *("max_usd", "max_tokens", "max_turns", "max_minutes", "password"),
)
_ASK = "\x00"
"""No password: the flag stands by itself."""


def drive_options(command: _Command) -> _Command:
    """The options of every command that makes phases run."""
    for option in reversed(
        (
            click.option(
                "--fast/--full",
                "fast",
                default=None,
                help="Leave out the reference phases 06-08, or run them (the default).",
            ),
            click.option("--tasks-dir", metavar="DIR", help="Where the task directories are."),
            click.option("--model", metavar="NAME", help="offline (the default), or PROVIDER:NAME: see pipeline models."),
            click.option("--plan-model", metavar="NAME", help="The model that plans, where it is another one."),
            click.option("--code-model", metavar="NAME", help="The model that writes the code, where it is another one."),
            click.option("--base-url", metavar="URL", help="Where an OpenAI-compatible server answers."),
            click.option("--max-usd", metavar="N", help="Make no call once N dollars are spent on the task."),
            click.option("--add-usd", metavar="N", type=click.FloatRange(min=0), help="Raise that limit by N dollars."),
            click.option("--max-tokens", metavar="N", help="Make no call once N tokens are used up."),
            click.option("--max-turns", metavar="N", help="Stop the agent after N turns (400)."),
            click.option("--max-minutes", metavar="N", help="Make no call after N minutes of work."),
            click.option("--review", type=click.Choice(["auto", "ask", "file"]), help="Who approves the plan."),
            click.option("--stop-at", metavar="N", help="Stop before this phase (number or name)."),
            click.option("--until", metavar="N", help="Stop after this phase."),
            click.option(
                "--redo", metavar="N", help="Run this phase and what follows again; the old code is kept beside."
            ),
            click.option(
                "--unsandboxed",
                "sandbox",
                flag_value="off",
                default=None,
                help="Let the agent's commands run with your own rights.",
            ),
            click.option(
                "--allow-install",
                "install",
                flag_value="allowed",
                default=None,
                help="Install the packages that the plan names, for the sandbox only.",
            ),
            click.option(
                "--password",
                metavar="WORD",
                is_flag=False,
                flag_value=_ASK,
                help="Opens an encrypted PDF; without WORD it is asked for. Kept in no file.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print report.json instead of the closing screen."),
        )
    ):
        command = option(command)
    return command


def flags_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are settings, under their settings' names."""
    if options["password"] == _ASK:
        options = {**options, "password": click.prompt("Password of the PDF", hide_input=True, err=True)}
    return {
        "mode": mode_of(options["fast"]),
        **{name: options[name] for name in _PLAIN},
    }


def checked_settings(flags: dict[str, Any], options: dict[str, Any]) -> Settings:
    """The settings in force. Raises UsageError for a phase or model that is not there, before anything is made or changed."""
    settings = settings_from(flags)
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
    from pipeline.catalog import Catalog
    from pipeline.files import make_folder
    from pipeline.logs import story, task_log

    catalog = Catalog(os.path.dirname(store.root))
    with store.writing() as left:
        task = store.load("task.json")
        values = _with_more_money(effective(settings, task, flags), options["add_usd"])
        make_folder(store.path("logs"))
        with task_log(store.path("logs/system.jsonl")):
            if left:
                warn(left)
                story(left, level="WARNING")
            if stored(values) != task["settings"]:
                store.write({"task.json": {**task, "settings": stored(values)}})
            if options["redo"]:
                store.redo(store.graph.find(options["redo"]))

            def record(status: str, reason: str) -> None:
                catalog.record(store.id, status, mode=values["mode"], source=task["source"], reason=reason)

            report = _run(store, values, record, options)
    return show_report(store, report, as_json=options["as_json"])


def _run(
    store: TaskStore, values: dict[str, Any], record: Callable[[str, str], None], options: dict[str, Any]
) -> dict[str, Any]:
    gc.freeze()
    gc.enable()
    progress, reviewer = Progress(), choose_reviewer(store, values)
    find = store.graph.find

    def review(plan: str, digest: str) -> Decision:
        with progress.aside():
            return reviewer(plan, digest)

    run = Run(
        settings=values,
        open_model=lambda phase: open_model(values, phase),
        review=review,
        record=record,
        spent=partial(_spent, store.path("logs/llm.jsonl")),
        watch=progress.show,
        stop_at=find(values["stop_at"]) if values["stop_at"] else None,
        until=find(values["until"]) if values["until"] else None,
    )
    if "only" in options:
        run = _only(store, run, options["only"])
    try:
        return run_pipeline(store, run)
    finally:
        progress.close()


def _with_more_money(values: dict[str, Any], more: float | None) -> dict[str, Any]:
    if more is None:
        return values
    if not values["max_usd"]:
        raise UsageError("--add-usd raises the limit max_usd, and this task has none; set one with --max-usd")
    return {**values, "max_usd": round(values["max_usd"] + more, 6)}


def _spent(ledger: str) -> dict[str, Any]:
    """What models cost so far; nothing where nobody was asked, or where the record is damaged (its reader says so)."""
    if not os.path.exists(ledger):
        return {}
    from phases.agent.ledger import read_ledger, sums

    try:
        total = sums(read_ledger(ledger))
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
