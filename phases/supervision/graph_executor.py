"""Drive the task graph: follow the calls of a run, and evaluate it after each round and verdict (sections 6.6 to 6.8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phases.supervision.effects import Effects, TimelineEntry, failure_entry, recovery_entry
from phases.supervision.enums import (
    FAULTS,
    LED,
    FallbackReason,
    GraphStatus,
    ModeSignal,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
    ToolClass,
)
from phases.supervision.execution_mode import clear_recovery, is_forced, submit_signals
from phases.supervision.facts import Action, CallResult, GateVerdict, Round, Task
from phases.supervision.gate import is_verified, open_refusals
from phases.supervision.graph import (
    OPEN,
    GraphRun,
    Node,
    StepUse,
    TaskGraph,
    advance_cursor,
    build_graph,
    contract_of,
    count_retry,
    is_completed,
    is_finished_check,
    move_cursor,
    pass_over,
    reopen_steps,
    reset_retries,
    rewind_to_edit,
    start_step,
    switch_branch,
)
from phases.supervision.state import KernelState, Setting


@dataclass(frozen=True)
class Evaluated:
    """The outcome of a round, a verdict or a switch for a graph."""

    run: GraphRun
    signals: tuple[ModeSignal, ...] = ()
    graph_failed: bool = False
    """The graph failed just now."""
    moved: bool = False
    """A step became done, or the cursor moved."""
    entries: tuple[TimelineEntry, ...] = ()


def init_run(task: Task, *, graph_id: str) -> GraphRun:
    """Return a run on the graph of the task, its first step started."""
    run = GraphRun(open_files=len(task.planned_files))
    return with_graph(run, build_graph(task, graph_id=graph_id))


def with_graph(run: GraphRun, graph: TaskGraph) -> GraphRun:
    """Return the run on another graph, with fresh counters and not paused."""
    graph = start_step(graph) if graph.active else graph
    return replace(run, graph=graph, paused=False, use=StepUse(), mark=graph.mark)


def pause_graph(run: GraphRun) -> GraphRun:
    """Return the run with its graph kept for display: it no longer follows the work, and a write does not reopen it."""
    graph = run.graph
    if graph is not None and graph.active:
        graph = replace(graph, status=GraphStatus.PAUSED)
    return replace(run, graph=graph, paused=True)


def has_pending_edit(run: GraphRun) -> bool:
    nodes = run.graph.nodes.values() if run.graph and run.graph.active else ()
    return any(node.type is NodeType.EDIT and node.status in OPEN for node in nodes)


def pending_steps(run: GraphRun) -> int:
    """Return the number of pending or running steps of the current branch; a fallback that was not taken has none."""
    graph = run.graph
    return sum(graph.nodes[step].status in OPEN for step in graph.branch.node_ids) if graph and graph.active else 0


_CHECKING = (NodeType.VERIFY, NodeType.FALLBACK, NodeType.SUMMARIZE)


def count_use(use: StepUse, action: Action, kind: NodeType, task: Task) -> StepUse:
    """Return the use of a step with one more call."""
    call = action.call
    wrote = action.ok and (call.tool_class is ToolClass.WRITE or bool(action.result.changed))
    finished, check_failed = is_finished_check(action, task), use.check_failed
    if finished and kind in _CHECKING and not action.ok:
        check_failed = _failure_reason(action.result)
    elif action.verified or (finished and action.ok and not call.checks):
        check_failed = ""
    wrote_file = (OutputSignal.FILE_WRITTEN,) if wrote else ()
    return replace(
        use,
        signals=tuple(dict.fromkeys((*use.signals, *signals_of(action), *wrote_file))),
        wrote=use.wrote or wrote,
        check_failed=check_failed,
    )


def signals_of(action: Action) -> tuple[OutputSignal, ...]:
    """Return the output signals of a call. A command in the background has not been executed yet."""
    result = action.result
    if not action.ok or result.background:
        return ()
    match action.call.tool_class:
        case ToolClass.READ:
            return (OutputSignal.FILE_READ,)
        case ToolClass.SEARCH | ToolClass.DELEGATE:
            return (OutputSignal.SEARCH_COMPLETED,)
        case ToolClass.WRITE:
            return (OutputSignal.FILE_WRITTEN,)
        case ToolClass.EXEC:
            checks = (OutputSignal.VERIFICATION_DONE,) if action.call.verify else ()
            passed = (OutputSignal.TEST_PASSED,) if action.verified else ()
            return (OutputSignal.COMMAND_EXECUTED, *checks, *passed)
        case _:
            return ()


def _failure_reason(result: CallResult) -> str:
    return " ".join((result.failures[0] if result.failures else result.error or "a check failed").split())[:200]


_ORDER = tuple(TaskPhase)
_AFTER_EDIT = (NodeType.VERIFY, NodeType.SUMMARIZE)


def track_call(run: GraphRun, action: Action, task: Task) -> GraphRun:
    """Return the run after a call. A call that was not executed or is neutral changes nothing."""
    graph, call = run.graph, action.call
    if graph is None or run.paused or not action.result.executed:
        return run
    if not (graph.active or graph.status is GraphStatus.DONE) or call.tool_class is ToolClass.NEUTRAL:
        return run
    if call.tool_class is ToolClass.WRITE and action.ok:
        run = _back_at_edit(replace_graph(run, _stale_check(graph)))
    run = _sync_call(run, action)
    if run.graph is None or not run.graph.active:
        return run
    return replace(run, use=count_use(run.use, action, run.graph.current.type, task))


def sync_phase(run: GraphRun, phase: TaskPhase) -> GraphRun:
    """Return the run in this phase: the cursor moves forward to its first step, never backward."""
    run = _in_phase(run, phase)
    if run.graph is None or not run.graph.active:
        return run
    return replace_graph(run, _move_forward(run.graph, phase, leaves_edit=run.open_files == 0))


def replace_graph(run: GraphRun, graph: TaskGraph) -> GraphRun:
    """Return the run with a graph whose cursor may have moved: another step begins with fresh counters."""
    before = run.graph
    if before is graph:
        return run
    if before is not None and before.cursor.node_id == graph.cursor.node_id and before.status == graph.status:
        return replace(run, graph=graph)
    return replace(run, graph=graph, use=StepUse())


def _stale_check(graph: TaskGraph) -> TaskGraph:
    """Return the graph after a write: a check that was done is pending again, and the edit is open."""
    check = next(step for step in graph.main_branch.node_ids if graph.nodes[step].type is NodeType.VERIFY)
    if graph.nodes[check].status is not NodeStatus.DONE:
        return graph
    graph = reset_retries(graph, check)
    if graph.branch.is_fallback:
        return reopen_steps(graph, check)
    return rewind_to_edit(graph)


def _back_at_edit(run: GraphRun) -> GraphRun:
    """Return the run after a write: behind the edit step it is a fix, which reopens the edit; a failed check costs a try."""
    graph = run.graph
    if graph is None or not graph.active or graph.current.type not in _AFTER_EDIT:
        return run
    node = graph.current
    if run.use.check_failed and node.retry_count < node.max_retries:
        graph = count_retry(graph, node.id, run.use.check_failed)
    return replace_graph(run, rewind_to_edit(graph))


def _sync_call(run: GraphRun, action: Action) -> GraphRun:
    phase = _phase_of(action)
    if phase is None or run.graph is None:
        return run
    graph, run = run.graph, _in_phase(run, phase)
    if not graph.active:
        return run
    wrote = OutputSignal.FILE_WRITTEN in run.use.signals or action.ok
    leaves = graph.current.type is NodeType.EDIT and run.open_files == 0 and wrote
    return replace_graph(run, _move_forward(graph, phase, leaves_edit=leaves))


def _in_phase(run: GraphRun, phase: TaskPhase) -> GraphRun:
    later = _ORDER.index(phase) > _ORDER.index(run.task_phase)
    return replace(run, task_phase=phase) if later else run


def _phase_of(action: Action) -> TaskPhase | None:
    call = action.call
    if call.tool_class is ToolClass.EXEC:
        return TaskPhase.VERIFICATION if call.verify and not action.result.background else None
    if not action.ok:
        return None
    return {
        ToolClass.READ: TaskPhase.CONTEXT,
        ToolClass.SEARCH: TaskPhase.CONTEXT,
        ToolClass.DELEGATE: TaskPhase.CONTEXT,
        ToolClass.WRITE: TaskPhase.EDITING,
    }.get(call.tool_class)


def _move_forward(graph: TaskGraph, phase: TaskPhase, *, leaves_edit: bool) -> TaskGraph:
    """Return the graph at the first main step of a phase, the steps before it done; an edit only with `leaves_edit`."""
    want = _ORDER.index(phase)
    if graph.branch.is_fallback or _ORDER.index(graph.current.phase) >= want:
        return graph
    main = graph.main_branch.node_ids
    later = range(graph.cursor.node_index + 1, len(main))
    target = next((index for index in later if _ORDER.index(graph.nodes[main[index]].phase) >= want), None)
    if target is None:
        return graph
    over = [graph.nodes[step] for step in main[graph.cursor.node_index : target]]
    if not leaves_edit and any(node.type is NodeType.EDIT for node in over):
        return graph
    return pass_over(graph, target)


def make_first_graph(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """Return the state with the graph of the first round; with a lower tier if it cannot be built."""
    name = f"graph-{state.counts.graphs + 1}"
    try:
        graph = init_run(setting.task, graph_id=name)
        # decision 59: an empty workspace has nothing to inspect, and the model has the plan.
        if setting.task.from_nothing:
            graph = sync_phase(graph, TaskPhase.EDITING)
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
        evaluated = evaluate_verdict(state.graph, verdict)
    else:
        # in free mode the graph follows the work and judges nothing
        leave = _why_left(state, setting) if is_forced(state.mode) else None
        evaluated = evaluate_round(state.graph, turn, setting.task, leave=leave)
    out.note(*evaluated.entries)
    state = replace(state, graph=evaluated.run)
    # A failed graph does not end the run: the budget of a takeover does, or a lasting stall.
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
    # Axiom I7: losing the graph must not free a model that was forced for a reason.
    return replace(state, mode=submit_signals(state.mode, ModeSignal.RECOVERY_PENDING))


_EXTENSION = 0.2
_STEP_DONE = "step done"
_LOOK_AT_TEXT = 4_000


def evaluate_round(run: GraphRun, turn: Round, task: Task, *, leave: FallbackReason | None = None) -> Evaluated:
    """Return the graph after a round. `leave`: why the current step must be left, if it must."""
    run = replace(run, open_files=turn.open_files, missing=turn.missing)
    if run.graph is None or not run.graph.active or run.paused:
        return Evaluated(run)
    outcome = _settle_round(run, run.graph, turn, task, leave)
    graph = outcome.run.graph
    mark = graph.mark if graph else ""
    use = replace(outcome.run.use, wrote=False, check_failed="")
    return replace(outcome, run=replace(outcome.run, use=use, mark=mark), moved=outcome.moved or mark != run.mark)


def evaluate_verdict(run: GraphRun, verdict: GateVerdict) -> Evaluated:
    """Return the graph after the completion gate: a pass closes every step, a failure counts as a failed check.

    With the cursor before the check, a failure moves nothing: the edit is still open.
    """
    graph = run.graph
    follows = graph and (graph.active or graph.status is GraphStatus.DONE)
    if graph is None or not follows or run.paused:
        return Evaluated(run)
    if not verdict.passed:
        why = " ".join(" ".join(verdict.failures[:3]).split())[:200] or "the completion gate failed"
        outcome = check_failed(run, why)
    elif graph.active:
        outcome = Evaluated(replace(replace_graph(run, _close_all(graph)), task_phase=TaskPhase.FINAL), moved=True)
    else:
        outcome = Evaluated(run)
    after = outcome.run.graph
    return replace(outcome, run=replace(outcome.run, mark=after.mark if after else ""))


def _settle_round(run: GraphRun, graph: TaskGraph, turn: Round, task: Task, reason: FallbackReason | None) -> Evaluated:
    """Return the first that applies: a failed check, a completed step, a step that is left."""
    if run.use.check_failed:
        return check_failed(run, run.use.check_failed, repeated=reason is FallbackReason.REPEATED_FAILURE)
    contract = contract_of(graph.current, task)
    run = _with_text(run, graph.current, turn)
    said_done = _STEP_DONE in turn.text[:_LOOK_AT_TEXT].lower()
    if is_completed(graph.current, contract, run.use, run.open_files, said_done=said_done):
        return Evaluated(replace_graph(run, advance_cursor(graph)), moved=True)
    # decision 56: a round that writes a file does not count against the edit step.
    writes = run.use.wrote and graph.current.type is NodeType.EDIT
    run = replace(run, use=replace(run.use, rounds=run.use.rounds + (not writes)))
    # A step with output gets 20 % more rounds.
    more = max(1, round(_EXTENSION * contract.max_rounds)) if run.use.signals else 0
    if run.use.rounds > contract.max_rounds + more:
        reason = reason or FallbackReason.INVALID_OUTPUT
    return force_switch(run, reason) if reason else Evaluated(run)


def _with_text(run: GraphRun, node: Node, turn: Round) -> GraphRun:
    """Return the run with a reply without calls counted as the summary, in the summary step."""
    if node.type is not NodeType.SUMMARIZE or turn.actions or not turn.text.strip():
        return run
    signals = tuple(dict.fromkeys((*run.use.signals, OutputSignal.SUMMARY_GENERATED)))
    return replace(run, use=replace(run.use, signals=signals), task_phase=TaskPhase.FINAL)


def _close_all(graph: TaskGraph) -> TaskGraph:
    """Return the graph with every step done: the gate has accepted the whole work."""
    graph = advance_cursor(graph) if graph.branch.is_fallback else graph
    return pass_over(graph, len(graph.main_branch.node_ids))


def force_switch(run: GraphRun, reason: FallbackReason) -> Evaluated:
    """Return the graph with the current step given up: its fallback is next, a step without one is skipped or fails."""
    before = run.graph
    if before is None or not before.active:
        return Evaluated(run)
    graph = switch_branch(before, reason)
    run = replace(replace_graph(run, graph), use=StepUse())
    about = {"nodeId": before.cursor.node_id, "branchId": graph.cursor.branch_id}
    if graph.status is GraphStatus.FAILED:
        entry = failure_entry(f"graph_failed:{reason}", **about)
        return Evaluated(run, (ModeSignal.RECOVERY_PENDING,), graph_failed=True, moved=True, entries=(entry,))
    switched = graph.branch.is_fallback
    entry = recovery_entry(f"{'graph_switch' if switched else 'graph_skip'}:{reason}", **about)
    signals = (ModeSignal.BRANCH_SWITCHED,) if switched else ()
    return Evaluated(run, signals, moved=True, entries=(entry,))


def check_failed(run: GraphRun, why: str, *, repeated: bool = False) -> Evaluated:
    """Return the graph after a failed check: back at the edit while tries are left, else on a fallback."""
    graph = run.graph
    if graph is None or (verify := _step_of_check(graph)) is None:
        return Evaluated(run)
    if verify.retry_count < verify.max_retries and not repeated:
        graph = count_retry(graph, verify.id, why)
        if verify.type is not NodeType.FALLBACK:
            graph = rewind_to_edit(graph)
        return Evaluated(replace_graph(run, graph), moved=True)
    reason = FallbackReason.REPEATED_FAILURE if repeated else FallbackReason.VERIFY_FAIL
    return force_switch(replace(run, graph=_move_onto(graph, verify)), reason)


def _step_of_check(graph: TaskGraph) -> Node | None:
    """Return the step that a failed check belongs to: the fallback, or the verify step up to the cursor."""
    if graph.branch.is_fallback:
        return graph.current
    upto = graph.main_branch.node_ids[: graph.cursor.node_index + 1]
    return next((graph.nodes[step] for step in upto if graph.nodes[step].type is NodeType.VERIFY), None)


def _move_onto(graph: TaskGraph, verify: Node) -> TaskGraph:
    """Return the graph with the cursor on that step, the only one running."""
    if graph.cursor.node_id == verify.id and graph.current.status is NodeStatus.RUNNING:
        return graph
    running = [step for step, node in graph.nodes.items() if node.status is NodeStatus.RUNNING]
    graph = reopen_steps(graph, *running, verify.id)
    return start_step(move_cursor(graph, verify.id))
