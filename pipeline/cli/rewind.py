"""`pipeline rewind`: go back to an attempt of the agent that was rejected, and continue from there in another way."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from phases.agent.rewind import Rewind, find_refusal, rewind_to, unfinished_rewind
from phases.llm.journal import read_journal_lines
from phases.workspace.rejected_snapshots import Refusal, read_refusals
from phases.workspace.task_paths import task_paths
from pipeline.base.errors import PipelineError, UsageError
from pipeline.base.logs import log_event, task_log
from pipeline.cli.arguments import answers, task_argument, tasks_dir_option
from pipeline.cli.assembly import command_name, locate_task, open_task, relative_path, settings_from
from pipeline.cli.outcomes import record_outcome
from pipeline.cli.output import Answer, print_advice, print_table, print_text, print_warning
from pipeline.engine.report import EXIT_CODES, PAUSED, Outcome
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore

PHASE = "implement"
_PLAN = "initial_plan.txt"
_SHOWN = 120


@click.command("rewind")
@task_argument
@click.argument("number", metavar="[N]", type=int, required=False)
@tasks_dir_option
@answers
def rewind_command(task: str, number: int | None, tasks_dir: str | None) -> Answer:
    """List the agent's attempts that were rejected; with N, go back to just after the Nth.

    The files, and everything the agent knows, are then as they were. What came after is kept as `.prev`, and what was spent
    stays spent.

    \b
    pipeline rewind paper
    pipeline rewind paper 2
    """
    settings = settings_from({"tasks_dir": tasks_dir})
    store = open_task(settings, task)
    return _list_refusals(store) if number is None else _go_back(store, settings, number)


def _list_refusals(store: TaskStore) -> Answer:
    places, name = task_paths(store.root), command_name(store)
    refusals, unfinished = read_refusals(places), unfinished_rewind(places)
    if unfinished is not None:
        print_warning(
            f"going back to attempt {unfinished} was cut off; finish it with: pipeline rewind {name} {unfinished}"
        )
    return Answer(
        {"task": store.id, "cut_off": unfinished, "endings": [_as_json(refusal) for refusal in refusals]},
        lambda: _show_refusals(store, refusals) if refusals or unfinished is None else None,
    )


def _show_refusals(store: TaskStore, refusals: list[Refusal]) -> None:
    if not refusals:
        begun = store.exists("journal.jsonl")
        print_text(
            f"Task {store.id}: " + ("no attempt was rejected so far" if begun else "phase 09 has not started yet")
        )
        return
    print_text(f"Task {store.id}: {len(refusals)} attempt{'s were' if len(refusals) > 1 else ' was'} rejected")
    print_table([_refusal_row(refusal) for refusal in refusals], header=("N", "TURN", "BY", "COPY", "WHY"))
    if any(refusal.copy for refusal in refusals):
        print_advice(f"go back to just after one of them with: pipeline rewind {command_name(store)} N")


def _refusal_row(refusal: Refusal) -> tuple[str, ...]:
    why = refusal.reason if len(refusal.reason) <= _SHOWN else f"{refusal.reason[: _SHOWN - 1]}…"
    kept, ended = "kept" if refusal.copy else "none", "(ended the run) " if refusal.last else ""
    return (str(refusal.number), str(refusal.turn), refusal.source, kept, ended + why)


def _as_json(refusal: Refusal) -> dict[str, Any]:
    return {
        "number": refusal.number,
        "turn": refusal.turn,
        "by": refusal.source,
        "reason": refusal.reason,
        "ended_the_run": refusal.last,
        "copy": refusal.copy or None,
    }


def _go_back(store: TaskStore, settings: Settings, number: int) -> Answer:
    places = task_paths(store.root)
    with store.writing() as left:
        if left:
            print_warning(left)
        unfinished = unfinished_rewind(places)
        if unfinished is None:
            _refuse_other_work(store, places.journal)
        if unfinished != number:
            _check_refusal(store, number)
        _mark_as_unfinished(store, number)
        with task_log(store.path("logs/system.jsonl")):
            done = rewind_to(places, number, store.assert_in_place)
            log_event(
                f"went back to attempt {done.number} of turn {done.turn}; what came after it is kept as {done.suffix}"
            )
        reason = f"the work was taken back to attempt {done.number}, of turn {done.turn}"
        record_outcome(store, Outcome(PAUSED, reason, EXIT_CODES[PAUSED]), settings)
    aside = {name: name + done.suffix for name in done.aside}
    undo, go_on = _undo_command(store, done), f"pipeline resume {command_name(store)}"
    facts = {"task": store.id, "number": done.number, "turn": done.turn, "judged_anew": done.last}
    return Answer(
        {**facts, "aside": aside, "undo": undo, "next": go_on}, lambda: _show_rewind(store, done, undo, go_on)
    )


def _check_refusal(store: TaskStore, number: int) -> None:
    try:
        find_refusal(task_paths(store.root), number)
    except PipelineError as error:
        raise PipelineError(locate_task(str(error), store.root)) from error


def _refuse_other_work(store: TaskStore, journal: str) -> None:
    """Raise UsageError if a resume would start again instead of continuing from there."""
    phase, name = store.graph.find(PHASE), command_name(store)
    header = next((row for _, row in read_journal_lines(journal)), None)
    if header is None:
        raise UsageError(
            f"phase {phase.label} of task {store.id} has not started yet, so there is no attempt to go back to; continue with: "
            f"pipeline resume {name}"
        )
    if header.get("plan_sha256") != store.digest(_PLAN):
        raise UsageError(
            f"the code of task {store.id} was written for another plan than the {_PLAN} of now, and cannot be continued; "
            f"continue with the plan of now: pipeline resume {name}"
        )
    if header.get("version") != phase.version:
        raise UsageError(
            f"the code of task {store.id} was written by another version of phase {phase.label} ({header.get('version')}, "
            f"and this is {phase.version}), and cannot be continued; start again with: pipeline resume {name}"
        )


def _mark_as_unfinished(store: TaskStore, number: int) -> None:
    """Mark the phase before anything is moved: one needless run does no harm, a missing one does."""
    phase = store.graph.find(PHASE)
    stamp = store.stamps.get(phase.number)
    if stamp:
        store.finish(phase, "stopped", seconds=stamp.seconds, error=f"the work was taken back to attempt {number}")
        store.save()


def _show_rewind(store: TaskStore, done: Rewind, undo: str, go_on: str) -> None:
    print_text(
        f"Task {store.id} is back at attempt {done.number}, of turn {done.turn}. What came after it is kept in {store.root}:"
    )
    for name in done.aside:
        print_text(f"  {name + done.suffix}")
    print_advice(f"continue with: {go_on} (or in another way, with --code-model NAME)")
    if done.last:
        print_text(
            "that attempt ended the run: it is checked again; let the agent try more often with --max-acceptance-continues N"
        )
    print_text("to undo this:")
    print_text(f"  {undo}")


def _undo_command(store: TaskStore, done: Rewind) -> str:
    """Return a shell line that swaps both versions of the work."""
    number, away = 1, ".undone"
    while any(store.exists(name + away) for name in done.names):
        number += 1
        away = f".undone{number}"
    moves = f'[ ! -e "$it" ] || mv "$it" "$it{away}"; [ ! -e "$it{done.suffix}" ] || mv "$it{done.suffix}" "$it"'
    return f"(cd {quote(relative_path(store.root))} && for it in {' '.join(done.names)}; do {moves}; done)"
