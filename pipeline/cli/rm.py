"""`pipeline rm`: remove tasks with their lines in the list, or the shared packages or data."""

from __future__ import annotations

import os
from collections.abc import Collection
from shutil import rmtree
from threading import get_native_id

import click

from pipeline.base.errors import TaskBusy, UsageError
from pipeline.base.files import storage_error, sync_directory
from pipeline.cli.arguments import complete_tasks, tasks_dir_option
from pipeline.cli.assembly import (
    cache_directory,
    describe_unknown_task,
    is_task,
    quote_word,
    relative_path,
    settings_from,
    tasks_dir_flag,
)
from pipeline.cli.output import confirm, in_terminal, notify, print_text
from pipeline.cli.task_factory import UNFINISHED
from pipeline.engine.catalog import Catalog
from pipeline.engine.lock import holder_of, lock_task


@click.command("rm")
@click.argument("tasks", metavar="ID...", nargs=-1, shell_complete=complete_tasks)
@click.option("--environments", is_flag=True, help="Remove the installed packages that tasks share, and no task.")
@click.option("--data", "fetched", is_flag=True, help="Remove the data sets that were fetched for tasks, and no task.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@tasks_dir_option
def rm_command(tasks: tuple[str, ...], environments: bool, fetched: bool, yes: bool, tasks_dir: str | None) -> int:
    """Remove tasks and everything in their directories. A task that is running is left alone.

    \b
    pipeline rm paper
    pipeline rm paper paper-2 --yes
    pipeline rm --environments       a task that needs its packages again installs them again
    pipeline rm --data               a task that needs its data again fetches them again, and the same ones
    """
    if environments + fetched + bool(tasks) != 1:
        raise UsageError("rm takes the names of tasks, or --environments, or --data; to see the tasks: pipeline list")
    if not tasks:
        return _remove_shared(fetched=fetched, yes=yes)
    folder = os.path.abspath(settings_from({"tasks_dir": tasks_dir}).tasks_dir)
    listed = Catalog(folder).read().entries
    names = list(dict.fromkeys(_check_removable(folder, task, listed) for task in tasks))
    if not yes and not _ask_to_confirm(folder, names):
        notify("nothing was removed")
        return 1
    for name in names:
        _remove_task(folder, name)
        print_text(f"removed {relative_path(os.path.join(folder, name))}")
    return 0


def _remove_shared(*, fetched: bool, yes: bool) -> int:
    from phases.sandbox.installs import measure_store  # imported here: TAB must import no phase
    from phases.workspace.data_sets import data_store, remove_data
    from phases.workspace.packages import package_store

    find, what = (data_store, "data") if fetched else (package_store, "packages")
    store = find(cache_directory())
    if not store or not os.path.isdir(store):
        print_text("no data were fetched" if fetched else "no packages were installed")
        return 0
    size = f"{measure_store(store) / 2**20:,.0f} MB"
    without = f"to remove them without being asked: pipeline rm --{'data' if fetched else 'environments'} --yes"
    if not yes and not confirm(f"Remove the {what} that tasks share, {size} in {store}?", without=without):
        notify("nothing was removed")
        return 1
    (remove_data if fetched else _remove_tree)(store)
    print_text(f"removed {store}: {size}")
    return 0


def _check_removable(folder: str, task: str, listed: Collection[str]) -> str:
    """Return the name of a removable task. Raises UsageError and TaskBusy."""
    root = os.path.abspath(task if os.sep in task else os.path.join(folder, task))
    name = os.path.basename(root)
    if os.path.realpath(os.path.dirname(root)) != os.path.realpath(folder) or task in ("", os.curdir, os.pardir):
        raise UsageError(
            f"{task} is not a task in {relative_path(folder)}, and nothing else is removed; "
            f"to see the tasks: pipeline list{tasks_dir_flag(folder)}"
        )
    if os.path.islink(root):
        raise UsageError(f"{relative_path(root)} is a link, and links are not followed here; remove it by hand")
    if not is_task(root) and (os.path.lexists(root) or name not in listed):
        raise UsageError(describe_unknown_task(folder, task))
    if at_work := holder_of(root):
        raise TaskBusy(f"{relative_path(root)} is in use by {at_work}; wait for it to end, or stop it first")
    return name


def _ask_to_confirm(folder: str, names: list[str]) -> bool:
    for name in names if in_terminal() else ():
        notify(f"  {relative_path(os.path.join(folder, name))}")
    what = "this task" if len(names) == 1 else f"these {len(names)} tasks"
    command = f"pipeline rm {' '.join(map(quote_word, names))}{tasks_dir_flag(folder)} --yes"
    return confirm(
        f"Remove {what}, with all code and documents in it?",
        without=f"to remove {'it' if len(names) == 1 else 'them'} without being asked: {command}",
    )


def _remove_task(folder: str, name: str) -> None:
    """Remove a task whole; the next run removes what a kill leaves of it."""
    root, aside = os.path.join(folder, name), os.path.join(folder, f"{UNFINISHED}{get_native_id()}")
    if os.path.lexists(root):
        try:
            # renamed first: what a kill leaves has no name of a task, and the next run sweeps it (decision 137)
            with lock_task(root):
                os.rename(root, aside)
            sync_directory(folder)
        except OSError as error:
            raise storage_error("remove", root, error) from error
    Catalog(folder).forget(name)
    if os.path.lexists(aside):
        _remove_tree(aside)


def _remove_tree(path: str) -> None:
    try:
        rmtree(path)
    except OSError as error:
        raise storage_error("remove", path, error) from error
