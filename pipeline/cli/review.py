"""`pipeline review`: the decision about a plan, from outside the run."""

from __future__ import annotations

import click

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes
from pipeline.cli.arguments import task_argument, tasks_dir_option
from pipeline.cli.assembly import command_name, open_task, settings_from
from pipeline.cli.output import notify, print_advice, print_json, print_text
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
@task_argument
@click.option("--approve", "verdict", flag_value="approve", help="Approve exactly the plan that is there now.")
@click.option("--reject", "verdict", flag_value="reject", help="Reject it; the next run stops with exit code 4.")
@click.option("--edit", is_flag=True, help="Open the plan in $EDITOR first; an edit that does not parse is not kept.")
@click.option("--change", metavar="TEXT", help="Ask the planner for another plan that takes up TEXT.")
@click.option("--plan", "shown", metavar="SHA256", help="Decide only if the plan's sha256 still begins with this.")
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print how the plan stands as JSON.")
def review_command(
    task: str,
    verdict: str | None,
    edit: bool,
    change: str | None,
    shown: str | None,
    tasks_dir: str | None,
    as_json: bool,
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
        raise UsageError(
            f"task {store.id} has no plan yet; make one with: pipeline resume {command_name(store)} --until plan"
        )
    if verdict or edit or change:
        with store.writing():
            _apply_decision(store, verdict, edit, change, shown)
    elif not as_json:
        store.load(PLAN)
        print_text(read_bytes(store.path(PLAN)).decode("utf-8"))
        print_text(f"plan {store.digest(PLAN)}, {_plan_standing(store)['standing']}")
        for line in note_packages(store):
            print_advice(line)
        print_advice(
            f"decide with: pipeline review {command_name(store)} --approve (or --edit, --change TEXT, --reject)"
        )
    if as_json:
        print_json(_plan_standing(store))


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
        if verdict == "reject":
            notify(
                f"plan {digest[:12]} is rejected; ask for another with: pipeline review {name} --change TEXT (or --edit)"
            )
        else:
            notify(f"plan {digest[:12]} is approved; go on with: pipeline resume {name}")


def _plan_standing(store: TaskStore) -> dict[str, str]:
    """How the plan stands: approved (by the gate), decided (noted for it), or open."""
    digest = store.digest(PLAN) or ""
    if store.exists("plan_review.json") and store.load("plan_review.json")["plan_sha256"] == digest:
        return {"plan_sha256": digest, "standing": "approved"}
    if store.exists(DECISION) and store.load(DECISION)["plan_sha256"] == digest:
        return {"plan_sha256": digest, "standing": f"{store.load(DECISION)['verdict']} noted"}
    return {"plan_sha256": digest, "standing": "open"}
