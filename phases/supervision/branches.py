"""Fallback branches (section 6.8): what stands in for a step that failed, until the main branch goes on."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision.graph import Branch, BranchRecord, TaskGraph
from phases.supervision.steps import closed_step, ended, fresh_tries, moved, reopened, started, to_first_open
from phases.supervision.words import FallbackReason, GraphStatus, NodeStatus, NodeType

MOST_BRANCH_RECORDS = 20
_MEANS = (NodeType.INSPECT, NodeType.SEARCH, NodeType.READ, NodeType.DELEGATE, NodeType.SUMMARIZE)
"""Steps that serve the work and are not it: where nothing stands in for one, it is skipped, and the work goes on."""


def fallback_for(graph: TaskGraph) -> Branch | None:
    """The first branch that may be taken from the cursor's step: one that is bound to it, or to nothing."""
    step = graph.branch.failed_node_id if graph.branch.is_fallback else graph.cursor.node_id
    for branch in graph.fallback_branches:
        bound = {edge.source for edge in graph.edges if edge.type == "fallback" and edge.target in branch.node_ids}
        if branch.node_ids and branch.attempt_count < branch.max_attempts and (step in bound or not bound):
            return branch
    return None


def switched(graph: TaskGraph, reason: FallbackReason, at: int) -> TaskGraph:
    """With the cursor's step failed, and on its fallback; skipped where it is a means; else the graph has failed."""
    branch = fallback_for(graph)
    if branch is None and graph.current.type in _MEANS and not graph.branch.is_fallback:
        return to_first_open(ended(graph, NodeStatus.SKIPPED, at, reason), at)
    failed = graph.branch.failed_node_id if graph.branch.is_fallback else graph.cursor.node_id
    graph = ended(graph, NodeStatus.FAILED, at, reason)
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
    return started(reopened(graph, taken.node_ids[0], at=at), at)


def advanced(graph: TaskGraph, at: int) -> TaskGraph:
    """With the cursor's step done, and the next one running; back on the main branch at the end of a fallback."""
    graph = ended(graph, NodeStatus.DONE, at)
    branch, index = graph.branch, graph.cursor.node_index + 1
    if not branch.is_fallback:
        return to_first_open(graph, at)
    if index < len(branch.node_ids):
        cursor = replace(graph.cursor, node_id=branch.node_ids[index], node_index=index)
        return started(replace(graph, cursor=cursor), at)
    return _rejoined(graph, branch, at)


def _rejoined(graph: TaskGraph, branch: Branch, at: int) -> TaskGraph:
    """A verify step is run again, as new; any other step has been replaced."""
    step, by = branch.failed_node_id, branch.node_ids[-1]
    if step not in graph.main_branch.node_ids:
        return to_first_open(graph, at)
    if graph.nodes[step].type is not NodeType.VERIFY:
        return to_first_open(moved(closed_step(graph, step, NodeStatus.SKIPPED, at, f"replacedBy:{by}"), step), at)
    return to_first_open(moved(fresh_tries(reopened(graph, step, at=at), step), step), at)
