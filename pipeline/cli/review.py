"""`pipeline review`: the decision about a plan, from outside the run."""

from __future__ import annotations

import click

from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.console import say
from pipeline.cli.reviewer import PLAN, decided, edit_plan, person, request_change, write_decision
from pipeline.errors import UsageError
from pipeline.files import read_bytes


@click.command("review")
@click.argument("task", metavar="ID")
@click.option("--approve", "verdict", flag_value="approve", help="Approve exactly the plan that is there now.")
@click.option("--reject", "verdict", flag_value="reject", help="Reject it; the next run stops with exit code 4.")
@click.option("--edit", is_flag=True, help="Open the plan in $EDITOR first; an edit that does not parse is not kept.")
@click.option("--change", metavar="TEXT", help="Ask the planner for another plan that takes up TEXT.")
@click.option("--plan", "shown", metavar="SHA256", help="Decide only if the plan's sha256 still begins with this.")
@click.option("--tasks-dir", metavar="DIR", help="Where the task directories are.")
def review_command(
    task: str, verdict: str | None, edit: bool, change: str | None, shown: str | None, tasks_dir: str | None
) -> None:
    """Show a task's plan, or decide about it. A decision is bound to the plan's sha256: another plan needs another one.

    \b
    pipeline review paper
    pipeline review paper --approve
    pipeline review paper --edit --approve
    pipeline review paper --change "use the second data set too"
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    if not store.exists(PLAN):
        raise UsageError(f"task {store.id} has no plan yet; make one with: pipeline run {store.root} --until plan")
    if not (verdict or edit or change):
        store.load(PLAN)
        say(read_bytes(store.path(PLAN)).decode("utf-8"))
        say(
            f"plan {store.digest(PLAN)}\ndecide with: pipeline review {store.id} --approve (or --edit, --change, --reject)"
        )
        return
    with store.writing():
        if edit:
            say("the plan was edited" if edit_plan(store) else "the plan is as it was")
        if change:
            request_change(store, change)
            say(f"noted; plan again with: pipeline resume {store.id}")
        store.load(PLAN)
        digest = store.digest(PLAN) or ""
        if shown and not digest.startswith(shown.lower()):
            raise UsageError(
                f"the plan is {digest[:12]} now, not {shown[:12]}: look at it again with: pipeline review {store.id}"
            )
        if verdict:
            write_decision(store, decided(verdict, person(), digest))
            say(f"{verdict} of plan {digest[:12]} is noted; go on with: pipeline resume {store.id} --review file")
