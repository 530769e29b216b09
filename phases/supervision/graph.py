"""The task graph as a value (section 6.1): steps, branches, a cursor, and what became of them. Times are rounds.

The kernel has no clock; kernel/supervisor-events.jsonl says when a round was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phases.supervision.effects import TimelineEntry
from phases.supervision.enums import (
    FallbackReason,
    GraphStatus,
    ModeSignal,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
)


@dataclass(frozen=True)
class Node:
    id: str
    type: NodeType
    title: str
    phase: TaskPhase
    status: NodeStatus = NodeStatus.PENDING
    retry_count: int = 0
    max_retries: int = 1
    started_at: int | None = None
    ended_at: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class Edge:
    """From one step to another; `type` is normal or fallback."""

    source: str = field(metadata={"key": "from"})
    target: str = field(metadata={"key": "to"})
    type: str = "normal"
    condition: str | None = None


@dataclass(frozen=True)
class Branch:
    """Steps in their order. A fallback says which step it stands in for, once it is taken."""

    id: str
    node_ids: tuple[str, ...]
    is_fallback: bool = False
    source_branch_id: str | None = None
    failed_node_id: str = ""
    reason: FallbackReason | None = None
    attempt_count: int = 0
    max_attempts: int = 1


@dataclass(frozen=True)
class Cursor:
    branch_id: str
    node_id: str
    node_index: int
    completed_node_ids: tuple[str, ...] = ()
    skipped_node_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeRecord:
    node_id: str
    status: NodeStatus
    started_at: int | None
    ended_at: int | None
    retries: int


@dataclass(frozen=True)
class BranchRecord:
    branch_id: str
    reason: FallbackReason
    at: int


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
    # decision 52: times are rounds, because the kernel has no clock.
    created_at: int = 0
    updated_at: int = 0
    fallback_branches: tuple[Branch, ...] = ()
    node_history: tuple[NodeRecord, ...] = ()
    branch_history: tuple[BranchRecord, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it drives: paused, done and failed graphs are shown and nothing else."""
        return self.status in (GraphStatus.READY, GraphStatus.RUNNING)

    @property
    def current(self) -> Node:
        return self.nodes[self.cursor.node_id]

    @property
    def branch(self) -> Branch:
        branches = (self.main_branch, *self.fallback_branches)
        return next(branch for branch in branches if branch.id == self.cursor.branch_id)


CLOSED = (NodeStatus.DONE, NodeStatus.SKIPPED)
OPEN = (NodeStatus.PENDING, NodeStatus.RUNNING)


def percent_closed(nodes: Mapping[str, Node], main: Branch) -> int:
    """How many steps of a branch are done or skipped, in percent, halves upwards."""
    closed = sum(nodes[step].status in CLOSED for step in main.node_ids)
    return int(100 * closed / max(1, len(main.node_ids)) + 0.5)


@dataclass(frozen=True)
class StepUse:
    """What was done on the cursor's step since it was started."""

    rounds: int = 0
    """Rounds that ended with the step still open, but for those that wrote what it is for."""
    signals: tuple[OutputSignal, ...] = ()
    wrote: bool = False
    """A file was written in this round."""
    check_failed: str = ""
    """Why a check failed in this round."""


@dataclass(frozen=True)
class GraphRun:
    """The graph with all that steers it. Without a graph, nothing does."""

    graph: TaskGraph | None = None
    paused: bool = False
    """It is kept to be shown, and follows the work no more."""
    task_phase: TaskPhase = TaskPhase.INTENT
    use: StepUse = field(default_factory=StepUse)
    round: int = 0
    """The one that is going on."""
    planned_files: int = 0
    open_files: int = 0
    """As of the last round: planned files that are not there, or not sound."""
    missing: tuple[str, ...] = ()
    """As of the last round: what the plan still misses, in words."""
    command_passed: bool = False
    """A command ended well since the last write: where the plan has no checks, that is one."""
    mark: str = ""
    """Where the cursor stood at the end of the last round, to see that it moved."""


@dataclass(frozen=True)
class Evaluated:
    """What a round, a verdict or a switch did to a graph."""

    run: GraphRun
    signals: tuple[ModeSignal, ...] = ()
    graph_failed: bool = False
    """It failed just now."""
    moved: bool = False
    """A step became done, or the cursor moved."""
    entries: tuple[TimelineEntry, ...] = ()


def mark_of(graph: TaskGraph) -> str:
    return f"{graph.cursor.branch_id} {graph.cursor.node_id} {len(graph.cursor.completed_node_ids)}"
