"""One attempt at one phase: run it, and turn whatever comes out into a result that the runner can settle."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pipeline.errors import Interrupted, PhaseBug, PhaseError, PipelineError
from pipeline.logs import story
from pipeline.phase import FAILED, SKIPPED, Context, Documents, Phase, is_placeholder, placeholder
from pipeline.stamps import DONE


class Result(NamedTuple):
    """What an attempt gave: documents to commit, or the error that ends the run."""

    status: str
    """done, skipped, degraded, failed or stopped."""
    seconds: float
    documents: Mapping[str, Any] | None = None
    error: BaseException | None = None


def attempt(phase: Phase, inputs: Documents, make_context: Callable[[Phase], Context], mode: str) -> Result:
    """Runs a phase. Never raises but for Interrupted: a failure is a result too."""
    started = time.monotonic()
    if reason := _reason_to_skip(phase, inputs, mode):
        return Result(SKIPPED, 0.0, _placeholders(phase, SKIPPED, reason, mode))
    try:
        documents = phase.run(inputs, make_context(phase))
    except PhaseError as error:
        return _gave_up(phase, error, mode, time.monotonic() - started)
    except PipelineError as error:
        return Result("stopped" if error.exit_code > 1 else "failed", time.monotonic() - started, error=error)
    except Interrupted:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a phase raises beside these is a bug in it
        import traceback

        story(f"{phase.label} has a bug", level="ERROR", traceback=traceback.format_exc())
        bug = PhaseBug(
            f"phase {phase.label} has a bug: {type(error).__name__}: {_one_line(error)}; the log has the traceback"
        )
        return _gave_up(phase, bug, mode, time.monotonic() - started)
    return Result(DONE, time.monotonic() - started, documents)


def _reason_to_skip(phase: Phase, inputs: Documents, mode: str) -> str | None:
    if not phase.optional:
        return None
    if mode == "fast":
        return "fast mode leaves this phase out"
    missing = next((name for name in phase.reads if is_placeholder(inputs[name])), None)
    return f"it needs {missing}, and that is only a placeholder: {inputs[missing]['reason']}" if missing else None


def _gave_up(phase: Phase, error: PhaseError, mode: str, seconds: float) -> Result:
    if phase.optional:
        return Result("degraded", seconds, _placeholders(phase, FAILED, str(error), mode), error)
    return Result("failed", seconds, error=error)


def _placeholders(phase: Phase, status: str, reason: str, mode: str) -> dict[str, Any]:
    return {name: placeholder(status, reason, mode) for name in phase.writes if not name.endswith("/")}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
