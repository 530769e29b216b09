"""`pipeline chat`: turn a requirement in plain words into code, by the same phases as a paper."""

from __future__ import annotations

from typing import Any

import click

from pipeline.base.errors import UsageError
from pipeline.cli.begin import find_or_make
from pipeline.cli.drive import checked_settings, drive
from pipeline.cli.options import drive_options, flags_of
from pipeline.engine.phase import TYPED


@click.command("chat")
@click.argument("words", metavar="WORDS...", nargs=-1, required=True)
@click.option("--id", "wanted_id", metavar="NAME", help="The name of the task; by default the first words.")
@click.option("--new", is_flag=True, help="Make a new task even where these words have one already.")
@drive_options
def chat_command(words: tuple[str, ...], wanted_id: str | None, new: bool, **options: Any) -> int:
    """Turn WORDS, a requirement in plain words, into code. What they ask for becomes the plan's requirements.

    \b
    pipeline chat --fast "Build a queue that keeps its items on the disk. It must survive a crash."
    """
    requirement = " ".join(words).strip()
    if not any(character.isalnum() for character in requirement):
        raise UsageError('chat needs words; for example: pipeline chat --fast "Build a queue that survives a crash."')
    flags = flags_of(options)
    settings = checked_settings(flags, options)
    return drive(find_or_make(TYPED + requirement, settings, wanted_id=wanted_id, new=new), settings, flags, options)
