"""What a run has done so far, as the kernel counts it: files, checks and failures, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.config import FIRST, RULES
from phases.supervision.enums import ProgressClass
from phases.supervision.facts import Call, CallResult, GateVerdict, Round, classify_round, is_note, is_run_of_check
from phases.supervision.signatures import command_key

PASSED, FAILED, REQUIRED = "passed", "failed", "required"
_MOST_FILES = 500
_MOST_UNVERIFIED = 50
_RECENT_TOOLS, _RECENT_FAILURES = 20, 10
GATE = "the completion gate"
"""Its word counts as that of one more check."""
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
    check: bool = False
    """The call ran one of the plan's checks."""


@dataclass(frozen=True)
class Learning:
    """What the calls of a run have told so far."""

    known: tuple[str, ...] = ()
    """Call with result, the latest last."""
    rounds: int = 0
    """In which something was learned, since the last round with progress."""
    learned: bool = False
    """The last round was one of them."""


@dataclass(frozen=True)
class WorkLedger:
    """Counted over the whole task, but for what says otherwise."""

    files: Mapping[str, int] = field(default_factory=dict)
    """Path -> round of its last change, the oldest left out over a bound."""
    files_changed: int = 0
    """Distinct ones, since the last passed verification."""
    unverified: tuple[str, ...] = ()
    """The last of them."""
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
    manifest_touched: bool = False
    consecutive_failed_rounds: int = 0
    """Since the last progress: to read something in between is none. Under rules 1: in a row."""
    failed_since: int = 0
    """The first of them."""
    failed_last: int = 0
    """The last of them."""
    failed_in_a_row: int = 0
    """Those that no other round lies between."""
    consecutive_no_tool_rounds: int = 0
    consecutive_reading_rounds: int = 0
    """Without those that brought something new, and those that ran a check."""
    learning: Learning = field(default_factory=Learning)
    stable_rounds: int = 0
    recent_tools: tuple[ToolRecord, ...] = ()
    recent_failures: tuple[FailureRecord, ...] = ()
    background: tuple[str, ...] = ()
    """Commands that were started and not waited for."""


def describe_call(call: Call) -> str:
    return (call.path or " ".join(call.command.split()))[:120]


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


def after_round(ledger: WorkLedger, turn: Round, *, disturbed: bool, rules: int = RULES) -> WorkLedger:
    """The ledger at the end of a round. `disturbed`: a branch switched, or recovery is pending."""
    progress = classify_round(turn)
    done = [action for action in turn.actions if action.result.executed]
    failed = any(action.result.failed for action in done)
    stable = ledger.stable_rounds + 1 if done and not failed and not disturbed else 0
    # A round that only talks proves nothing, and disproves nothing.
    stable = ledger.stable_rounds if progress is ProgressClass.NO_TOOL else stable
    # Notes are no rounds of work: counted, they would end every spell of failures.
    if turn.actions and all(is_note(action) for action in turn.actions):
        return replace(ledger, stable_rounds=stable)
    learning = after_reading(ledger.learning, turn, progress)
    reads = progress is ProgressClass.NON_PROGRESS_SUCCESS and not learning.learned
    idle = ledger.consecutive_reading_rounds + (not any(map(is_run_of_check, turn.actions)))
    no_tool = ledger.consecutive_no_tool_rounds + 1 if progress is ProgressClass.NO_TOOL else 0
    after = replace(
        _with_failed_round(ledger, turn, progress, rules),
        learning=learning,
        stable_rounds=stable,
        consecutive_no_tool_rounds=no_tool,
        consecutive_reading_rounds=idle if reads else 0,
    )
    if rules == FIRST or progress is not ProgressClass.ALL_FAILED_OR_BLOCKED:
        return after
    # To fail is no progress: a model that reads and fails by turns is as idle as one that only reads.
    silent, reading = ledger.consecutive_no_tool_rounds, ledger.consecutive_reading_rounds
    return replace(after, consecutive_no_tool_rounds=silent, consecutive_reading_rounds=reading)


