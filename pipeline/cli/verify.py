"""`pipeline verify`: judge finished work again, without a model."""

from __future__ import annotations

import os
from typing import Any

import click

from pipeline.base.errors import UsageError
from pipeline.cli.arguments import complete_directories, complete_files, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import GIVEN_CODE, command_name, newest_task, open_task
from pipeline.cli.given_code import check_given_code, name_task
from pipeline.cli.output import notify
from pipeline.cli.run_task import check_options, run_task
from pipeline.cli.task_factory import find_or_make_task
from pipeline.engine.store import TaskStore

_WHY = "asked to judge it again"


@click.command("verify")
@task_or_newest
@click.option("--paper", metavar="SOURCE", shell_complete=complete_files, help="Judge other code against this paper.")
@click.option(
    "--code", metavar="DIR", shell_complete=complete_directories, help="The folder of that code. It is copied."
)
@click.option(
    "--tests", metavar="DIR", shell_complete=complete_directories, help="Your own tests, which the code must pass."
)
@click.option("--mutants", metavar="N|off", help="Try N small changes of each requirement's code on its tests.")
@click.option(
    "--require",
    type=click.Choice(["located", "run", "guarded"]),
    help="Refuse code unless every requirement has this evidence.",
)
@click.option("--judge", metavar="NAME", help="Have a model review the code against the paper.")
@click.option("--plan-model", metavar="NAME", help="With --paper: have a model plan.")
@click.option(
    "--install",
    type=click.Choice(["allowed", "refused"]),
    help="With --paper: whether the packages that the plan and the code name are installed, for the sandbox only.",
)
@click.option(
    "--allow-install", flag_value="allowed", default=None, hidden=True, help="The same as --install allowed."
)  # what --install allowed was called before
@click.option("-v", "--verbose", is_flag=True, help="Show the log as it is written, DEBUG lines too.")
@click.option("--json", "as_json", is_flag=True, help="Print report.json instead of the closing screen.")
@tasks_dir_option
def verify_command(task: str | None, paper: str | None, code: str | None, **given: Any) -> int:
    """Judge the code of a task (the newest without ID) again: its checks, its tests and today's hooks.

    With --paper and --code, judge code that was made elsewhere: the paper is planned, what the plan names is looked up in
    the code by its names, and the code's own tests are run. No model is asked, but those that you name.

    Exits like a run: with 0 when the code is accepted, with 3 when something is open.

    \b
    pipeline verify paper
    pipeline verify paper --tests my_tests/
    pipeline verify --paper paper.pdf --code ../their_code
    """
    options = {**dict.fromkeys(("fast", "password", "redo", "add_usd")), **given}
    if (paper or code) and (task or not (paper and code)):
        raise UsageError("verify takes a task, or --paper together with --code")
    if paper and code:
        return _verify_given(paper, code, options)
    if given["plan_model"] or given["install"] or given["allow_install"]:
        raise UsageError("--plan-model and --install go with --paper and --code; the plan of a task is made")
    settings, flags = check_options(options)
    store = open_task(settings, task or newest_task(settings))
    if not _is_ended(store):
        raise UsageError(
            f"the code of task {store.id} is not finished; go on with: pipeline resume {command_name(store)}"
        )
    return run_task(store, settings, flags, {**options, "judge_again": _WHY, "only": "implement"})


def _verify_given(paper: str, code: str, options: dict[str, Any]) -> int:
    folder = check_given_code(code)
    options = {**options, "fast": True, "review": "auto", "code_model": GIVEN_CODE}
    settings, flags = check_options(options)
    store = find_or_make_task(paper, settings, flags, wanted_id=name_task(paper, folder), new=False, tell=notify)
    return run_task(store, settings, flags, {**options, "given_code": folder})


def _is_ended(store: TaskStore) -> bool:
    """Return whether the agent's work ended, so that no model would have to continue it."""
    from phases.llm.journal import read_journal  # imported here: TAB must import no phase

    kinds = [row["kind"] for row in read_journal(store.path("journal.jsonl"))]
    last = next((kind for kind in reversed(kinds) if kind in ("reply", "more", "tables", "ending")), "")
    return last == "ending" and os.path.isdir(store.path("generate_code"))
