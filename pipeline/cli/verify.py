"""`pipeline verify`: judge finished work again, without a model."""

from __future__ import annotations

import os
from typing import Any

import click

from pipeline.base.errors import UsageError
from pipeline.cli.arguments import complete_directories, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import command_name, newest_task, open_task
from pipeline.cli.run_task import check_options, run_task
from pipeline.engine.store import TaskStore

_WHY = "asked to judge it again"


@click.command("verify")
@task_or_newest
@click.option(
    "--tests", metavar="DIR", shell_complete=complete_directories, help="Your own tests, which the code must pass."
)
@click.option("--mutants", metavar="N|off", help="Try N small changes of each requirement's code on its tests.")
@click.option("--judge", metavar="NAME", help="Have a model judge the code against the paper; it can only refuse.")
@click.option("-v", "--verbose", is_flag=True, help="Show the log as it is written, DEBUG lines too.")
@click.option("--json", "as_json", is_flag=True, help="Print report.json instead of the closing screen.")
@tasks_dir_option
def verify_command(task: str | None, **given: Any) -> int:
    """Judge the code of a task (the newest without ID) again: its checks, its tests and today's hooks.

    No model is asked, but for --judge.

    Exits like a run: with 0 when the code is accepted, with 3 when something is open.

    \b
    pipeline verify paper
    pipeline verify paper --tests my_tests/
    """
    options = dict.fromkeys(("fast", "password", "redo", "add_usd")) | given | {"judge_again": _WHY}
    settings, flags = check_options(options)
    store = open_task(settings, task or newest_task(settings))
    if not _is_ended(store):
        raise UsageError(
            f"the code of task {store.id} is not finished; go on with: pipeline resume {command_name(store)}"
        )
    return run_task(store, settings, flags, {**options, "only": "implement"})


def _is_ended(store: TaskStore) -> bool:
    """Whether the agent's work came to an end, so that nobody would have to write on it."""
    from phases.llm.journal import read_journal  # imported here: TAB must import no phase

    kinds = [row["kind"] for row in read_journal(store.path("journal.jsonl"))]
    last = next((kind for kind in reversed(kinds) if kind in ("reply", "more", "ending")), "")
    return last == "ending" and os.path.isdir(store.path("generate_code"))
