"""`pipeline open`: show the directory of a task on the desktop, or print it without one."""

from __future__ import annotations

import os
import subprocess
import sys

import click

from pipeline.base.errors import UsageError
from pipeline.cli.arguments import complete_documents, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.output import print_text
from pipeline.cli.show import SHORT

_DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY")


@click.command("open")
@task_or_newest
@click.argument("document", metavar="[DOCUMENT]", required=False, shell_complete=complete_documents)
@click.option("--print", "only_print", is_flag=True, help="Print the path, and open nothing.")
@tasks_dir_option
def open_command(task: str | None, document: str | None, only_print: bool, tasks_dir: str | None) -> int:
    """Open the directory of a task (the newest without ID), or a document in it; without a desktop, print the path.

    \b
    pipeline open paper
    pipeline open paper code
    cd "$(pipeline open paper --print)"
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    names = {"code": "generate_code", **SHORT}
    name = names.get(document or "", document or "")
    path = os.path.realpath(store.path(name)) if name else os.path.abspath(store.root)
    inside = os.path.realpath(store.root)
    if not os.path.lexists(path) or os.path.commonpath([inside, os.path.realpath(path)]) != inside:
        raise UsageError(f"task {store.id} has no {document}; to see what it has: pipeline show {store.id}")
    print_text(path)
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    has_desktop = sys.platform == "darwin" or any(os.environ.get(name) for name in _DESKTOPS)
    # a directory is shown and never a file run: what lies in it may come from a model
    shown = path if os.path.isdir(path) else os.path.dirname(path)
    if has_desktop and not only_print and sys.stdout.isatty():
        try:
            subprocess.run([opener, shown], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            return 0  # the path is printed
    return 0
