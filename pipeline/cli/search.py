"""`pipeline search`: find something in the code that a task's paper builds on."""

from __future__ import annotations

import os
from typing import Any

import click

from phases.references.search import answer_query
from phases.sandbox.parsers import confine_parser
from pipeline.base.errors import UsageError
from pipeline.base.workers import WorkerStart
from pipeline.cli.arguments import answers_about, task_argument
from pipeline.cli.assembly import cache_directory, command_name
from pipeline.cli.output import Answer, print_text
from pipeline.engine.phase import is_placeholder
from pipeline.engine.store import TaskStore

_INDEX = "indexes/index.json"


@click.command("search")
@answers_about(task_argument)
@click.argument("query", metavar="QUERY")
@click.option("--repository", metavar="NAME", default="", help="Search in this one alone.")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Number of answers.")
def search_command(store: TaskStore, query: str, repository: str, limit: int) -> Answer:
    """Search the code that was fetched for a task, in words or by the name of a class or function.

    Every answer names the repository, the file, its lines and its licence. Exits with 1 where nothing is found.

    \b
    pipeline search paper "learning rate warmup"
    pipeline search paper MultiHeadAttention --repository tensorflow__tensor2tensor
    """
    start = WorkerStart(os.environ, confine_parser)
    rows = answer_query(store.root, _load_index(store), query, repository, limit, cache_directory(), start)
    found = [answer._asdict() for answer in rows]
    value = {"task": store.id, "query": query, "answers": found}
    return Answer(value, lambda: _show_answers(found, query), 0 if found else 1)


def _load_index(store: TaskStore) -> dict[str, Any]:
    """Load the task's index. Raises UsageError if there is none."""
    name = command_name(store)
    if not store.exists(_INDEX):
        raise UsageError(f"task {store.id} has no index yet: phase 08 writes it; continue with: pipeline resume {name}")
    index: dict[str, Any] = store.load(_INDEX)
    if is_placeholder(index):
        why = index["reason"]
        raise UsageError(f"task {store.id} has no index ({why}); make one with: pipeline resume {name} --full")
    if not index["repositories"]:
        raise UsageError(f"task {store.id}: {'; '.join(index['notes'])}; give code of your own with --references DIR")
    return index


def _show_answers(found: list[dict[str, Any]], query: str) -> None:
    if not found:
        print_text(f"nothing matches {query!r}")
    for number, answer in enumerate(found):
        name = f"  {answer['kind']} {answer['name']}" if answer["name"] else ""
        licence = answer["licence"] or "no licence found: all rights are its authors'"
        print_text(
            f"{chr(10) if number else ''}{answer['repository']}/{answer['file']}:{answer['line']}{name}  ({licence})"
        )
        for offset, line in enumerate(answer["text"].split("\n")):
            print_text(f"{answer['line'] + offset:>6}  {line}".rstrip())
