"""How one executed call moves a graph (section 6.6): the task's phase, a check that went stale, a fix after the edit."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import steps
from phases.supervision.contracts import checks, contract_of
from phases.supervision.counting import Step, used, with_failure
from phases.supervision.facts import Action, Task
from phases.supervision.graph import TaskGraph
from phases.supervision.graph_run import Escalation, GraphRun, StepUse
from phases.supervision.words import (
    EvaluationMode,
    GraphStatus,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
    ToolClass,
)

_ORDER = tuple(TaskPhase)
_AFTER_EDIT = (NodeType.VERIFY, NodeType.SUMMARIZE)


def record(run: GraphRun, action: Action, task: Task) -> GraphRun:
    """The run after a call. One that a gate kept back counts for nothing; a neutral one belongs to no step."""
    run = _with_command(run, action)
    graph, call = run.graph, action.call
    if graph is None or run.evaluation is EvaluationMode.NONE or not action.result.executed:
        return run
    if not (graph.active or graph.status is GraphStatus.DONE) or call.tool_class is ToolClass.NEUTRAL:
        return run
    at = max(run.round, graph.updated_at)
    if call.tool_class is ToolClass.WRITE and action.ok:
        run = _back_at_edit(moved_run(run, _stale_checks(graph, at)), at)
    run = _synced(run, action, at)
    if run.graph is None or not run.graph.active:
        return run
    contract = contract_of(run.graph.current, task)
    step = Step(run.graph.current.type, contract, checks(action, task))
    failures = with_failure(run.failures, action, step)
    return replace(run, use=used(run.use, action, step), planned_files=len(task.planned_files), failures=failures)


def sync_phase(run: GraphRun, phase: TaskPhase, at: int) -> GraphRun:
    """The run with the task in this phase: the cursor moves forward to its first step, never backward."""
    run = _in_phase(run, phase)
    if run.graph is None or not run.graph.active:
        return run
    return moved_run(run, _forward(run.graph, phase, at, leaves_edit=run.open_files == 0))


def moved_run(run: GraphRun, graph: TaskGraph) -> GraphRun:
    """The run with a graph whose cursor may be elsewhere: another step begins with fresh counters."""
    before = run.graph
    if before is graph:
        return run
    if before is not None and before.cursor.node_id == graph.cursor.node_id and before.status == graph.status:
        return replace(run, graph=graph)
    return replace(run, graph=graph, use=StepUse(), escalation=Escalation())


def _stale_checks(graph: TaskGraph, at: int) -> TaskGraph:
    """A write after a check: the check is to be made again, and the edit is open for more writes."""
    done = [
        step
        for step in graph.main_branch.node_ids
        if graph.nodes[step].type is NodeType.VERIFY and graph.nodes[step].status is NodeStatus.DONE
    ]
    if not done:
        return graph
    graph, main = steps.fresh_tries(graph, *done), graph.main_branch.node_ids
    if graph.branch.is_fallback or graph.cursor.node_index < main.index(done[0]):
        return steps.reopened(graph, *done, at=at)
    return steps.rewound(graph, done[0], at)


def _with_command(run: GraphRun, action: Action) -> GraphRun:
    """Counted with a graph and without one: what is left to do follows from it where none leads."""
    if not action.ok or action.result.background:
        return run
    if action.call.tool_class is ToolClass.WRITE:
        return replace(run, command_passed=False)
    return replace(run, command_passed=True) if action.call.tool_class is ToolClass.EXEC else run


def _back_at_edit(run: GraphRun, at: int) -> GraphRun:
    """A write after the edit step, which the gate let through, is a fix: the edit is open again. A failed check is a try."""
    graph = run.graph
    if graph is None or not graph.active or graph.current.type not in _AFTER_EDIT or not steps.has_edit(graph):
        return run
    node = graph.current
    if run.use.check_failed and node.retry_count < node.max_retries:
        graph = steps.counted_retry(graph, node.id, at, run.use.check_failed)
    return moved_run(run, steps.rewound(graph, node.id, at))


def _synced(run: GraphRun, action: Action, at: int) -> GraphRun:
    phase = _phase_of(action)
    if phase is None or run.graph is None:
        return run
    graph, run = run.graph, _in_phase(run, phase)
    if not graph.active:
        return run
    wrote = OutputSignal.FILE_WRITTEN in run.use.signals or action.ok
    leaves = graph.current.type is NodeType.EDIT and run.open_files == 0 and wrote
    return moved_run(run, _forward(graph, phase, at, leaves_edit=leaves))


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


def _forward(graph: TaskGraph, phase: TaskPhase, at: int, *, leaves_edit: bool) -> TaskGraph:
    """The graph at the first main step of a phase, the ones before it done; an edit is passed over only if it may be."""
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
    return steps.passed_over(graph, target, at)
