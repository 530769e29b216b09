"""Declare the signals: what each counts, its setting, and its effects.

A new signal takes a member of `DeviationSignal`, a row here, its setting in config.py (`signal_setting`) and its detector in
observer.py; then `python -m scripts.kernel_schema` writes the schema. test_supervision_signals.py names what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from phases.supervision.enums import DeviationSignal


class SignalRule(NamedTuple):
    about: str
    """Its description in the settings' schema."""
    setting: str = ""
    """The threshold's name in `triggers`; empty for a signal without one."""
    default: int = 0
    """Of that setting."""
    strong_from: float = inf
    """From this value on it ends a cooldown early."""
    stops_from: float = inf
    """From this value on it stops a run without takeovers."""
    ended_by_progress: bool = False
    """A round with progress ends it."""


SIGNALS: Mapping[DeviationSignal, SignalRule] = {
    DeviationSignal.TOOL_REPEAT_FAIL: SignalRule(
        "Failures of one kind from which on a stall is named after them.",
        "tool_repeat_fail_min",
        3,
        strong_from=5,
        ended_by_progress=True,
    ),
    DeviationSignal.NO_PROGRESS: SignalRule(
        "Rounds of a stall before the model is told. A stall grows with failures and known results, and shrinks with new ones.",
        "no_progress_rounds_min",
        4,
        strong_from=6,
        ended_by_progress=True,
    ),
    DeviationSignal.FILE_LOOP: SignalRule(
        "Edits of one file, while the checks fail in the same way, that raise the signal.", "file_loop_min", 4
    ),
    DeviationSignal.GOAL_DRIFT: SignalRule(
        "Rounds that touched no planned file, test or check that raise the signal.",
        "goal_drift_rounds",
        5,
    ),
    DeviationSignal.SCOPE_CREEP: SignalRule(
        "Unplanned files in the directories of planned ones that raise the signal.", "scope_creep_files", 3
    ),
    DeviationSignal.USER_FORCE_TAKEOVER: SignalRule("The user requested a takeover.", strong_from=-inf),
    DeviationSignal.CYCLE: SignalRule(
        "Repeats of the same calls in the same order from which on a stall is a loop.",
        "cycle_repeats",
        3,
        ended_by_progress=True,
    ),
    DeviationSignal.ERROR_PLATEAU: SignalRule(
        "Runs of the checks with the same failures, although files changed, that are a plateau.",
        "plateau_repeats",
        3,
        stops_from=20,
    ),
}


HINTED, BLOCKED, TOLD = 1, 2, 3
"""Stages of the answer to a problem: a hint, then refused calls, then L2."""


@dataclass(frozen=True)
class Signal:
    """A detected problem. `value` is a count, or rounds."""

    kind: DeviationSignal
    value: float
    round: int
    detail: str = ""
    """Its subject: a path, a command, `2 calls, 3 times`."""
    stage: int = TOLD

    @property
    def reason(self) -> str:
        """Return `<signal>:<n>`, as in the event log."""
        return f"{self.kind}:{self.value:g}"
