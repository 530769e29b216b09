"""`pipeline status`: show the progress of a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from pipeline.cli.arguments import answers, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import locate_task, mode_of, open_task, settings_from
from pipeline.cli.output import (
    Answer,
    paint_text,
    print_advice,
    print_raw,
    print_table,
    print_text,
    rewrite_commands,
    wrap_text,
)
from pipeline.cli.summary import count_repositories, evidence_of
from pipeline.cli.task_factory import NOT_BEGUN
from pipeline.cli.trust import settings_in_force
from pipeline.engine.activity import read_activity
from pipeline.engine.lock import holder_of
from pipeline.engine.phase import Phase
from pipeline.engine.run_request import RunRequest, stale_phases
from pipeline.engine.stamps import RUNNING, Stamp, is_of_older_edition
from pipeline.engine.store import TaskStore


@click.command("status")
@task_or_newest
@tasks_dir_option
@answers
def status_command(task: str | None, tasks_dir: str | None) -> Answer:
    """Show every phase of a task: its status, its time, and what is stale; without ID, of the newest task.

    \b
    pipeline status
    pipeline status paper --json
    """
    settings = settings_from({"tasks_dir": tasks_dir})
    store = open_task(settings, task)
    state = describe_task(store, settings_in_force(store, settings, {}).values)
    return Answer(state, lambda: _show_state(state, store.root))


def _show_state(state: dict[str, Any], root: str) -> None:
    reason = rewrite_commands(locate_task(state["reason"], root))
    first = wrap_text(f"{state['id']}: {state['status']}" + (f" ({reason})" if reason else ""), hanging=4)
    print_raw(paint_text(first).replace(f": {state['status']}", f": {paint_text(state['status'], state['status'])}", 1))
    print_table(
        [_phase_row(phase, root) for phase in state["phases"]],
        header=("PHASE", "STATUS", "SECONDS", "RUNS", "WHAT NOW"),
    )
    if evidence := evidence_of(state):
        print_text(wrap_text(f"evidence: {evidence}", hanging=4))
    if state["repositories"]:
        print_text(f"repositories: {state['repositories']}")
    if state["holder"]:
        print_text(f"running now: {state['holder']}")


def describe_task(store: TaskStore, values: dict[str, Any]) -> dict[str, Any]:
    """Collect the output of `pipeline status --json`."""
    report = store.load("report.json") if store.exists("report.json") else {"status": "paused", "reason": NOT_BEGUN}
    if any(stamp.status == RUNNING or not store.exists("report.json") for stamp in store.stamps.values()):
        report = {"status": "running", "reason": ""}  # the report is of an earlier run than the one that was killed
    at_work = holder_of(store.root)
    activity = read_activity(store.root) if at_work else {}
    stale = {phase.number: reason for phase, reason in stale_phases(store, plain_run(values))}
    status = "running" if at_work else "interrupted" if report["status"] == "running" else report["status"]
    return {
        "id": store.id,
        "status": status,
        "reason": "" if at_work else report["reason"],
        "holder": at_work,
        "verified_by": [] if at_work else report.get("verified_by", []),
        "requirements": {} if at_work else report.get("requirements", {}),
        "repositories": count_repositories(store),
        "phases": [
            {
                **_phase_facts(phase.number, phase.name, store.stamps.get(phase.number)),
                "stale": stale.get(phase.number),
                "now": activity.get(phase.number, ""),
            }
            for phase in store.graph.phases
            if phase.is_selected(values)
        ],
    }


def plain_run(values: dict[str, Any]) -> RunRequest:
    """Return a run request for questions only."""

    def never(*_: Any) -> Any:
        raise NotImplementedError

    return RunRequest(settings=values, open_model=never, review=never, record=never)


def _phase_facts(number: str, name: str, stamp: Stamp | None) -> dict[str, Any]:
    stamp = stamp or Stamp(name)
    return {
        "number": number,
        "name": name,
        "status": stamp.status,
        "seconds": round(stamp.seconds, 3),
        "attempts": stamp.attempts,
        "error": stamp.error,
        "edited": list(stamp.edited),
    }


def _phase_row(phase: dict[str, Any], root: str) -> tuple[str, ...]:
    edited = f"edited by hand: {', '.join(phase['edited'])}" if phase["edited"] else ""
    note = phase["now"] or edited
    if phase["stale"] and not phase["now"]:
        note = f"will run: {rewrite_commands(locate_task(phase['stale'], root))}"
    name = f"{phase['number']:<3} {phase['name']}"
    return (name, phase["status"], f"{phase['seconds']:.2f}", str(phase["attempts"]), note)


def _what_next(phase: Phase, values: Mapping[str, Any]) -> str:
    return "would be skipped in fast mode" if phase.optional and values["mode"] == "fast" else "would run"


@click.command("why")
@task_or_newest
@tasks_dir_option
@click.option("--fast/--full", "fast", default=None, help="As if the next run were in this mode.")
@click.option("--model", metavar="NAME", help="As if the next run had this model.")
@answers
def why_command(task: str | None, tasks_dir: str | None, fast: bool | None, model: str | None) -> Answer:
    """Show which phases the next run would run, and the reason for each.

    \b
    pipeline why paper
    pipeline why paper --full      what changes if the reference phases are wanted too
    """
    flags = {"tasks_dir": tasks_dir, "mode": mode_of(fast), "model": model}
    settings = settings_from(flags)
    store = open_task(settings, task)
    values = settings_in_force(store, settings, flags).values
    stale = stale_phases(store, plain_run(values))
    lines = [f"{phase.label} {_what_next(phase, values)}: {locate_task(reason, store.root)}" for phase, reason in stale]
    older = [phase for phase in store.graph.phases if is_of_older_edition(phase, store.stamps.get(phase.number))]
    older = [phase for phase in older if phase not in [one for one, _ in stale]]
    return Answer(
        [{"number": phase.number, "name": phase.name, "reason": reason} for phase, reason in stale],
        lambda: print_advice(
            "\n".join(
                [
                    *(lines or [f"{store.id}: everything is up to date"]),
                    *(_advise_redo(store.id, phase) for phase in older),
                ]
            )
        ),
    )


def _advise_redo(task: str, phase: Phase) -> str:
    again = f"pipeline resume {task} --redo {phase.name}"
    return f"{phase.label} was made by an older release, and is kept; to run it and what follows again: {again}"
