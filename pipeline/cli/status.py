"""`pipeline status`: how far a task is."""

from __future__ import annotations

from typing import Any

import click

from pipeline.cli.arguments import task_or_newest, tasks_dir_option
from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.console import paint, put, say, say_json, table, wrap
from pipeline.cli.vouched import in_force
from pipeline.engine.lock import holder
from pipeline.engine.run_request import Run, stale_phases
from pipeline.engine.stamps import RUNNING, Stamp
from pipeline.engine.store import TaskStore


@click.command("status")
@task_or_newest
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status_command(task: str | None, tasks_dir: str | None, as_json: bool) -> None:
    """Show every phase of a task: its status, its time, and what is stale; without ID, of the newest task.

    \b
    pipeline status
    pipeline status paper --json
    """
    settings = settings_from({"tasks_dir": tasks_dir})
    store = open_task(settings, task)
    state = describe(store, in_force(store, settings, {}).values)
    if as_json:
        say_json(state)
        return
    first = wrap(f"{state['id']}: {state['status']}" + (f" ({state['reason']})" if state["reason"] else ""), hanging=4)
    put(paint(first).replace(f": {state['status']}", f": {paint(state['status'], state['status'])}", 1))
    table([_row(phase) for phase in state["phases"]], header=("PHASE", "STATUS", "SECONDS", "RUNS", "WHAT NOW"))
    if state["holder"]:
        say(f"at work now: {state['holder']}")


def describe(store: TaskStore, values: dict[str, Any]) -> dict[str, Any]:
    """What `pipeline status --json` prints."""
    report = store.load("report.json") if store.exists("report.json") else {"status": "running", "reason": ""}
    if any(stamp.status == RUNNING for stamp in store.stamps.values()):
        report = {"status": "running", "reason": ""}  # the report is of an earlier run than the one that was killed
    at_work = holder(store.root)
    stale = {phase.number: reason for phase, reason in stale_phases(store, plain_run(values))}
    status = "running" if at_work else "interrupted" if report["status"] == "running" else report["status"]
    return {
        "id": store.id,
        "status": status,
        "reason": "" if at_work else report["reason"],
        "holder": at_work,
        "phases": [
            {**_facts(phase.number, phase.name, store.stamps.get(phase.number)), "stale": stale.get(phase.number)}
            for phase in store.graph.phases
        ],
    }


def plain_run(values: dict[str, Any]) -> Run:
    """A run that is only asked what it would do."""

    def never(*_: Any) -> Any:
        raise NotImplementedError

    return Run(settings=values, open_model=never, review=never, record=never)


def _facts(number: str, name: str, stamp: Stamp | None) -> dict[str, Any]:
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


def _row(phase: dict[str, Any]) -> tuple[str, ...]:
    note = (
        f"will run: {phase['stale']}"
        if phase["stale"]
        else f"edited by hand: {', '.join(phase['edited'])}"
        if phase["edited"]
        else ""
    )
    return (
        f"{phase['number']:<3} {phase['name']}",
        phase["status"],
        f"{phase['seconds']:.2f}",
        str(phase["attempts"]),
        note,
    )
