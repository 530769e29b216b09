"""report.json: how a run ended, told by the phases themselves, the worst of it first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.errors import (
    CatalogError,
    ContractError,
    FormatError,
    InputsChanged,
    Interrupted,
    Paused,
    PhaseBug,
    PhaseError,
    PipelineError,
    Rejected,
    StorageError,
    TaskBusy,
    UsageError,
)
from pipeline.engine.phase import Phase
from pipeline.engine.report import EXIT_CODES, Outcome, build_report, outcome_of, outcome_of_phases
from pipeline.engine.stamps import Stamp
from pipeline.engine.store import TaskStore
from tests.engine.test_store import make_task, perform, toy
from tests.strategies import FEW, texts


def says(**facts: Any) -> Any:
    """The report function of a phase that has these facts to tell."""
    return lambda documents: facts


def finished(folder: Path, *phases: Phase) -> TaskStore:
    """A task in which all these phases are done."""
    store = make_task(folder, *phases)
    for phase in phases:
        perform(store, phase, {phase.writes[0]: {"text": phase.name}})
    return store


def told(store: TaskStore, outcome: Outcome) -> dict[str, Any]:
    """The report of a run of this task that ended so."""
    report, _ = build_report(store, store.load("task.json")["settings"], outcome)
    return report


def end(store: TaskStore, phase: Phase, status: str, error: str | None = None) -> None:
    """Lets a phase of the task end with this status."""
    written = store.stamps[phase.number].written if phase.number in store.stamps else {}
    store.stamps[phase.number] = Stamp(phase.name, status, 1, seconds=0.12345, error=error, written=written)


ALPHA = toy("01", "alpha")
BETA = toy("02", "beta")


@pytest.mark.parametrize(
    ("error", "status", "code", "reason"),
    [
        (PipelineError("no"), "error", 1, "no"),
        (StorageError("no disk"), "error", 1, "no disk"),
        (FormatError("not JSON", line=1), "error", 1, "not JSON"),
        (ContractError("a.json"), "error", 1, "a.json"),
        (CatalogError("line 2"), "error", 1, "line 2"),
        (TaskBusy("process 1"), "error", 75, "process 1"),
        (PhaseError("gave up"), "error", 1, "gave up"),
        (PhaseBug("a bug"), "error", 70, "a bug"),
        (UsageError("no phase"), "error", 2, "no phase"),
        (Rejected("by me"), "cancelled", 4, "by me"),
        (Paused("waits"), "paused", 5, "waits"),
        (InputsChanged("edited"), "paused", 5, "edited"),
        (Interrupted(1), "cancelled", 129, "interrupted (SIGHUP); nothing is lost"),
        (Interrupted(2), "cancelled", 130, "interrupted (Ctrl-C); nothing is lost"),
        (Interrupted(15), "cancelled", 143, "interrupted (SIGTERM); nothing is lost"),
        (ZeroDivisionError("x"), "error", 70, "a bug in the pipeline: ZeroDivisionError: x"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_each_error_has_its_status_and_exit_code(error: BaseException, status: str, code: int, reason: str) -> None:
    outcome = outcome_of(error)
    assert (outcome.status, outcome.exit_code, outcome.reason) == (status, code, reason)


def test_what_a_phase_knew_when_it_gave_up_is_in_the_report(tmp_path: Path) -> None:
    store = make_task(tmp_path, ALPHA)
    report = told(store, outcome_of(PhaseError("no text in it", report={"input_verdict": "no_text"})))
    assert report["input_verdict"] == "no_text"
    assert report["reason"] == "no text in it"


def test_phases_that_have_nothing_to_say_are_completed(tmp_path: Path) -> None:
    outcome = outcome_of_phases(finished(tmp_path, ALPHA, BETA))
    assert (outcome.status, outcome.reason, outcome.exit_code) == ("completed", "every phase is done", 0)


@pytest.mark.parametrize(("status", "code"), list(EXIT_CODES.items()))
def test_what_a_phase_says_of_the_end_is_the_end(tmp_path: Path, status: str, code: int) -> None:
    phase = toy("01", "alpha", report=says(status=status, reason="14 of 17 files written"))
    outcome = outcome_of_phases(finished(tmp_path, phase))
    assert (outcome.status, outcome.reason, outcome.exit_code) == (status, "14 of 17 files written", code)


def test_a_degraded_phase_is_a_warning_with_its_reason(tmp_path: Path) -> None:
    store = finished(tmp_path, ALPHA, BETA)
    end(store, BETA, "degraded", "no network")
    outcome = outcome_of_phases(store)
    assert (outcome.status, outcome.reason, outcome.exit_code) == ("warning", "beta: no network", 0)


def test_an_incomplete_result_outweighs_a_degraded_phase_and_both_are_told(tmp_path: Path) -> None:
    alpha = toy("01", "alpha", report=says(status="incomplete", reason="3 are missing"))
    store = finished(tmp_path, alpha, BETA)
    end(store, BETA, "degraded", "no network")
    outcome = outcome_of_phases(store)
    assert (outcome.status, outcome.exit_code) == ("incomplete", 3)
    assert outcome.reason == "3 are missing; beta: no network"


def test_facts_come_only_from_phases_that_have_a_result(tmp_path: Path) -> None:
    alpha = toy("01", "alpha", report=says(sandbox="bubblewrap"))
    beta = toy("02", "beta", report=says(sandbox="off", verified=True))
    store = finished(tmp_path, alpha, beta)
    for status in ("running", "failed", "stopped", "redo"):
        end(store, beta, status)
        report = told(store, Outcome("error", "x", 1))
        assert (report["sandbox"], report["verified"]) == ("bubblewrap", None)
    end(store, beta, "done")
    assert told(store, Outcome("error", "x", 1))["sandbox"] == "off"


def test_a_damaged_document_costs_its_own_facts_and_no_others(tmp_path: Path) -> None:
    alpha = toy("01", "alpha", report=lambda documents: {"sandbox": "off", "verified": documents is not None})
    beta = toy("02", "beta", report=says(input_verdict="ok"))
    store = finished(tmp_path, alpha, beta)
    Path(store.path("alpha.json")).write_text("{")
    report = told(store, Outcome("error", "x", 1))
    assert (report["sandbox"], report["verified"], report["input_verdict"]) == (None, None, "ok")
    Path(store.path("alpha.json")).unlink()
    assert told(store, Outcome("error", "x", 1))["input_verdict"] == "ok"


def test_a_report_has_one_row_a_phase_in_their_order(tmp_path: Path) -> None:
    store = finished(tmp_path, BETA, ALPHA, toy("03", "gamma"))
    del store.stamps["03"]
    end(store, BETA, "failed", "gave up")
    rows = told(store, Outcome("error", "gave up", 1))["phases"]
    assert rows == [
        {"number": "01", "name": "alpha", "status": "done", "seconds": 0.0, "attempts": 1, "error": None},
        {"number": "02", "name": "beta", "status": "failed", "seconds": 0.123, "attempts": 1, "error": "gave up"},
        {"number": "03", "name": "gamma", "status": "pending", "seconds": 0.0, "attempts": 0, "error": None},
    ]


def test_a_report_names_the_task_and_what_it_was_made_with(tmp_path: Path) -> None:
    report = told(make_task(tmp_path, ALPHA, mode="fast"), Outcome("paused", "as asked", 5))
    assert (report["id"], report["mode"], report["model"]) == ("toy", "fast", "offline")
    assert (report["status"], report["reason"], report["exit_code"]) == ("paused", "as asked", 5)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"files": "many"}, id="a text for a table"),
        pytest.param({"usage": {"calls": -1, "tokens_in": 0, "tokens_out": 0, "usd": 0.0}}, id="a negative count"),
        pytest.param({"sandbox": object()}, id="no JSON at all"),
    ],
)
def test_facts_that_do_not_fit_are_left_out_and_the_outcome_is_a_bug(tmp_path: Path, facts: dict[str, Any]) -> None:
    store = finished(tmp_path, toy("01", "alpha", report=says(**facts)))
    report, outcome = build_report(store, store.load("task.json")["settings"], Outcome("completed", "fine", 0))
    assert (outcome.status, outcome.exit_code) == (report["status"], report["exit_code"]) == ("error", 70)
    assert outcome.reason.startswith("a phase reports what does not fit: report.json")
    store.write({"report.json": report})


@pytest.mark.parametrize(
    ("report_of", "message"),
    [
        pytest.param(lambda documents: 1 / 0, "phase 01 alpha has a bug: ZeroDivisionError", id="a bug"),
        pytest.param(says(status="splendid"), "phase 01 alpha reports the status 'splendid'", id="an unknown status"),
        pytest.param(lambda documents: None, "phase 01 alpha", id="nothing"),
        pytest.param(lambda documents: ["a"], "phase 01 alpha", id="a list"),
    ],
)
def test_a_phase_that_cannot_tell_its_facts_has_a_bug(tmp_path: Path, report_of: Any, message: str) -> None:
    outcome = outcome_of_phases(finished(tmp_path, toy("01", "alpha", report=report_of)))
    assert (outcome.status, outcome.exit_code) == ("error", 70)
    assert outcome.reason.startswith(message)


@pytest.mark.slow
@FEW
@given(
    outcome=st.builds(
        Outcome,
        st.sampled_from(("completed", "incomplete", "warning", "error", "cancelled", "paused")),
        texts,
        st.integers(0, 255),
        st.just({}),
    ),
    statuses=st.lists(st.sampled_from(("done", "failed", "degraded", "skipped", "stopped", "running")), max_size=2),
)
def test_every_report_keeps_its_schema(
    tmp_path_factory: pytest.TempPathFactory, outcome: Outcome, statuses: list[str]
) -> None:
    store = finished(tmp_path_factory.mktemp("report"), ALPHA, BETA)
    for phase, status in zip((ALPHA, BETA), statuses, strict=False):
        end(store, phase, status, "why" if status == "failed" else None)
    report = told(store, outcome)
    store.write({"report.json": report})
    assert store.load("report.json") == report
