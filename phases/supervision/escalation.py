"""How a model strays from its step, what is done about it (section 6.7): from nothing to another branch."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from phases.supervision.contracts import Contract
from phases.supervision.facts import Action
from phases.supervision.graph import Node
from phases.supervision.graph_run import Escalation, StepUse
from phases.supervision.words import NodeType, ToolClass

NOTHING, HINT, BLOCK, SWITCH = 0, 1, 2, 3
_SOFT_ROUNDS, _MOST_HINTS, _MOST_BLOCKS = 2, 2, 1
_MANY_READS, _ROUNDS_AWAY = 3, 3


class Deviation(StrEnum):
    """What is wrong with a round on a step."""

    NONE = "none"
    TOOL_MISMATCH = "tool_mismatch"
    SCOPE_CREEP = "scope_creep"
    PHASE_MISMATCH = "phase_mismatch"


class Severity(StrEnum):
    """How wrong it is."""

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
    """Why a call failed, or a branch."""

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

    name: str
    advice: str
    least: int = NOTHING


REMEDIES = {
    FailureClass.TOOL_ERROR: Remedy("retry", "Mend the call's arguments, and try at most twice."),
    FailureClass.NOT_FOUND: Remedy("retry_with_hint", "Search for the name first."),
    FailureClass.VERIFICATION_FAIL: Remedy("narrow_scope", "Take the first failure alone, and fix its cause."),
    FailureClass.CONTEXT_MISSING: Remedy("expand", "Read what defines the missing name."),
    FailureClass.CONTRACT_VIOLATION: Remedy("hint", "Do what the step is for."),
    FailureClass.REPO_MISMATCH: Remedy("skip", "This is not there in this repository: leave it out.", BLOCK),
    FailureClass.PERMISSION: Remedy("alternative_tool", "Use another tool, or a path inside the workspace."),
    FailureClass.BRANCH_EXHAUSTED: Remedy("ask_user", "No other way is left: say what is in the way.", SWITCH),
    FailureClass.TIMEOUT: Remedy("narrow_scope", "Run less at once."),
    FailureClass.TOKEN_EXHAUSTED: Remedy("narrow_scope", "Read and print less at once."),
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
    if (
        node.type is NodeType.EDIT
        and seen
        and seen <= {ToolClass.READ, ToolClass.SEARCH}
        and use.reads_since_write > _MANY_READS
    ):
        return Deviation.SCOPE_CREEP
    if contract.primary is not None and use.away_rounds >= _ROUNDS_AWAY:
        return Deviation.PHASE_MISMATCH
    return Deviation.NONE


def escalated(state: Escalation, severity: Severity, failure: FailureClass | None = None) -> tuple[Escalation, int]:
    """The next state, with what is to be done. A round without fault takes one level back."""
    least = REMEDIES[failure].least if failure else NOTHING
    if severity is Severity.NONE and least == NOTHING:
        level = max(0, state.level - 1)
        return replace(state, level=level, counter=0, blocking=state.blocking and level >= BLOCK), NOTHING
    if severity is Severity.SOFT:
        state = replace(state, counter=state.counter + 1)
    level = max(_raised(state, severity), least)
    if level == HINT and state.hints >= _MOST_HINTS:
        level = BLOCK
    if level == BLOCK and state.blocks >= _MOST_BLOCKS:
        level = SWITCH
    if level >= SWITCH:
        return Escalation(level=0), SWITCH
    if level == BLOCK:
        return replace(state, level=level, blocks=state.blocks + 1, blocking=True), BLOCK
    return replace(state, level=level, hints=state.hints + (level == HINT)), level


def _raised(state: Escalation, severity: Severity) -> int:
    match severity:
        case Severity.SOFT:
            return HINT if state.level == NOTHING and state.counter >= _SOFT_ROUNDS else state.level
        case Severity.HARD:
            return state.level + 1
        case Severity.CRITICAL:
            return SWITCH if state.level >= BLOCK else BLOCK
        case _:
            return state.level
