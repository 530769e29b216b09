"""The task graph: steps, branches and a cursor, what completes each step, and the moves of the cursor (sections 6.1 to 6.8).

Every function returns a new, consistent graph. A step refuses no call, and only its rounds are limited: its tokens fall under
the limits of the whole run (decision 200).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.enums import (
    FallbackReason,
    GraphStatus,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
    ToolClass,
)
from phases.supervision.facts import Action, Task


@dataclass(frozen=True)
class Node:
    id: str
    type: NodeType
    title: str
    phase: TaskPhase
    status: NodeStatus = NodeStatus.PENDING
    retry_count: int = 0
    max_retries: int = 1
    error: str | None = None


@dataclass(frozen=True)
class Edge:
    """An edge between two steps; `type` is normal or fallback."""

    source: str = field(metadata={"key": "from"})
    target: str = field(metadata={"key": "to"})
    type: str = "normal"
    condition: str | None = None


@dataclass(frozen=True)
class Branch:
    """Steps in order. A fallback that was taken names the step that it replaces."""

    id: str
    node_ids: tuple[str, ...]
    is_fallback: bool = False
    failed_node_id: str = ""
    reason: FallbackReason | None = None
    attempt_count: int = 0


@dataclass(frozen=True)
class Cursor:
    branch_id: str
    node_id: str
    node_index: int
    completed_node_ids: tuple[str, ...] = ()
    skipped_node_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskGraph:
    graph_id: str
    goal: str
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    main_branch: Branch
    cursor: Cursor
    version: int = 1
    status: GraphStatus = GraphStatus.READY
    progress: int = 0
    fallback_branches: tuple[Branch, ...] = ()

    @property
    def active(self) -> bool:
        """Return whether the graph drives; a paused, done or failed one is only shown."""
        return self.status in (GraphStatus.READY, GraphStatus.RUNNING)

    @property
    def current(self) -> Node:
        return self.nodes[self.cursor.node_id]

    @property
    def branch(self) -> Branch:
        branches = (self.main_branch, *self.fallback_branches)
        return next(branch for branch in branches if branch.id == self.cursor.branch_id)

    @property
    def mark(self) -> str:
        """The cursor's position, to see whether it moved."""
        return f"{self.cursor.branch_id} {self.cursor.node_id} {len(self.cursor.completed_node_ids)}"


CLOSED = (NodeStatus.DONE, NodeStatus.SKIPPED)
OPEN = (NodeStatus.PENDING, NodeStatus.RUNNING)


def percent_closed(nodes: Mapping[str, Node], main: Branch) -> int:
    """Return the share of a branch's steps that are done or skipped, in percent, rounded half up."""
    closed = sum(nodes[step].status in CLOSED for step in main.node_ids)
    return int(100 * closed / max(1, len(main.node_ids)) + 0.5)


@dataclass(frozen=True)
class StepUse:
    """The calls and rounds of the cursor's step since it started."""

    rounds: int = 0
    """Rounds that ended with the step open, without those of the edit step that wrote a file."""
    signals: tuple[OutputSignal, ...] = ()
    wrote: bool = False
    """A file was written in this round."""
    check_failed: str = ""
    """The failure of a check in this round."""


@dataclass(frozen=True)
class GraphRun:
    """The graph and the state that moves it."""

    graph: TaskGraph | None = None
    paused: bool = False
    """The graph is kept for display, and no longer follows the work."""
    task_phase: TaskPhase = TaskPhase.INTENT
    use: StepUse = field(default_factory=StepUse)
    open_files: int = 0
    """Planned files that were missing or not sound after the last round."""
    missing: tuple[str, ...] = ()
    """Gaps of the work against the plan after the last round, in words."""
    command_passed: bool = False
    """A command succeeded since the last write: the check of a plan without checks."""
    mark: str = ""
    """The cursor's position at the end of the last round."""


def is_active(run: GraphRun) -> bool:
    return run.graph is not None and run.graph.active


# The template: five steps, with a fallback for the edit and for the check.

STEPS = (
    (NodeType.INSPECT, TaskPhase.INTENT, "Understand the goal"),
    (NodeType.SEARCH, TaskPhase.CONTEXT, "Find what the goal touches"),
    (NodeType.EDIT, TaskPhase.EDITING, "Write the code"),
    (NodeType.VERIFY, TaskPhase.VERIFICATION, "Run the checks"),
    (NodeType.SUMMARIZE, TaskPhase.FINAL, "Summarize the work"),
)
_FALLBACKS = (
    (NodeType.EDIT, "Write the code in another way", FallbackReason.RETRIES_EXCEEDED),
    (NodeType.VERIFY, "Make the checks pass in another way", FallbackReason.VERIFY_FAIL),
)
_RETRIES = 2


