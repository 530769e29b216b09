"""`pipeline show`: print a document of a task."""

from __future__ import annotations

import os

import click

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes
from pipeline.cli.arguments import complete_documents, task_argument, tasks_dir_option
from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.output import print_json, print_text
from pipeline.engine.settings import did_you_mean
from pipeline.engine.store import TaskStore

SHORT = {
    "plan": "initial_plan.txt",
    "paper": "paper.md",
    "outline": "outline.json",
    "input": "input.json",
    "report": "report.json",
    "review": "plan_review.json",
    "references": "reference.txt",
    "code": "implementation.json",
    "summary": "implement_code_summary.md",
    "segments": "document_segments/document_index.json",
    "traceability": "traceability.json",
    "index": "indexes/index.json",
    "environment": "environment.json",
    "repositories": "code_base.json",
    "acceptance": "acceptance.json",
    "state": "state.json",
    "task": "task.json",
}


@click.command("show")
@task_argument
@click.argument("document", metavar="[DOCUMENT]", required=False, shell_complete=complete_documents)
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print the parsed document as JSON.")
def show_command(task: str, document: str | None, tasks_dir: str | None, as_json: bool) -> None:
    """Print a document of a task (a short name or a path in the task); without DOCUMENT, list what is there.

    \b
    pipeline show paper
    pipeline show paper plan
    pipeline show paper acceptance                    every attempt to have the code accepted
    pipeline show paper generate_code/src/config.py
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    if document is None:
        _list_documents(store, as_json)
        return
    if document == "acceptance":
        from pipeline.cli.show_acceptance import show_acceptance

        show_acceptance(store, as_json=as_json)
        return
    name = SHORT.get(document, document)
    path = os.path.realpath(store.path(name))
    if not path.startswith(os.path.realpath(store.root) + os.sep) or not os.path.isfile(path):
        raise UsageError(f"task {store.id} has no document '{document}'{did_you_mean(document, sorted(SHORT))}")
    if as_json:
        value = store.load(name)
        print_json(getattr(value, "front", value))
    else:
        print_text(read_bytes(path).decode("utf-8", "replace").rstrip("\n"))


def _list_documents(store: TaskStore, as_json: bool) -> None:
    short = {name: word for word, name in SHORT.items()}
    there = sorted(
        name for name in {*store.graph.documents, "task.json", "state.json", "report.json"} if store.exists(name)
    )
    if as_json:
        print_json(there)
        return
    for name in there:
        print_text(f"  {short.get(name, ''):<13} {name}")
