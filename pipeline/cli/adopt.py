"""`pipeline adopt`: trust the settings of a task that came from elsewhere, after a look at them."""

from __future__ import annotations

from typing import Any

import click

from pipeline.base.errors import UsageError
from pipeline.cli.arguments import task_argument, tasks_dir_option
from pipeline.cli.assembly import command_name, config_directory, open_task, settings_from
from pipeline.cli.output import confirm, notify, print_table, print_text
from pipeline.cli.trust import leads_out
from pipeline.engine.seal import is_sealed, seal_task
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore


@click.command("adopt")
@task_argument
@click.option("--yes", is_flag=True, help="Trust them without being asked.")
@tasks_dir_option
def adopt_command(task: str, yes: bool, tasks_dir: str | None) -> int:
    """Trust the settings of a task that came from elsewhere: its source, models, limits and everything else in its task.json.

    What differs from your own settings is shown first. Hooks and documents are not part of it.

    \b
    pipeline adopt paper
    pipeline adopt paper --yes
    """
    settings = settings_from({"tasks_dir": tasks_dir})
    store = open_task(settings, task)
    with store.writing():
        document = store.load("task.json")
        if is_sealed(document, config_directory()):
            print_text(f"{store.id}: already trusted; nothing to do")
            return 0
        _show_settings(store, document, settings)
        how = f"to trust them: pipeline adopt {command_name(store)} --yes"
        if not yes and not confirm(f"Trust these settings of task {store.id}?", without=how):
            notify("nothing was changed")
            return 1
        adopted = seal_task(document, config_directory())
        if "seal" not in adopted:
            raise UsageError(
                "no key can be stored in your settings directory, so no task can be trusted; make it writable first"
            )
        store.write({"task.json": adopted})
    notify(f"trusted; continue with: pipeline resume {command_name(store)}")
    return 0


def _show_settings(store: TaskStore, document: dict[str, Any], settings: Settings) -> None:
    own = settings._asdict()
    rows: list[tuple[str, ...]] = [
        (name, _format_value(value), _format_value(own[name]))
        for name, value in document["settings"].items()
        if value != own[name]
    ]
    if leads_out(store.root, document["source"]):
        rows.insert(0, ("source", document["source"], "(only the copy in the task)"))
    if rows:
        print_table(rows, header=("SETTING", "THE TASK", "YOURS"))
    else:
        print_text(f"{store.id} has the same settings as you")


def _format_value(value: object) -> str:
    return str(value) or '""'
