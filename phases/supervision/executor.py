"""The executor of a task graph (section 6.6): what the rest of the kernel asks of it."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import contracts
from phases.supervision.contracts import ContractCheck, Terms
from phases.supervision.evaluation import after_gate, evaluate_round
from phases.supervision.facts import Call, Task
from phases.supervision.graph import OPEN, TaskGraph
from phases.supervision.graph_run import Escalation, Evaluated, GraphRun, StepUse, mark_of
from phases.supervision.steps import has_edit, started
from phases.supervision.templates import build_graph, one_line
from phases.supervision.tracking import record, sync_phase
from phases.supervision.words import EvaluationMode, GraphStatus, NodeType

__all__ = [
    "Evaluated",
    "GraphRun",
    "after_gate",
    "check_call",
    "enter_takeover",
    "evaluate_round",
    "exit_takeover",
    "has_pending_edit",
    "init",
    "is_active",
    "node_context",
    "pause",
    "pending_steps",
    "record",
    "sync_phase",
    "with_graph",
]


def init(task: Task, *, graph_id: str, at: int) -> GraphRun:
    """A run on the graph of the task's template, its first step started. Raises ValueError where there is none."""
    count = len(task.planned_files)
    run = GraphRun(open_files=count, planned_files=count)
    return with_graph(run, build_graph(task, graph_id=graph_id, at=at), at)


def with_graph(run: GraphRun, graph: TaskGraph, at: int) -> GraphRun:
    """The run on another graph, with fresh counters. A run that had paused is evaluated again."""
    graph = started(graph, at) if graph.active else graph
    mode = EvaluationMode.METRICS_ONLY if run.in_takeover else EvaluationMode.FULL
    return replace(
        run,
        graph=graph,
        evaluation=mode,
        use=StepUse(),
        escalation=Escalation(),
        failures={},
        round=at,
        mark=mark_of(graph),
    )


def node_context(run: GraphRun) -> str:
    """What a model is told of its step before a round; nothing where no graph leads."""
    graph = run.graph
    if graph is None or not graph.active:
        return ""
    node = graph.current
    lines = [
        f"[TaskGraph] Current step: {one_line(node.title)} ({node.type})",
        f"Progress: {graph.progress}% | Status: {node.status}",
    ]
    if node.suggested_tools:
        lines.append(f"Suggested tools: {', '.join(node.suggested_tools)}")
    if node.evidence:
        lines.append(f"Reference files: {one_line(node.evidence)}")
    return "\n".join([*lines, f"Next: {contracts.next_of(node.type)}"])


def check_call(
    run: GraphRun, call: Call, *, strict: bool, mending: bool = False, unchecked: bool = False
) -> ContractCheck:
    """What the step's contract says of a call, before it is made. Counts nothing."""
    graph = run.graph
    if graph is None or not graph.active:
        return ContractCheck(contracts.ALLOW)
    node = graph.current
    contract = contracts.scaled(node, graph.intent, run.planned_files)
    fixes = has_edit(graph)  # else there is no step to go back to
    mending = fixes and (mending or bool(run.use.check_failed))
    terms = Terms(strict, run.escalation.blocking, mending, fixes and unchecked)
    return contracts.check(node, contract, run.use, call, terms)


def enter_takeover(run: GraphRun) -> GraphRun:
    """The supervisor leads: the graph counts and switches, and says nothing. One that paused stays asleep."""
    loud = run.evaluation is EvaluationMode.FULL
    return replace(run, in_takeover=True, evaluation=EvaluationMode.METRICS_ONLY if loud else run.evaluation)


def exit_takeover(run: GraphRun) -> GraphRun:
    """The supervisor has handed back: the graph speaks again, unless it paused."""
    quiet = run.evaluation is EvaluationMode.METRICS_ONLY
    return replace(run, in_takeover=False, evaluation=EvaluationMode.FULL if quiet else run.evaluation)


def pause(run: GraphRun, at: int) -> GraphRun:
    """The graph is kept to be shown and resumed, and follows the work no more; nor is a done one opened again."""
    graph = run.graph
    if graph is not None and graph.active:
        graph = replace(graph, status=GraphStatus.PAUSED, updated_at=at)
    return replace(run, graph=graph, evaluation=EvaluationMode.NONE)


def is_active(run: GraphRun) -> bool:
    """Whether a graph leads."""
    return run.graph is not None and run.graph.active


def has_pending_edit(run: GraphRun) -> bool:
    """Whether an edit step is still to be done."""
    graph = run.graph
    if graph is None or not graph.active:
        return False
    return any(node.type is NodeType.EDIT and node.status in OPEN for node in graph.nodes.values())


def pending_steps(run: GraphRun) -> int:
    """Steps of the current branch that are pending or running: fallbacks that were not taken are none."""
    graph = run.graph
    if graph is None or not graph.active:
        return 0
    return sum(graph.nodes[step].status in OPEN for step in graph.branch.node_ids)
