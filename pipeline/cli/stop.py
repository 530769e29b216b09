"""`pipeline stop`: end the run of a task from elsewhere, as Ctrl-C in its terminal does."""

from __future__ import annotations

import os
import signal
import time

import click

from pipeline.base.errors import UsageError
from pipeline.cli.arguments import task_argument, tasks_dir_option
from pipeline.cli.assembly import name_in_commands, settings_from, task_directory
from pipeline.cli.output import notify
from pipeline.engine.lock import holder_of, holding_process

_PATIENCE, _LOOK = 20.0, 0.1


@click.command("stop")
@task_argument
@tasks_dir_option
def stop_command(task: str, tasks_dir: str | None) -> int:
    """Stop the run of a task. What is finished is kept, and `pipeline resume` goes on from there.

    \b
    pipeline stop paper
    """
    root = task_directory(settings_from({"tasks_dir": tasks_dir}), task)
    name, at_work = name_in_commands(root), holder_of(root)
    if not at_work:
        raise UsageError(f"nobody works on {name}; continue it with: pipeline resume {name}")
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
