"""Update the report and the list after a command that changed a task between two runs."""

from __future__ import annotations

import os

from pipeline.cli.assembly import config_directory, settings_from
from pipeline.cli.trust import settings_in_force
from pipeline.engine.catalog import Catalog
from pipeline.engine.report import Outcome, build_report
from pipeline.engine.seal import make_key
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore


def record_outcome(store: TaskStore, outcome: Outcome, settings: Settings | None = None) -> None:
    """Replace how the last run ended, which holds no longer. What was spent stays."""
    task = store.load("task.json")
    make_key(config_directory())
    values = settings_in_force(store, settings or settings_from({}), {}).values
    spent = store.load("report.json")["usage"] if store.exists("report.json") else None
    report, outcome = build_report(store, values, outcome, spent)
    store.write({"report.json": report})
    catalog = Catalog(os.path.dirname(store.root))
    catalog.record(store.id, outcome.status, mode=values["mode"], source=task["source"], reason=outcome.reason)
