"""`pipeline why`: what would run next, and why."""

from __future__ import annotations

import click

from pipeline.cli.arguments import task_or_newest, tasks_dir_option
from pipeline.cli.assembly import mode_of, open_task, settings_from
from pipeline.cli.console import say, say_json
from pipeline.cli.status import plain_run
from pipeline.cli.vouched import in_force
from pipeline.engine.run_request import stale_phases


@click.command("why")
@task_or_newest
@tasks_dir_option
@click.option("--fast/--full", "fast", default=None, help="As if the next run were in this mode.")
@click.option("--model", metavar="NAME", help="As if the next run had this model.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def why_command(task: str | None, tasks_dir: str | None, fast: bool | None, model: str | None, as_json: bool) -> None:
    """Tell which phases the next run would run, and the reason for each.

    \b
    pipeline why paper
    pipeline why paper --full      what changes if the reference phases are wanted too
    """
    flags = {"tasks_dir": tasks_dir, "mode": mode_of(fast), "model": model}
    settings = settings_from(flags)
    store = open_task(settings, task)
    stale = stale_phases(store, plain_run(in_force(store, settings, flags).values))
    if as_json:
        say_json([{"number": phase.number, "name": phase.name, "reason": reason} for phase, reason in stale])
    elif stale:
        for phase, reason in stale:
            say(f"{phase.label} would run: {reason}")
    else:
        say(f"{store.id}: everything is up to date")
