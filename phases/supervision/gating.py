"""Within a round: what the model is told of its step, which of its calls are executed, and what came of them (section 4, 5a)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import branch_budget, executor
from phases.supervision.contracts import Terms
from phases.supervision.facts import Action, Call, Result, like_check
from phases.supervision.gate import GateContext, GateDecision, decide, is_planned
from phases.supervision.ledger import PASSED, after_action, check_fails
from phases.supervision.mode import submit
from phases.supervision.outbox import Outbox
from phases.supervision.rules import FIRST
from phases.supervision.speaking import hinted
from phases.supervision.state import KernelState, Setting
from phases.supervision.template_choice import step_queue
from phases.supervision.timeline import Entry, recover
from phases.supervision.words import (
    DegradedTier,
    ExecutionMode,
    GateAction,
    ModeSignal,
    NodeType,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)


def context_of(state: KernelState, setting: Setting) -> str:
    """What the model is told of its step for this round alone; empty where nothing drives."""
    if setting.policy.mode is SupervisorMode.OFF or setting.policy.shadow or not setting.policy.task_graph:
        return ""
    if forced(state) and state.mode.forced_degraded_tier is DegradedTier.STEP_QUEUE:
        first, *rest = [title for _, title in _queue(state, setting)] or [""]
        after = f"\nAfter it: {'; '.join(rest)}" if rest else ""
        return f"[Steps] Current step: {first}{after}" if first else ""
    return executor.node_context(state.graph)


def gated(state: KernelState, setting: Setting, call: Call, out: Outbox) -> tuple[KernelState, GateDecision]:
    """What becomes of a call. One that is kept back is counted here, and nowhere else."""
    if call.rollback and state.rollback_allowed:  # a person was asked, and let the run go on: once
        return replace(state, rollback_allowed=False), GateDecision(GateAction.EXECUTE)
    decision = decide(call, _context(state, setting, call), setting.config.branch_budget)
    if decision.action is GateAction.EXECUTE:
        return (hinted(state, setting, decision.hint, "forced_step_warn", out) if decision.hint else state), decision
    about = {"path": call.path, "command": call.command[:200], "detail": decision.reason[:300]}
    if setting.policy.shadow:
        out.note(Entry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_keep_back", about))
        return state, GateDecision(GateAction.EXECUTE)
    state = replace(state, counts=replace(state.counts, blocks=state.counts.blocks + 1))
    if decision.action is GateAction.CONFIRM:
        out.note(Entry(TimelineEvent.ROLLBACK, "rollback", {"command": call.command[:200]}))
        out.end(StopReason.USER_CHECKPOINT, f"the model wants to take work back: {call.command[:200]}")
        return replace(state, rollback_asked=True), decision
    out.note(recover("graph_hint:forced_step_block", **about))
    if branch_budget.refusal(state.budget, call, setting.config.branch_budget, enabled=True, turn=state.round):
        budget, another = branch_budget.blocked(state.budget, call, setting.config.branch_budget, state.round)
        state = _triggered(replace(state, budget=budget), another=another)
    return state, decision


def recorded(state: KernelState, setting: Setting, call: Call, result: Result) -> tuple[KernelState, Action]:
    """What came of a call, taken in by everybody who counts."""
    call = like_check(call) if result.undecided else call
    ledger, verified = after_action(state.ledger, call, result, state.round, setting.task.verify_commands)
    action, config = Action(call, result, verified), setting.config.branch_budget
    budget, off = state.budget, setting.policy.mode is SupervisorMode.OFF
    if result.executed:  # in off it is counted, and nothing follows from it
        budget = branch_budget.record(budget, action, config, enabled=off or forced(state), turn=state.round)
    if verified:
        budget = branch_budget.passed_verification(budget)
    another = budget.triggers > state.budget.triggers and not off
    graph = executor.record(state.graph, action, setting.task) if result.executed else state.graph
    return _triggered(replace(state, ledger=ledger, budget=budget, graph=graph), another=another), action


def forced(state: KernelState) -> bool:
    """Whether the round is forced."""
    return state.mode.execution_mode is ExecutionMode.FORCED


def verified(state: KernelState, setting: Setting) -> bool:
    """Whether the work is known to be right, as far as anything in the plan says so."""
    unchecked = not setting.task.verify_commands and not check_fails(state.ledger)
    return state.ledger.test_summary == PASSED or (unchecked and state.graph.command_passed)


def _triggered(state: KernelState, *, another: bool) -> KernelState:
    if not another:
        return state
    mode = submit(state.mode, ModeSignal.RECOVERY_PENDING)
    return replace(state, mode=mode, budget_triggers=state.budget_triggers + 1)


def _context(state: KernelState, setting: Setting, call: Call) -> GateContext:
    """Either the graph says what a step is, or the queue of steps: below the tier graph, no graph keeps anything back."""
    tier, mode = state.mode.forced_degraded_tier, state.mode.execution_mode
    terms = Terms(
        strict=setting.policy.mode is SupervisorMode.STRICT,
        mending=_mending(state) or _goes_on(state, setting, call),
        unchecked=not setting.task.verify_commands,
    )
    contract, head = None, None
    if setting.policy.task_graph and forced(state) and tier is DegradedTier.STEP_QUEUE:
        head = _queue_head(state, setting)
    elif setting.policy.task_graph and forced(state) and tier is not DegradedTier.WRITE_INTENT:
        contract = executor.check_call(
            state.graph, call, strict=terms.strict, mending=terms.mending, unchecked=terms.unchecked
        )
    return GateContext(
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


def _mending(state: KernelState) -> bool:
    """Whether a fix is wanted: a check is known to fail, or the last recovery could only say what is to be mended."""
    return check_fails(state.ledger) or state.recovery_failed


def _goes_on(state: KernelState, setting: Setting, call: Call) -> bool:
    """Whether a takeover lets a planned file be written after its checks have passed: the plan is not done with one step."""
    led = state.phase.phase in (SupervisorPhase.TAKEOVER, SupervisorPhase.HANDOFF_PENDING)
    checked = state.ledger.test_summary is not None and not check_fails(state.ledger)
    return setting.rules != FIRST and led and checked and is_planned(call, setting.task.planned_files)


def _queue(state: KernelState, setting: Setting) -> tuple[tuple[NodeType, str], ...]:
    """The steps that are left where no graph drives, by what the ledger knows."""
    ledger, done = state.ledger, set[NodeType]()
    if ledger.recent_tools or setting.task.from_nothing:
        done |= {NodeType.INSPECT, NodeType.SEARCH, NodeType.READ, NodeType.DELEGATE}
    if ledger.files and not state.open_files and not _mending(state):
        done |= {NodeType.EDIT, NodeType.FALLBACK}
    if verified(state, setting):
        done.add(NodeType.VERIFY)
    return step_queue(setting.task, frozenset(done))


def _queue_head(state: KernelState, setting: Setting) -> NodeType | None:
    queue = _queue(state, setting)
    return queue[0][0] if queue else None
