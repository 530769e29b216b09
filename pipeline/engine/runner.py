"""run_pipeline: which phases run, in which order, what stops them, and how the end is told.

The main thread alone writes to the store. A phase runs in the main thread too, except where several may run side by side.
"""

from __future__ import annotations

import signal
import time
from functools import partial
from typing import Any

from pipeline.base.errors import (
    ContractError,
    InputsChanged,
    Interrupted,
    Paused,
    PhaseError,
    PipelineError,
    StorageError,
)
from pipeline.base.logs import log_event, utc_timestamp
from pipeline.engine.activity import Activity
from pipeline.engine.attempt import Result, attempt_phase, failure_result
from pipeline.engine.phase import Context, Phase, WorkflowContext
from pipeline.engine.report import ERROR, PAUSED, Outcome, build_report, outcome_of, outcome_of_phases
from pipeline.engine.run_request import RunEvent, RunRequest, stale_phases, stops_before
from pipeline.engine.settings import LIMITS, PERMISSIONS, SECRET
from pipeline.engine.stamps import DONE, RUNNING
from pipeline.engine.store import TaskStore


def run_pipeline(store: TaskStore, run: RunRequest) -> dict[str, Any]:
    """Run what is stale and return the report. Whatever happens, report.json and the catalog learn of it."""
    outcome, runner = Outcome(ERROR, "a bug in the pipeline ended the run", 70), _Runner(store, run)
    try:
        runner.run()
        outcome = _outcome_of_run(store, run)
    except (PipelineError, Interrupted) as error:
        outcome = outcome_of(error)
    except KeyboardInterrupt:  # of a caller that has no handlers of its own for signals
        outcome = outcome_of(Interrupted(signal.SIGINT))
        raise
    finally:
        runner.activity.end()
        held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        try:
            report = _conclude_run(store, run, outcome)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
    return report


class _Runner:
    """One walk over the phases: `settled` have a valid result, `running` a thread, and `waiting` need a decision."""

    def __init__(self, store: TaskStore, run: RunRequest) -> None:
        self._store, self._run, self._mode = store, run, str(run.settings.get("mode"))
        self._settled: set[str] = set()
        self._running: dict[str, dict[str, str]] = {}
        self._waiting: dict[str, Paused] = {}
        self._overtaken: set[str] = set()
        self._untold: list[RunEvent] = []
        self._announced = False
        self._results: Any = None
        self.activity = Activity(store.root)

    def run(self) -> None:
        """Return when nothing more can start; raise what the first failing phase gave up with."""
        while True:
            ready = self._ready()
            if not ready and not self._running:
                break
            alone = len(ready) == 1 and not self._running
            started = [self._begin(phase, reason) for phase, reason in ready]
            self._note_and_tell()
            for phase, inputs in started:
                self._run.watch(RunEvent("started", phase))
                if alone:
                    self._settle(phase, self._attempt(phase, inputs))
                else:
                    self._start_thread(phase, inputs)
            if self._running:
                self._settle(*self._results.get())
        self._note_and_tell()
        if self._waiting:
            raise _join_pauses(list(self._waiting.values()))

    def _ready(self) -> list[tuple[Phase, str]]:
        """Return the phases that can start now, each with its reason, and settle those that are up to date."""
        ready = []
        for phase in filter(self._run.wants, self._store.graph.phases):
            before = [earlier.number for earlier in self._store.graph.before(phase) if self._run.wants(earlier)]
            busy = self._settled | self._running.keys() | self._waiting.keys()
            if phase.number in busy or not self._settled.issuperset(before):
                continue
            reason = self._store.stale_reason(phase, self._run.settings_of(phase))
            if reason:
                ready.append((phase, reason))
            else:
                self._keep(phase)
        # decision 11: fast mode leaves out what could run side by side; one at a time is easier to watch and to replay.
        return ready[:1] if self._mode == "fast" else ready

    def _keep(self, phase: Phase) -> None:
        edited = ", ".join(self._store.accept_edits(phase))
        self._settled.add(phase.number)
        self._untold.append(RunEvent("fresh", phase, f"edited by hand: {edited}" if edited else ""))
        if edited:
            log_event(f"{phase.label}: {edited} edited by hand, and used as it is")

    def _begin(self, phase: Phase, reason: str) -> tuple[Phase, dict[str, Any]]:
        inputs, digests = self._store.load_inputs(phase)
        if not self._announced:
            self._run.record("running", "")
            self._announced = True
        log_event(f"{phase.label} runs: {reason}")
        self._store.begin(phase, utc_timestamp())
        self._running[phase.number] = digests
        return phase, inputs

    def _attempt(self, phase: Phase, inputs: dict[str, Any]) -> Result:
        return attempt_phase(phase, inputs, self._context, self._mode)

    def _start_thread(self, phase: Phase, inputs: dict[str, Any]) -> None:
        # Late, all three: only phases that run side by side need them.
        import contextvars
        import queue

        from pipeline.base.threads import start_thread

        self._results = self._results or queue.SimpleQueue()
        results, scope = self._results, contextvars.copy_context()

        def work() -> None:
            result = Result("stopped", 0.0, error=PhaseError(f"phase {phase.label} was interrupted"))
            try:
                result = scope.run(self._attempt, phase, inputs)
            finally:
                results.put((phase, result))

        start_thread(work, phase.label)

    def _settle(self, phase: Phase, result: Result) -> None:
        digests = self._running.pop(phase.number)
        if result.status == DONE:
            try:
                self._commit(phase, result, digests)
            except ContractError as error:  # it returned what it must not; the documents on the disk are as they were
                result = failure_result(phase, error, self._mode, result.seconds)
        if result.status in ("skipped", "degraded"):
            self._commit(phase, result, digests)
        elif result.error:
            self._give_up(phase, result)

    def _commit(self, phase: Phase, result: Result, digests: dict[str, str]) -> None:
        text = str(result.error) if result.error else None
        stamp = self._store.stamps[phase.number]._replace(
            status=result.status,
            version=phase.version,
            edition=phase.edition,
            read=digests,
            settings=self._run.settings_of(phase),
            seconds=result.seconds,
            error=text,
        )
        self._store.commit(phase, result.documents or {}, stamp)
        if phase.number not in self._overtaken:  # else its inputs may have changed under it: it is checked again
            self._settled.add(phase.number)
        self._overtaken.discard(phase.number)
        log_event(f"{phase.label} {result.status} after {result.seconds:.2f} s" + (f": {text}" if text else ""))
        self._untold.append(RunEvent(result.status, phase, text or "", result.seconds))

    def _give_up(self, phase: Phase, result: Result) -> None:
        text = str(result.error)
        self._store.finish(phase, result.status, seconds=result.seconds, error=text)
        self._run.watch(RunEvent(result.status, phase, text, result.seconds))
        if isinstance(result.error, InputsChanged):
            self._settled.clear()
            self._overtaken |= self._running.keys()
        elif isinstance(result.error, Paused) and self._mode != "fast":
            # decision 111: while one phase waits for the user, independent ones go on.
            self._waiting[phase.number] = result.error
        elif result.error:
            raise result.error

    def _note_and_tell(self) -> None:
        # decision 10: a phase is reported as done once its stamp is on the disk, in one write for all.
        self._store.note()
        for event in self._untold:
            self._run.watch(event)
        self._untold.clear()

    def _tell(self, phase: Phase, text: str) -> None:
        log_event(f"{phase.label}: {text}")
        self._run.watch(RunEvent("told", phase, text))

    def _progress(self, phase: Phase, done: int, total: int, text: str) -> None:
        self.activity.note(phase.number, f"{done} of {total}: {text}")
        self._run.watch(RunEvent("progress", phase, text, done=done, total=total))

    def _context(self, phase: Phase) -> Context:
        run, limit = self._run, self._run.settings.get("phase_seconds")
        return Context(
            paths=WorkflowContext(self._store.root),
            settings=run.settings_of(phase),
            secrets={name: str(run.settings.get(name, "")) for name in SECRET},
            limits={name: run.settings.get(name, 0) for name in LIMITS},
            permissions={name: str(run.settings.get(name, "")) for name in PERMISSIONS},
            environment=run.environment,
            config_directory=run.config_directory,
            hooks=run.hooks,
            cache_directory=run.cache_directory,
            tell=partial(self._tell, phase),
            contracts=self._store.contracts,
            digests=self._running[phase.number],
            open_model=partial(run.open_model, phase.name),
            open_other=run.open_model,
            review=run.review,
            ask=run.ask,
            in_place=self._store.assert_in_place,
            progress=partial(self._progress, phase),
            deadline=time.monotonic() + limit if limit else None,
        )


