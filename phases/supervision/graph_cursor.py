"""Move the cursor of a graph along its branch (section 6.6); every move returns a consistent graph."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision.enums import FallbackReason, GraphStatus, NodeStatus, NodeType
from phases.supervision.graph import CLOSED, Branch, BranchRecord, Node, NodeRecord, TaskGraph, percent_closed

MOST_RECORDS, MOST_FAILURES = 50, 100
"""Bounds of a graph's history: its last records, and the failures before them."""
LONGEST_ERROR = 200


def start_step(graph: TaskGraph, at: int) -> TaskGraph:
    """Start the cursor's step. A graph that is done or failed stays so."""
    if not graph.active and graph.status is not GraphStatus.PAUSED:
        return graph
    if graph.current.status is NodeStatus.PENDING:
        graph = _with_node(graph, replace(graph.current, status=NodeStatus.RUNNING, started_at=at, ended_at=None))
    if (graph.status, graph.updated_at) == (GraphStatus.RUNNING, at):
        return graph
    return replace(graph, status=GraphStatus.RUNNING, updated_at=at)


def end_step(graph: TaskGraph, status: NodeStatus, at: int, error: str | None = None) -> TaskGraph:
    """End the cursor's step as done, skipped or failed, on record; the cursor stays."""
    node = replace(graph.current, status=status, ended_at=at, error=error[:LONGEST_ERROR] if error else None)
    return _add_record(_with_node(graph, node), node, at)


def close_step(graph: TaskGraph, step: str, status: NodeStatus, at: int, error: str | None = None) -> TaskGraph:
    """Close any step, on record: it was passed over or replaced."""
    node = replace(graph.nodes[step], status=status, ended_at=at, error=error)
    return _add_record(_with_node(graph, node), node, at)


def reopen_steps(graph: TaskGraph, *steps: str, at: int) -> TaskGraph:
    """Make steps pending again; a graph that was done runs again, and its cursor must be moved."""
    for step in steps:
        node = replace(graph.nodes[step], status=NodeStatus.PENDING, started_at=None, ended_at=None, error=None)
        graph = _with_node(graph, node)
    return replace(graph, status=GraphStatus.RUNNING, updated_at=at)


def to_first_open(graph: TaskGraph, at: int) -> TaskGraph:
    """Move the cursor to the first main step that is not closed, and start it; without one the graph is done."""
    main = graph.main_branch
    step = next((step for step in main.node_ids if graph.nodes[step].status not in CLOSED), None)
    if step is None:
        return replace(move_cursor(graph, main.node_ids[-1]), status=GraphStatus.DONE, updated_at=at)
    return start_step(move_cursor(graph, step), at)


def move_cursor(graph: TaskGraph, step: str) -> TaskGraph:
    """Move the cursor to a main step, and change nothing else."""
    main = graph.main_branch
    return replace(
        graph, cursor=replace(graph.cursor, branch_id=main.id, node_id=step, node_index=main.node_ids.index(step))
    )


def fresh_tries(graph: TaskGraph, step: str) -> TaskGraph:
    """Give a step all its tries again."""
    return replace(graph, nodes={**graph.nodes, step: replace(graph.nodes[step], retry_count=0)})


def pass_over(graph: TaskGraph, target: int, at: int) -> TaskGraph:
    """Close every main step before an index as done, and move the cursor to the first that is not closed."""
    for step in graph.main_branch.node_ids[:target]:
        if graph.nodes[step].status not in CLOSED:
            graph = close_step(graph, step, NodeStatus.DONE, at)
    return to_first_open(graph, at)


def rewind_to_edit(graph: TaskGraph, at: int) -> TaskGraph:
    """Reopen the edit, with the check after it and the running step, and move the cursor to the edit: a fix is due."""
    kinds = (NodeType.EDIT, NodeType.VERIFY)
    nodes = [graph.nodes[step] for step in graph.main_branch.node_ids]
    stale = [node.id for node in nodes if node.type in kinds or node.status is NodeStatus.RUNNING]
    edit = next(node.id for node in nodes if node.type is NodeType.EDIT)
    return start_step(move_cursor(reopen_steps(graph, *stale, at=at), edit), at)


