"""report.json: the result of a run, in one document that is written on every way out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

from pipeline.base.errors import (
    ContractError,
    Incomplete,
    Interrupted,
    Paused,
    PhaseBug,
    PipelineError,
    Rejected,
    StorageError,
)
from pipeline.base.logs import utc_timestamp
from pipeline.engine.attempt import call_guarded
from pipeline.engine.phase import Phase
from pipeline.engine.stamps import FINISHED, Stamp
from pipeline.engine.store import TaskStore

COMPLETED, INCOMPLETE, WARNING = "completed", "incomplete", "warning"
ERROR, CANCELLED, PAUSED = "error", "cancelled", "paused"
EXIT_CODES = {COMPLETED: 0, WARNING: 0, ERROR: 1, INCOMPLETE: 3, PAUSED: 5}
_COUNTS = (
    *("total", "unlocated", "stubbed", "located", "run", "guarded"),
    *("measured", "tried", "reviewed", "differing", "unclear"),
)
_EMPTY: dict[str, Any] = {
    "input_verdict": None,
    "files": {"planned": 0, "written": 0, "missing": []},
    "requirements": {
        **dict.fromkeys(_COUNTS, 0),
        "open": [],
    },
    "usage": {"calls": 0, "tokens_in": 0, "tokens_cached": 0, "tokens_out": 0, "usd": 0.0},
    "scaffold": False,
    "verified": None,
    "verified_by": [],
    "sandbox": None,
    "checks": [],
    "missing_packages": [],
    "missing_programs": [],
    "questions": [],
    "reference_files": [],
}
_ASKED = ("reproduction", "recognized_by", "blacklist")
"""Facts of what is done only when it is asked for: a report without them is as it was."""


class Outcome(NamedTuple):
    """Result of a run: its status, the reason in words, and the exit code of the command."""

    status: str
    reason: str
    exit_code: int
    report: Mapping[str, Any] = {}
    """Facts of the failure for the report."""
    flag: str = ""
    """Flag that a resume needs to get further, like `--add-usd 0.50`."""


def outcome_of(error: BaseException) -> Outcome:
    """Return the outcome of a run that an exception ended."""
    if isinstance(error, Interrupted):
        return Outcome(CANCELLED, f"interrupted ({error}); nothing is lost", error.exit_code)
    if isinstance(error, Paused):
        return Outcome(PAUSED, str(error), error.exit_code, flag=error.flag)
    if isinstance(error, Rejected):
        return Outcome(CANCELLED, str(error), error.exit_code)
    if isinstance(error, Incomplete):
        return Outcome(INCOMPLETE, str(error), error.exit_code, error.report)
    if isinstance(error, PipelineError):
        return Outcome(ERROR, str(error), error.exit_code, getattr(error, "report", {}), getattr(error, "flag", ""))
    return Outcome(ERROR, f"a bug in the pipeline: {type(error).__name__}: {error}", 70)


def outcome_of_phases(store: TaskStore, stale: Collection[Phase] = ()) -> Outcome:
    """Return the worst outcome that the phases of a finished run report. `stale` phases report on older inputs."""
    facts, error = _collect_facts(store, stale)
    if error:
        return outcome_of(error)
    stamps = [stamp for _, stamp in sorted(store.stamps.items())]
    degraded = [f"{stamp.name}: {stamp.error}" for stamp in stamps if stamp.status == "degraded"]
    status, reason = facts.get("status", COMPLETED), str(facts.get("reason", ""))
    if status != COMPLETED:
        return Outcome(status, "; ".join(filter(None, [reason, *degraded])), EXIT_CODES[status])
    if degraded:
        return Outcome(WARNING, "; ".join(degraded), EXIT_CODES[WARNING])
    return Outcome(COMPLETED, reason or "every phase is done", 0)


def build_report(
    store: TaskStore, settings: Mapping[str, Any], outcome: Outcome, spent: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], Outcome]:
    """Build the report and its outcome: facts from the phases that have a result, and one row a phase.

    Facts that do not fit the report's schema are a bug of their phase: they are left out, and the outcome says so.
    """
    facts, _ = _collect_facts(store)
    usage = {"usage": dict(spent)} if spent else {}
    forbidden = {"blacklist": blacklist} if (blacklist := str(settings.get("blacklist", "")).split()) else {}
    report = _build_document(store, settings, outcome, {**_EMPTY, **facts, **usage, **forbidden, **outcome.report})
    try:
        store.contracts.serialise("report.json", report, writer="the runner")
    except ContractError as error:
        outcome = Outcome(ERROR, f"a phase reports what does not fit: {error}", PhaseBug.exit_code)
        report = _build_document(store, settings, outcome, _EMPTY)
    return report, outcome


def _build_document(
    store: TaskStore, settings: Mapping[str, Any], outcome: Outcome, facts: Mapping[str, Any]
) -> dict[str, Any]:
    rows = []
    for phase in store.graph.phases:
        if not phase.is_selected(settings):
            continue
        stamp = store.stamps.get(phase.number, Stamp(phase.name))
        phase_row = {
            "number": phase.number,
            "name": phase.name,
            "status": stamp.status,
            "seconds": round(stamp.seconds, 3),
        }
        rows.append({**phase_row, "attempts": stamp.attempts, "error": stamp.error})
    return {
        "version": 1,
        "id": store.id,
        "status": outcome.status,
        "reason": outcome.reason,
        "exit_code": outcome.exit_code,
        "resume_with": outcome.flag,
        "finished": utc_timestamp(),
        **{name: settings[name] for name in ("mode", "model")},
        **{name: facts[name] for name in _EMPTY},
        **{name: facts[name] for name in _ASKED if name in facts},
        "phases": rows,
    }


def _collect_facts(store: TaskStore, stale: Collection[Phase] = ()) -> tuple[dict[str, Any], PipelineError | None]:
    facts: dict[str, Any] = {}
    for phase in store.graph.phases:
        stamp = store.stamps.get(phase.number)
        if phase in stale or not (phase.report and stamp and stamp.status in FINISHED):
            continue
        if phase.asked and store.stale_reason(phase, stamp.settings):
            continue  # what it says is of other code than what is there now
        try:
            outputs = store.outputs(phase)
        except (ContractError, StorageError):
            continue  # a damaged document has ended the run, or will end the next one, by name
        reported, error = call_guarded(phase, partial(phase.report, outputs))
        if error is None and not isinstance(reported, Mapping):
            error = PhaseBug(f"phase {phase.label} reports {type(reported).__name__}, and not facts by name")
        elif error is None and reported.get("status", COMPLETED) not in EXIT_CODES:
            error = PhaseBug(
                f"phase {phase.label} reports the status {reported['status']!r}, and there is no such status"
            )
        if error:
            return facts, error
        by = [*facts.get("verified_by", ()), *reported.get("verified_by", ())]
        facts.update({**reported, **({"verified_by": by} if by else {})})
    return facts, None
