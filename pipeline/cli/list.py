"""`pipeline list`: every task, the newest last."""

from __future__ import annotations

import os

import click

from pipeline.base.errors import PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.cli.arguments import answers, tasks_dir_option
from pipeline.cli.assembly import is_task, locate_task, name_in_commands, quote_word, settings_from, tasks_dir_flag
from pipeline.cli.output import Answer, print_advice, print_table, print_warning, rewrite_commands
from pipeline.engine.catalog import Catalog, CatalogEntry, TaskList
from pipeline.engine.lock import holder_of


@click.command("list")
@tasks_dir_option
@click.option("--rebuild", is_flag=True, help="Rebuild tasks.jsonl from the task directories; the old one is kept.")
@answers
def list_command(tasks_dir: str | None, rebuild: bool) -> Answer:
    """List the tasks, the newest last.

    \b
    pipeline list
    pipeline list --json
    """
    folder = settings_from({"tasks_dir": tasks_dir}).tasks_dir
    catalog = Catalog(folder)
    if rebuild and os.path.isdir(folder):
        catalog.rebuild(lambda: _entries_on_disk(folder))
    listing = catalog.read()
    for problem in (*listing.repairs, *listing.damages):
        print_warning(problem)
    rows = _current_entries(listing, folder)
    return Answer([entry._asdict() for entry in rows], lambda: _show_tasks(rows, folder))


def _show_tasks(rows: list[CatalogEntry], folder: str) -> None:
    if rows:
        print_table(
            [
                (entry.id, entry.status, entry.mode, entry.at[:16].replace("T", " "), _shorten_reason(entry, folder))
                for entry in rows
            ],
            header=("ID", "STATUS", "MODE", "CHANGED", "WHY"),
        )
    else:
        print_advice(f"no tasks in {folder}; start one with: pipeline run --fast paper.pdf{tasks_dir_flag(folder)}")


def _current_entries(listing: TaskList, folder: str) -> list[CatalogEntry]:
    """A task whose last word was 'running' but that nobody holds was killed; one without its directory is gone."""
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
        if is_task(root):
            try:
                entries.append(_read_entry(name, root))
            except (PipelineError, KeyError, TypeError) as error:
                print_warning(f"{root} is left out of the list, its task.json or report.json is damaged: {error}")
    return entries


def _read_entry(name: str, root: str) -> CatalogEntry:
    task = parse_json(read_bytes(os.path.join(root, "task.json")))
    path = os.path.join(root, "report.json")
    report = parse_json(read_bytes(path)) if os.path.exists(path) else {}
    status, at = report.get("status", "running"), report.get("finished", task["created"])
    return CatalogEntry(name, at, status, task["settings"]["mode"], task["source"], report.get("reason", ""))


def _shorten_reason(entry: CatalogEntry, folder: str, width: int = 70) -> str:
    text = rewrite_commands(locate_task(entry.reason, os.path.join(os.path.abspath(folder), entry.id))) or entry.source
    return text if len(text) <= width else text[: width - 1].rpartition(" ")[0].rstrip(" ;:,") + " …"
