"""`pipeline list`: every task, the newest last."""

from __future__ import annotations

import os

import click

from pipeline.base.errors import PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.cli.arguments import tasks_dir_option
from pipeline.cli.assembly import is_task, settings_from
from pipeline.cli.output import print_advice, print_json, print_table, print_warning, rewrite_commands
from pipeline.engine.catalog import Catalog, CatalogEntry, TaskList
from pipeline.engine.lock import holder_of


@click.command("list")
@tasks_dir_option
@click.option("--rebuild", is_flag=True, help="Rebuild tasks.jsonl from the task directories; the old one is kept.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_command(tasks_dir: str | None, rebuild: bool, as_json: bool) -> None:
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
    if as_json:
        print_json([entry._asdict() for entry in rows])
    elif rows:
        print_table(
            [
                (entry.id, entry.status, entry.mode, entry.at[:16].replace("T", " "), _shorten_reason(entry))
                for entry in rows
            ],
            header=("ID", "STATUS", "MODE", "CHANGED", "WHY"),
        )
    else:
        print_advice(f"no tasks in {folder}; begin one with: pipeline run --fast paper.pdf")


def _current_entries(listing: TaskList, folder: str) -> list[CatalogEntry]:
    """A task whose last word was 'running' but that nobody holds was killed; one without its directory is gone."""
    rows = []
    for listed in listing.entries.values():
        entry = listed
        if not is_task(os.path.join(folder, entry.id)):
            why = f"its directory is missing; remove it from the list: pipeline rm {entry.id}"
            entry = entry._replace(status="gone", reason=why)
        elif entry.status == "running" and not holder_of(os.path.join(folder, entry.id)):
            entry = entry._replace(status="interrupted", reason=f"killed; go on with: pipeline resume {entry.id}")
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


def _shorten_reason(entry: CatalogEntry, width: int = 70) -> str:
    text = rewrite_commands(entry.reason) or entry.source
    return text if len(text) <= width else text[: width - 1].rpartition(" ")[0].rstrip(" ;:,") + " …"
