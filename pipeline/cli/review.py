"""`pipeline review`: the decision about a plan, from outside the run."""

from __future__ import annotations

import click

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes
from pipeline.cli.arguments import answers_about, task_argument
from pipeline.cli.assembly import command_name
from pipeline.cli.output import Answer, notify, print_advice, print_text
from pipeline.cli.plan_review import (
    DECISION,
    PLAN,
    edit_plan,
    make_decision,
    note_packages,
    request_change,
    user_name,
    write_decision,
)
from pipeline.engine.store import TaskStore


@click.command("review")
@answers_about(task_argument)
@click.option("--approve", "verdict", flag_value="approve", help="Approve exactly the plan that is there now.")
@click.option("--reject", "verdict", flag_value="reject", help="Reject it; the next run stops with exit code 4.")
@click.option("--edit", is_flag=True, help="Open the plan in $EDITOR first; an edit that does not parse is not kept.")
@click.option("--change", metavar="TEXT", help="Ask the planner for another plan that takes up TEXT.")
@click.option("--plan", "shown", metavar="SHA256", help="Decide only if the plan's sha256 still begins with this.")
def review_command(store: TaskStore, verdict: str | None, edit: bool, change: str | None, shown: str | None) -> Answer:
    """Show a task's plan, or decide about it. A decision is bound to the plan's sha256: another plan needs another one.

    \b
    pipeline review paper
    pipeline review paper --approve
    pipeline review paper --edit --approve
    pipeline review paper --change "use the second data set too"
    """
    if not store.exists(PLAN):
        raise UsageError(
            f"task {store.id} has no plan yet; make one with: pipeline resume {command_name(store)} --until plan"
        )
    if verdict or edit or change:
        with store.writing():
            _apply_decision(store, verdict, edit, change, shown)
        return Answer(_plan_standing(store), lambda: None)  # what was done is told on stderr
    return Answer(_plan_standing(store), lambda: _show_plan(store))


def _show_plan(store: TaskStore) -> None:
    store.load(PLAN)  # raises where it is damaged
    print_text(read_bytes(store.path(PLAN)).decode("utf-8"))
    print_text(f"plan {store.digest(PLAN)}, {_plan_standing(store)['standing']}")
    for line in note_packages(store):
        print_advice(line)
    print_advice(f"decide with: pipeline review {command_name(store)} --approve (or --edit, --change TEXT, --reject)")


def _apply_decision(store: TaskStore, verdict: str | None, edit: bool, change: str | None, shown: str | None) -> None:
    name = command_name(store)
    if edit:
        notify("the plan was edited" if edit_plan(store) else "the plan is as it was")
    if change:
        request_change(store, change)
        notify(f"noted; plan again with: pipeline resume {name}")
    store.load(PLAN)
    digest = store.digest(PLAN) or ""
    if shown and not digest.startswith(shown.lower()):
        raise UsageError(
            f"the plan is {digest[:12]} now, not {shown[:12]}: look at it again with: pipeline review {name}"
        )
    if verdict and _plan_standing(store)["standing"] == "approved":
        raise UsageError(
            f"plan {digest[:12]} is approved already; change it with: pipeline review {name} --edit (or --change)"
        )
    if verdict:
        write_decision(store, make_decision(verdict, user_name(), digest))
        rejected = f"rejected; ask for another with: pipeline review {name} --change TEXT (or --edit)"
        approved = f"approved; go on with: pipeline resume {name}"
        notify(f"plan {digest[:12]} is {rejected if verdict == 'reject' else approved}")


def _plan_standing(store: TaskStore) -> dict[str, str]:
    """How the plan stands: approved (by the gate), decided (noted for it), or open."""
    digest = store.digest(PLAN) or ""
    if store.exists("plan_review.json") and store.load("plan_review.json")["plan_sha256"] == digest:
        return {"plan_sha256": digest, "standing": "approved"}
    if store.exists(DECISION) and store.load(DECISION)["plan_sha256"] == digest:
        return {"plan_sha256": digest, "standing": f"{store.load(DECISION)['verdict']} noted"}
    return {"plan_sha256": digest, "standing": "open"}
