"""What each kind of step asks of a model (section 6.5): the calls it allows, the signals that complete it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from phases.supervision.enums import NodeType, OutputSignal, TaskIntent, ToolClass
from phases.supervision.facts import Action, Call, Task
from phases.supervision.graph import Escalation, Node, StepUse

ALLOW, WARN, BLOCK = "allow", "warn", "block"
MAX_SAME_CALL = 5
READ, SEARCH, WRITE, EXEC = ToolClass.READ, ToolClass.SEARCH, ToolClass.WRITE, ToolClass.EXEC
_ENDLESS = 1_000_000
_READS_LIKE_A_DELEGATE = 3
_PER_PLANNED_FILE = 2
_AFTER_EDIT = (NodeType.VERIFY, NodeType.SUMMARIZE)


@dataclass(frozen=True)
class Contract:
    allowed: tuple[ToolClass, ...]
    forbidden: tuple[ToolClass, ...]
    required: tuple[OutputSignal, ...]
    """One of them is enough."""
    min_calls: int
    max_rounds: int
    max_idle: int
    max_calls: int
    explicit_done: bool = False
    """The model may say that the step is done."""
    primary: ToolClass | None = None
    """The class that the step is for."""
    tolerated: tuple[ToolClass, ...] = ()
    """Neither the step's nor kept from it: warned of in every mode."""


_S = OutputSignal
CONTRACTS = {
    NodeType.INSPECT: Contract((READ, SEARCH), (WRITE, EXEC), (), 0, 5, 3, 8, explicit_done=True),
    NodeType.SEARCH: Contract((READ, SEARCH), (WRITE,), (_S.FILE_READ, _S.SEARCH_COMPLETED), 1, 4, 3, 6),
    NodeType.READ: Contract((READ,), (WRITE, EXEC), (_S.FILE_READ,), 1, 3, 2, 5),
    NodeType.EDIT: Contract(
        (WRITE, READ, SEARCH), (), (_S.FILE_WRITTEN,), 1, 8, 3, 12, primary=WRITE, tolerated=(EXEC,)
    ),
    NodeType.VERIFY: Contract(
        (EXEC, READ, SEARCH), (WRITE,), (_S.TEST_PASSED, _S.VERIFICATION_DONE), 1, 5, 2, 8, primary=EXEC
    ),
    NodeType.SUMMARIZE: Contract((), (WRITE, EXEC), (_S.SUMMARY_GENERATED,), 0, 2, 2, 0, explicit_done=True),
    NodeType.FALLBACK: Contract((WRITE, READ, SEARCH, EXEC), (), (_S.FILE_WRITTEN, _S.TEST_PASSED), 1, 4, 2, 6),
    NodeType.DELEGATE: Contract(
        (ToolClass.DELEGATE, READ, SEARCH), (WRITE, EXEC), (_S.DELEGATE_DONE,), 1, 6, 2, _ENDLESS
    ),
}
_WORDS = {
    READ: "reading files",
    SEARCH: "searching",
    WRITE: "writing files",
    EXEC: "running commands",
    ToolClass.DELEGATE: "delegating",
}
NEXT = {
    NodeType.INSPECT: 'Read or search what the goal touches, or say "step done".',
    NodeType.SEARCH: "Read or search something that the work needs.",
    NodeType.READ: "Read the file.",
    NodeType.EDIT: "Write the files that the goal asks for.",
    NodeType.VERIFY: "Run the verify commands; where one fails, the edit step opens again.",
    NodeType.SUMMARIZE: "Reply with a summary of the work, without a call.",
    NodeType.FALLBACK: "Write the code another way, or run the checks until they pass.",
    NodeType.DELEGATE: "Delegate the exploration, or read and search three times yourself.",
}


@dataclass(frozen=True)
class ContractCheck:
    """Whether a call fits the step, and what to tell the model."""

    action: str
    """ALLOW, WARN or BLOCK."""
    text: str = ""


