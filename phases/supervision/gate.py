"""What becomes of a call before it is executed (section 5.6). Free mode keeps nothing back."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from phases.supervision.branch_budget import BranchBudget, refusal
from phases.supervision.config import Branch
from phases.supervision.contracts import BLOCK, WARN, ContractCheck, Terms, class_refusal
from phases.supervision.facts import Call
from phases.supervision.words import (
    DegradedTier,
    ExecutionMode,
    GateAction,
    NodeType,
    SupervisorPhase,
    ToolClass,
)

_SUPERVISED = (SupervisorPhase.TAKEOVER, SupervisorPhase.HANDOFF_PENDING)
_LONGEST_QUOTE, _LONGEST_REASON, _MOST_EVIDENCE = 120, 600, 3


@dataclass(frozen=True)
class GateContext:
    """What a decision is made of."""

    execution_mode: ExecutionMode
    phase: SupervisorPhase
    budget: BranchBudget
    tier: DegradedTier | None = None
    contract: ContractCheck | None = None
    """What the current step of the graph says of the call."""
    queue_head: NodeType | None = None
    """The first step that is left, in the tier step_queue."""
    planned_files: tuple[str, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Signatures of calls that a detector keeps back, with the reason."""
    terms: Terms = field(default_factory=Terms)
    """What a step is to be read with, in the tier step_queue."""
    turn: int = 0
    """The round, from 1; 0 where it is not known."""


@dataclass(frozen=True)
class GateDecision:
    """What becomes of the call: the reason is of one that is kept back, the hint of one that is executed."""

    action: GateAction
    reason: str = ""
    hint: str = ""


def decide(call: Call, context: GateContext, config: Branch) -> GateDecision:
    """The first rule that fits: rollback, free mode, branch budget, detectors, degraded tier, contract of the step."""
    if call.rollback and context.phase in _SUPERVISED:
        return GateDecision(GateAction.CONFIRM, "This would take work back, and a person has to say yes first.")
    if context.execution_mode is ExecutionMode.FREE:
        return GateDecision(GateAction.EXECUTE)
    reason = _kept_back(call, context, config)
    if reason:
        return GateDecision(GateAction.SKIP, reason)
    return GateDecision(GateAction.EXECUTE, hint=_hint(call, context))


def is_planned(call: Call, planned: tuple[str, ...]) -> bool:
    """Whether a call is about a file of the plan, however its path is written."""
    return posixpath.normpath(call.path) in {posixpath.normpath(path) for path in planned}


def skipped_text(reason: str) -> str:
    """What a model reads in place of the result of a call that was kept back."""
    told = " ".join(reason.split())[:_LONGEST_REASON].rstrip(" .") or "This call is kept back"
    return f"[ToolGate] {told}. The tool was not executed."


def _kept_back(call: Call, context: GateContext, config: Branch) -> str:
    if call.tool_class is ToolClass.NEUTRAL:
        return _repeated(call, context)
    return (
        refusal(context.budget, call, config, enabled=True, turn=context.turn)
        or _repeated(call, context)
        or _below_graph(call, context)
        or _off_contract(context)
    )


def _repeated(call: Call, context: GateContext) -> str:
    if call.signature not in context.blocked:
        return ""
    return context.blocked[call.signature].strip() or "The same call was made again and again, with the same result."


def _below_graph(call: Call, context: GateContext) -> str:
    writes = call.tool_class is ToolClass.WRITE
    if writes and is_planned(call, context.planned_files):
        return ""
    if context.tier is DegradedTier.STEP_QUEUE and context.queue_head is not None:
        return class_refusal(context.queue_head, call, context.terms)
    if context.tier is not DegradedTier.WRITE_INTENT or not writes:
        return ""
    some = ", ".join(_quoted(path) for path in context.planned_files[:_MOST_EVIDENCE])
    told = f"{_quoted(call.path) or 'This'} is not in the plan's list of files, and only those may be written now"
    return f"{told}: {some}{', …' if len(context.planned_files) > _MOST_EVIDENCE else ''}." if some else f"{told}."


def _off_contract(context: GateContext) -> str:
    if context.contract is None or context.contract.action != BLOCK:
        return ""
    return context.contract.text.strip() or "This does not belong to the current step."


def _hint(call: Call, context: GateContext) -> str:
    if call.tool_class is ToolClass.NEUTRAL or context.contract is None or context.contract.action != WARN:
        return ""
    return context.contract.text


def _quoted(path: str) -> str:
    return " ".join(path.split())[:_LONGEST_QUOTE]
