"""The moves of a graph's cursor along its branch (section 6.6); every one gives a whole, sound graph."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision.enums import FallbackReason, GraphStatus, NodeStatus, NodeType
from phases.supervision.graph import CLOSED, Branch, BranchRecord, Node, NodeRecord, TaskGraph, percent_closed

MOST_RECORDS, MOST_FAILURES = 50, 100
"""Of a graph's history: the last ones, beside all failures up to a bound that no graph without a fault reaches."""
LONGEST_ERROR = 200


def start_step(graph: TaskGraph, at: int) -> TaskGraph:
    """With the cursor's step running. A graph that is done or failed stays so."""
    if not graph.active and graph.status is not GraphStatus.PAUSED:
        return graph
    if graph.current.status is NodeStatus.PENDING:
        graph = _with_node(graph, replace(graph.current, status=NodeStatus.RUNNING, started_at=at, ended_at=None))
    if (graph.status, graph.updated_at) == (GraphStatus.RUNNING, at):
        return graph
    return replace(graph, status=GraphStatus.RUNNING, updated_at=at)


def end_step(graph: TaskGraph, status: NodeStatus, at: int, error: str | None = None) -> TaskGraph:
    """With the cursor's step ended as done, skipped or failed, its history written, the cursor still on it."""
    node = replace(graph.current, status=status, ended_at=at, error=error[:LONGEST_ERROR] if error else None)
    return _add_record(_with_node(graph, node), node, at)


def close_step(graph: TaskGraph, step: str, status: NodeStatus, at: int, error: str | None = None) -> TaskGraph:
    """With a step closed that the cursor need not be on: passed over, or replaced."""
    node = replace(graph.nodes[step], status=status, ended_at=at, error=error)
    return _add_record(_with_node(graph, node), node, at)


def reopen_steps(graph: TaskGraph, *steps: str, at: int) -> TaskGraph:
    """With these steps pending again; a graph that was done runs again, its cursor to be moved."""
    for step in steps:
        node = replace(graph.nodes[step], status=NodeStatus.PENDING, started_at=None, ended_at=None, error=None)
        graph = _with_node(graph, node)
    return replace(graph, status=GraphStatus.RUNNING, updated_at=at)


def to_first_open(graph: TaskGraph, at: int) -> TaskGraph:
    """With the cursor on the first main step that is not closed, and that step running; done where there is none."""
    main = graph.main_branch
    step = next((step for step in main.node_ids if graph.nodes[step].status not in CLOSED), None)
    if step is None:
        return replace(move_cursor(graph, main.node_ids[-1]), status=GraphStatus.DONE, updated_at=at)
    return start_step(move_cursor(graph, step), at)


def move_cursor(graph: TaskGraph, step: str) -> TaskGraph:
    """With the cursor on a main step; nothing else."""
    main = graph.main_branch
    return replace(
        graph, cursor=replace(graph.cursor, branch_id=main.id, node_id=step, node_index=main.node_ids.index(step))
    )


def fresh_tries(graph: TaskGraph, *steps: str) -> TaskGraph:
    """With all their tries for these steps."""
    fresh = {step: replace(graph.nodes[step], retry_count=0) for step in steps}
    return replace(graph, nodes={**graph.nodes, **fresh})


def pass_over(graph: TaskGraph, target: int, at: int) -> TaskGraph:
    """With every main step before an index done, and the cursor on the first one that is not."""
    for step in graph.main_branch.node_ids[:target]:
        if graph.nodes[step].status not in CLOSED:
            graph = close_step(graph, step, NodeStatus.DONE, at)
    return to_first_open(graph, at)


