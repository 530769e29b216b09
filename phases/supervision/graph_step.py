"""Evaluate the task graph after each round and verdict; without a graph, lower the tier (sections 5.6, 6.6)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import graph_cursor, graph_executor
from phases.supervision.effects import Effects, failure_entry, recovery_entry
from phases.supervision.enums import (
    FAULTS,
    LED,
    DegradedTier,
    FallbackReason,
    GraphStatus,
    ModeSignal,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
)
from phases.supervision.execution_mode import clear_recovery, is_forced, lower_tier, submit_signals
from phases.supervision.facts import GateVerdict, Round, Task
from phases.supervision.gate import is_verified, open_refusals
from phases.supervision.graph import Evaluated, GraphRun, Node, StepUse, TaskGraph, mark_of
from phases.supervision.graph_cursor import advance_cursor, switch_branch
from phases.supervision.graph_executor import replace_graph, sync_phase
from phases.supervision.state import KernelState, Setting
from phases.supervision.step_contracts import contract_of, is_completed


def make_first_graph(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """Return the state with the graph of the first round; with a lower tier if it cannot be built."""
    name = f"graph-{state.counts.graphs + 1}"
    try:
        graph = graph_executor.init_run(setting.task, graph_id=name, at=state.round)
        # decision 59: an empty workspace has nothing to inspect, and the model has the plan.
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
    """Return the state after the graph has evaluated the round, with the outcome."""
    if not setting.policy.task_graph:
        return state, Evaluated(state.graph)
    if verdict:
        evaluated = evaluate_verdict(state.graph, verdict, turn.number)
    else:
        # in free mode the graph follows the work and judges nothing
        leave = _why_left(state, setting) if is_forced(state.mode) else None
        evaluated = evaluate_round(state.graph, turn, setting.task, leave=leave)
    out.note(*evaluated.entries)
    state = replace(state, graph=evaluated.run)
    # A graph without a way on ends nothing: the budget of a takeover does, or a stall that stays.
    return (_graph_lost(state) if evaluated.graph_failed else state), evaluated


def _why_left(state: KernelState, setting: Setting) -> FallbackReason | None:
    """Return why the current step must be left: a repeated failure or a stall; None if it may go on."""
    progress, limits = state.progress, setting.config
    most = max(1, limits.branch_budget.error_repeat_max)
    ways = [way.count for way in progress.ways if way.error and not way.limit]
    counts = (*ways, *(progress.plateaus[key].count for key in progress.grown))
    if progress.stall and max(counts, default=0) >= most:
        return FallbackReason.REPEATED_FAILURE
    return FallbackReason.NO_PROGRESS if progress.rounds >= limits.triggers.no_progress_rounds_min else None


def settle_recovery(state: KernelState, setting: Setting) -> KernelState:
    """Return the state, no longer with recovery pending once all debt is settled and no failed graph is open (section 5.4).

    A failed graph is open until a handback pauses it or the work is verified: it must not force for ever.
    """
    graph = state.graph.graph
    over = state.graph.paused or is_verified(state, setting)
    open_graph = graph is not None and graph.status is GraphStatus.FAILED and not over
    if not state.mode.recovery_pending or open_refusals(state) or open_graph or state.phase.phase in LED:
        return state
    return replace(state, mode=clear_recovery(state.mode))


def _graph_lost(state: KernelState) -> KernelState:
    # Axiom I7: a lost graph must not set free a model that was forced for a reason; only the tier moves, by one.
    mode = submit_signals(state.mode, ModeSignal.RECOVERY_PENDING)
    return replace(state, mode=lower_tier(mode, DegradedTier.STEP_QUEUE))


_EXTENSION = 0.2
_STEP_DONE = "step done"
_LOOK_AT_TEXT = 4_000


def evaluate_round(run: GraphRun, turn: Round, task: Task, *, leave: FallbackReason | None = None) -> Evaluated:
    """Return the graph after a round. `leave`: why the current step must be left, if it must."""
    run = replace(run, open_files=turn.open_files, round=turn.number + 1, missing=turn.missing)
    if run.graph is None or not run.graph.active or run.paused:
        return Evaluated(run)
    outcome = _settle_round(run, run.graph, turn, task, leave)
    graph = outcome.run.graph
    mark = mark_of(graph) if graph else ""
    use = replace(outcome.run.use, wrote=False, check_failed="")
    return replace(outcome, run=replace(outcome.run, use=use, mark=mark), moved=outcome.moved or mark != run.mark)


def evaluate_verdict(run: GraphRun, verdict: GateVerdict, at: int) -> Evaluated:
    """Return the graph after the completion gate: a pass closes every step, a failure counts as a failed check.

    With the cursor before the check, a failure moves nothing: the edit is still open.
    """
    graph = run.graph
    run = replace(run, round=at + 1)
    follows = graph and (graph.active or graph.status is GraphStatus.DONE)
    if graph is None or not follows or run.paused:
        return Evaluated(run)
    if not verdict.passed:
        why = " ".join(" ".join(verdict.failures[:3]).split())[:200] or "the completion gate failed"
        outcome = check_failed(run, why, at)
    elif graph.active:
        outcome = Evaluated(replace(replace_graph(run, _close_all(graph, at)), task_phase=TaskPhase.FINAL), moved=True)
    else:
        outcome = Evaluated(run)
    after = outcome.run.graph
    return replace(outcome, run=replace(outcome.run, mark=mark_of(after) if after else ""))


def _settle_round(run: GraphRun, graph: TaskGraph, turn: Round, task: Task, reason: FallbackReason | None) -> Evaluated:
    """Return the first that applies: a failed check, a completed step, a step that is left."""
    at = turn.number
    if run.use.check_failed:
        return check_failed(run, run.use.check_failed, at, repeated=reason is FallbackReason.REPEATED_FAILURE)
    contract = contract_of(graph.current, task)
    run = _with_text(run, graph.current, turn)
    said = _STEP_DONE in turn.text[:_LOOK_AT_TEXT].lower()
    if is_completed(graph.current, contract, run.use, run.open_files, said_done=said):
        return Evaluated(replace_graph(run, advance_cursor(graph, at)), moved=True)
    # decision 56: a round that writes what the step is for uses up none of its rounds.
    writes = run.use.wrote and graph.current.type is NodeType.EDIT
    run = replace(run, use=replace(run.use, rounds=run.use.rounds + (not writes)))
    # A step with output gets 20 % more rounds.
    more = max(1, round(_EXTENSION * contract.max_rounds)) if run.use.signals else 0
    if run.use.rounds > contract.max_rounds + more:
        reason = reason or FallbackReason.INVALID_OUTPUT
    return force_switch(run, reason, at) if reason else Evaluated(run)


def _with_text(run: GraphRun, node: Node, turn: Round) -> GraphRun:
    """Return the run with a reply without calls counted as the summary, in the summary step."""
    if node.type is not NodeType.SUMMARIZE or turn.actions or not turn.text.strip():
        return run
    signals = tuple(dict.fromkeys((*run.use.signals, OutputSignal.SUMMARY_GENERATED)))
    return replace(run, use=replace(run.use, signals=signals), task_phase=TaskPhase.FINAL)


def _close_all(graph: TaskGraph, at: int) -> TaskGraph:
    """Return the graph with every step done: the gate has accepted the whole work."""
    graph = advance_cursor(graph, at) if graph.branch.is_fallback else graph
    return graph_cursor.pass_over(graph, len(graph.main_branch.node_ids), at)


def force_switch(run: GraphRun, reason: FallbackReason, at: int) -> Evaluated:
    """Return the graph with the current step given up: its fallback is next, a step without one is skipped or fails."""
    before = run.graph
    if before is None or not before.active:
        return Evaluated(run)
    graph = switch_branch(before, reason, at)
    run = replace(replace_graph(run, graph), use=StepUse())
    about = {"nodeId": before.cursor.node_id, "branchId": graph.cursor.branch_id}
    if graph.status is GraphStatus.FAILED:
        entry = failure_entry(f"graph_failed:{reason}", **about)
        return Evaluated(run, (ModeSignal.RECOVERY_PENDING,), graph_failed=True, moved=True, entries=(entry,))
    switched = graph.branch.is_fallback
    entry = recovery_entry(f"{'graph_switch' if switched else 'graph_skip'}:{reason}", **about)
    signals = (ModeSignal.BRANCH_SWITCHED,) if switched else ()
    return Evaluated(run, signals, moved=True, entries=(entry,))


def check_failed(run: GraphRun, why: str, at: int, *, repeated: bool = False) -> Evaluated:
    """Return the graph after a failed check: back at the edit while tries are left, else on a fallback."""
    graph = run.graph
    if graph is None or (verify := _step_of_check(graph)) is None:
        return Evaluated(run)
    if verify.retry_count < verify.max_retries and not repeated:
        graph = graph_cursor.count_retry(graph, verify.id, at, why)
        if verify.type is not NodeType.FALLBACK:
            graph = graph_cursor.rewind_to_edit(graph, at)
        return Evaluated(replace_graph(run, graph), moved=True)
    reason = FallbackReason.REPEATED_FAILURE if repeated else FallbackReason.VERIFY_FAIL
    return force_switch(replace(run, graph=_move_onto(graph, verify, at)), reason, at)


def _step_of_check(graph: TaskGraph) -> Node | None:
    """Return the step that a failed check belongs to: the fallback, or the verify step up to the cursor."""
    if graph.branch.is_fallback:
        return graph.current
    upto = graph.main_branch.node_ids[: graph.cursor.node_index + 1]
    return next((graph.nodes[step] for step in upto if graph.nodes[step].type is NodeType.VERIFY), None)


def _move_onto(graph: TaskGraph, verify: Node, at: int) -> TaskGraph:
    """Return the graph with the cursor on that step, the only one running."""
    if graph.cursor.node_id == verify.id and graph.current.status is NodeStatus.RUNNING:
        return graph
    running = [step for step, node in graph.nodes.items() if node.status is NodeStatus.RUNNING]
    graph = graph_cursor.reopen_steps(graph, *running, verify.id, at=at)
    return graph_cursor.start_step(graph_cursor.move_cursor(graph, verify.id), at)
