"""Refuses what cannot become a task before one is made: a name that is mistyped, a folder of several papers."""

from __future__ import annotations

import os
import sys
from shlex import quote

from pipeline.base.errors import PipelineError, UsageError
from pipeline.cli.assembly import is_task, near
from pipeline.engine.settings import Settings

_MOST = 3


def refuse_unusable(source: str, settings: Settings, *, command: str = "run --fast") -> None:
    """Raises UsageError for a path, in full, with nothing there, and for a folder of which nobody says which paper is meant."""
    if not os.path.lexists(source):
        raise UsageError(f"{near(source)} is not there{_similar(source)}{_task(source, settings)}")
    if os.path.isdir(source):
        from phases.readers.reading import SeveralPapers
        from phases.readers.sources import source_on_disk

        try:
            source_on_disk(source, sys.maxsize)
        except SeveralPapers as error:
            one = quote(os.path.join(near(source), error.names[0]))
            raise UsageError(f"{near(source)} {error.detail}: pipeline {command} {one}") from error
        except PipelineError:
            return  # phase 01 says what is wrong, and the task remembers it


def _similar(source: str) -> str:
    """Which files there have a similar name; else which folder is not there either, or nothing."""
    from difflib import get_close_matches

    folder, name = os.path.split(source)
    try:
        names = {entry.casefold(): entry for entry in sorted(os.listdir(folder))}
    except OSError:
        return f", and there is no folder {near(folder)}" if not os.path.isdir(folder) else ""
    found = [names[match] for match in get_close_matches(name.casefold(), list(names), n=_MOST, cutoff=0.7)]
    places = [quote(near(os.path.join(folder, match))) for match in found]
    return f"; did you mean {' or '.join(places)}?" if places else "; check the name"


def _task(source: str, settings: Settings) -> str:
    name = os.path.basename(source)
    there = is_task(os.path.join(settings.tasks_dir, name))
    return f" (to go on with the task {name}: pipeline resume {name})" if there else ""
