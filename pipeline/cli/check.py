"""`pipeline check`: validate every document of a task against its schema and its stamp."""

from __future__ import annotations

from collections.abc import Iterator

import click

from pipeline.base.errors import PipelineError
from pipeline.cli.arguments import answers_about, task_or_newest
from pipeline.cli.output import Answer, print_text
from pipeline.engine.graph import GIVEN
from pipeline.engine.store import TaskStore

_UNSTAMPED = ("data.json", "kernel-report.json", "report.json")
"""Documents that no stamp of a phase names."""


@click.command("check")
@answers_about(task_or_newest)
def check_command(store: TaskStore) -> Answer:
    """Check every document of a task: is it there, does it fit its schema, is it what its phase wrote?

    Exits with 1 when something is damaged or missing; a hand edit that fits the schema is told, and is fine.

    \b
    pipeline check paper
    """
    rows = list(_check_documents(store))
    bad = [row for row in rows if row["verdict"] in ("damaged", "missing")]
    return Answer(rows, lambda: _show_rows(rows, len(bad)), 1 if bad else 0)


def _show_rows(rows: list[dict[str, str]], bad: int) -> None:
    for row in rows:
        print_text(f"  {row['verdict']:<8} {row['document']}" + (f": {row['detail']}" if row["detail"] else ""))
    print_text(f"{len(rows)} documents, {f'{bad} of them damaged or missing' if bad else 'all fine'}")


def _check_documents(store: TaskStore) -> Iterator[dict[str, str]]:
    for name in GIVEN:
        yield _check_document(store, name, None)
    for phase in store.graph.phases:
        stamp = store.stamps.get(phase.number)
        for name, digest in sorted(stamp.written.items()) if stamp else ():
            yield _check_document(store, name, digest)
        for name, what in store.changes(phase):
            again = f"phase {phase.label} writes it again on the next run"
            how = {"edited": "by hand, after its phase wrote it; ", "added": "put there by hand; "}.get(what, "")
            yield {"document": name, "verdict": "edited" if how else "missing", "detail": how + again}
    for name in filter(store.exists, _UNSTAMPED):
        yield _check_document(store, name, None)


def _check_document(store: TaskStore, name: str, digest: str | None) -> dict[str, str]:
    verdict, detail = "fine", ""
    try:
        now = store.digest(name)
        if now is None:
            verdict = "missing"
        elif name in store.graph.documents or name in GIVEN or name in _UNSTAMPED:
            store.load(name)
        if now and digest and now != digest:
            verdict, detail = "edited", "by hand, after its phase wrote it"
    except PipelineError as error:
        verdict, detail = "damaged", str(error)
    return {"document": name, "verdict": verdict, "detail": detail}