@dataclass(frozen=True)
class Terms:
    """What a contract is to be read with, for the moment."""

    strict: bool = False
    blocking: bool = False
    """The model has strayed too often."""
    mending: bool = False
    """A fix is wanted: the last check is known to have failed, or a recovery asked for one."""
    unchecked: bool = False
    """The plan has no verify commands."""


def contract_of(node: Node, task: Task) -> Contract:
    contract = scale_contract(node, task.intent, len(task.planned_files))
    return _require_checks(contract, task) if node.type is NodeType.VERIFY else contract


def scale_contract(node: Node, intent: TaskIntent, planned_files: int) -> Contract:
    """The contract of a step, with more rounds where more files are planned."""
    contract = CONTRACTS[node.type]
    if node.type in (NodeType.EDIT, NodeType.FALLBACK):
        more = _PER_PLANNED_FILE * planned_files
        return replace(contract, max_rounds=contract.max_rounds + more, max_calls=contract.max_calls + more)
    if node.type is NodeType.SEARCH and intent is TaskIntent.TEST:
        return replace(contract, allowed=(*contract.allowed, EXEC))
    return contract


def is_completed(node: Node, contract: Contract, use: StepUse, open_files: int, *, said_done: bool = False) -> bool:
    """Whether a step has what it takes. Code is not written while a planned file is open."""
    if use.calls < contract.min_calls:
        return False
    if contract.explicit_done and not contract.required:
        return said_done
    if node.type in (NodeType.EDIT, NodeType.FALLBACK) and open_files > 0:
        return False
    if node.type is NodeType.DELEGATE and use.reads >= _READS_LIKE_A_DELEGATE:
        return True
    return any(signal in use.signals for signal in contract.required)


def check_contract(node: Node, contract: Contract, use: StepUse, call: Call, terms: Terms) -> ContractCheck:
    """What the contract says of a call, before it is made; nothing is counted."""
    if call.tool_class is ToolClass.NEUTRAL or _belongs_anywhere(node.type, call, terms):
        return ContractCheck(ALLOW)
    kind = class_in(contract, call)
    if kind in contract.forbidden:
        return ContractCheck(BLOCK, _off_step_text(node, call))
    # decision 70: what is neither the step's nor against it is warned of.
    if kind in contract.tolerated:
        return ContractCheck(BLOCK if terms.blocking else WARN, _off_step_text(node, call))
    if kind not in contract.allowed:
        return ContractCheck(BLOCK if terms.strict or terms.blocking else WARN, _off_step_text(node, call))
    if call.signature == use.last_signature and use.same_calls >= MAX_SAME_CALL:
        return ContractCheck(WARN, f"This very call was made {use.same_calls} times in a row. Do something else.")
    if use.calls >= contract.max_calls:
        return ContractCheck(WARN, f"The step {node.title!r} has had its {contract.max_calls} calls. {NEXT[node.type]}")
    return ContractCheck(ALLOW)


def class_refusal(kind: NodeType, call: Call, terms: Terms) -> str:
    """Why a kind of step forbids a call; empty where it does not."""
    if call.tool_class is ToolClass.NEUTRAL or _belongs_anywhere(kind, call, terms):
        return ""
    if call.tool_class not in CONTRACTS[kind].forbidden:
        return ""
    return f"{_class_words(call.tool_class)} is not part of this step ({kind}). {NEXT[kind]}"


def class_in(contract: Contract, call: Call) -> ToolClass:
    """What a call counts as in a step: to delegate is to search, where that is the step's."""
    delegates = call.tool_class is ToolClass.DELEGATE and ToolClass.DELEGATE not in contract.allowed
    return SEARCH if delegates and SEARCH in contract.allowed else call.tool_class


def is_check(call: Call, task: Task) -> bool:
    """Whether a call says if the work is right: a verify command, one with more around it, any where the plan has none."""
    return call.checks or (call.tool_class is EXEC and not task.verify_commands)