def count_retry(graph: TaskGraph, step: str, at: int, error: str) -> TaskGraph:
    node = graph.nodes[step]
    node = replace(node, retry_count=node.retry_count + 1, error=error[:LONGEST_ERROR])
    return _add_record(_with_node(graph, node), replace(node, status=NodeStatus.FAILED, ended_at=at), at)


def trim_records(records: tuple[NodeRecord, ...]) -> tuple[NodeRecord, ...]:
    """Return the last records, and the failures before them."""
    if len(records) <= MOST_RECORDS:
        return records
    old, new = records[:-MOST_RECORDS], records[-MOST_RECORDS:]
    failures = tuple(record for record in old if record.status is NodeStatus.FAILED)
    return (*failures[-MOST_FAILURES:], *new)


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


def _add_record(graph: TaskGraph, node: Node, at: int) -> TaskGraph:
    record = NodeRecord(node.id, node.status, node.started_at, at, node.retry_count)
    return replace(graph, node_history=trim_records((*graph.node_history, record)), updated_at=at)


MOST_BRANCH_RECORDS = 20
_MEANS = (NodeType.INSPECT, NodeType.SEARCH, NodeType.SUMMARIZE)
"""Steps without a fallback that are skipped when they fail."""


def fallback_for(graph: TaskGraph) -> Branch | None:
    """Return the fallback of the cursor's step; None if it has none or it was taken."""
    step = graph.cursor.node_id
    spares = {edge.target for edge in graph.edges if edge.type == "fallback" and edge.source == step}
    free = (branch for branch in graph.fallback_branches if not branch.attempt_count)
    return next((branch for branch in free if branch.node_ids[0] in spares), None)


def switch_branch(graph: TaskGraph, reason: FallbackReason, at: int) -> TaskGraph:
    """Fail the cursor's step and take its fallback; without one, skip a means, else fail the graph."""
    branch = fallback_for(graph)
    if branch is None and graph.current.type in _MEANS:
        return to_first_open(end_step(graph, NodeStatus.SKIPPED, at, reason), at)
    failed, graph = graph.cursor.node_id, end_step(graph, NodeStatus.FAILED, at, reason)
    if branch is None:
        return replace(graph, status=GraphStatus.FAILED)
    taken = replace(branch, failed_node_id=failed, reason=reason, attempt_count=branch.attempt_count + 1)
    cursor = replace(graph.cursor, branch_id=taken.id, node_id=taken.node_ids[0], node_index=0)
    graph = replace(
        graph,
        fallback_branches=tuple(taken if other.id == taken.id else other for other in graph.fallback_branches),
        branch_history=(*graph.branch_history, BranchRecord(taken.id, reason, at))[-MOST_BRANCH_RECORDS:],
        cursor=cursor,
    )
    return start_step(reopen_steps(graph, taken.node_ids[0], at=at), at)


def advance_cursor(graph: TaskGraph, at: int) -> TaskGraph:
    """Close the cursor's step as done and start the next one. After a fallback, a check is due again, an edit replaced."""
    branch, graph = graph.branch, end_step(graph, NodeStatus.DONE, at)
    if branch.is_fallback and graph.nodes[branch.failed_node_id].type is NodeType.VERIFY:
        graph = fresh_tries(reopen_steps(graph, branch.failed_node_id, at=at), branch.failed_node_id)
    elif branch.is_fallback:
        replaced = f"replacedBy:{branch.node_ids[-1]}"
        graph = close_step(graph, branch.failed_node_id, NodeStatus.SKIPPED, at, replaced)
    return to_first_open(graph, at)
