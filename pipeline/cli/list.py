"""`pipeline list`: every task, the newest last."""

from __future__ import annotations

import os

import click

from pipeline.base.errors import PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.cli.arguments import tasks_dir_option
from pipeline.cli.assembly import is_task, settings_from
from pipeline.cli.console import advise, say_json, table, warn
from pipeline.cli.program import as_called
from pipeline.engine.catalog import Catalog, Entry, Listing
from pipeline.engine.lock import holder


@click.command("list")
@tasks_dir_option
@click.option("--rebuild", is_flag=True, help="Write tasks.jsonl anew from the task directories; the old one is kept.")
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
        warn(problem)
    rows = _honest(listing, folder)
    if as_json:
        say_json([entry._asdict() for entry in rows])
    elif rows:
        table(
            [(entry.id, entry.status, entry.mode, entry.at[:16].replace("T", " "), _short(entry)) for entry in rows],
            header=("ID", "STATUS", "MODE", "CHANGED", "WHY"),
        )
    else:
        advise(f"no tasks in {folder}; begin one with: pipeline run --fast paper.pdf")


def _honest(listing: Listing, folder: str) -> list[Entry]:
    """A task whose last word was 'running' but that nobody holds was killed; one without its directory is gone."""
    rows = []
    for listed in listing.entries.values():
        entry = listed
        if not is_task(os.path.join(folder, entry.id)):
            why = f"its directory is not there; take it off the list: pipeline rm {entry.id}"
            entry = entry._replace(status="gone", reason=why)
        elif entry.status == "running" and not holder(os.path.join(folder, entry.id)):
            entry = entry._replace(status="interrupted", reason=f"killed; go on with: pipeline resume {entry.id}")
        rows.append(entry)
    return rows


def _entries_on_disk(folder: str) -> list[Entry]:
    entries = []
    for name in sorted(os.listdir(folder)):
        root = os.path.join(folder, name)
        if is_task(root):
            try:
                entries.append(_entry(name, root))
            except (PipelineError, KeyError, TypeError) as error:
                warn(f"{root} is left out of the list, its task.json or report.json is damaged: {error}")
    return entries


def _entry(name: str, root: str) -> Entry:
    task = parse_json(read_bytes(os.path.join(root, "task.json")))
    path = os.path.join(root, "report.json")
    report = parse_json(read_bytes(path)) if os.path.exists(path) else {}
    status, at = report.get("status", "running"), report.get("finished", task["created"])
    return Entry(name, at, status, task["settings"]["mode"], task["source"], report.get("reason", ""))


def _short(entry: Entry, width: int = 70) -> str:
    text = as_called(entry.reason) or entry.source
    return text if len(text) <= width else text[: width - 1].rpartition(" ")[0].rstrip(" ;:,") + " …"
