"""`pipeline supervisor`: what supervision of the agent saw and did, and the ways to steer it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from pipeline.base.errors import ContractError, UsageError
from pipeline.base.files import make_directory, write_durable
from pipeline.base.formats import dump_json
from pipeline.base.logs import utc_timestamp
from pipeline.cli.arguments import complete_files, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import command_name, open_task, relative_path, settings_from
from pipeline.cli.output import (
    print_advice,
    print_error,
    print_json,
    print_text,
    print_warning,
    refuse_other_file,
    write_page,
)
from pipeline.engine.lock import holder_of

# The pages and the kernel below them are imported late: they take as long to load as the rest of the command.
if TYPE_CHECKING:
    from phases.pages.supervisor_view import Check, View
    from pipeline.engine.store import TaskStore

_MOST_TOLD = 5


@click.command("supervisor")
@task_or_newest
@click.option(
    "--html",
    metavar="FILE",
    help="Also write a page that draws it over the rounds.",
    shell_complete=complete_files,
)
@click.option("--config", "config", is_flag=True, help="Print the settings in force, as kernel/supervisor-config.json.")
@click.option("--take-over", "take_over", is_flag=True, help="Ask for a takeover at the next turn of the agent.")
@click.option("--replay", "replay", is_flag=True, help="Compute every decision again, and tell what differs.")
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def supervisor_command(task: str | None, html: str | None, tasks_dir: str | None, **flags: bool) -> int:
    """Show how the agent of phase 09 was supervised; without ID, in the newest task.

    \b
    pipeline supervisor paper                    mode, timeline, graph of steps, budgets
    pipeline supervisor paper --html page.html   the same, drawn over the rounds
    pipeline supervisor paper --take-over        lead the agent from its next turn on
    pipeline supervisor paper --config > tasks/paper/kernel/supervisor-config.json
    """
    _refuse_two(flags, html)
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    if flags["config"]:
        return _show_config(store)
    if flags["replay"]:
        return _show_replay(store, as_json=flags["as_json"])
    view = _read_view(store)
    if flags["take_over"]:
        return _ask_for_takeover(store, view, as_json=flags["as_json"])
    return _show_view(store, view, html, as_json=flags["as_json"])


def _refuse_two(flags: dict[str, bool], html: str | None) -> None:
    named = [f"--{name.replace('_', '-')}" for name in ("config", "take_over", "replay") if flags[name]]
    named += ["--html"] if html and named else []
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are two things to do; ask for one of them")


def _show_view(store: TaskStore, view: View, html: str | None, *, as_json: bool) -> int:
    """One screen, or one JSON object. Damage is told after what could be read, and the exit code tells of it too."""
    if html and not view.empty:
        _write_page(view, html)
    if as_json:
        print_json(_as_json(view))
    elif view.empty:
        print_text(
            f"Task {store.id} was not supervised: supervision was off, or phase 09 has not begun"
            + (" (a takeover is asked for)" if view.take_over_asked else "")
        )
    else:
        from phases.pages.supervisor_text import render_text

        for line in render_text(view):
            print_text(line)
    return _tell_damage(view)


def _tell_damage(view: View) -> int:
    for line in view.damage[:_MOST_TOLD]:
        print_error(f"damaged: {line}")
    if len(view.damage) > _MOST_TOLD:
        print_error(f"damaged: {len(view.damage) - _MOST_TOLD} more")
    return 1 if view.damage else 0


def _as_json(view: View) -> dict[str, Any]:
    from phases.pages.supervisor_events import timeline_rows
    from phases.supervision.serialization import to_json

    return {
        "task": view.task,
        "mode": view.mode,
        "shadow": view.shadow,
        "rounds": view.rounds,
        "take_over_asked": view.take_over_asked,
        "report": view.report,
        "timeline": [row._asdict() for row in timeline_rows(view.events)],
        "events": view.lines,
        "graph": to_json(view.graph),
        "checkpoint": view.checkpoint,
        "snapshots": to_json(view.snapshots),
        "config": to_json(view.config),
        "damaged": view.damage,
    }


def _read_view(store: TaskStore) -> View:
    from phases.pages.supervisor_view import read_view

    return read_view(store.root, store.id, _schema_check(store), running=holder_of(store.root) is not None)


def _schema_check(store: TaskStore) -> Check:
    contracts = store.contracts
    return lambda name, value: contracts.breach(contracts.schema(name), value)


def _show_config(store: TaskStore) -> int:
    """The settings in force. Of a damaged file nothing is in force: supervision is off until it is mended."""
    from phases.pages.supervisor_view import read_config
    from phases.supervision.serialization import to_json

    config, wrong = read_config(store.root, _schema_check(store))
    if wrong:
        raise ContractError(f"{wrong}, in {store.root}; supervision is off until that is mended or deleted")
    print_json(to_json(config))
    return 0


def _ask_for_takeover(store: TaskStore, view: View, *, as_json: bool) -> int:
    """Leaves the request where the agent looks before each turn. Nothing else is touched, so a running task need not stop."""
    from phases.pages.supervisor_view import DIRECTORY, TAKE_OVER

    asked = {"at": utc_timestamp()}
    make_directory(store.path(DIRECTORY))
    write_durable(store.path(TAKE_OVER), dump_json(asked))
    if as_json:
        print_json({"task": store.id, **asked, "running": view.running})
    else:
        sentence, command = _what_comes_next(store, at_work=view.running)
        print_text(f"{sentence}:")
        print_advice(f"  {command}")
    _warn_of_idle_request(store, view)
    return 0


def _warn_of_idle_request(store: TaskStore, view: View) -> None:
    """Says so where the settings, as they stand, lead to no takeover."""
    settings = store.load("task.json")["settings"]
    mode = settings.get("supervisor") or view.config.mode or "adaptive"
    shadow = {"true": True, "1": True, "false": False, "0": False}.get(settings.get("supervisor_shadow", ""))
    if view.damage:
        _tell_damage(view)
    if mode != "adaptive":
        change = f"pipeline resume {command_name(store)} --supervisor adaptive"
        print_warning(
            f"supervision of this task is {mode}, and only adaptive supervision takes over; change that with: {change}"
        )
    elif view.config.shadow if shadow is None else shadow:
        print_warning("supervision only looks on (shadow): the takeover will be logged, and not made")


def _what_comes_next(store: TaskStore, *, at_work: bool) -> tuple[str, str]:
    """What becomes of the request, and the command that goes with it."""
    stamp = store.stamps.get("09")
    if at_work:
        watch = f"pipeline supervisor {command_name(store)}"
        return f"Task {store.id} runs: the takeover comes with the agent's next turn; watch it with", watch
    if stamp and stamp.status == "done":
        again = f"pipeline run {quote(relative_path(store.root))} --redo 09"
        return f"The code of task {store.id} is done: the takeover comes when phase 09 is run again; type", again
    go_on = f"pipeline resume {command_name(store)}"
    return f"Task {store.id} does not run: the takeover comes with the agent's first turn once it goes on; type", go_on


def _show_replay(store: TaskStore, *, as_json: bool) -> int:
    differences, compared = _compute_replay(store)
    if as_json:
        print_json({"task": store.id, "compared": compared, "differences": differences})
    else:
        for line in differences:
            print_text(line)
        match = f"{len(differences)} of them differ" if differences else "all of them match"
        print_text(f"{compared} decisions were computed again from the journal: {match}")
    return 1 if differences else 0


def _compute_replay(store: TaskStore) -> tuple[list[str], int]:
    """What differs when every decision is computed a second time, and how many were compared."""
    from phases.agent.supervisor_replay import replay_decisions

    return replay_decisions(
        store.root, lambda data: dict(store.contracts.parse("initial_plan.txt", data, writer="phase 05 plan"))
    )


def _write_page(view: View, out: str) -> None:
    from phases.pages.supervisor_page import PAGE_START, render_page

    refuse_other_file(out, PAGE_START)
    write_page(out, render_page(view))
