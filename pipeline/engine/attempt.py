"""Run one phase once, and turn any outcome into a result that the runner can settle."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pipeline.base.errors import Interrupted, Paused, PhaseBug, PhaseError, PipelineError, StorageError
from pipeline.base.files import DISK_FULL, MACHINE_SHORT, storage_error
from pipeline.base.logs import log_event
from pipeline.engine.phase import FAILED, SKIPPED, Context, Documents, Phase, build_placeholder, is_placeholder
from pipeline.engine.stamps import DONE


class Result(NamedTuple):
    """Result of an attempt: documents to commit, or the error that ends the run."""

    status: str
    """done, skipped, degraded, failed or stopped."""
    seconds: float
    documents: Mapping[str, Any] | None = None
    error: PipelineError | None = None


def attempt_phase(phase: Phase, inputs: Documents, make_context: Callable[[Phase], Context], mode: str) -> Result:
    """Run a phase. Never raises but for Interrupted: a failure is a result too."""
    started = time.monotonic()
    if reason := _reason_to_skip(phase, inputs, mode):
        return Result(SKIPPED, 0.0, _build_placeholders(phase, SKIPPED, reason, mode))
    documents, error = call_guarded(phase, lambda: phase.run(inputs, make_context(phase)))
    seconds = time.monotonic() - started
    if error is None and not isinstance(documents, Mapping):
        error = PhaseError(f"phase {phase.label} returned no documents, but {type(documents).__name__}")
    if error:
        return failure_result(phase, error, mode, seconds)
    return Result(DONE, seconds, documents)


def call_guarded(phase: Phase, call: Callable[[], Any]) -> tuple[Any, PipelineError | None]:
    """Return the result of a phase's code, or its error; an unexpected exception is a bug of the phase."""
    try:
        return call(), None
    except PipelineError as error:
        return None, error
    except (Interrupted, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a phase may do anything: exit, be cancelled, recurse too deeply
        if isinstance(error, OSError) and error.errno in MACHINE_SHORT:  # no bug (decision 256)
            return None, storage_error("go on with", error.filename or f"phase {phase.label}", error)
        import traceback  # late: only a bug needs it

        log_event(f"{phase.label} has a bug", level="ERROR", traceback=traceback.format_exc())
        message = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return None, PhaseBug(f"phase {phase.label} has a bug: {message}; the log has the traceback")


def failure_result(phase: Phase, error: PipelineError, mode: str, seconds: float) -> Result:
    """Return the result of a failure: an optional phase degrades the run, any other ends it."""
    if phase.optional and isinstance(error, StorageError) and error.code in DISK_FULL:
        # decision 257: left out, it would stay so for good, for a reason that the user can mend
        message = f"{error}; free some room, and continue with: pipeline resume"
        return Result("stopped", seconds, error=Paused(message, stop_reason="disk_full"))
    if phase.optional and (isinstance(error, PhaseError) or error.exit_code == 1):
        return Result("degraded", seconds, _build_placeholders(phase, FAILED, str(error), mode), error)
    return Result("failed" if error.exit_code in (1, 70) else "stopped", seconds, error=error)


def _reason_to_skip(phase: Phase, inputs: Documents, mode: str) -> str | None:
    if not phase.optional:
        return None
    # decision 13: a phase itself knows nothing of fast mode.
    if mode == "fast":
        return "fast mode leaves this phase out"
    missing = next((name for name in phase.reads if is_placeholder(inputs[name])), None)
    return f"it needs {missing}, and that is only a placeholder: {inputs[missing]['reason']}" if missing else None


def _build_placeholders(phase: Phase, status: str, reason: str, mode: str) -> dict[str, Any]:
    placeholder = build_placeholder(status, reason or "no reason given", mode)
    return {name: placeholder for name in phase.writes if not name.endswith("/")}
