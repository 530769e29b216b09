"""How one executed call moves a graph (sections 6.5, 6.6): signals, the task's phase, a check that went stale."""

from __future__ import annotations

from dataclasses import replace

from phases.agent.supervision import steps
from phases.agent.supervision.contracts import Contract, contract_of
from phases.agent.supervision.facts import Action, Result, Task
from phases.agent.supervision.graph import Node, TaskGraph
from phases.agent.supervision.graph_run import Escalation, GraphRun, StepUse
from phases.agent.supervision.words import (
    EvaluationMode,
    GraphStatus,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
    ToolClass,
)

_ORDER = tuple(TaskPhase)
_MOST_FAILURE_KEYS = 20
_CHECKING = (NodeType.VERIFY, NodeType.FALLBACK)
_READS = (ToolClass.READ, ToolClass.SEARCH)


def record(run: GraphRun, action: Action, task: Task) -> GraphRun:
    """The run after a call. One that a gate kept back counts for nothing; a neutral one belongs to no step."""
    graph, call = run.graph, action.call
    if graph is None or run.evaluation is EvaluationMode.NONE or not action.result.executed:
        return run
    if not (graph.active or graph.status is GraphStatus.DONE) or call.tool_class is ToolClass.NEUTRAL:
        return run
    at = max(run.round, graph.updated_at)
    if call.tool_class is ToolClass.WRITE and action.ok:
        run = moved_run(run, _stale_checks(graph, at))
    run = _synced(run, action, at)
    if run.graph is None or not run.graph.active:
        return run
    contract = contract_of(run.graph.current, task, in_takeover=run.in_takeover)
    use = _used(run.use, action, run.graph.current, contract)
    return replace(
        run, use=use, planned_files=len(task.planned_files), failures=_failures(run, action, run.graph.current.type)
    )


def sync_phase(run: GraphRun, phase: TaskPhase, at: int) -> GraphRun:
    """The run with the task in this phase: the cursor moves forward to its first step, never backward."""
    run = _in_phase(run, phase)
    if run.graph is None or not run.graph.active:
        return run
    return moved_run(run, _forward(run.graph, phase, at, leaves_edit=run.open_files == 0))


def signals_of(action: Action) -> tuple[OutputSignal, ...]:
    """What a call brought about. A command that was only started has not been executed."""
    result = action.result
    if not action.ok or result.background:
        return ()
    match action.call.tool_class:
        case ToolClass.READ:
            return (OutputSignal.FILE_READ,)
        case ToolClass.SEARCH:
            return (OutputSignal.SEARCH_COMPLETED,)
        case ToolClass.WRITE:
            return (OutputSignal.FILE_WRITTEN, *((OutputSignal.FILE_CHANGED,) if result.changed else ()))
        case ToolClass.DELEGATE:
            return (OutputSignal.DELEGATE_DONE,)
        case ToolClass.EXEC:
            checks = (OutputSignal.VERIFICATION_DONE,) if action.call.verify else ()
            passed = (OutputSignal.TEST_PASSED,) if action.verified else ()
            return (OutputSignal.COMMAND_EXECUTED, *checks, *passed)
        case _:
            return ()


def failure_key(action: Action) -> str:
    """Stands for one way in which one call fails."""
    return f"{action.call.signature} {action.result.digest}"


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


def _used(use: StepUse, action: Action, node: Node, contract: Contract) -> StepUse:
    call = action.call
    wrote = call.tool_class is ToolClass.WRITE and action.ok
    read = call.tool_class in _READS and action.ok
    told = call.verify and not action.result.background  # a check that fails is how work goes, and no idle round
    checked = told and node.type in _CHECKING
    return replace(
        use,
        calls=use.calls + 1,
        reads=use.reads + read,
        reads_since_write=0 if wrote else use.reads_since_write + read,
        off_contract=use.off_contract + (call.tool_class not in contract.allowed),
        signals=tuple(dict.fromkeys((*use.signals, *signals_of(action)))),
        last_signature=call.signature,
        same_calls=use.same_calls + 1 if call.signature == use.last_signature else 1,
        round_calls=(*use.round_calls, call.tool_class),
        round_ok=use.round_ok + (action.ok or told),
        check_failed=_why(action.result) if checked and not action.ok else "" if action.verified else use.check_failed,
    )


def _why(result: Result) -> str:
    return " ".join((result.failures[0] if result.failures else result.error or "a check failed").split())[:200]


def _failures(run: GraphRun, action: Action, kind: NodeType) -> dict[str, int]:
    """Counts of failures. A check that fails while code is still being written is none."""
    same = f"{action.call.signature} "
    counts = {key: count for key, count in run.failures.items() if not (action.ok and key.startswith(same))}
    if action.result.failed and (kind in _CHECKING or not action.call.verify):
        key = failure_key(action)
        counts[key] = counts.pop(key, 0) + 1
        while len(counts) > _MOST_FAILURE_KEYS:
            del counts[next(iter(counts))]
    return counts
