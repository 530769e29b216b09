"""`pipeline logs`: a task's log, once or as it grows."""

from __future__ import annotations

import json
import os
import sys
import time

import click

from pipeline.cli.arguments import task_or_newest, tasks_dir_option
from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.output import print_text
from pipeline.cli.streams import reader_left
from pipeline.engine.lock import holder_of

_POLL = 0.2


@click.command("logs")
@task_or_newest
@click.option("-f", "--follow", is_flag=True, help="Keep printing while the task runs.")
@click.option("-v", "--verbose", is_flag=True, help="Print DEBUG lines too: why each decision was made.")
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they are, one JSON object each.")
def logs_command(task: str | None, follow: bool, verbose: bool, tasks_dir: str | None, as_json: bool) -> None:
    """Print the log of a task; without ID, of the newest.

    \b
    pipeline logs paper -f
    pipeline logs paper -v
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    path = store.path("logs/system.jsonl")
    if not os.path.exists(path):
        print_text("no log yet")
        return
    with open(path, "rb") as file:
        while True:
            at_work = follow and holder_of(store.root)
            for line in file:
                _print_line(line, verbose=verbose, as_json=as_json)
            sys.stdout.flush()
            if not at_work or reader_left():
                return
            time.sleep(_POLL)


def _print_line(line: bytes, *, verbose: bool, as_json: bool) -> None:
    text = line.decode("utf-8", "replace").rstrip("\n")
    if not as_json:
        try:
            row = json.loads(text)
            if row["level"] in ("DEBUG", "TRACE") and not verbose:
                return
            text = f"{row['at'][11:19]} {row['level']:<7} {row['message']}" + (
                f"\n{row['traceback']}" if "traceback" in row else ""
            )
        except (ValueError, KeyError, TypeError):
            text = f"(damaged line) {text}"
    print_text(text)
