"""`pipeline step`: run exactly one phase."""

from __future__ import annotations

from typing import Any

import click

from pipeline.cli.arguments import complete_phases, task_argument
from pipeline.cli.assembly import open_task
from pipeline.cli.drive import checked_settings, drive
from pipeline.cli.options import drive_options, flags_of


@click.command("step")
@task_argument
@click.argument("phase", metavar="[N]", required=False, shell_complete=complete_phases)
@drive_options
def step_command(task: str, phase: str | None, **options: Any) -> int:
    """Run exactly one phase of a task: N, or the first that is not up to date.

    \b
    pipeline step paper
    pipeline step paper outline
    """
    flags = flags_of(options)
    options["only"] = phase or ""
    settings = checked_settings(flags, options)
    return drive(open_task(settings, task), settings, flags, options)