def is_finished_check(action: Action, task: Task) -> bool:
    """Whether it was one, and was waited for. One that fails is how work goes."""
    return is_check(action.call, task) and action.result.executed and not action.result.background


def _require_checks(contract: Contract, task: Task) -> Contract:
    """Of several checks all must pass; where none is known, a command that ends well is one."""
    if len(task.verify_commands) > 1:
        more = len(task.verify_commands)
        return replace(contract, required=(_S.TEST_PASSED,), max_calls=contract.max_calls + more)
    if not task.verify_commands:
        return replace(contract, required=(*contract.required, _S.COMMAND_EXECUTED))
    return contract


def _belongs_anywhere(kind: NodeType, call: Call, terms: Terms) -> bool:
    """What no step keeps back: a check, a fix that is wanted, any command of a plan without checks once code is written."""
    # decision 57: a check is never against a step.
    if call.checks:
        return True
    if call.tool_class is WRITE:
        # decision 57: where a check failed, writing opens the edit again, else nothing could mend it.
        return kind in _AFTER_EDIT and (terms.mending or terms.unchecked)
    return call.tool_class is EXEC and terms.unchecked and kind in (NodeType.EDIT, NodeType.FALLBACK, *_AFTER_EDIT)


def _off_step_text(node: Node, call: Call) -> str:
    return f"{_class_words(call.tool_class)} is not part of the step {node.title!r} ({node.type}). {NEXT[node.type]}"


def _class_words(kind: ToolClass) -> str:
    return _WORDS.get(kind, kind.value).capitalize()


LEVEL_NONE, LEVEL_HINT, LEVEL_BLOCK, LEVEL_SWITCH = 0, 1, 2, 3
_SOFT_ROUNDS, _MOST_HINTS, _MOST_BLOCKS = 2, 2, 1
_MANY_READS, _ROUNDS_AWAY = 3, 3


class Deviation(StrEnum):
    NONE = "none"
    TOOL_MISMATCH = "tool_mismatch"
    SCOPE_CREEP = "scope_creep"
    PHASE_MISMATCH = "phase_mismatch"


class Severity(StrEnum):
    NONE = "none"
    SOFT = "soft"
    HARD = "hard"
    CRITICAL = "critical"


SEVERITIES = {
    Deviation.NONE: Severity.NONE,
    Deviation.TOOL_MISMATCH: Severity.HARD,
    Deviation.SCOPE_CREEP: Severity.SOFT,
    Deviation.PHASE_MISMATCH: Severity.SOFT,
}


class FailureClass(StrEnum):
    TOOL_ERROR = "tool_error"
    NOT_FOUND = "not_found"
    VERIFICATION_FAIL = "verification_fail"
    CONTEXT_MISSING = "context_missing"
    CONTRACT_VIOLATION = "contract_violation"
    REPO_MISMATCH = "repo_mismatch"
    PERMISSION = "permission"
    BRANCH_EXHAUSTED = "branch_exhausted"
    TIMEOUT = "timeout"
    TOKEN_EXHAUSTED = "token_exhausted"  # noqa: S105 - a word of the specification, no secret


@dataclass(frozen=True)
class Remedy:
    """What helps against a failure. `least`: the level that it asks for by itself."""

    advice: str
    least: int = LEVEL_NONE


