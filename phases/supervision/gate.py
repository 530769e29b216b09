"""What becomes of a call before it is executed (section 5.6). Free mode keeps nothing back."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision import graph_executor
from phases.supervision.branch_budget import BranchBudget, note_refusal, why_refused
from phases.supervision.config import FIRST, BranchLimits
from phases.supervision.effects import Effects, TimelineEntry, recovery_entry
from phases.supervision.enums import (
    LED,
    DegradedTier,
    ExecutionMode,
    GateAction,
    ModeSignal,
    NodeType,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
    ToolClass,
)
from phases.supervision.execution_mode import is_forced, submit_signals
from phases.supervision.facts import Call
from phases.supervision.messages import send_hint
from phases.supervision.state import KernelState, Setting
from phases.supervision.step_contracts import BLOCK, WARN, ContractCheck, Terms, class_refusal
from phases.supervision.templates import step_queue
from phases.supervision.work_ledger import PASSED, check_fails

_LONGEST_QUOTE, _LONGEST_REASON, _MOST_EVIDENCE = 120, 600, 3


@dataclass(frozen=True)
class CallContext:
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


def decide_call(call: Call, context: CallContext, config: BranchLimits) -> GateDecision:
    """The first rule that fits: rollback, free mode, branch budget, detectors, degraded tier, contract of the step."""
    # decision 62: taking work back needs a person, and the run has no history but the copies beside it.
    if call.rollback and context.phase in LED:
        return GateDecision(GateAction.CONFIRM, "This would take work back, and a person has to say yes first.")
    if context.execution_mode is ExecutionMode.FREE:
        return GateDecision(GateAction.EXECUTE)
    reason = _why_kept_back(call, context, config)
    if reason:
        return GateDecision(GateAction.SKIP, reason)
    return GateDecision(GateAction.EXECUTE, hint=_contract_hint(call, context))


def is_planned(call: Call, planned: tuple[str, ...]) -> bool:
    """Whether a call is about a file of the plan, however its path is written."""
    return posixpath.normpath(call.path) in {posixpath.normpath(path) for path in planned}


def refusal_text(reason: str) -> str:
    """What a model reads in place of the result of a call that was kept back."""
    told = " ".join(reason.split())[:_LONGEST_REASON].rstrip(" .") or "This call is kept back"
    return f"[ToolGate] {told}. The tool was not executed."


def _why_kept_back(call: Call, context: CallContext, config: BranchLimits) -> str:
    if call.tool_class is ToolClass.NEUTRAL:
        return _why_repeated(call, context)
    return (
        why_refused(context.budget, call, config, enabled=True, turn=context.turn)
        or _why_repeated(call, context)
        or _below_graph(call, context)
        or _off_contract(context)
    )


def _why_repeated(call: Call, context: CallContext) -> str:
    if call.signature not in context.blocked:
        return ""
    return context.blocked[call.signature].strip() or "The same call was made again and again, with the same result."


def _below_graph(call: Call, context: CallContext) -> str:
    writes = call.tool_class is ToolClass.WRITE
    # decision 57: the files that the plan asks for are written on every tier.
    if writes and is_planned(call, context.planned_files):
        return ""
    if context.tier is DegradedTier.STEP_QUEUE and context.queue_head is not None:
        return class_refusal(context.queue_head, call, context.terms)
    if context.tier is not DegradedTier.WRITE_INTENT or not writes:
        return ""
    some = ", ".join(_quote_path(path) for path in context.planned_files[:_MOST_EVIDENCE])
    told = f"{_quote_path(call.path) or 'This'} is not in the plan's list of files, and only those may be written now"
    return f"{told}: {some}{', …' if len(context.planned_files) > _MOST_EVIDENCE else ''}." if some else f"{told}."


def _off_contract(context: CallContext) -> str:
    if context.contract is None or context.contract.action != BLOCK:
        return ""
    return context.contract.text.strip() or "This does not belong to the current step."


def _contract_hint(call: Call, context: CallContext) -> str:
    if call.tool_class is ToolClass.NEUTRAL or context.contract is None or context.contract.action != WARN:
        return ""
    return context.contract.text


def _quote_path(path: str) -> str:
    return " ".join(path.split())[:_LONGEST_QUOTE]


def context_of(state: KernelState, setting: Setting) -> str:
    """What the model is told of its step for this round alone; empty where nothing drives."""
    if setting.policy.mode is SupervisorMode.OFF or setting.policy.shadow or not setting.policy.task_graph:
        return ""
    if is_forced(state.mode) and state.mode.forced_degraded_tier is DegradedTier.STEP_QUEUE:
        first, *rest = [title for _, title in _open_steps(state, setting)] or [""]
        after = f"\nAfter it: {'; '.join(rest)}" if rest else ""
        return f"[Steps] Current step: {first}{after}" if first else ""
    return graph_executor.node_context(state.graph)


def gate_call(state: KernelState, setting: Setting, call: Call, out: Effects) -> tuple[KernelState, GateDecision]:
    """What becomes of a call. One that is kept back is counted here, and nowhere else."""
    if call.rollback and state.rollback_allowed:  # a person was asked, and let the run go on: once
        return replace(state, rollback_allowed=False), GateDecision(GateAction.EXECUTE)
    decision = decide_call(call, _gate_context(state, setting, call), setting.config.branch_budget)
    if decision.action is GateAction.EXECUTE:
        return (send_hint(state, setting, decision.hint, "forced_step_warn", out) if decision.hint else state), decision
    about = {"path": call.path, "command": call.command[:200], "detail": decision.reason[:300]}
    if setting.policy.shadow:
        # decision 64: in shadow it is logged, and let through.
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_keep_back", about))
        return state, GateDecision(GateAction.EXECUTE)
    state = replace(state, counts=replace(state.counts, blocks=state.counts.blocks + 1))
    if decision.action is GateAction.CONFIRM:
        out.note(TimelineEntry(TimelineEvent.ROLLBACK, "rollback", {"command": call.command[:200]}))
        out.end(StopReason.USER_CHECKPOINT, f"the model wants to take work back: {call.command[:200]}")
        return replace(state, rollback_asked=True), decision
    out.note(recovery_entry("graph_hint:forced_step_block", **about))
    budget, over_limit = note_refusal(state.budget, call, setting.config.branch_budget, state.round)
    state = replace(state, budget=budget)
    return (count_trigger(state) if over_limit else state), decision


def is_verified(state: KernelState, setting: Setting) -> bool:
    """Whether the work is known to be right, as far as anything in the plan says so."""
    unchecked = not setting.task.verify_commands and not check_fails(state.ledger)
    return state.ledger.test_summary == PASSED or (unchecked and state.graph.command_passed)


def count_trigger(state: KernelState) -> KernelState:
    """The branch budget asks for a recovery: it is pending, and forced mode stays until it is settled."""
    mode = submit_signals(state.mode, ModeSignal.RECOVERY_PENDING)
    return replace(state, mode=mode, budget_triggers=state.budget_triggers + 1)


def _gate_context(state: KernelState, setting: Setting, call: Call) -> CallContext:
    """Either the graph says what a step is, or the queue of steps: below the tier graph, no graph keeps anything back."""
    tier, mode = state.mode.forced_degraded_tier, state.mode.execution_mode
    terms = Terms(
        strict=setting.policy.mode is SupervisorMode.STRICT,
        mending=_is_mending(state) or _goes_on(state, setting, call),
        unchecked=not setting.task.verify_commands,
    )
    contract, head = None, None
    if setting.policy.task_graph and is_forced(state.mode) and tier is DegradedTier.STEP_QUEUE:
        head = next((kind for kind, _ in _open_steps(state, setting)), None)
    elif setting.policy.task_graph and is_forced(state.mode) and tier is not DegradedTier.WRITE_INTENT:
        contract = graph_executor.check_call(
            state.graph, call, strict=terms.strict, mending=terms.mending, unchecked=terms.unchecked
        )
    return CallContext(
        mode,
        state.phase.phase,
        state.budget,
        tier,
        contract,
        head,
        setting.task.planned_files,
        state.blocked,
        terms,
        state.round,
    )


def _is_mending(state: KernelState) -> bool:
    """Whether a fix is wanted: a check is known to fail, or the last recovery could only say what is to be mended."""
    return check_fails(state.ledger) or state.recovery_failed


def _goes_on(state: KernelState, setting: Setting, call: Call) -> bool:
    """Whether a takeover lets a planned file be written after its checks have passed: the plan is not done with one step."""
    led = state.phase.phase in LED
    checked = state.ledger.test_summary is not None and not check_fails(state.ledger)
    return setting.rules != FIRST and led and checked and is_planned(call, setting.task.planned_files)


def _open_steps(state: KernelState, setting: Setting) -> tuple[tuple[NodeType, str], ...]:
    """The steps that are left where no graph drives, by what the ledger knows."""
    ledger, done = state.ledger, set[NodeType]()
    if ledger.recent_tools or setting.task.from_nothing:
        done |= {NodeType.INSPECT, NodeType.SEARCH, NodeType.READ, NodeType.DELEGATE}
    if ledger.files and not state.open_files and not _is_mending(state):
        done |= {NodeType.EDIT, NodeType.FALLBACK}
    if is_verified(state, setting):
        done.add(NodeType.VERIFY)
    return step_queue(setting.task, frozenset(done))
