"""A task graph for work that is half done: fresh from its template, with what already stands marked as done (M8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phases.supervision.facts import Task
from phases.supervision.graph import Cursor, Node, NodeRecord, TaskGraph, progress_of
from phases.supervision.ledger import PASSED, WorkLedger
from phases.supervision.templates import build_graph
from phases.supervision.words import FAULTS, GraphStatus, NodeStatus, NodeType
from phases.supervision.workspace import WorkspaceSnapshot

EMPTY_TEMPLATE, BUILD_THREW = "empty_template", "build_threw"
_LOOKING = (NodeType.INSPECT, NodeType.SEARCH, NodeType.READ, NodeType.DELEGATE)


@dataclass(frozen=True)
class Retrospective:
    """The graph, or why there is none."""

    ok: bool
    graph: TaskGraph | None = None
    marked: int = 0
    total: int = 0
    reason: str = ""


def retrospective(
    task: Task, snapshot: WorkspaceSnapshot, ledger: WorkLedger, *, graph_id: str, at: int
) -> Retrospective:
    """Never raises: a builder that does is a reason."""
    try:
        graph = build_graph(task, graph_id=graph_id, at=at)
    except ValueError:
        return Retrospective(ok=False, reason=EMPTY_TEMPLATE)
    except FAULTS:
        return Retrospective(ok=False, reason=BUILD_THREW)
    try:
        done = _standing(graph, snapshot, ledger)
        total = len(graph.main_branch.node_ids)
        if not total:
            return Retrospective(ok=False, reason=EMPTY_TEMPLATE)
        return Retrospective(True, _marked(graph, done, at), len(done), total)
    except FAULTS:  # a graph that does not hold together is a fault of its builder
        return Retrospective(ok=False, reason=BUILD_THREW)


def _standing(graph: TaskGraph, snapshot: WorkspaceSnapshot, ledger: WorkLedger) -> tuple[str, ...]:
    """The pending steps that the workspace shows to be done. That files are there does not make an edit complete, and
    nobody has summed up anything yet: those two stay open.
    """
    passed = snapshot.test_summary == PASSED == ledger.test_summary
    verified = passed and ledger.last_write_round <= ledger.last_verify_round
    kinds = {*(_LOOKING if snapshot.changed else ()), *((NodeType.VERIFY,) if verified else ())}
    nodes = (graph.nodes[name] for name in graph.main_branch.node_ids)
    return tuple(node.id for node in nodes if node.status is NodeStatus.PENDING and node.type in kinds)


def _marked(graph: TaskGraph, done: tuple[str, ...], at: int) -> TaskGraph:
    order = graph.main_branch.node_ids
    index = next((place for place, name in enumerate(order) if name not in done), None)
    nodes = {name: _ended(node, at) if name in done else node for name, node in graph.nodes.items()}
    if index is not None:
        nodes[order[index]] = replace(nodes[order[index]], status=NodeStatus.RUNNING, started_at=at)
    place = len(order) - 1 if index is None else index
    marked = replace(
        graph,
        nodes=nodes,
        cursor=Cursor(graph.main_branch.id, order[place], place, completed_node_ids=done),
        status=GraphStatus.DONE if index is None else GraphStatus.RUNNING,
        updated_at=at,
        node_history=(*graph.node_history, *(NodeRecord(name, NodeStatus.DONE, at, at, 0) for name in done)),
    )
    return replace(marked, progress=progress_of(marked))


def _ended(node: Node, at: int) -> Node:
    return replace(node, status=NodeStatus.DONE, started_at=at, ended_at=at)
