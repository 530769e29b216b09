"""`pipeline iterate`: a change to a task that has a plan; planned, shown, reviewed, and carried out where it matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pipeline.cli.assembly import command_name, open_task
from pipeline.cli.console import tell
from pipeline.cli.drive import checked_settings, drive
from pipeline.cli.options import drive_options, flags_of
from pipeline.cli.reviewer import DECISION, PLAN, REQUESTS, request_change
from pipeline.errors import PipelineError, UsageError
from pipeline.store import TaskStore

_SHOWN = 40


@click.command("iterate")
@click.argument("task", metavar="ID")
@click.argument("change", metavar="CHANGE")
@drive_options
def iterate_command(task: str, change: str, **options: Any) -> int:
    """Change a task that has a plan: CHANGE says what, in plain words.

    The plan takes it up, and of the code only the files are written again that the change reaches.

    \b
    pipeline iterate paper "use the second data set too"
    pipeline iterate paper "report the median" --review ask
    """
    text = change.strip()
    if not text:
        raise UsageError('say what must change: pipeline iterate ID "use the second data set too"')
    flags = flags_of(options)
    settings = checked_settings(flags, options)
    store = open_task(settings, task)
    _refuse_what_is_in_the_way(store)
    before = store.load(PLAN)
    with store.writing():
        if not _waits(store, text):
            request_change(store, text)
    show = _once(lambda: _tell_difference(store, before))
    # The reviewer's screen comes after this; where nobody is asked, the difference is shown at the end.
    code = drive(store, settings, flags, {**options, "before_review": show})
    if not show() and not _waits(store, text):
        tell("\nThe plan is as it was: the planner changed nothing in it.")
    return code


def _refuse_what_is_in_the_way(store: TaskStore) -> None:
    """A change begins from a plan that nobody is at odds about. Raises UsageError, with what to do."""
    name = command_name(store)
    if not store.exists(PLAN):
        raise UsageError(
            f"task {store.id} has no plan yet, so there is nothing to change; go on with: pipeline resume {name}"
        )
    digest = store.digest(PLAN) or ""
    decision = store.load(DECISION) if store.exists(DECISION) else {"plan_sha256": ""}
    if decision["plan_sha256"] == digest and decision["verdict"] == "reject":
        raise UsageError(
            f"{decision['by']} rejected plan {digest[:12]}; ask for another with: pipeline review {name} --change TEXT "
            f"(or take that back with --approve), then: pipeline resume {name}"
        )
    gate = next((stamp for stamp in store.stamps.values() if stamp.name == "plan_review"), None)
    if gate and gate.status == "stopped" and decision["plan_sha256"] != digest:
        raise UsageError(
            f"plan {digest[:12]} waits for a decision; decide first with: pipeline review {name} --approve, or change it there "
            f"with: pipeline review {name} --change TEXT; then: pipeline resume {name}"
        )


def _waits(store: TaskStore, text: str) -> bool:
    """Whether exactly this is noted already and no plan has taken it up: the command was cut off, and is typed again."""
    planned = next((stamp for stamp in store.stamps.values() if stamp.name == "plan"), None)
    requests = store.load(REQUESTS)["requests"]
    if not requests or not planned or planned.read.get(REQUESTS) == store.digest(REQUESTS):
        return False
    return bool(requests[-1]["text"] == text)


def _once(show: Callable[[], bool]) -> Callable[[], bool]:
    """Shows something the first time that there is something to show; tells whether it was shown by now."""
    shown: list[bool] = []

    def show_once() -> bool:
        if not shown and show():
            shown.append(True)
        return bool(shown)

    return show_once


def _tell_difference(store: TaskStore, before: dict[str, Any]) -> bool:
    """Tells what is different in the plan on the disk; False while that is the one from before."""
    from phases.agent.plan_changes import plan_difference

    try:
        lines = plan_difference(before, store.load(PLAN))
    except PipelineError:
        return False  # it is being mended, or gone; whoever reads it next says so
    if not lines:
        return False
    tell("\nWhat changes in the plan:")
    for line in lines[:_SHOWN]:
        tell(f"  {line}")
    if len(lines) > _SHOWN:
        tell(f"  … and {len(lines) - _SHOWN} more")
    return True
