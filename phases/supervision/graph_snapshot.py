"""A graph as a checkpoint keeps it (section 6.1): how it stands, without what its template says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from phases.supervision.branches import MOST_BRANCH_RECORDS
from phases.supervision.graph import Branch, BranchRecord, Cursor, Node, NodeRecord, TaskGraph
from phases.supervision.steps import remembered
from phases.supervision.words import GraphStatus, NodeStatus

VERSION = 1


@dataclass(frozen=True)
class NodeSnapshot:
    """How a step stands."""

    status: NodeStatus
    retry_count: int = 0
    error: str | None = None
    started_at: int | None = None
    ended_at: int | None = None


@dataclass(frozen=True)
class GraphSnapshot:
    """A graph without titles and edges: those are the template's."""

    version: int
    graph_id: str
    status: GraphStatus
    progress: int
    nodes: Mapping[str, NodeSnapshot]
    cursor: Cursor
    created_at: int = 0
    updated_at: int = 0
    fallback_branches: tuple[Branch, ...] = ()
    node_history: tuple[NodeRecord, ...] = ()
    branch_history: tuple[BranchRecord, ...] = ()


def compacted(graph: TaskGraph) -> TaskGraph:
    """The graph with the last of its history, and all its failures."""
    return replace(
        graph,
        node_history=remembered(graph.node_history),
        branch_history=graph.branch_history[-MOST_BRANCH_RECORDS:],
    )


def snapshot_of(graph: TaskGraph) -> GraphSnapshot:
    """How a graph stands."""
    graph = compacted(graph)
    return GraphSnapshot(
        version=VERSION,
        graph_id=graph.graph_id,
        status=graph.status,
        progress=graph.progress,
        nodes={step: _node(node) for step, node in graph.nodes.items()},
        cursor=graph.cursor,
        created_at=graph.created_at,
        updated_at=graph.updated_at,
        fallback_branches=graph.fallback_branches,
        node_history=graph.node_history,
        branch_history=graph.branch_history,
    )


def with_snapshot(graph: TaskGraph, snapshot: GraphSnapshot) -> TaskGraph | None:
    """A graph of the same template, standing as the snapshot says; none where the two do not belong together."""
    if (snapshot.version, snapshot.graph_id) != (
        VERSION,
        graph.graph_id,
    ) or snapshot.nodes.keys() != graph.nodes.keys():
        return None
    ways = {branch.id: branch.node_ids for branch in (graph.main_branch, *snapshot.fallback_branches)}
    at, index = ways.get(snapshot.cursor.branch_id, ()), snapshot.cursor.node_index
    if at[index : index + 1] != (snapshot.cursor.node_id,):
        return None
    return replace(
        graph,
        nodes={step: _applied(node, snapshot.nodes[step]) for step, node in graph.nodes.items()},
        status=snapshot.status,
        progress=snapshot.progress,
        cursor=snapshot.cursor,
        created_at=snapshot.created_at,
        updated_at=snapshot.updated_at,
        fallback_branches=snapshot.fallback_branches,
        node_history=snapshot.node_history,
        branch_history=snapshot.branch_history,
    )


def _node(node: Node) -> NodeSnapshot:
    return NodeSnapshot(node.status, node.retry_count, node.error, node.started_at, node.ended_at)


def _applied(node: Node, kept: NodeSnapshot) -> Node:
    return replace(
        node,
        status=kept.status,
        retry_count=kept.retry_count,
        error=kept.error,
        started_at=kept.started_at,
        ended_at=kept.ended_at,
    )
