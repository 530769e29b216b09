"""`pipeline show`: print a document of a task."""

from __future__ import annotations

import os

import click

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes
from pipeline.cli.arguments import answers_about, complete_documents, task_argument
from pipeline.cli.assembly import command_name
from pipeline.cli.output import Answer, print_text
from pipeline.cli.plan_versions import show_plan
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
    "packages": "package_lock.json",
    "repositories": "code_base.json",
    "acceptance": "acceptance.json",
    "results": "results.json",
    "data": "data.json",
    "state": "state.json",
    "task": "task.json",
}


@click.command("show")
@answers_about(task_argument)
@click.argument("document", metavar="[DOCUMENT]", required=False, shell_complete=complete_documents)
def show_command(store: TaskStore, document: str | None) -> Answer:
    """Print a document of a task (a short name or a path in the task); without DOCUMENT, list what is there.

    \b
    pipeline show paper
    pipeline show paper plan                          plan.md: the plan on a few screens
    pipeline show paper initial_plan.txt              the whole plan, as the file has it (YAML)
    pipeline show paper acceptance                    every attempt to have the code accepted
    pipeline show paper generate_code/src/config.py
    """
    if document is None:
        return _list_documents(store)
    if document == "acceptance":
        from pipeline.cli.show_acceptance import find_attempts  # imported here: no other needs the journal

        return find_attempts(store)
    name = SHORT.get(document, document)
    path = os.path.realpath(store.path(name))
    if not path.startswith(os.path.realpath(store.root) + os.sep) or not os.path.isfile(path):
        if name in SHORT.values() and not os.path.lexists(store.path(name)):
            raise UsageError(f"task {store.id} has no {name} yet: {_describe_writer(store, name)}")
        raise UsageError(f"task {store.id} has no document '{document}'{did_you_mean(document, sorted(SHORT))}")
    if document == "plan":
        return Answer(lambda: store.load(name), lambda: show_plan(store.load(name)))
    return Answer(
        lambda: getattr(value := store.load(name), "front", value),
        lambda: print_text(read_bytes(path).decode("utf-8", "replace").rstrip("\n")),
    )


def _describe_writer(store: TaskStore, name: str) -> str:
    """Return what writes a missing document, and the command for it."""
    resume = f"pipeline resume {command_name(store)}"
    if name == "data.json":  # of no phase: what was fetched must not be forgotten with its result
        return f"phases 09 and 10 write it, where the plan or --data names a data set; go on with: {resume}"
    writer = store.graph.writer(name)
    if writer is None:
        return f"a run writes it; go on with: {resume}"
    how = f"--{writer.asked}" if writer.asked else f"--until {writer.number}"
    return f"phase {writer.label} writes it; go on with: {resume} {how}"


def _list_documents(store: TaskStore) -> Answer:
    short = {name: word for word, name in SHORT.items()}
    names = {*store.graph.documents, "task.json", "state.json", "report.json", "data.json"}
    there = sorted(filter(store.exists, names))
    lines = [f"  {short.get(name, ''):<13} {name}" for name in there]
    return Answer(there, lambda: print_text("\n".join(lines)))
