"""What a run has done so far, as the kernel counts it: files, checks and failures, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.agent.supervision.facts import Action, Call, GateVerdict, Result, Round
from phases.agent.supervision.words import ProgressClass, ToolClass

PASSED, FAILED, REQUIRED = "passed", "failed", "required"
_MOST_FILES = 500
_RECENT_TOOLS, _RECENT_FAILURES = 20, 10
_MANIFESTS = ("pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "environment.yml", "package.json")


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


@dataclass(frozen=True)
class WorkLedger:
    """Counted over the whole task, but for what says otherwise."""

    files: Mapping[str, int] = field(default_factory=dict)
    """Path -> round of its last change, the oldest left out over a bound."""
    files_changed: int = 0
    diff_lines: int = 0
    """Added and removed since the last passed verification, or since forced mode was last left."""
    last_write_round: int = 0
    last_verify_round: int = 0
    test_summary: str | None = None
    """passed, failed, or required: a write came after the last passed check."""
    passed_since_write: tuple[str, ...] = ()
    """Verify commands that passed since the last write."""
    build_output: str = ""
    """The error of the last failed check, in one line."""
    manifest_touched: bool = False
    consecutive_failed_rounds: int = 0
    consecutive_no_tool_rounds: int = 0
    consecutive_reading_rounds: int = 0
    stable_rounds: int = 0
    recent_tools: tuple[ToolRecord, ...] = ()
    recent_failures: tuple[FailureRecord, ...] = ()
    background: tuple[str, ...] = ()
    """Commands that were started and not waited for."""


def about(call: Call) -> str:
    """What a call is about, in a few words."""
    return (call.path or " ".join(call.command.split()))[:120]


def progress_of(turn: Round) -> ProgressClass:
    """What a round came to (section 7.1). A command that ended well counts, and so does a write that changed a file."""
    if not turn.actions:
        return ProgressClass.NO_TOOL
    done = [action for action in turn.actions if action.ok]
    if not done and all(action.call.tool_class is not ToolClass.NEUTRAL for action in turn.actions):
        return ProgressClass.ALL_FAILED_OR_BLOCKED
    if any(action.result.changed or _finished(action) for action in done):
        return ProgressClass.MEANINGFUL_PROGRESS
    return ProgressClass.NON_PROGRESS_SUCCESS


def after_action(
    ledger: WorkLedger, call: Call, result: Result, turn: int, checks: tuple[str, ...]
) -> tuple[WorkLedger, bool]:
    """The ledger with one executed call, and whether with it every check has passed since the last write."""
    if not result.executed:
        return ledger, False
    ledger = replace(
        ledger,
        recent_tools=(*ledger.recent_tools, ToolRecord(turn, call.tool, about(call), result.failed))[-_RECENT_TOOLS:],
    )
    if result.failed:
        ledger = replace(ledger, recent_failures=_with_failure(ledger.recent_failures, call, result, turn))
    if result.background:
        ledger = replace(ledger, background=(*ledger.background, about(call))[-_RECENT_FAILURES:])
    if result.changed:
        ledger = _written(ledger, result, turn)
    return _checked(ledger, call, result, turn, checks) if call.verify and not result.background else (ledger, False)


def after_round(ledger: WorkLedger, turn: Round, *, disturbed: bool) -> WorkLedger:
    """The ledger at the end of a round. `disturbed`: a branch switched, or recovery is pending."""
    progress = progress_of(turn)
    done = [action for action in turn.actions if action.result.executed]
    failed = any(action.result.failed for action in done)
    stable = ledger.stable_rounds + 1 if done and not failed and not disturbed else 0
    return replace(
        ledger,
        stable_rounds=ledger.stable_rounds if progress is ProgressClass.NO_TOOL else stable,
        consecutive_failed_rounds=_counted(
            ledger.consecutive_failed_rounds, progress is ProgressClass.ALL_FAILED_OR_BLOCKED
        ),
        consecutive_no_tool_rounds=_counted(ledger.consecutive_no_tool_rounds, progress is ProgressClass.NO_TOOL),
        consecutive_reading_rounds=_counted(
            ledger.consecutive_reading_rounds, progress is ProgressClass.NON_PROGRESS_SUCCESS
        ),
    )


def after_gate(ledger: WorkLedger, verdict: GateVerdict, turn: int) -> WorkLedger:
    """The ledger after the completion gate looked at the whole work."""
    passed = verdict.passed
    return replace(
        ledger,
        test_summary=PASSED if passed else FAILED,
        last_verify_round=turn,
        diff_lines=0 if passed else ledger.diff_lines,
        build_output="" if passed else " ".join(verdict.failures)[:300],
    )


def _finished(action: Action) -> bool:
    return action.call.tool_class is ToolClass.EXEC and not action.result.background


def _counted(before: int, another: bool) -> int:
    return before + 1 if another else 0


def _with_failure(
    before: tuple[FailureRecord, ...], call: Call, result: Result, turn: int
) -> tuple[FailureRecord, ...]:
    signature = f"{call.signature} {result.digest}"
    known = next((row for row in before if row.signature == signature), None)
    row = FailureRecord(signature, call.tool, about(call), result.error[:200], (known.count if known else 0) + 1, turn)
    return (*(other for other in before if other.signature != signature), row)[-_RECENT_FAILURES:]


def _written(ledger: WorkLedger, result: Result, turn: int) -> WorkLedger:
    files = {**ledger.files, **dict.fromkeys(result.changed, turn)}
    new = sum(path not in ledger.files for path in result.changed)
    while len(files) > _MOST_FILES:
        del files[min(files, key=lambda path: files[path])]
    return replace(
        ledger,
        files=files,
        files_changed=ledger.files_changed + new,
        diff_lines=ledger.diff_lines + result.lines,
        last_write_round=turn,
        test_summary=REQUIRED if ledger.test_summary else None,
        passed_since_write=(),
        manifest_touched=ledger.manifest_touched
        or any(path.rpartition("/")[2] in _MANIFESTS for path in result.changed),
    )


def _checked(
    ledger: WorkLedger, call: Call, result: Result, turn: int, checks: tuple[str, ...]
) -> tuple[WorkLedger, bool]:
    ledger = replace(ledger, last_verify_round=turn)
    if result.failed:
        told = " ".join(result.failures or (result.error,))[:300]
        return replace(ledger, test_summary=FAILED, build_output=told, passed_since_write=()), False
    command = " ".join(call.command.split())
    passed = tuple(dict.fromkeys((*ledger.passed_since_write, command)))
    whole = {" ".join(check.split()) for check in checks} <= set(passed)
    ledger = replace(ledger, passed_since_write=passed)
    if not whole:
        return ledger, False
    return replace(ledger, test_summary=PASSED, diff_lines=0, build_output=""), True
