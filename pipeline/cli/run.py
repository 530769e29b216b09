"""`pipeline run`, `resume` and `step`: the three ways to make phases run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import click

from pipeline.cli.assembly import effective, newest, open_model, open_task, settings_from, stored
from pipeline.cli.begin import find_or_make
from pipeline.cli.closing import show_report
from pipeline.cli.console import warn
from pipeline.cli.progress import Progress
from pipeline.cli.reviewer import choose_reviewer
from pipeline.phase import Decision
from pipeline.request import Run, stale_phases
from pipeline.runner import run_pipeline
from pipeline.store import TaskStore

_Command = Callable[..., Any]


def _options(command: _Command) -> _Command:
    for option in reversed(
        (
            click.option(
                "--fast/--full",
                "fast",
                default=None,
                help="Leave out the reference phases 06-08, or run them (the default).",
            ),
            click.option("--tasks-dir", metavar="DIR", help="Where the task directories are."),
            click.option("--model", metavar="NAME", help="offline (the default), or replay:FILE."),
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
            click.option("--json", "as_json", is_flag=True, help="Print report.json instead of the closing screen."),
        )
    ):
        command = option(command)
    return command


@click.command("run")
@click.argument("source", metavar="SOURCE")
@click.option(
    "--id", "wanted_id", metavar="NAME", help="The name of the task; by default it is taken from the file's name."
)
@click.option("--new", is_flag=True, help="Make a new task even where SOURCE has one already.")
@_options
def run_command(source: str, wanted_id: str | None, new: bool, **options: Any) -> int:
    """Turn SOURCE (a paper, or a task directory) into code.

    A paper that has a task already is gone on with: nothing that is done is done or paid for again.

    \b
    pipeline run --fast paper.pdf
    pipeline run --fast paper.pdf --stop-at plan     look at the outline before a plan is made
    pipeline run tasks/paper --redo 05               plan again, and all that follows
    """
    flags = _flags(options)
    settings = settings_from(flags)
    return _go(find_or_make(source, settings, wanted_id=wanted_id, new=new), flags, options)


@click.command("resume")
@click.argument("task", metavar="[ID]", required=False)
@_options
def resume_command(task: str | None, **options: Any) -> int:
    """Go on with a task where it stopped; without ID, with the newest unfinished one.

    \b
    pipeline resume
    pipeline resume paper-2 --until plan
    """
    flags = _flags(options)
    settings = settings_from(flags)
    return _go(open_task(settings, task or newest(settings, unfinished=True)), flags, options)


@click.command("step")
@click.argument("task", metavar="ID")
@click.argument("phase", metavar="[N]", required=False)
@_options
def step_command(task: str, phase: str | None, **options: Any) -> int:
    """Run exactly one phase of a task: N, or the first that is not up to date.

    \b
    pipeline step paper
    pipeline step paper outline
    """
    flags = _flags(options)
    return _go(open_task(settings_from(flags), task), flags, {**options, "only": phase or ""})


def _flags(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are settings, under their settings' names."""
    mode = {True: "fast", False: "full", None: None}[options["fast"]]
    return {
        "mode": mode,
        **{name: options[name] for name in ("tasks_dir", "model", "review", "stop_at", "until", "sandbox")},
    }


def _go(store: TaskStore, flags: dict[str, Any], options: dict[str, Any]) -> int:
    from pipeline.catalog import Catalog
    from pipeline.files import make_folder
    from pipeline.logs import story, task_log

    settings, catalog = settings_from(flags), Catalog(os.path.dirname(store.root))
    with store.writing() as left:
        task = store.load("task.json")
        values = effective(settings, task, flags)
        make_folder(store.path("logs"))
        with task_log(store.path("logs/system.jsonl")):
            if left:
                warn(left)
                story(left, level="WARNING")
            if stored(values) != task["settings"]:
                store.write("task.json", {**task, "settings": stored(values)})
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
        open_model=lambda: open_model(values),
        review=review,
        record=record,
        watch=progress.show,
        stop_at=find(values["stop_at"]) if values["stop_at"] else None,
        until=find(values["until"]) if values["until"] else None,
    )
    if "only" in options:
        stale = [phase for phase, _ in stale_phases(store, run)]
        chosen = find(options["only"]) if options["only"] else (stale or store.graph.phases)[0]
        run = run._replace(only=chosen)
    try:
        return run_pipeline(store, run)
    finally:
        progress.close()
