"""report.json: how a run ended, in one document that is written on every way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.errors import ContractError, Interrupted, Paused, PipelineError, Rejected, StorageError
from pipeline.logs import timestamp
from pipeline.stamps import FINISHED
from pipeline.store import TaskStore

COMPLETED, INCOMPLETE, WARNING, ERROR, CANCELLED, PAUSED = (
    "completed",
    "incomplete",
    "warning",
    "error",
    "cancelled",
    "paused",
)
EXIT_CODES = {COMPLETED: 0, WARNING: 0, ERROR: 1, INCOMPLETE: 3, PAUSED: 5}
_EMPTY: dict[str, Any] = {
    "input_verdict": None,
    "files": {"planned": 0, "written": 0, "missing": []},
    "requirements": {"total": 0, "implemented": 0, "stubbed": 0, "missing": []},
    "usage": {"calls": 0, "tokens_in": 0, "tokens_out": 0, "usd": 0.0},
    "verified": None,
    "sandbox": None,
}


class Outcome(NamedTuple):
    """The end of one run: its status, the reason in words, and the exit code of the command."""

    status: str
    reason: str
    exit_code: int
    report: Mapping[str, Any] = {}
    """What the failure itself has to say for the report."""


def outcome_of(error: BaseException) -> Outcome:
    """The outcome of a run that an exception ended."""
    if isinstance(error, Interrupted):
        return Outcome(CANCELLED, f"stopped by {error}; nothing is lost", error.exit_code)
    if isinstance(error, Paused):
        return Outcome(PAUSED, str(error), error.exit_code)
    if isinstance(error, Rejected):
        return Outcome(CANCELLED, str(error), error.exit_code)
    if isinstance(error, PipelineError):
        return Outcome(ERROR, str(error), error.exit_code, getattr(error, "report", {}))
    return Outcome(ERROR, f"a bug in the pipeline: {type(error).__name__}: {error}", 70)


def outcome_of_phases(store: TaskStore) -> Outcome:
    """The outcome of a run in which every phase has a result: what the phases themselves say, the worst of it."""
    facts = _facts(store)
    degraded = [
        f"{stamp.name}: {stamp.error}" for _, stamp in sorted(store.stamps.items()) if stamp.status == "degraded"
    ]
    if facts.get("status", COMPLETED) != COMPLETED:
        reason = "; ".join([str(facts.get("reason", "")), *degraded])
        return Outcome(str(facts["status"]), reason, EXIT_CODES[str(facts["status"])])
    if degraded:
        return Outcome(WARNING, "; ".join(degraded), EXIT_CODES[WARNING])
    return Outcome(COMPLETED, str(facts.get("reason", "every phase is done")), 0)


def build_report(store: TaskStore, outcome: Outcome) -> dict[str, Any]:
    """The document: facts from the phases that have a result, and one row a phase."""
    facts = {**_EMPTY, **_facts(store), **outcome.report}
    task = store.load("task.json")
    rows = []
    for phase in store.graph.phases:
        stamp = store.stamps.get(phase.number)
        rows.append(
            {
                "number": phase.number,
                "name": phase.name,
                "status": stamp.status if stamp else "pending",
                "seconds": round(stamp.seconds, 3) if stamp else 0.0,
                "attempts": stamp.attempts if stamp else 0,
                "error": stamp.error if stamp else None,
            }
        )
    return {
        "version": 1,
        "id": store.id,
        "status": outcome.status,
        "reason": outcome.reason,
        "exit_code": outcome.exit_code,
        "finished": timestamp(),
        **{name: task["settings"][name] for name in ("mode", "model")},
        **{name: facts[name] for name in _EMPTY},
        "phases": rows,
    }


def _facts(store: TaskStore) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for phase in store.graph.phases:
        stamp = store.stamps.get(phase.number)
        if phase.report and stamp and stamp.status in FINISHED:
            try:
                facts.update(phase.report(store.outputs(phase)))
            except (ContractError, StorageError):
                continue  # a damaged document has ended the run, or will end the next one, by name
    return facts