def build_graph(task: Task, *, graph_id: str) -> TaskGraph:
    """Return the graph of a task, ready and without a started step."""
    nodes = [
        Node(f"node-{index:02}", kind, title, phase, max_retries=_RETRIES)
        for index, (kind, phase, title) in enumerate(STEPS, 1)
    ]
    main = Branch(f"branch-main-{graph_id}", tuple(node.id for node in nodes))
    edges = [Edge(source, target) for source, target in zip(main.node_ids, main.node_ids[1:], strict=False)]
    branches = []
    for index, (kind, title, condition) in enumerate(_FALLBACKS):
        spare = Node(f"node-fb{index + 1:02}", NodeType.FALLBACK, title, TaskPhase.EDITING)
        edges += [Edge(node.id, spare.id, "fallback", condition.value) for node in nodes if node.type is kind]
        branches.append(Branch(f"branch-fb-{graph_id}-{index}", (spare.id,), is_fallback=True))
        nodes.append(spare)
    return TaskGraph(
        graph_id=graph_id,
        goal=task.goal,
        nodes={node.id: node for node in nodes},
        edges=tuple(edges),
        main_branch=main,
        cursor=Cursor(main.id, main.node_ids[0], 0),
        fallback_branches=tuple(branches),
    )


# The contracts: what completes each kind of step, and how long it may last.

_PER_PLANNED_FILE = 2
"""Additional rounds of an edit for each planned file."""


@dataclass(frozen=True)
class Contract:
    required: tuple[OutputSignal, ...]
    """One of these signals completes the step; without any, the model says that it is done."""
    max_rounds: int
    next: str
    """The instruction for the model."""


_S = OutputSignal
CONTRACTS = {
    NodeType.INSPECT: Contract((), 5, 'read or search what the goal touches, or say "step done".'),
    NodeType.SEARCH: Contract((_S.FILE_READ, _S.SEARCH_COMPLETED), 4, "read or search something that the work needs."),
    NodeType.EDIT: Contract((_S.FILE_WRITTEN,), 8, "write the planned files that are missing, or are not right yet."),
    NodeType.VERIFY: Contract(
        (_S.TEST_PASSED, _S.VERIFICATION_DONE),
        5,
        "run the checks of the plan; if one fails, fix the code that it names.",
    ),
    NodeType.SUMMARIZE: Contract((_S.SUMMARY_GENERATED,), 2, "reply with a summary of the work, and make no call."),
    NodeType.FALLBACK: Contract(
        (_S.FILE_WRITTEN, _S.TEST_PASSED), 4, "write the code in another way, then run the checks of the plan."
    ),
}


def contract_of(node: Node, task: Task) -> Contract:
    """Return the contract of a step: more rounds for more planned files, and all checks for a plan with several."""
    contract = CONTRACTS[node.type]
    if node.type in (NodeType.EDIT, NodeType.FALLBACK):
        return replace(contract, max_rounds=contract.max_rounds + _PER_PLANNED_FILE * len(task.planned_files))
    if node.type is not NodeType.VERIFY or len(task.verify_commands) == 1:
        return contract
    more = (_S.TEST_PASSED,) if task.verify_commands else (*contract.required, _S.COMMAND_EXECUTED)
    return replace(contract, required=more)


def is_completed(node: Node, contract: Contract, use: StepUse, open_files: int, *, said_done: bool = False) -> bool:
    """Return whether a step is complete. An edit is not while a planned file is open."""
    if not contract.required:
        return said_done
    if node.type in (NodeType.EDIT, NodeType.FALLBACK) and open_files > 0:
        return False
    return any(signal in use.signals for signal in contract.required)


def is_finished_check(action: Action, task: Task) -> bool:
    """Return whether a call ran a check to its end; without checks in the plan, any command is one."""
    checks = action.call.checks or (action.call.tool_class is ToolClass.EXEC and not task.verify_commands)
    return checks and action.result.executed and not action.result.background


# The moves of the cursor.

_LONGEST_ERROR = 200
_OPTIONAL = (NodeType.INSPECT, NodeType.SEARCH, NodeType.SUMMARIZE)
"""Steps without a fallback that are skipped when they fail."""


def start_step(graph: TaskGraph) -> TaskGraph:
    """Start the cursor's step. A graph that is done or failed stays so."""
    if not graph.active and graph.status is not GraphStatus.PAUSED:
        return graph
    if graph.current.status is NodeStatus.PENDING:
        graph = _with_node(graph, replace(graph.current, status=NodeStatus.RUNNING))
    return graph if graph.status is GraphStatus.RUNNING else replace(graph, status=GraphStatus.RUNNING)


def close_step(graph: TaskGraph, step: str, status: NodeStatus, error: str | None = None) -> TaskGraph:
    """End a step as done, skipped or failed; the cursor stays."""
    error = error[:_LONGEST_ERROR] if error else None
    return _with_node(graph, replace(graph.nodes[step], status=status, error=error))


def reopen_steps(graph: TaskGraph, *steps: str) -> TaskGraph:
    """Make steps pending again; a graph that was done runs again, and its cursor must be moved."""
    for step in steps:
        graph = _with_node(graph, replace(graph.nodes[step], status=NodeStatus.PENDING, error=None))
    return replace(graph, status=GraphStatus.RUNNING)


