"""`pipeline stop`: end the run of a task from elsewhere, as Ctrl-C in its terminal does."""

from __future__ import annotations

import os
import signal
import time

import click

from pipeline.base.errors import UsageError
from pipeline.cli.arguments import task_or_newest, tasks_dir_option
from pipeline.cli.assembly import name_in_commands, settings_from, task_directory, tasks_dir_flag
from pipeline.cli.list import current_entries
from pipeline.cli.output import notify
from pipeline.engine.catalog import Catalog
from pipeline.engine.lock import holder_of, holding_process

_PATIENCE, _LOOK = 20.0, 0.1


@click.command("stop")
@task_or_newest
@tasks_dir_option
def stop_command(task: str | None, tasks_dir: str | None) -> int:
    """Stop the run of a task; without ID, of the one that is running. What is finished is kept, and `pipeline resume` goes on
    from there.

    \b
    pipeline stop
    pipeline stop paper
    """
    settings = settings_from({"tasks_dir": tasks_dir})
    root = task_directory(settings, task) if task else _find_running(settings.tasks_dir)
    name, at_work = name_in_commands(root), holder_of(root)
    if not at_work:
        raise UsageError(f"no process is working on task {name}; continue it with: pipeline resume {name}")
    process = holding_process(root)
    if process is None:
        raise UsageError(f"{name} is in use by {at_work}, which cannot be stopped from here; stop it where it runs")
    os.kill(process, signal.SIGTERM)
    until = time.monotonic() + _PATIENCE
    while holding_process(root) == process and time.monotonic() < until:
        time.sleep(_LOOK)
    if holding_process(root) == process:
        notify(f"{name} was asked to stop, and is still ending")
        return 1
    notify(f"{name} is stopped; continue with: pipeline resume {name}")
    return 0


def _find_running(folder: str) -> str:
    """Return the directory of the one running task. Raises UsageError for none, or several."""
    running = [entry.id for entry in current_entries(Catalog(folder).read(), folder) if entry.status == "running"]
    if len(running) == 1:
        return os.path.join(folder, running[0])
    if not running:
        raise UsageError(f"no task in {folder} is running; to see them: pipeline list{tasks_dir_flag(folder)}")
    commands = [f"pipeline stop {name_in_commands(os.path.join(folder, name))}" for name in running]
    raise UsageError(f"{len(running)} tasks are running; stop one of them: {' or '.join(commands[-3:])}")