def _join_pauses(pauses: list[Paused]) -> Paused:
    """Join the reasons of several waiting phases. The next command can raise one limit: that of the last phase."""
    if len(pauses) == 1:
        return pauses[0]
    messages = dict.fromkeys(map(str, pauses))
    reasons = [text for text in messages if not any(other != text and other.startswith(text) for other in messages)]
    flag = next((pause.flag for pause in reversed(pauses) if pause.flag), "")
    joined = Paused("; ".join(reasons), stop_reason=pauses[0].stop_reason, flag=flag)
    joined.exit_code = max(pause.exit_code for pause in pauses)
    return joined


def _outcome_of_run(store: TaskStore, run: RunRequest) -> Outcome:
    """Return the outcome of a run without a failure: its results count before the point where it was asked to stop."""
    stopped_short = run.stop_at or run.until or run.only
    left = [phase for phase, _ in stale_phases(store, run)] if stopped_short else []
    outcome = outcome_of_phases(store, left)
    if outcome.exit_code or not left:
        return outcome
    border = stops_before(store, run)
    if run.only is None and border and border not in left:
        return Outcome(PAUSED, f"phase {border.label} was done before; phase {left[0].label} is next", 0)
    # what was asked for was done, so that `&&` and CI go on (decision 213)
    return Outcome(PAUSED, f"stopped before phase {left[0].label}, as asked", 0)


def _conclude_run(store: TaskStore, run: RunRequest, outcome: Outcome) -> dict[str, Any]:
    """Write the report before it is announced. An error of the disk is added to the outcome, never replaces it."""
    for phase in store.graph.phases:
        stamp = store.stamps.get(phase.number)
        if stamp and stamp.status == RUNNING:
            store.finish(phase, "stopped", seconds=stamp.seconds, error="the run ended while it was running")
    report, outcome = build_report(store, run.settings, outcome, run.spent())
    log_event(f"ended {outcome.status}: {outcome.reason}")
    steps = (
        store.save,
        partial(store.write, {"report.json": report}),
        partial(run.record, outcome.status, outcome.reason),
    )
    troubles = []
    for step in steps:
        try:
            step()
        except (StorageError, ContractError) as error:
            troubles.append(str(error))
    if troubles:
        reason = "; moreover: ".join(dict.fromkeys([outcome.reason, *troubles]))
        report = {**report, "reason": reason, "exit_code": 1}
    return report
