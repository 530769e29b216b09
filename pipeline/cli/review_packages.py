"""Describe a plan's packages and data sets at the review: what is available, and what may be fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from pipeline.base.errors import UsageError
from pipeline.cli.assembly import (
    cache_directory,
    command_name,
    config_directory,
    settings_file,
    settings_from,
    user_environment,
)
from pipeline.cli.output import notify
from pipeline.cli.trust import settings_in_force
from pipeline.engine.seal import is_sealed, seal_task
from pipeline.engine.settings import PREFIX, load_settings
from pipeline.engine.store import TaskStore

# Phases are imported inside functions: TAB must import no phase.
_PLAN, _INPUT = "initial_plan.txt", "input.json"


def note_packages(store: TaskStore) -> list[str]:
    """Describe the packages of the plan: their size, or that they are missing and what helps."""
    from phases.planning.plan_words import pip_packages
    from phases.workspace.packages import ALLOW, ALLOWED, describe_lock, describe_missing, missing_packages

    settings = settings_in_force(store, settings_from({}), {}).values
    wanted = pip_packages(store.load(_PLAN))
    own = settings.get("python") or None
    if settings["install"] == ALLOWED and not own:
        return describe_lock(_look_up(store, settings, wanted, again=False), settings["gpu"]) if wanted else []
    missing = missing_packages(wanted, own)
    if not missing:
        return []
    if own:
        return [f"note: {describe_missing(missing)} (in {own}), so what needs it cannot be checked"]
    how = f"pipeline resume {command_name(store)} {ALLOW}"
    return [
        f"note: {describe_missing(missing)}, so what needs it cannot be checked; install the plan's packages with: {how}"
    ]


def note_data(store: TaskStore, values: Mapping[str, Any] | None = None) -> list[str]:
    """Describe the data sets of the plan: given, to be fetched, or missing."""
    from phases.workspace.data_sets import describe_data, is_allowed, list_data

    settings = values or settings_in_force(store, settings_from({}), {}).values
    try:
        rows = list_data(store.load(_PLAN), settings, store.root, store.contracts)
    except UsageError as error:  # what was said once may be gone, and a plan can be read without it
        return [f"note: {str(error).removeprefix('--')}; {_how_to_mend_data(store, str(settings['data']))}"]
    return describe_data(rows, allowed=is_allowed(settings))


def _how_to_mend_data(store: TaskStore, said: str) -> str:
    """Return where a setting of data is, and the command that changes it."""
    if said == store.load("task.json")["settings"].get("data"):
        return f"the task says so: pipeline resume {command_name(store)} --data NAME=PATH"
    file = settings_file()
    if said == load_settings(file, {}, {}).data:
        return f"{file} says so: pipeline config data NAME=PATH, or pipeline config data --unset"
    return f"the variable {PREFIX}DATA says so"


def look_up_packages(store: TaskStore, values: dict[str, Any], wanted: list[str]) -> bool:
    """Tell a reviewer what the plan's packages come to, where that is still to be decided; whether they could be installed."""
    from phases.workspace.packages import ASK, describe_lock

    if not wanted or values["install"] != ASK or values["python"]:
        for line in note_packages(store):
            notify(line)
        return False
    notify("looks up the packages of the plan ...")
    lock = _look_up(store, values, wanted, again=True)
    for line in describe_lock(lock, values["gpu"]):
        notify(line)
    return bool(lock["resolved"])


def ask_to_install(store: TaskStore, values: dict[str, Any]) -> None:
    """Ask whether they may be installed, once for the task: the answer is kept in task.json, sealed as that was.

    Raises click.Abort where the person leaves.
    """
    answer = click.confirm("Install these packages, for commands in the sandbox alone?", default=True, err=True)
    values["install"] = "allowed" if answer else "refused"
    task = store.load("task.json")
    changed = {**task, "settings": {**task["settings"], "install": values["install"]}}
    sealed = is_sealed(task, config_directory())
    store.write({"task.json": seal_task(changed, config_directory()) if sealed else changed})
    if not answer:
        notify("what needs them cannot be checked; --install allowed installs them later")


def _look_up(store: TaskStore, settings: dict[str, Any], wanted: list[str], *, again: bool) -> dict[str, Any]:
    """Return the lock of the plan's packages. `again`: an index may be asked; else the last result counts."""
    from phases.workspace.packages import lock_packages, make_package_rules, read_package_lock

    fetched = store.load(_INPUT)["fetched"] if store.exists(_INPUT) else None
    rules = make_package_rules(
        store.root, settings, user_environment(settings), cache_directory(), fetched["arxiv"] if fetched else None
    )
    return lock_packages(wanted, rules) if again else read_package_lock(wanted, rules)