REMEDIES = {
    FailureClass.TOOL_ERROR: Remedy("Mend the call's arguments, and try at most twice."),
    FailureClass.NOT_FOUND: Remedy("Search for the name first."),
    FailureClass.VERIFICATION_FAIL: Remedy("Take the first failure alone, and fix its cause."),
    FailureClass.CONTEXT_MISSING: Remedy("Read what defines the missing name."),
    FailureClass.CONTRACT_VIOLATION: Remedy("Do what the step is for."),
    FailureClass.REPO_MISMATCH: Remedy("This is not there in this repository: leave it out.", LEVEL_BLOCK),
    FailureClass.PERMISSION: Remedy("Use another tool, or a path inside the workspace."),
    FailureClass.BRANCH_EXHAUSTED: Remedy("No other way is left: say what is in the way.", LEVEL_SWITCH),
    FailureClass.TIMEOUT: Remedy("Run less at once."),
    FailureClass.TOKEN_EXHAUSTED: Remedy("Read and print less at once."),
}
_SIGNS = (
    (FailureClass.TIMEOUT, re.compile(r"tim(?:ed|e)[ -]?out", re.IGNORECASE)),
    (FailureClass.TOKEN_EXHAUSTED, re.compile(r"context (?:length|window)|too many tokens|token limit", re.IGNORECASE)),
    (FailureClass.PERMISSION, re.compile(r"permission|not permitted|denied|outside the workspace", re.IGNORECASE)),
    (FailureClass.CONTEXT_MISSING, re.compile(r"No module named|cannot import|NameError|undefined", re.IGNORECASE)),
    (FailureClass.NOT_FOUND, re.compile(r"not found|no such|does not exist|no match|is not there", re.IGNORECASE)),
)


def failure_class(action: Action) -> FailureClass | None:
    """Why a call failed, as far as its error says; none where it did not.

    No error of a call is grave by itself: what does not fit the repository, or ends a branch, others must say.
    """
    if not action.result.executed or not action.result.failed:
        return None
    found = next((kind for kind, sign in _SIGNS if sign.search(action.result.error[:2_000])), None)
    if action.call.verify:
        return found if found is FailureClass.TIMEOUT else FailureClass.VERIFICATION_FAIL
    return found or FailureClass.TOOL_ERROR


def deviation_of(node: Node, contract: Contract, use: StepUse) -> Deviation:
    """What is wrong with the round that just ended; the first that holds."""
    seen = set(use.round_calls)
    if seen and not use.round_checks and not seen & {*contract.allowed, *contract.tolerated}:
        return Deviation.TOOL_MISMATCH
    only_reads = bool(seen) and seen <= {READ, SEARCH}
    if node.type is NodeType.EDIT and only_reads and use.reads_since_write > _MANY_READS:
        return Deviation.SCOPE_CREEP
    if contract.primary is not None and use.away_rounds >= _ROUNDS_AWAY:
        return Deviation.PHASE_MISMATCH
    return Deviation.NONE


def escalate_deviation(
    state: Escalation, severity: Severity, failure: FailureClass | None = None
) -> tuple[Escalation, int]:
    """The next state, with what is to be done. A round without fault takes one level back."""
    least = REMEDIES[failure].least if failure else LEVEL_NONE
    # A clean round takes a level back: counted as a soft fault, it would escalate against good work.
    if severity is Severity.NONE and least == LEVEL_NONE:
        level = max(0, state.level - 1)
        return replace(state, level=level, counter=0, blocking=state.blocking and level >= LEVEL_BLOCK), LEVEL_NONE
    if severity is Severity.SOFT:
        state = replace(state, counter=state.counter + 1)
    level = max(_raise_level(state, severity), least)
    if level == LEVEL_HINT and state.hints >= _MOST_HINTS:
        level = LEVEL_BLOCK
    if level == LEVEL_BLOCK and state.blocks >= _MOST_BLOCKS:
        level = LEVEL_SWITCH
    if level >= LEVEL_SWITCH:
        return Escalation(level=0), LEVEL_SWITCH
    if level == LEVEL_BLOCK:
        return replace(state, level=level, blocks=state.blocks + 1, blocking=True), LEVEL_BLOCK
    return replace(state, level=level, hints=state.hints + (level == LEVEL_HINT)), level


def _raise_level(state: Escalation, severity: Severity) -> int:
    match severity:
        case Severity.SOFT:
            return LEVEL_HINT if state.level == LEVEL_NONE and state.counter >= _SOFT_ROUNDS else state.level
        case Severity.HARD:
            return state.level + 1
        case Severity.CRITICAL:
            return LEVEL_SWITCH if state.level >= LEVEL_BLOCK else LEVEL_BLOCK
        case _:
            return state.level
