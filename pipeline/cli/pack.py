"""`pipeline pack` and `pipeline unpack`: move a task to another machine as one file."""

from __future__ import annotations

import os

import click

from pipeline.base.errors import UsageError
from pipeline.cli.archive import pack_task, unpack_task
from pipeline.cli.arguments import complete_files, task_argument, tasks_dir_option
from pipeline.cli.assembly import (
    config_directory,
    name_in_commands,
    open_task,
    open_task_directory,
    relative_path,
    settings_from,
)
from pipeline.cli.next_steps import next_steps
from pipeline.cli.output import notify, print_text
from pipeline.cli.task_factory import NOT_BEGUN, PACKED, safe_name
from pipeline.engine.catalog import Catalog
from pipeline.engine.seal import has_key, make_key


@click.command("pack")
@task_argument
@click.option(
    "-o", "--output", metavar="FILE", help=f"The archive (default: ID{PACKED}).", shell_complete=complete_files
)
@tasks_dir_option
def pack_command(task: str, output: str | None, tasks_dir: str | None) -> None:
    """Pack a task into one file: documents, code, logs and journals, without what belongs to one machine.

    The file is sealed with your key, so that your own tasks stay yours on another machine with your settings directory.

    \b
    pipeline pack paper
    pipeline pack paper -o /mnt/share/paper.task.tar.gz
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    target = os.path.abspath(output or f"{store.id}{PACKED}")
    if os.path.isdir(target):
        target = os.path.join(target, f"{store.id}{PACKED}")
    if os.path.lexists(target) and not target.endswith(PACKED):
        raise UsageError(f"{relative_path(target)} already exists; remove it first, or name another place with -o")
    packed = pack_task(store, target, config_directory())
    if packed.left_out:
        notify(f"left out: {packed.left_out} (links and special files)")
    size = os.path.getsize(target) / 2**20
    print_text(
        f"packed {packed.files:,} files of {packed.bytes / 2**20:,.1f} MB into {relative_path(target)} ({size:,.1f} MB)"
    )
    notify(f"elsewhere: pipeline unpack {os.path.basename(target)}")


@click.command("unpack")
@click.argument("file", metavar="FILE", shell_complete=complete_files)
@click.option("--id", "wanted_id", metavar="NAME", help="The name of the task; by default the one that it had.")
@tasks_dir_option
def unpack_command(file: str, wanted_id: str | None, tasks_dir: str | None) -> None:
    """Unpack a task from a file that `pack` wrote, whole or not at all.

    Another user's archive, or a changed one, is an untrusted task: nothing outside of it is read before you say `adopt`.

    \b
    pipeline unpack paper.task.tar.gz
    pipeline unpack paper.task.tar.gz --id paper-of-the-cluster
    """
    if wanted_id is not None and safe_name(wanted_id) != wanted_id:
        raise UsageError(f"--id {wanted_id!r} is not a safe directory name; try --id {safe_name(wanted_id)}")
    settings = settings_from({"tasks_dir": tasks_dir})
    make_key(config_directory())
    if not has_key(config_directory()):
        raise UsageError(
            f"no key can be stored in {config_directory()}, so the owner of the task cannot be verified; make it writable"
        )
    packed = unpack_task(file, settings, config_directory(), wanted_id=wanted_id)
    root = os.path.join(os.path.abspath(settings.tasks_dir), packed.task)
    store, name = open_task_directory(settings, root), name_in_commands(root)
    task = store.load("task.json")
    report = store.load("report.json") if store.exists("report.json") else {"status": "paused", "reason": NOT_BEGUN}
    mode, source = task["settings"]["mode"], task["source"]
    Catalog(settings.tasks_dir).record(packed.task, report["status"], mode=mode, source=source, reason=report["reason"])
    print_text(f"unpacked {packed.files:,} files into {relative_path(root)}")
    if not packed.own:
        notify(f"it was not packed by you, or changed since: to trust its settings, pipeline adopt {name}")
    command, what = (
        next_steps(store, report)[0] if store.exists("report.json") else (f"pipeline resume {name}", "begin")
    )
    notify(f"next: {command} ({what})")
