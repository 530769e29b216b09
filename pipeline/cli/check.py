"""`pipeline check`: every document of a task against its schema and its stamp."""

from __future__ import annotations

from collections.abc import Iterator

import click

from pipeline.base.errors import PipelineError
from pipeline.cli.arguments import task_or_newest, tasks_dir_option
from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.output import print_json, print_text
from pipeline.engine.graph import GIVEN
from pipeline.engine.store import TaskStore

_REPORTS = ("kernel-report.json", "report.json")


@click.command("check")
@task_or_newest
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_command(task: str | None, tasks_dir: str | None, as_json: bool) -> int:
    """Check every document of a task: is it there, does it fit its schema, is it what its phase wrote?

    Exits with 1 when something is damaged or missing; a hand edit that fits the schema is told, and is fine.

    \b
    pipeline check paper
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    rows = list(_check_documents(store))
    bad = [row for row in rows if row["verdict"] in ("damaged", "missing")]
    if as_json:
        print_json(rows)
        return 1 if bad else 0
    for row in rows:
        print_text(f"  {row['verdict']:<8} {row['document']}" + (f": {row['detail']}" if row["detail"] else ""))
    print_text(
        f"{len(rows)} documents, {len(bad)} of them damaged or missing" if bad else f"{len(rows)} documents, all fine"
    )
    return 1 if bad else 0


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
    for name in filter(store.exists, _REPORTS):
        yield _check_document(store, name, None)


def _check_document(store: TaskStore, name: str, digest: str | None) -> dict[str, str]:
    verdict, detail = "fine", ""
    try:
        now = store.digest(name)
        if now is None:
            verdict = "missing"
        elif name in store.graph.documents or name in GIVEN or name in _REPORTS:
            store.load(name)
        if now and digest and now != digest:
            verdict, detail = "edited", "by hand, after its phase wrote it"
    except PipelineError as error:
        verdict, detail = "damaged", str(error)
    return {"document": name, "verdict": verdict, "detail": detail}
