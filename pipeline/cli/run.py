"""`pipeline run`: turn a source into code, or go on with its task."""

from __future__ import annotations

from typing import Any

import click

from pipeline.cli.arguments import complete_files
from pipeline.cli.begin import find_or_make
from pipeline.cli.drive import checked_settings, drive
from pipeline.cli.options import drive_options, flags_of


@click.command("run")
@click.argument("source", metavar="SOURCE", shell_complete=complete_files)
@click.option(
    "--id", "wanted_id", metavar="NAME", help="The name of the task; by default it is taken from the file's name."
)
@click.option("--new", is_flag=True, help="Make a new task even where SOURCE has one already.")
@drive_options
def run_command(source: str, wanted_id: str | None, new: bool, **options: Any) -> int:
    """Turn SOURCE (a paper, or a task directory) into code.

    A paper that has a task already is gone on with: nothing that is done is done or paid for again.

    \b
    pipeline run --fast paper.pdf
    pipeline run --fast paper.pdf --stop-at plan     look at the outline before a plan is made
    pipeline run tasks/paper --redo 05               plan again, and all that follows
    """
    flags = flags_of(options)
    settings = checked_settings(flags, options)
    return drive(find_or_make(source, settings, wanted_id=wanted_id, new=new), settings, flags, options)
