"""`pipeline resume`: go on where a task stopped."""

from __future__ import annotations

from typing import Any

import click

from pipeline.cli.arguments import task_or_newest
from pipeline.cli.assembly import newest, open_task
from pipeline.cli.drive import checked_settings, drive
from pipeline.cli.options import drive_options, flags_of


@click.command("resume")
@task_or_newest
@drive_options
def resume_command(task: str | None, **options: Any) -> int:
    """Go on with a task where it stopped; without ID, with the newest unfinished one.

    \b
    pipeline resume
    pipeline resume paper-2 --until plan
    """
    flags = flags_of(options)
    settings = checked_settings(flags, options)
    return drive(open_task(settings, task or newest(settings, unfinished=True)), settings, flags, options)
