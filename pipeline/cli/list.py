"""`pipeline list`: list every task, the newest first, in lines that fit the terminal."""

from __future__ import annotations

import os

import click

from pipeline.base.errors import PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.cli.arguments import answers, tasks_dir_option
from pipeline.cli.assembly import is_task, locate_task, name_in_commands, quote_word, settings_from, tasks_dir_flag
from pipeline.cli.output import Answer, print_advice, print_table, print_warning, rewrite_commands, width_of_terminal
from pipeline.cli.task_factory import NOT_BEGUN
from pipeline.engine.catalog import Catalog, CatalogEntry, TaskList, is_plain_name
from pipeline.engine.lock import holder_of
from pipeline.engine.stamps import LINES
from pipeline.engine.stamps import NAME as STATE

STATUSES = ("running", "paused", "incomplete", "warning", "completed", "error", "cancelled", "interrupted", "gone")
_SHORTEST_ID, _SHORTEST_WHY, _LONGEST_WHY = 12, 24, 100
_WIDE = 90
"""Columns of a terminal that has room for the mode."""


@click.command("list")
@tasks_dir_option
@click.option("--rebuild", is_flag=True, help="Rebuild tasks.jsonl from the task directories; the old one is kept.")
@click.option("-n", "most", metavar="N", type=click.IntRange(1), help="Only the N newest ones.")
@click.option(
    "--status", metavar="WORD", type=click.Choice(STATUSES), help=f"Only those that are {', '.join(STATUSES)}."
)
@answers
def list_command(tasks_dir: str | None, rebuild: bool, most: int | None, status: str | None) -> Answer:
    """List the tasks, the newest first.

    \b
    pipeline list
    pipeline list -n 10 --status incomplete
    pipeline list --json
    """
    folder = settings_from({"tasks_dir": tasks_dir}).tasks_dir
    catalog = Catalog(folder)
    if rebuild and os.path.isdir(folder):
        catalog.rebuild(lambda: _entries_on_disk(folder))
    listing = catalog.read()
    for problem in (*listing.repairs, *listing.damages):
        print_warning(problem)
    rows = [entry for entry in reversed(current_entries(listing, folder)) if status in (None, entry.status)][:most]
    return Answer([entry._asdict() for entry in rows], lambda: _show_tasks(rows, folder, status))


def _show_tasks(rows: list[CatalogEntry], folder: str, status: str | None) -> None:
    if not rows:
        which = f"no tasks that are {status}" if status else "no tasks"
        print_advice(f"{which} in {folder}; start one with: pipeline run --fast paper.pdf{tasks_dir_flag(folder)}")
        return
    width = width_of_terminal()
    wide = width >= _WIDE
    longest = min(max(len(entry.id) for entry in rows), max(_SHORTEST_ID, width * 2 // 5))
    before = longest + max(len(entry.status) for entry in rows) + len("  11-23 08:00    ") + len("full  ") * wide
    room = width - before - 1 if width - before > _SHORTEST_WHY else width - len("     ")  # else it stands below
    print_table(
        [
            (
                *(_cut_middle(entry.id, longest), entry.status),
                *((entry.mode,) if wide else ()),
                *(entry.at[5:16].replace("T", " "), _shorten_reason(entry, folder, min(room, _LONGEST_WHY))),
            )
            for entry in rows
        ],
        header=("ID", "STATUS", *(("MODE",) if wide else ()), "CHANGED", "WHY"),
    )


def _cut_middle(name: str, width: int) -> str:
    """Keep the start and the end of a long name, in which names of papers differ."""
    half = (width - 1) // 2
    return name if len(name) <= width else f"{name[: width - 1 - half]}…{name[-half:]}"


def current_entries(listing: TaskList, folder: str) -> list[CatalogEntry]:
    """Correct entries: a running task without a process was killed, and one without its directory is gone."""
    rows = []
    for listed in listing.entries.values():
        entry = listed
        if not is_task(os.path.join(folder, entry.id)):
            why = f"its directory is missing; remove it from the list: pipeline rm {quote_word(entry.id)}{tasks_dir_flag(folder)}"
            entry = entry._replace(status="gone", reason=why)
        elif entry.status == "running" and not holder_of(os.path.join(folder, entry.id)):
            why = f"killed; continue with: pipeline resume {name_in_commands(os.path.join(folder, entry.id))}"
            entry = entry._replace(status="interrupted", reason=why)
        rows.append(entry)
    return rows


def _entries_on_disk(folder: str) -> list[CatalogEntry]:
    entries = []
    for name in sorted(os.listdir(folder)):
        root = os.path.join(folder, name)
        if is_plain_name(name) and is_task(root):
            try:
                entries.append(_read_entry(name, root))
            except (PipelineError, KeyError, TypeError) as error:
                print_warning(f"{root} is left out of the list, its task.json or report.json is damaged: {error}")
    return entries


def _read_entry(name: str, root: str) -> CatalogEntry:
    task = parse_json(read_bytes(os.path.join(root, "task.json")))
    path = os.path.join(root, "report.json")
    report = parse_json(read_bytes(path)) if os.path.exists(path) else {}
    begun = any(os.path.exists(os.path.join(root, state)) for state in (STATE, LINES))
    before = ("running", "") if begun else ("paused", NOT_BEGUN)
    status, reason = report.get("status", before[0]), report.get("reason", before[1])
    at = report.get("finished", task["created"])
    return CatalogEntry(name, at, status, task["settings"]["mode"], task["source"], reason)


def _shorten_reason(entry: CatalogEntry, folder: str, width: int) -> str:
    text = rewrite_commands(locate_task(entry.reason, os.path.join(os.path.abspath(folder), entry.id)))
    text = text.removeprefix(f"{entry.source} ") or entry.source
    return text if len(text) <= width else text[: width - 1].rpartition(" ")[0].rstrip(" ;:,") + " …"
