"""`pipeline run`: turn a source into code, or continue its task."""

from __future__ import annotations

from typing import Any

import click

from pipeline.base.errors import UsageError
from pipeline.cli.arguments import complete_files, complete_phases, task_argument, task_or_newest
from pipeline.cli.assembly import newest_task, open_task, quote_word
from pipeline.cli.options import RunCommand, run_options
from pipeline.cli.output import notify
from pipeline.cli.run_task import check_options, run_task
from pipeline.cli.task_factory import find_or_make_task
from pipeline.engine.phase import TYPED


@click.command("run", cls=RunCommand)
@click.argument("source", metavar="SOURCE", shell_complete=complete_files)
@click.argument("others", metavar="", nargs=-1)
@click.option(
    "--id", "wanted_id", metavar="NAME", help="The name of the task; by default it is taken from the file's name."
)
@click.option("--new", is_flag=True, help="Make a new task even if SOURCE already has one.")
@run_options()
def run_command(source: str, others: tuple[str, ...], wanted_id: str | None, new: bool, **options: Any) -> int:
    """Turn SOURCE (a paper, or a task directory) into code.

    If the paper already has a task, that task continues: finished work is neither done nor paid for again.

    \b
    pipeline run --fast paper.pdf
    pipeline run --fast paper.pdf --stop-at plan     look at the outline before a plan is made
    pipeline run tasks/paper --redo 05               plan again, and everything after it
    """
    if others:
        names = " ".join(map(quote_word, (source, *others)))
        raise UsageError(f"run takes one paper; for several: pipeline batch {names}")
    settings, flags = check_options(options)
    store = find_or_make_task(source, settings, flags, wanted_id=wanted_id, new=new, tell=notify)
    return run_task(store, settings, flags, options)


@click.command("chat", cls=RunCommand)
@click.argument("words", metavar="WORDS...", nargs=-1, required=True)
@click.option("--id", "wanted_id", metavar="NAME", help="The name of the task; by default the first words.")
@click.option("--new", is_flag=True, help="Make a new task even if these words already have one.")
@run_options(without=("password",))
def chat_command(words: tuple[str, ...], wanted_id: str | None, new: bool, **options: Any) -> int:
    """Turn WORDS, a requirement in plain words, into code. What they ask for becomes the plan's requirements.

    \b
    pipeline chat --fast "Build a queue that keeps its items on the disk. It must survive a crash."
    """
    requirement = " ".join(words).strip()
    if not any(character.isalnum() for character in requirement):
        raise UsageError('chat needs words; for example: pipeline chat --fast "Build a queue that survives a crash."')
    settings, flags = check_options(options)
    return run_task(
        find_or_make_task(TYPED + requirement, settings, flags, wanted_id=wanted_id, new=new), settings, flags, options
    )


@click.command("resume", cls=RunCommand)
@task_or_newest
@run_options()
def resume_command(task: str | None, **options: Any) -> int:
    """Continue a task where it stopped; without ID, the newest unfinished one.

    \b
    pipeline resume
    pipeline resume paper-2 --until plan
    """
    settings, flags = check_options(options)
    return run_task(open_task(settings, task or newest_task(settings, unfinished=True)), settings, flags, options)


@click.command("step", cls=RunCommand)
@task_argument
@click.argument("phase", metavar="[N]", required=False, shell_complete=complete_phases)
@run_options(without=("stop_at", "until", "redo"))
def step_command(task: str, phase: str | None, **options: Any) -> int:
    """Run exactly one phase of a task: N, or the first that is not up to date.

    \b
    pipeline step paper
    pipeline step paper outline
    """
    options["only"] = phase or ""
    settings, flags = check_options(options)
    return run_task(open_task(settings, task), settings, flags, options)
