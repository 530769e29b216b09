"""Review a plan: without a reviewer (auto), in the terminal (ask), or by a later `pipeline review` (file)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

import click

from pipeline.base.errors import ContractError, InputsChanged, Paused, Rejected, UsageError
from pipeline.base.files import read_bytes, sha256
from pipeline.base.logs import utc_timestamp
from pipeline.cli.arguments import answers_about, html_option, task_argument
from pipeline.cli.assembly import command_name, is_served, model_for, open_model
from pipeline.cli.outcomes import record_outcome
from pipeline.cli.output import (
    Answer,
    in_terminal,
    notify,
    print_advice,
    print_text,
    print_warning,
)
from pipeline.cli.plan_versions import PLAN, compare_versions, replace_plan, show_difference, show_plan
from pipeline.cli.review_packages import ask_to_install, look_up_packages, note_data, note_packages
from pipeline.engine.phase import Decision
from pipeline.engine.report import EXIT_CODES, PAUSED, Outcome, outcome_of
from pipeline.engine.stamps import PENDING
from pipeline.engine.store import TaskStore

DECISION = "plan_decision.json"
REQUESTS = "plan_requests.json"
_ASKED = 20
_ANSWERS = {
    "approve": "approve this plan, and go on",
    "edit": "open the plan in $EDITOR",
    "change": "say what the next plan must change",
    "reject": "end here; no code is written",
    "later": "pause; decide with `pipeline review`",
}
_MOST_DOUBTS = 20


@click.command("review")
@answers_about(task_argument)
@click.option("--approve", "verdict", flag_value="approve", help="Approve exactly the plan that is there now.")
@click.option("--reject", "verdict", flag_value="reject", help="Reject it; the next run stops with exit code 4.")
@click.option("--edit", is_flag=True, help="Open the plan in $EDITOR first; an edit that does not parse is not kept.")
@click.option("--change", metavar="TEXT", help="Ask the planner for another plan that follows TEXT.")
@click.option("--strike", multiple=True, metavar="ID", help="Remove a requirement, value, component, … by its id.")
@click.option(
    "--set", "changed", multiple=True, metavar="ID.FIELD=VALUE", help="Change a field of a row, like V3.value=0.1."
)
@click.option(
    "--add", "added", nargs=2, multiple=True, metavar="KIND TEXT", help="Add a requirement, or a value: NAME = VALUE."
)
@click.option("--diff", is_flag=True, help="Show what differs from the version that was up for review before.")
@html_option("puts each row next to its page, with its quote marked")
@click.option("--plan", "shown", metavar="SHA256", help="Only if the plan's sha256 still begins with this.")
def review_command(
    store: TaskStore, verdict: str | None, edit: bool, change: str | None, html: str | None, **more: Any
) -> Answer:
    """Show a task's plan, or decide about it. A decision is bound to the plan's sha256: another plan needs another one.

    \b
    pipeline review paper
    pipeline review paper --html plan.html
    pipeline review paper --approve
    pipeline review paper --edit --approve
    pipeline review paper --strike R7 --set V3.value=0.1 --add value "batch size = 32"
    pipeline review paper --diff
    pipeline review paper --change "use the second data set too"
    """
    if not store.exists(PLAN):
        raise UsageError(
            f"task {store.id} has no plan yet; make one with: pipeline resume {command_name(store)} --until plan"
        )
    if not edit:
        _refuse_damaged(store)
    if more["diff"]:
        return Answer(plan_standing(store), lambda: show_difference(store))
    rows = any(more[name] for name in ("strike", "changed", "added"))
    decides = bool(verdict or edit or change or rows)
    if decides:
        with store.writing():
            _refuse_other_plan(store, more["shown"])
            if rows:
                _change_rows(store, more)
            _apply_decision(store, verdict, edit, change)
            _update_gate(store, asks=bool(change))
    if html:
        from pipeline.cli.review_page import write_review_page  # imported here: only the page needs it

        write_review_page(store, html, plan_standing(store)["standing"], find_doubts(store), compare_versions(store)[1])
    # what was done is told on stderr
    return Answer(plan_standing(store), lambda: None if decides or html else _show_plan(store))


def _refuse_damaged(store: TaskStore) -> None:
    """Raise ContractError for a plan that does not parse, with the way to mend it: a person changed the file."""
    try:
        store.load(PLAN)
    except ContractError as error:
        again = f"fix it with: pipeline review {command_name(store)} --edit"
        raise ContractError(f"{error}; it was changed after it was written: {again}") from error


def _show_plan(store: TaskStore) -> None:
    show_plan(store.load(PLAN), most=0)
    if lines := compare_versions(store)[1]:
        changed = "1 thing" if len(lines) == 1 else f"{len(lines)} things"
        print_advice(f"{changed} changed since the version before: pipeline review {command_name(store)} --diff")
    print_text(f"the file is {store.path(PLAN)}")
    for line in find_doubts(store):
        print_warning(line)
    print_text(f"plan {store.digest(PLAN)}, {plan_standing(store)['standing']}")
    for line in (*note_packages(store), *note_data(store)):
        print_advice(line)
    if plan_standing(store)["standing"] == "open":
        print_advice(f"next to the pages of the paper: pipeline review {command_name(store)} --html plan.html")
        print_advice(
            f"decide with: pipeline review {command_name(store)} --approve (or --edit, --change TEXT, --reject)"
        )


def _change_rows(store: TaskStore, more: dict[str, Any]) -> None:
    """Remove, change and add the rows that the command names, in this order; the earlier plan is kept among its versions."""
    # imported here: TAB must import no phase
    from phases.planning.plan_edits import add_row, change_row, strike_row, why_row_unfit

    plan, before = store.load(PLAN), read_bytes(store.path(PLAN))
    for identifier in more["strike"]:
        plan = strike_row(plan, identifier.upper())
    for text in more["changed"]:
        match = re.fullmatch(r"([A-Za-z][0-9]+)\.([a-z_]+)=(.*)", text, re.DOTALL)
        if not match:
            raise UsageError(f"'{text}' is not of the form ID.FIELD=VALUE, like V3.value=0.1")
        identifier = match.group(1).upper()
        plan = change_row(plan, identifier, match.group(2), match.group(3))
        if why := why_row_unfit(plan, identifier, store.contracts):
            raise UsageError(f"--set {text}: {why}; the plan is unchanged")
    for kind, text in more["added"]:
        plan = add_row(plan, kind, " ".join(text.split()))
    data = store.contracts.serialise(PLAN, plan, writer=user_name())
    replace_plan(store, before, data)
    notify("\n".join([f"the plan was changed; its sha256 is now {sha256(data)[:12]}:", *compare_versions(store)[1]]))
    for line in find_doubts(store):
        print_warning(line)


def find_doubts(store: TaskStore) -> list[str]:
    """Return the inconsistencies of the plan, like unknown ids and quotes that are not in the paper, each with its line."""
    from phases.planning.plan_sense import doubts_about  # imported here: TAB must import no phase

    if not (store.exists("paper.md") and store.exists("outline.json")):
        return []
    requests = [row["text"] for row in store.load(REQUESTS)["requests"]] if store.exists(REQUESTS) else []
    data = read_bytes(store.path(PLAN))
    found = doubts_about(store.load(PLAN), data, store.load("paper.md"), store.load("outline.json"), requests)
    more = len(found) - _MOST_DOUBTS
    return [*found[:_MOST_DOUBTS], *([f"and {more} more like this"] if more > 0 else [])]


def _refuse_other_plan(store: TaskStore, shown: str | None) -> None:
    digest = store.digest(PLAN) or ""
    if shown and not digest.startswith(shown.lower()):
        raise UsageError(
            f"the plan is {digest[:12]} now, not {shown[:12]}: look at it again with: pipeline review {command_name(store)}"
        )


def _apply_decision(store: TaskStore, verdict: str | None, edit: bool, change: str | None) -> None:
    name = command_name(store)
    if edit:
        notify("the plan was edited" if edit_plan(store) else "the plan is unchanged")
        for line in find_doubts(store):
            print_warning(line)
    if change:
        request_change(store, change)
        notify(f"noted; plan again with: pipeline resume {name}")
    store.load(PLAN)
    digest = store.digest(PLAN) or ""
    if verdict and plan_standing(store)["standing"] == "approved":
        raise UsageError(
            f"plan {digest[:12]} is already approved; change it with: pipeline review {name} --edit (or --change)"
        )
    if verdict:
        write_decision(store, make_decision(verdict, user_name(), digest))
        rejected = f"rejected; ask for another with: pipeline review {name} --change TEXT (or --edit)"
        notify(f"plan {digest[:12]} is {rejected}" if verdict == "reject" else _go_on(store, digest))


def _go_on(store: TaskStore, digest: str) -> str:
    return f"plan {digest[:12]} is approved; continue with: pipeline resume {command_name(store)}"


def _update_gate(store: TaskStore, *, asks: bool) -> None:
    """Say where a task that waits at the gate stands now: what the last run said there holds no longer."""
    gate, digest = store.graph.find("plan_review"), store.digest(PLAN) or ""
    before = store.stamps.get(gate.number)
    if not before or before.status not in ("stopped", PENDING):
        return
    status, reason = PENDING, f"another plan is asked for; plan again with: pipeline resume {command_name(store)}"
    outcome = Outcome(PAUSED, reason if asks else _go_on(store, digest), EXIT_CODES[PAUSED])
    if not asks:
        try:
            read_decision(store, digest)
        except (Paused, Rejected) as error:
            status, outcome = "stopped", outcome_of(error)
    store.finish(gate, status, seconds=before.seconds, error=outcome.reason)
    store.save()
    record_outcome(store, outcome)


def plan_standing(store: TaskStore) -> dict[str, str]:
    """Return the state of the plan: approved (by the gate), decided (noted for it), or open."""
    digest = store.digest(PLAN) or ""
    if store.exists("plan_review.json") and store.load("plan_review.json")["plan_sha256"] == digest:
        return {"plan_sha256": digest, "standing": "approved"}
    if store.exists(DECISION) and store.load(DECISION)["plan_sha256"] == digest:
        return {"plan_sha256": digest, "standing": f"{store.load(DECISION)['verdict']} noted"}
    return {"plan_sha256": digest, "standing": "open"}


def choose_reviewer(store: TaskStore, values: dict[str, Any]) -> Callable[[str, str], Decision]:
    """Return the reviewer of --review; by default the terminal is asked if it is there and a model costs money.

    What a person allows beside the plan is put into `values`, by which the run goes on, and into task.json.
    """
    costs = any(is_served(model_for(values, phase)) for phase in ("plan", "implement"))
    way = values["review"] or ("ask" if costs and in_terminal() else "auto")
    if values["dry_run"] == "yes" and way != "auto":
        return lambda plan, digest: _price_code(store, values)

    def decide(plan: str, digest: str) -> Decision:
        # a word about this very plan holds, however the run goes on
        if way == "file" or (store.exists(DECISION) and store.load(DECISION)["plan_sha256"] == digest):
            return read_decision(store, digest)
        return _approve_automatically(store, digest) if way == "auto" else _ask_person(store, plan, digest, values)

    return decide


def _price_code(store: TaskStore, values: dict[str, Any]) -> NoReturn:
    """End a dry run at the review, with what the code of this plan will cost."""
    from phases.agent.implement import price_code  # imported here: TAB must import no phase
    from phases.llm.estimate import DryRun

    model, ledger = open_model(values, "implement"), store.path("logs/llm.jsonl")
    raise DryRun(command_name(store), price_code(store.load(PLAN), model, ledger))


def make_decision(verdict: str, by: str, digest: str) -> Decision:
    return Decision(verdict, by, utc_timestamp(), digest)


def user_name() -> str:
    """Return the name that a decision is signed with."""
    import getpass  # imported here: only a decision needs it

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _approve_automatically(store: TaskStore, digest: str) -> Decision:
    if any(PLAN in stamp.edited or stamp.written.get(PLAN, digest) != digest for stamp in store.stamps.values()):
        for line in find_doubts(store):
            print_warning(line)
    return make_decision("approve", "auto", digest)


def read_decision(store: TaskStore, digest: str) -> Decision:
    """Return the decision of `pipeline review` on exactly this plan. Raises Paused if there is none."""
    # without its digest: the report keeps this line, and the plan may be edited meanwhile
    name, waits = command_name(store), "the plan waits for a decision"
    if not store.exists(DECISION):
        raise Paused(f"{waits}: pipeline review {name} --approve (or --edit, or --reject)")
    decision = Decision(**{key: value for key, value in store.load(DECISION).items() if key != "version"})
    if decision.plan_sha256 != digest:
        raise Paused(
            f"{waits}: the decision on disk is about plan {decision.plan_sha256[:12]}, which is another one: "
            f"pipeline review {name} --approve (or --edit, or --reject)"
        )
    if decision.verdict == "reject":
        other = f"pipeline review {name} --change TEXT (or --edit)"
        raise Rejected(f"{decision.by} rejected plan {digest[:12]}; ask for another with: {other}")
    return decision


def write_decision(store: TaskStore, decision: Decision) -> None:
    """Keep a decision where the gate finds it."""
    store.write({DECISION: {"version": 1, **decision._asdict()}})


def request_change(store: TaskStore, text: str) -> None:
    """Note what the next plan must take up; the plan phase reads it, and so becomes stale."""
    before = store.load(REQUESTS)
    row = {"text": text, "by": user_name(), "at": utc_timestamp()}
    store.write({REQUESTS: {**before, "requests": [*before["requests"], row]}})


def edit_plan(store: TaskStore) -> bool:
    """Open the plan in $EDITOR; True when it changed. A plan that does not parse is edited again or dropped, never kept."""
    before = read_bytes(store.path(PLAN))
    text = before.decode("utf-8")
    while True:
        answer = click.edit(text, extension=".yaml", require_save=True)
        if answer is None or answer.encode("utf-8") == before:
            return False
        try:
            store.contracts.parse(PLAN, answer.encode("utf-8"), writer=user_name())
        except ContractError as error:
            if not in_terminal() or not click.confirm(f"{error}\nEdit it again? (no: the edit is dropped)", err=True):
                raise ContractError(f"{error}; the plan is unchanged") from error
            text = answer
        else:
            replace_plan(store, before, answer.encode("utf-8"))
            return True


def _ask_person(store: TaskStore, plan: str, digest: str, values: dict[str, Any]) -> Decision:
    """Show the plan and wait for a word that is a decision. Silence and nonsense decide nothing."""
    if not in_terminal():
        return read_decision(store, digest)
    from phases.planning.plan_words import pip_packages  # imported here: TAB must import no phase

    parsed = store.contracts.parse(PLAN, plan.encode("utf-8"), writer="phase 05")
    print_text()
    show_plan(parsed, most=0)
    if lines := compare_versions(store)[1]:
        notify("\n".join(["what changed since the version before:", *lines]))
    for line in find_doubts(store):
        notify(line)
    can_install = look_up_packages(store, values, pip_packages(parsed))
    for line in note_data(store, values):
        notify(line)
    notify(f"This is plan {digest[:12]}. Nothing is written before you approve it.")
    for _ in range(_ASKED):
        try:
            decision = _ask_once(store, digest)
            if isinstance(decision, Decision) and can_install:
                ask_to_install(store, values)
        except click.Abort:
            break
        except click.ClickException as error:  # the editor did not start, or ended badly
            print_warning(error.format_message())
            continue
        if decision == "later":
            break
        if isinstance(decision, Decision):
            return decision
    return read_decision(store, digest)


def _ask_once(store: TaskStore, digest: str) -> Decision | str:
    """Ask once. Returns a Decision, "later", or an answer without a decision."""
    typed = click.prompt(
        "approve, edit, change, reject or later (? explains)", default="", show_default=False, err=True
    )
    typed = typed.strip().lower()
    answer = next((word for word in _ANSWERS if typed in (word, word[0])), "")
    if typed == "?":
        notify("\n".join(f"  {word[0]}, {word:<8} {what}" for word, what in _ANSWERS.items()))
        return ""
    if answer == "approve":
        return make_decision("approve", user_name(), digest)
    if answer == "reject":
        write_decision(store, make_decision("reject", user_name(), digest))
        read_decision(store, digest)
    if answer == "edit":
        if edit_plan(store):
            raise InputsChanged("the plan was edited")
        print_warning("the plan is unchanged")
    elif answer == "change":
        request_change(store, click.prompt("what must change", err=True))
        raise InputsChanged("a change was asked for")
    elif answer != "later":
        print_warning("type one of these words or its first letter; ? explains them")
    return answer
