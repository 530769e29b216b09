"""The steps of a task graph in the order in which they are shown, each with its state and with what stands in for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from phases.supervision.graph import Branch, Node, TaskGraph
from phases.supervision.words import GraphStatus, NodeStatus

MARKS: Mapping[str, str] = {"done": "✓", "current": "▶", "failed": "✗", "skipped": "–", "pending": "○", "running": "▷"}
"""State -> its sign; no state is told by a colour alone."""
_OVER = (GraphStatus.DONE, GraphStatus.FAILED)
_OPEN = (NodeStatus.PENDING, NodeStatus.RUNNING)


class Step(NamedTuple):
    """One step as it is shown."""

    node: Node
    state: str
    """A key of MARKS."""


class Fallback(NamedTuple):
    """The steps of one branch that stands in."""

    branch: Branch
    steps: tuple[Step, ...]
    condition: str
    """When it is taken, as far as the graph says; else why it was taken."""


class Shown(NamedTuple):
    """A step of the main branch with its fallbacks."""

    step: Step
    fallbacks: tuple[Fallback, ...]


def shown_steps(graph: TaskGraph) -> tuple[list[Shown], tuple[Fallback, ...]]:
    """The main branch in its order, and the fallbacks that are bound to none of its steps."""
    bound: dict[str, list[Fallback]] = {}
    for branch in graph.fallback_branches:
        origin, condition = _origin(graph, branch)
        bound.setdefault(origin, []).append(
            Fallback(branch, tuple(_step(graph, name) for name in branch.node_ids), condition)
        )
    main = [Shown(_step(graph, name), tuple(bound.pop(name, ()))) for name in graph.main_branch.node_ids]
    return main, tuple(fallback for rest in bound.values() for fallback in rest)


def retries(node: Node) -> str:
    """`retry 1 of 2`; empty where there was none."""
    return f"retry {node.retry_count} of {node.max_retries}" if node.retry_count else ""


def _step(graph: TaskGraph, name: str) -> Step:
    node = graph.nodes[name]
    here = name == graph.cursor.node_id and node.status in _OPEN and graph.status not in _OVER
    return Step(node, "current" if here else str(node.status))


def _origin(graph: TaskGraph, branch: Branch) -> tuple[str, str]:
    """The step that a branch stands in for, and when or why."""
    edges = (edge for edge in graph.edges if edge.type == "fallback" and edge.target in branch.node_ids)
    edge = next(edges, None)
    origin = branch.failed_node_id or (edge.source if edge else "")
    return origin, str(branch.reason or (edge.condition if edge else "") or "")
