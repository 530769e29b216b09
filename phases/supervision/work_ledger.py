"""What a run has done so far, as the kernel counts it: files, checks and failures, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.facts import Call, CallResult, GateVerdict, Round, describe_call
from phases.supervision.progress import GATE
from phases.supervision.signatures import command_key

PASSED, FAILED, REQUIRED = "passed", "failed", "required"
_MOST_FILES = 500
_RECENT_TOOLS, _RECENT_FAILURES = 20, 10
_FAILURE_AGE = 20
"""A failure that did not come again for so many rounds says nothing any more."""


@dataclass(frozen=True)
class ToolRecord:
    """One executed call, in short."""

    round: int
    tool: str
    about: str
    failed: bool


@dataclass(frozen=True)
class FailureRecord:
    """One way to fail: the call, and how often it ended in just that way."""

    signature: str
    """Of the call together with its result: a changed result is another failure, and progress."""
    tool: str
    about: str
    error: str
    count: int
    round: int
    """The last one."""
    check: bool = False
    """The call ran one of the plan's checks."""


@dataclass(frozen=True)
class WorkLedger:
    """Counted over the whole task, but for what says otherwise."""

    files: Mapping[str, int] = field(default_factory=dict)
    """Path -> round of its last change, the oldest left out over a bound."""
    diff_lines: int = 0
    """Added and removed since the last passed verification, or since forced mode was last left."""
    last_write_round: int = 0
    last_verify_round: int = 0
    test_summary: str | None = None
    """passed, failed, or required: a write came after the last passed check."""
    passed_since_write: tuple[str, ...] = ()
    """Verify commands that passed since the last write."""
    failing_checks: tuple[str, ...] = ()
    """Checks, the completion gate among them, that failed when they were run last."""
    build_output: str = ""
    """The error of the last of them, in one line; empty where no check is known to fail."""
    assertion: str = ""
    """The first assertion of the last of them, whole."""
    stable_rounds: int = 0
    recent_tools: tuple[ToolRecord, ...] = ()
    recent_failures: tuple[FailureRecord, ...] = ()
    background: tuple[str, ...] = ()
    """Commands that were started and not waited for."""


def check_fails(ledger: WorkLedger) -> bool:
    """Whether a check, or the completion gate, is known to have failed when it was run last."""
    return bool(ledger.build_output)


def after_action(
    ledger: WorkLedger, call: Call, result: CallResult, turn: int, checks: tuple[str, ...]
) -> tuple[WorkLedger, bool]:
    """The ledger with one executed call, and whether with it every check has passed since the last write."""
    if not result.executed:
        return ledger, False
    failures = ledger.recent_failures
    failures = _with_failure(failures, call, result, turn) if result.failed else _without_failures(failures, call)
    tools = (*ledger.recent_tools, ToolRecord(turn, call.tool, describe_call(call), result.failed))
    ledger = replace(ledger, recent_tools=tools[-_RECENT_TOOLS:], recent_failures=failures)
    if result.background:
        ledger = replace(ledger, background=(*ledger.background, describe_call(call))[-_RECENT_FAILURES:])
    if result.changed:
        ledger = _count_write(ledger, result, turn)
    if not call.verify or result.background:
        return ledger, False
    return _count_check(ledger, call, result, turn, checks)


def after_round(ledger: WorkLedger, turn: Round, *, disturbed: bool) -> WorkLedger:
    """The ledger at the end of a round. `disturbed`: a branch switched, or recovery is pending."""
    kept = tuple(row for row in ledger.recent_failures if turn.number - row.round < _FAILURE_AGE)
    done = [action for action in turn.actions if action.result.executed]
    failed = any(action.result.failed for action in done)
    stable = ledger.stable_rounds + 1 if done and not failed and not disturbed else 0
    # A round that only talks proves nothing, and disproves nothing.
    return replace(ledger, stable_rounds=stable if turn.actions else ledger.stable_rounds, recent_failures=kept)


def after_gate(ledger: WorkLedger, verdict: GateVerdict, turn: int) -> WorkLedger:
    """The ledger after the completion gate looked at the whole work."""
    ledger = replace(ledger, last_verify_round=turn)
    if verdict.passed:
        return _reset_verified(ledger)
    told = " ".join(verdict.failures)[:300] or GATE
    return replace(
        ledger, test_summary=FAILED, build_output=told, failing_checks=_with_check(ledger.failing_checks, GATE)
    )


def _with_failure(
    before: tuple[FailureRecord, ...], call: Call, result: CallResult, turn: int
) -> tuple[FailureRecord, ...]:
    signature = f"{call.signature} {result.digest}"
    known = next((row for row in before if row.signature == signature), None)
    count = (known.count if known else 0) + 1
    row = FailureRecord(signature, call.tool, describe_call(call), result.error[:200], count, turn, call.verify)
    return (*(other for other in before if other.signature != signature), row)[-_RECENT_FAILURES:]


def _without_failures(before: tuple[FailureRecord, ...], call: Call) -> tuple[FailureRecord, ...]:
    """A call that ended well is over its failures."""
    return tuple(row for row in before if not row.signature.startswith(f"{call.signature} "))


def _with_check(before: tuple[str, ...], check: str) -> tuple[str, ...]:
    return (*(other for other in before if other != check), check)[-_RECENT_FAILURES:]


def _count_write(ledger: WorkLedger, result: CallResult, turn: int) -> WorkLedger:
    files = {**ledger.files, **dict.fromkeys(result.changed, turn)}
    while len(files) > _MOST_FILES:
        del files[min(files, key=lambda path: files[path])]
    return replace(
        ledger,
        files=files,
        diff_lines=ledger.diff_lines + result.lines,
        last_write_round=turn,
        # Only where a check has run before: in a plan without checks none is wanting.
        test_summary=REQUIRED if ledger.test_summary else None,
        passed_since_write=(),
    )


def _count_check(
    ledger: WorkLedger, call: Call, result: CallResult, turn: int, checks: tuple[str, ...]
) -> tuple[WorkLedger, bool]:
    ledger, key = replace(ledger, last_verify_round=turn), command_key(call.command)
    if result.limit:  # says nothing of the work
        return ledger, False
    if result.failed:
        told = " ".join((result.told or " ".join(result.failures or (result.error,))).split())[:300] or key
        failing = _with_check(ledger.failing_checks, key)
        ledger = replace(ledger, test_summary=FAILED, build_output=told, failing_checks=failing, passed_since_write=())
        ledger = replace(ledger, assertion=result.told)
        return ledger, False
    passed = tuple(dict.fromkeys((*ledger.passed_since_write, key)))
    failing = tuple(check for check in ledger.failing_checks if check != key)
    output = ledger.build_output if failing else ""
    ledger = replace(ledger, passed_since_write=passed, failing_checks=failing, build_output=output)
    ledger = ledger if failing else replace(ledger, assertion="")
    whole = set(map(command_key, checks)) <= set(passed)
    return (_reset_verified(ledger), True) if whole else (ledger, False)


def _reset_verified(ledger: WorkLedger) -> WorkLedger:
    return replace(
        ledger,
        test_summary=PASSED,
        diff_lines=0,
        failing_checks=(),
        build_output="",
        assertion="",
    )
