"""What drives forced mode (sections 5.6, 6.6): the task graph, and the tier below it where there is none."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import graph_executor
from phases.supervision.effects import Effects, TimelineEntry, failure_entry, recovery_entry
from phases.supervision.enums import (
    FAULTS,
    LED,
    DegradedTier,
    EvaluationMode,
    GraphStatus,
    ModeSignal,
    NodeType,
    StopReason,
    SupervisorMode,
    TaskPhase,
    TimelineEvent,
    ToolClass,
)
from phases.supervision.execution_mode import clear_recovery, is_forced, lower_tier, next_tier, submit_signals
from phases.supervision.facts import GateVerdict, Round
from phases.supervision.gate import is_planned, is_verified
from phases.supervision.graph import Evaluated
from phases.supervision.graph_evaluation import evaluate_round, evaluate_verdict
from phases.supervision.graph_executor import sync_phase
from phases.supervision.messages import send_hint
from phases.supervision.state import KernelState, Setting

_ROUNDS_KEPT_BACK = 2


def make_first_graph(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """The graph of the task's template, before the first round. One that cannot be made stops nobody."""
    name = f"graph-{state.counts.graphs + 1}"
    try:
        graph = graph_executor.init_run(setting.task, graph_id=name, at=state.round)
        # decision 59: where nothing stands there is nothing to inspect; the plan is before the model.
        if setting.task.from_nothing:
            graph = sync_phase(graph, TaskPhase.EDITING, state.round)
    except FAULTS as error:
        out.note(failure_entry(f"graph_init_failed:{type(error).__name__}"))
        return _graph_lost(state)
    out.note(recovery_entry("task_graph_init", graphId=name))
    return replace(state, graph=graph, counts=replace(state.counts, graphs=state.counts.graphs + 1))


def evaluate_graph(
    state: KernelState, setting: Setting, turn: Round, verdict: GateVerdict | None, out: Effects
) -> tuple[KernelState, Evaluated]:
    """The graph's own view of the round, with its hint where one is allowed."""
    if not setting.policy.task_graph:
        return state, Evaluated(state.graph)
    most = setting.config.branch_budget.error_repeat_max
    if verdict:
        evaluated = evaluate_verdict(state.graph, verdict, setting.task, turn.number)
    else:
        evaluated = evaluate_round(state.graph, turn, setting.task, forced=is_forced(state.mode), error_repeat_max=most)
    out.note(*evaluated.entries)
    state = replace(state, graph=evaluated.run)
    if evaluated.hint:
        state = send_hint(state, setting, evaluated.hint, evaluated.tag, out)
    if evaluated.graph_failed:
        if state.graphs_failed and (state.phase.phase in LED or setting.policy.mode is SupervisorMode.STRICT):
            _no_way_left(setting, out)
        state = _graph_lost(replace(state, graphs_failed=state.graphs_failed + 1))
    return state, evaluated


def count_kept_back(state: KernelState, setting: Setting, turn: Round) -> KernelState:
    """Where every call of two rounds was kept back, planned writes among them, the steps go: planned files may be written.

    A step that wants its check made first is no such case: the check opens the way to the next write.
    """
    real = [action for action in turn.actions if action.call.tool_class is not ToolClass.NEUTRAL]
    writes = any(
        action.call.tool_class is ToolClass.WRITE and is_planned(action.call, setting.task.planned_files)
        for action in real
    )
    graph = state.graph.graph
    asks = graph is not None and graph.active and graph.current.type in (NodeType.VERIFY, NodeType.SUMMARIZE)
    if not is_forced(state.mode) or not writes or asks or any(action.result.executed for action in real):
        return replace(state, kept_back=0)
    state = replace(state, kept_back=state.kept_back + 1)
    if state.kept_back < _ROUNDS_KEPT_BACK:
        return state
    return replace(state, mode=lower_tier(state.mode, DegradedTier.WRITE_INTENT))


def settle_recovery(state: KernelState, setting: Setting) -> KernelState:
    """Recovery is pending no longer once all debt is settled and no graph stands failed (section 5.4).

    A failed graph stands until a handback puts it away or the work is right all the same: it must not force for ever.
    """
    graph = state.graph.graph
    over = state.graph.evaluation is EvaluationMode.NONE or is_verified(state, setting)
    open_graph = graph is not None and graph.status is GraphStatus.FAILED and not over
    if not state.mode.recovery_pending or state.budget.debt or open_graph or state.phase.phase in LED:
        return state
    return replace(state, mode=clear_recovery(state.mode))


def _no_way_left(setting: Setting, out: Effects) -> None:
    if setting.policy.shadow:
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_fail:no_way_through_graph"))
        return
    out.end(StopReason.USER_CHECKPOINT, "no way through the task graph is left")


def _graph_lost(state: KernelState) -> KernelState:
    """A graph that fails never lowers forced to free (I7): only the tier moves, by one."""
    # Axiom I7: a lost graph must not set free a model that was forced for a reason.
    mode, below = submit_signals(state.mode, ModeSignal.RECOVERY_PENDING), next_tier(state.mode.forced_degraded_tier)
    return replace(state, mode=lower_tier(mode, below) if below else mode)
