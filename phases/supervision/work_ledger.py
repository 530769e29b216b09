"""Count the work of a run: files, checks and failures, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.facts import Call, CallResult, GateVerdict, Round
from phases.supervision.progress import GATE
from phases.supervision.signatures import command_key

PASSED, FAILED, REQUIRED = "passed", "failed", "required"
_MOST_FILES = 500
_MOST_CHECKS = 10


@dataclass(frozen=True)
class WorkLedger:
    """The counts of the whole task, unless stated otherwise."""

    files: Mapping[str, int] = field(default_factory=dict)
    """Path -> round of its last change; beyond a bound the oldest are dropped."""
    diff_lines: int = 0
    """Lines added and removed since the checks last passed, or since forced mode was last left."""
    test_summary: str | None = None
    """passed, failed, or required: a write came after the last passed check."""
    passed_since_write: tuple[str, ...] = ()
    """Verify commands that passed since the last write."""
    failing_checks: tuple[str, ...] = ()
    """Checks, including the completion gate, that failed in their last run."""
    build_output: str = ""
    """The error of the last of them, on one line; empty if no check is known to fail."""
    assertion: str = ""
    """The whole first assertion of the last of them."""
    stable_rounds: int = 0


def check_fails(ledger: WorkLedger) -> bool:
    """Return whether a check or the completion gate is known to have failed in its last run."""
    return bool(ledger.build_output)


def after_action(
    ledger: WorkLedger, call: Call, result: CallResult, turn: int, checks: tuple[str, ...]
) -> tuple[WorkLedger, bool]:
    """Return the ledger with one executed call, and whether every check has passed since the last write."""
    if not result.executed:
        return ledger, False
    if result.changed:
        ledger = _count_write(ledger, result, turn)
    if not call.verify or result.background:
        return ledger, False
    return _count_check(ledger, call, result, checks)


def after_round(ledger: WorkLedger, turn: Round, *, disturbed: bool) -> WorkLedger:
    """Return the ledger at the end of a round. `disturbed`: a branch switched, or recovery is pending."""
    done = [action for action in turn.actions if action.result.executed]
    failed = any(action.result.failed for action in done)
    stable = ledger.stable_rounds + 1 if done and not failed and not disturbed else 0
    # A round that only talks counts neither way.
    return replace(ledger, stable_rounds=stable) if turn.actions else ledger


def after_gate(ledger: WorkLedger, verdict: GateVerdict) -> WorkLedger:
    """Return the ledger after the completion gate has judged the whole work."""
    if verdict.passed:
        return _reset_verified(ledger)
    output = " ".join(verdict.failures)[:300] or GATE
    return replace(
        ledger, test_summary=FAILED, build_output=output, failing_checks=_with_check(ledger.failing_checks, GATE)
    )


def _with_check(before: tuple[str, ...], check: str) -> tuple[str, ...]:
    return (*(other for other in before if other != check), check)[-_MOST_CHECKS:]


def _count_write(ledger: WorkLedger, result: CallResult, turn: int) -> WorkLedger:
    files = {**ledger.files, **dict.fromkeys(result.changed, turn)}
    while len(files) > _MOST_FILES:
        del files[min(files, key=lambda path: files[path])]
    return replace(
        ledger,
        files=files,
        diff_lines=ledger.diff_lines + result.lines,
        # Only if a check has run before: a plan without checks requires none.
        test_summary=REQUIRED if ledger.test_summary else None,
        passed_since_write=(),
    )


def _count_check(
    ledger: WorkLedger, call: Call, result: CallResult, checks: tuple[str, ...]
) -> tuple[WorkLedger, bool]:
    key = command_key(call.command)
    if result.limit:  # does not count against the work
        return ledger, False
    if result.failed:
        output = " ".join((result.assertion or " ".join(result.failures or (result.error,))).split())[:300] or key
        ledger = replace(
            ledger, test_summary=FAILED, build_output=output, assertion=result.assertion, passed_since_write=()
        )
        return replace(ledger, failing_checks=_with_check(ledger.failing_checks, key)), False
    passed = tuple(dict.fromkeys((*ledger.passed_since_write, key)))
    failing = tuple(check for check in ledger.failing_checks if check != key)
    ledger = replace(ledger, passed_since_write=passed, failing_checks=failing)
    ledger = ledger if failing else replace(ledger, build_output="", assertion="")
    whole = set(map(command_key, checks)) <= set(passed)
    return (_reset_verified(ledger), True) if whole else (ledger, False)


def _reset_verified(ledger: WorkLedger) -> WorkLedger:
    ledger = replace(ledger, test_summary=PASSED, diff_lines=0)
    return replace(ledger, failing_checks=(), build_output="", assertion="")
