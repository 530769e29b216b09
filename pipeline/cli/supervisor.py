"""`pipeline supervisor`: show how the agent was supervised, and request a takeover."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from phases.pages.supervisor_page import (
    DIRECTORY,
    PAGE_START,
    TAKE_OVER,
    Check,
    TimelineRow,
    View,
    describe_state,
    mode_after,
    next_steps,
    read_config,
    read_view,
    render_page,
    timeline_rows,
)
from phases.supervision.serialization import to_json
from pipeline.base.errors import ContractError, UsageError
from pipeline.base.files import make_directory, write_durable
from pipeline.base.formats import dump_json
from pipeline.base.logs import utc_timestamp
from pipeline.base.text_escaping import one_line
from pipeline.cli.arguments import answers_about, html_option, task_or_newest
from pipeline.cli.assembly import command_name, relative_path
from pipeline.cli.output import (
    Answer,
    print_advice,
    print_json,
    print_pairs,
    print_table,
    print_text,
    print_warning,
    write_page,
)
from pipeline.engine.lock import holder_of
from pipeline.engine.store import TaskStore

_MOST_DAMAGE, _LONGEST_LINE = 5, 400


@click.command("supervisor")
@answers_about(task_or_newest)
@html_option("shows the same")
@click.option("--config", "config", is_flag=True, help="Print the settings in force, as kernel/supervisor-config.json.")
@click.option("--take-over", "take_over", is_flag=True, help="Request a takeover at the next turn of the agent.")
def supervisor_command(store: TaskStore, html: str | None, **flags: bool) -> Answer:
    """Show how the agent of phase 09 was supervised; without ID, in the newest task.

    \b
    pipeline supervisor paper                    state, timeline, what to do next
    pipeline supervisor paper --html page.html   the same as a page
    pipeline supervisor paper --take-over        lead the agent from its next turn on
    pipeline supervisor paper --config > tasks/paper/kernel/supervisor-config.json
    """
    _refuse_two(flags, html)
    if flags["config"]:
        return _read_config(store)
    view = read_view(store.root, store.id, schema_check(store), running=holder_of(store.root) is not None)
    return _ask_for_takeover(store, view) if flags["take_over"] else _show_view(view, html, command_name(store))


def _refuse_two(flags: dict[str, bool], html: str | None) -> None:
    named = [f"--{name.replace('_', '-')}" for name in ("config", "take_over") if flags[name]]
    named += ["--html"] if html and named else []
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} cannot be combined; choose one of them")


def _show_view(view: View, html: str | None, name: str) -> Answer:
    """Answer with a screen, a page or a JSON object. Damage sets the exit code."""
    if html and not view.empty:
        write_page(html, PAGE_START, lambda: render_page(view, name))
    problems = _list_damage(view)
    return Answer(lambda: _as_json(view, name), lambda: _print_view(view, name), 1 if problems else 0, problems)


def _print_view(view: View, name: str) -> None:
    if view.empty:
        asked = " (a takeover is requested)" if view.take_over_asked else ""
        print_text(f"Task {view.task} was not supervised: supervision was off, or phase 09 has not started yet{asked}")
        return
    print_text(f"Task {view.task}")
    print_pairs(describe_state(view))
    rows = timeline_rows(view.events)
    print_text("\nTimeline" if rows else "\nTimeline: supervision did not intervene")
    if rows:
        print_table([line for row in rows for line in _lines_of(row)], header=("turn", "mode", "what", "in words"))
    for number, step in enumerate(next_steps(view, name), 1):
        print_advice(("\nWhat you can do:\n" if number == 1 else "") + f"  {number}. {step}")


def _lines_of(row: TimelineRow) -> list[tuple[str, str, str, str]]:
    """Return a row of the timeline, and below it the text that the model read."""
    times = f" ({row.times} times)" if row.times > 1 else ""
    read = [("", "", "", f"| {one_line(line, _LONGEST_LINE)}") for line in row.message.splitlines()]
    return [(row.turns, row.mode, row.kind, row.text + times), *read]


def _list_damage(view: View) -> list[str]:
    lines = [f"damaged: {line}" for line in view.damage[:_MOST_DAMAGE]]
    more = len(view.damage) - _MOST_DAMAGE
    return [*lines, f"damaged: {more} more"] if more > 0 else lines


def _as_json(view: View, name: str) -> dict[str, Any]:
    return {
        "task": view.task,
        "mode": view.mode,
        "shadow": view.shadow,
        "turns": view.turns,
        "over": view.over,
        "now": mode_after(view.events[-1]) if view.events else "free",
        "take_over_asked": view.take_over_asked,
        "next": next_steps(view, name),
        "report": view.report,
        "timeline": [row._asdict() for row in timeline_rows(view.events)],
        "events": view.events,
        "graph": view.graph,
        "config": to_json(view.config),
        "damaged": view.damage,
    }


def schema_check(store: TaskStore) -> Check:
    """Return a check of values against the schemas of the supervision files."""
    contracts = store.contracts
    return lambda name, value: contracts.breach(contracts.schema(name), value)


def _read_config(store: TaskStore) -> Answer:
    """Answer with the settings in force. A damaged file switches supervision off."""
    config, wrong = read_config(store.root, schema_check(store))
    if wrong:
        raise ContractError(f"{wrong}, in {store.root}; supervision is off until it is corrected or deleted")
    return Answer(to_json(config), lambda: print_json(to_json(config)))  # JSON in both forms: it is a file to be kept


def _ask_for_takeover(store: TaskStore, view: View) -> Answer:
    """Write the request that the agent looks for before each turn; a running task need not stop."""
    asked = {"at": utc_timestamp()}
    make_directory(store.path(DIRECTORY))
    # a file, and not a signal: what a decision rests on becomes a row of the journal (decision 53)
    write_durable(store.path(TAKE_OVER), dump_json(asked))
    _warn_of_idle_request(store, view)
    sentence, command = _what_comes_next(store, at_work=view.running)
    return Answer(
        {"task": store.id, **asked, "running": view.running},
        lambda: print_advice(f"{sentence}:\n  {command}"),
        problems=_list_damage(view),
    )


def _warn_of_idle_request(store: TaskStore, view: View) -> None:
    """Warn if the current settings allow no takeover."""
    settings = store.load("task.json")["settings"]
    mode = settings.get("supervisor") or view.config.mode or "adaptive"
    shadow = {"true": True, "1": True, "false": False, "0": False}.get(settings.get("supervisor_shadow", ""))
    if mode == "off":
        change = f"pipeline resume {command_name(store)} --supervisor adaptive"
        print_warning(f"supervision of this task is off, so the request has no effect; change that with: {change}")
    elif view.config.shadow if shadow is None else shadow:
        print_warning("supervision is in shadow mode: the takeover will be logged, and not carried out")


def _what_comes_next(store: TaskStore, *, at_work: bool) -> tuple[str, str]:
    """Return when the takeover begins, and the command to type."""
    stamp = store.stamps.get("09")
    if at_work:
        watch = f"pipeline supervisor {command_name(store)}"
        return f"Task {store.id} is running: the takeover begins with the agent's next turn; watch it with", watch
    if stamp and stamp.status == "done":
        again = f"pipeline run {quote(relative_path(store.root))} --redo 09"
        return f"The code of task {store.id} is done: the takeover begins when phase 09 is run again; type", again
    return (
        f"Task {store.id} is not running: the takeover begins with the agent's first turn when it continues; type",
        f"pipeline resume {command_name(store)}",
    )