# decision 122: runs that began under the first rules are counted by them.
def _with_failed_round(ledger: WorkLedger, turn: Round, progress: ProgressClass, rules: int) -> WorkLedger:
    failed = progress is ProgressClass.ALL_FAILED_OR_BLOCKED
    if rules == FIRST:
        return replace(ledger, consecutive_failed_rounds=ledger.consecutive_failed_rounds + 1 if failed else 0)
    if progress is ProgressClass.MEANINGFUL_PROGRESS:
        return replace(ledger, consecutive_failed_rounds=0, failed_since=0, failed_last=0, failed_in_a_row=0)
    if not failed:
        return replace(ledger, failed_in_a_row=0)
    return replace(
        ledger,
        consecutive_failed_rounds=ledger.consecutive_failed_rounds + 1,
        failed_since=ledger.failed_since if ledger.consecutive_failed_rounds else turn.number,
        failed_last=turn.number,
        failed_in_a_row=ledger.failed_in_a_row + 1,
    )


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
    new = tuple(path for path in result.changed if path not in ledger.unverified)
    while len(files) > _MOST_FILES:
        del files[min(files, key=lambda path: files[path])]
    return replace(
        ledger,
        files=files,
        files_changed=ledger.files_changed + len(new),
        unverified=(*ledger.unverified, *new)[-_MOST_UNVERIFIED:],
        diff_lines=ledger.diff_lines + result.lines,
        last_write_round=turn,
        # Only where a check has run before: in a plan without checks none is wanting.
        test_summary=REQUIRED if ledger.test_summary else None,
        passed_since_write=(),
        manifest_touched=ledger.manifest_touched
        or any(path.rpartition("/")[2] in _MANIFESTS for path in result.changed),
    )


def _count_check(
    ledger: WorkLedger, call: Call, result: CallResult, turn: int, checks: tuple[str, ...]
) -> tuple[WorkLedger, bool]:
    ledger, key = replace(ledger, last_verify_round=turn), command_key(call.command)
    if result.failed:
        told = " ".join(result.failures or (result.error,))[:300] or key
        failing = _with_check(ledger.failing_checks, key)
        ledger = replace(ledger, test_summary=FAILED, build_output=told, failing_checks=failing, passed_since_write=())
        return ledger, False
    passed = tuple(dict.fromkeys((*ledger.passed_since_write, key)))
    failing = tuple(check for check in ledger.failing_checks if check != key)
    output = ledger.build_output if failing else ""
    ledger = replace(ledger, passed_since_write=passed, failing_checks=failing, build_output=output)
    whole = set(map(command_key, checks)) <= set(passed)
    return (_reset_verified(ledger), True) if whole else (ledger, False)


def _reset_verified(ledger: WorkLedger) -> WorkLedger:
    return replace(
        ledger,
        test_summary=PASSED,
        files_changed=0,
        unverified=(),
        diff_lines=0,
        manifest_touched=False,
        failing_checks=(),
        build_output="",
    )


_MOST_KNOWN = 100
_MOST_ROUNDS = 10
"""Nobody learns for ever without doing anything."""


def after_reading(before: Learning, turn: Round, progress: ProgressClass) -> Learning:
    told = dict.fromkeys(
        f"{action.call.signature} {action.result.digest}"
        for action in turn.actions
        if not action.result.background and not is_note(action) and (action.ok or is_run_of_check(action))
    )
    known = (*(result for result in before.known if result not in told), *told)[-_MOST_KNOWN:]
    if progress is ProgressClass.MEANINGFUL_PROGRESS:
        return Learning(known)
    news = progress is ProgressClass.NON_PROGRESS_SUCCESS and not told.keys() <= set(before.known)
    # decision 56: to read what was not read before is progress, but not for ever.
    learned = news and before.rounds < _MOST_ROUNDS
    return Learning(known, before.rounds + learned, learned)