def rewind_to_edit(graph: TaskGraph, verify: str, at: int) -> TaskGraph:
    """With a verify step pending again, and all checks after the edit before it; the cursor on that edit.

    A fix is wanted, or has just been made, and WRITE is forbidden in a verify step.
    """
    main = graph.main_branch.node_ids
    last = main.index(verify)
    edits = [index for index in range(last) if graph.nodes[main[index]].type is NodeType.EDIT]
    first = edits[-1] if edits else last
    # Checks behind the edit are stale too: what they saw will be changed.
    stale = [
        step
        for index, step in enumerate(main[first:], first)
        if index == first or graph.nodes[step].type is NodeType.VERIFY or graph.nodes[step].status is NodeStatus.RUNNING
    ]
    return start_step(move_cursor(reopen_steps(graph, *stale, at=at), main[first]), at)


def count_retry(graph: TaskGraph, step: str, at: int, error: str) -> TaskGraph:
    node = graph.nodes[step]
    node = replace(node, retry_count=node.retry_count + 1, error=error[:LONGEST_ERROR])
    return _add_record(_with_node(graph, node), replace(node, status=NodeStatus.FAILED, ended_at=at), at)


def has_edit(graph: TaskGraph) -> bool:
    return any(graph.nodes[step].type is NodeType.EDIT for step in graph.main_branch.node_ids)


def trim_records(records: tuple[NodeRecord, ...]) -> tuple[NodeRecord, ...]:
    """The last records, with all failures before them."""
    if len(records) <= MOST_RECORDS:
        return records
    old, new = records[:-MOST_RECORDS], records[-MOST_RECORDS:]
    failures = tuple(record for record in old if record.status is NodeStatus.FAILED)
    return (*failures[-MOST_FAILURES:], *new)


def _with_node(graph: TaskGraph, node: Node) -> TaskGraph:
    """With another state of a step, and all that follows from it."""
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
"""Steps that serve the work and are not it: where nothing stands in for one, it is skipped, and the work goes on."""


def fallback_for(graph: TaskGraph) -> Branch | None:
    """The first branch that may be taken from the cursor's step: one that is bound to it, or to nothing."""
    step = graph.branch.failed_node_id if graph.branch.is_fallback else graph.cursor.node_id
    for branch in graph.fallback_branches:
        bound = {edge.source for edge in graph.edges if edge.type == "fallback" and edge.target in branch.node_ids}
        if branch.node_ids and branch.attempt_count < branch.max_attempts and (step in bound or not bound):
            return branch
    return None


def switch_branch(graph: TaskGraph, reason: FallbackReason, at: int) -> TaskGraph:
    """With the cursor's step failed, and on its fallback; skipped where it is a means; else the graph has failed."""
    branch = fallback_for(graph)
    if branch is None and graph.current.type in _MEANS and not graph.branch.is_fallback:
        return to_first_open(end_step(graph, NodeStatus.SKIPPED, at, reason), at)
    failed = graph.branch.failed_node_id if graph.branch.is_fallback else graph.cursor.node_id
    graph = end_step(graph, NodeStatus.FAILED, at, reason)
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
    """With the cursor's step done, and the next one running; back on the main branch at the end of a fallback."""
    graph = end_step(graph, NodeStatus.DONE, at)
    branch, index = graph.branch, graph.cursor.node_index + 1
    if not branch.is_fallback:
        return to_first_open(graph, at)
    if index < len(branch.node_ids):
        cursor = replace(graph.cursor, node_id=branch.node_ids[index], node_index=index)
        return start_step(replace(graph, cursor=cursor), at)
    return _rejoin_main(graph, branch, at)


def _rejoin_main(graph: TaskGraph, branch: Branch, at: int) -> TaskGraph:
    """A verify step is run again, as new; any other step has been replaced."""
    step, by = branch.failed_node_id, branch.node_ids[-1]
    if step not in graph.main_branch.node_ids:
        return to_first_open(graph, at)
    if graph.nodes[step].type is not NodeType.VERIFY:
        return to_first_open(move_cursor(close_step(graph, step, NodeStatus.SKIPPED, at, f"replacedBy:{by}"), step), at)
    return to_first_open(move_cursor(fresh_tries(reopen_steps(graph, step, at=at), step), step), at)