def to_first_open(graph: TaskGraph) -> TaskGraph:
    """Move the cursor to the first main step that is not closed, and start it; without one the graph is done."""
    main = graph.main_branch
    step = next((step for step in main.node_ids if graph.nodes[step].status not in CLOSED), None)
    if step is None:
        return replace(move_cursor(graph, main.node_ids[-1]), status=GraphStatus.DONE)
    return start_step(move_cursor(graph, step))


def move_cursor(graph: TaskGraph, step: str) -> TaskGraph:
    """Move the cursor to a main step, and change nothing else."""
    main = graph.main_branch
    cursor = replace(graph.cursor, branch_id=main.id, node_id=step, node_index=main.node_ids.index(step))
    return replace(graph, cursor=cursor)


def reset_retries(graph: TaskGraph, step: str) -> TaskGraph:
    """Give a step all its tries again."""
    return replace(graph, nodes={**graph.nodes, step: replace(graph.nodes[step], retry_count=0)})


def pass_over(graph: TaskGraph, target: int) -> TaskGraph:
    """Close every main step before an index as done, and move the cursor to the first that is not closed."""
    for step in graph.main_branch.node_ids[:target]:
        if graph.nodes[step].status not in CLOSED:
            graph = close_step(graph, step, NodeStatus.DONE)
    return to_first_open(graph)


def rewind_to_edit(graph: TaskGraph) -> TaskGraph:
    """Reopen the edit, with the check after it and the running step, and move the cursor to the edit: a fix is due."""
    kinds = (NodeType.EDIT, NodeType.VERIFY)
    nodes = [graph.nodes[step] for step in graph.main_branch.node_ids]
    stale = [node.id for node in nodes if node.type in kinds or node.status is NodeStatus.RUNNING]
    edit = next(node.id for node in nodes if node.type is NodeType.EDIT)
    return start_step(move_cursor(reopen_steps(graph, *stale), edit))


def count_retry(graph: TaskGraph, step: str, error: str) -> TaskGraph:
    node = graph.nodes[step]
    return _with_node(graph, replace(node, retry_count=node.retry_count + 1, error=error[:_LONGEST_ERROR]))


def switch_branch(graph: TaskGraph, reason: FallbackReason) -> TaskGraph:
    """Fail the cursor's step and take its fallback; without one, skip an optional step, else fail the graph."""
    branch, failed = _fallback_for(graph), graph.cursor.node_id
    if branch is None and graph.current.type in _OPTIONAL:
        return to_first_open(close_step(graph, failed, NodeStatus.SKIPPED, reason))
    graph = close_step(graph, failed, NodeStatus.FAILED, reason)
    if branch is None:
        return replace(graph, status=GraphStatus.FAILED)
    taken = replace(branch, failed_node_id=failed, reason=reason, attempt_count=branch.attempt_count + 1)
    cursor = replace(graph.cursor, branch_id=taken.id, node_id=taken.node_ids[0], node_index=0)
    branches = tuple(taken if other.id == taken.id else other for other in graph.fallback_branches)
    return start_step(reopen_steps(replace(graph, fallback_branches=branches, cursor=cursor), taken.node_ids[0]))


def advance_cursor(graph: TaskGraph) -> TaskGraph:
    """Close the cursor's step as done and start the next one. After a fallback, a check is due again, an edit replaced."""
    branch, graph = graph.branch, close_step(graph, graph.cursor.node_id, NodeStatus.DONE)
    if branch.is_fallback and graph.nodes[branch.failed_node_id].type is NodeType.VERIFY:
        graph = reset_retries(reopen_steps(graph, branch.failed_node_id), branch.failed_node_id)
    elif branch.is_fallback:
        graph = close_step(graph, branch.failed_node_id, NodeStatus.SKIPPED)
    return to_first_open(graph)


def _fallback_for(graph: TaskGraph) -> Branch | None:
    """Return the fallback of the cursor's step; None if it has none or it was taken."""
    step = graph.cursor.node_id
    spares = {edge.target for edge in graph.edges if edge.type == "fallback" and edge.source == step}
    free = (branch for branch in graph.fallback_branches if not branch.attempt_count)
    return next((branch for branch in free if branch.node_ids[0] in spares), None)


def _with_node(graph: TaskGraph, node: Node) -> TaskGraph:
    """Replace a step, and update what follows from its state."""
    before, nodes = graph.nodes[node.id].status, {**graph.nodes, node.id: node}
    if before not in CLOSED and node.status not in CLOSED:
        return replace(graph, nodes=nodes)
    cursor = replace(
        graph.cursor,
        completed_node_ids=_update_ids(graph.cursor.completed_node_ids, node, NodeStatus.DONE),
        skipped_node_ids=_update_ids(graph.cursor.skipped_node_ids, node, NodeStatus.SKIPPED),
    )
    return replace(graph, nodes=nodes, cursor=cursor, progress=percent_closed(nodes, graph.main_branch))


def _update_ids(before: tuple[str, ...], node: Node, status: NodeStatus) -> tuple[str, ...]:
    others = tuple(step for step in before if step != node.id)
    if node.status is not status:
        return others
    return before if node.id in before else (*before, node.id)
