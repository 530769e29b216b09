"""`pipeline iterate`: plan, show, review and carry out a change to a task that has a plan."""

from __future__ import annotations

from typing import Any

import click

from phases.planning.changes import plan_difference
from pipeline.base.errors import PipelineError, UsageError
from pipeline.base.files import read_bytes, sha256
from pipeline.cli.arguments import task_argument
from pipeline.cli.assembly import command_name, open_task
from pipeline.cli.options import RunCommand, run_options
from pipeline.cli.output import notify
from pipeline.cli.plan_versions import PLAN
from pipeline.cli.review import DECISION, REQUESTS, request_change
from pipeline.cli.run_task import check_options, run_task
from pipeline.engine.phase import OFF
from pipeline.engine.stamps import FINISHED, Stamp
from pipeline.engine.store import TaskStore

REVIEW = "plan_review.json"
_SHOWN = 40
_NOTHING = "the planner changed nothing in it"


@click.command("iterate", cls=RunCommand)
@task_argument
@click.argument("change", metavar="CHANGE")
@run_options()
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
    settings, flags = check_options(options)
    # Experiments that ran before run again only on request, as by `pipeline reproduce`.
    flags["reproduce"] = flags.get("reproduce") or OFF
    store = open_task(settings, task)
    _refuse_what_is_in_the_way(store)
    present = store.load(PLAN)
    before = _read_approved_plan(store) or present
    with store.writing():
        again = _is_on_its_way(store, text)
        planned = again and _is_planned(store)
        if not again:
            request_change(store, text)
    shown: list[bool] = []

    def show() -> bool:
        """Show the difference once; return whether it was shown by now."""
        shown.extend([True] if not shown and _tell_difference(store, before) else [])
        return bool(shown)

    # The reviewer's screen comes after this; without a reviewer, the difference is shown at the end.
    # which files it reaches is found by comparing plans, however the plan was changed (decision 48)
    code = run_task(store, settings, flags, {**options, "before_review": show})
    if not show() and _is_planned(store):
        notify(f"\nThe plan is unchanged: {'that change is in it already' if planned else _NOTHING}.")
    return code


def _refuse_what_is_in_the_way(store: TaskStore) -> None:
    """Raise UsageError with what to do if the plan is undecided or rejected: a change needs an approved plan."""
    name = command_name(store)
    if not store.exists(PLAN):
        raise UsageError(
            f"task {store.id} has no plan yet, so there is nothing to change; continue with: pipeline resume {name}"
        )
    digest = store.digest(PLAN) or ""
    decision = store.load(DECISION) if store.exists(DECISION) else {"plan_sha256": ""}
    if decision["plan_sha256"] == digest and decision["verdict"] == "reject":
        raise UsageError(
            f"{decision['by']} rejected plan {digest[:12]}; ask for another with: pipeline review {name} --change TEXT "
            f"(or take that back with --approve), then: pipeline resume {name}"
        )
    gate = _stamp_of(store, "plan_review")
    if gate and gate.status == "stopped" and decision["plan_sha256"] != digest:
        raise UsageError(
            f"plan {digest[:12]} waits for a decision; decide first with: pipeline review {name} --approve, or change it there "
            f"with: pipeline review {name} --change TEXT; then: pipeline resume {name}"
        )


def _read_approved_plan(store: TaskStore) -> dict[str, Any] | None:
    """Return the plan that was approved last, or None. The one on the disk may be a later one, which a kill left."""
    try:
        review = store.load(REVIEW)
        data = read_bytes(store.path(f"plan_versions/{review['plan_sha256'][:16]}.txt"))
        if review["decision"] != "approve" or sha256(data) != review["plan_sha256"]:
            return None
        plan: dict[str, Any] = store.contracts.parse(PLAN, data, writer="an earlier run")
    except PipelineError:
        return None
    return plan


def _is_on_its_way(store: TaskStore, text: str) -> bool:
    """Return whether this very change was requested last and not carried out: the command was cut off and typed again."""
    requests = store.load(REQUESTS)["requests"]
    if not requests or requests[-1]["text"] != text:
        return False
    code = _stamp_of(store, "implement")
    carried_out = code and code.status in FINISHED and code.read.get(PLAN) == store.digest(PLAN)
    return not (_is_planned(store) and carried_out)


def _is_planned(store: TaskStore) -> bool:
    """Return whether a plan covers all requested changes."""
    planned = _stamp_of(store, "plan")
    return planned is not None and planned.read.get(REQUESTS) == store.digest(REQUESTS)


def _stamp_of(store: TaskStore, name: str) -> Stamp | None:
    return next((stamp for stamp in store.stamps.values() if stamp.name == name), None)


def _tell_difference(store: TaskStore, before: dict[str, Any]) -> bool:
    """Print the differences of the plan on the disk; False while it is still the earlier one."""
    try:
        lines = plan_difference(before, store.load(PLAN))
    except PipelineError:
        return False  # it is being mended, or gone; whoever reads it next says so
    if not lines:
        return False
    notify("\nWhat changes in the plan:")
    for line in lines[:_SHOWN]:
        notify(f"  {line}")
    if len(lines) > _SHOWN:
        notify(f"  … and {len(lines) - _SHOWN} more")
    return True
