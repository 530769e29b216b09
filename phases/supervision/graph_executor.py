"""Execute a task graph: follow the calls of a run, and answer what the rest of the kernel asks (section 6.6)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import graph_cursor
from phases.supervision.enums import (
    GraphStatus,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
    ToolClass,
)
from phases.supervision.facts import Action, CallResult, Task
from phases.supervision.graph import OPEN, GraphRun, StepUse, TaskGraph, mark_of
from phases.supervision.graph_cursor import start_step
from phases.supervision.step_contracts import is_finished_check
from phases.supervision.templates import build_graph


def init_run(task: Task, *, graph_id: str, at: int) -> GraphRun:
    """Return a run on the graph of the task, its first step started."""
    run = GraphRun(open_files=len(task.planned_files))
    return with_graph(run, build_graph(task, graph_id=graph_id, at=at), at)


def with_graph(run: GraphRun, graph: TaskGraph, at: int) -> GraphRun:
    """Return the run on another graph, with fresh counters and not paused."""
    graph = start_step(graph, at) if graph.active else graph
    return replace(run, graph=graph, paused=False, use=StepUse(), round=at, mark=mark_of(graph))


def pause_graph(run: GraphRun, at: int) -> GraphRun:
    """Return the run with its graph kept for display: it no longer follows the work, and a write does not reopen it."""
    graph = run.graph
    if graph is not None and graph.active:
        graph = replace(graph, status=GraphStatus.PAUSED, updated_at=at)
    return replace(run, graph=graph, paused=True)


def is_active(run: GraphRun) -> bool:
    return run.graph is not None and run.graph.active


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
    at = max(run.round, graph.updated_at)
    if call.tool_class is ToolClass.WRITE and action.ok:
        run = _back_at_edit(replace_graph(run, _stale_check(graph, at)), at)
    run = _sync_call(run, action, at)
    if run.graph is None or not run.graph.active:
        return run
    return replace(run, use=count_use(run.use, action, run.graph.current.type, task))


def sync_phase(run: GraphRun, phase: TaskPhase, at: int) -> GraphRun:
    """Return the run in this phase: the cursor moves forward to its first step, never backward."""
    run = _in_phase(run, phase)
    if run.graph is None or not run.graph.active:
        return run
    return replace_graph(run, _move_forward(run.graph, phase, at, leaves_edit=run.open_files == 0))


def replace_graph(run: GraphRun, graph: TaskGraph) -> GraphRun:
    """Return the run with a graph whose cursor may have moved: another step begins with fresh counters."""
    before = run.graph
    if before is graph:
        return run
    if before is not None and before.cursor.node_id == graph.cursor.node_id and before.status == graph.status:
        return replace(run, graph=graph)
    return replace(run, graph=graph, use=StepUse())


def _stale_check(graph: TaskGraph, at: int) -> TaskGraph:
    """Return the graph after a write: a check that was done is pending again, and the edit is open."""
    check = next(step for step in graph.main_branch.node_ids if graph.nodes[step].type is NodeType.VERIFY)
    if graph.nodes[check].status is not NodeStatus.DONE:
        return graph
    graph = graph_cursor.fresh_tries(graph, check)
    if graph.branch.is_fallback:
        return graph_cursor.reopen_steps(graph, check, at=at)
    return graph_cursor.rewind_to_edit(graph, at)


def _back_at_edit(run: GraphRun, at: int) -> GraphRun:
    """Return the run after a write: behind the edit step it is a fix, which reopens the edit; a failed check costs a try."""
    graph = run.graph
    if graph is None or not graph.active or graph.current.type not in _AFTER_EDIT:
        return run
    node = graph.current
    if run.use.check_failed and node.retry_count < node.max_retries:
        graph = graph_cursor.count_retry(graph, node.id, at, run.use.check_failed)
    return replace_graph(run, graph_cursor.rewind_to_edit(graph, at))


def _sync_call(run: GraphRun, action: Action, at: int) -> GraphRun:
    phase = _phase_of(action)
    if phase is None or run.graph is None:
        return run
    graph, run = run.graph, _in_phase(run, phase)
    if not graph.active:
        return run
    wrote = OutputSignal.FILE_WRITTEN in run.use.signals or action.ok
    leaves = graph.current.type is NodeType.EDIT and run.open_files == 0 and wrote
    return replace_graph(run, _move_forward(graph, phase, at, leaves_edit=leaves))


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


def _move_forward(graph: TaskGraph, phase: TaskPhase, at: int, *, leaves_edit: bool) -> TaskGraph:
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
    return graph_cursor.pass_over(graph, target, at)
