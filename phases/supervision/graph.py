"""The task graph as a value (section 6.1): steps, branches, a cursor and their history. Times are rounds.

The kernel has no clock; kernel/supervisor-events.jsonl holds the time of each round.
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
        """Whether the graph drives; a paused, done or failed one is only shown."""
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
    """Return the share of a branch's steps that are done or skipped, in percent, rounded half up."""
    closed = sum(nodes[step].status in CLOSED for step in main.node_ids)
    return int(100 * closed / max(1, len(main.node_ids)) + 0.5)


@dataclass(frozen=True)
class StepUse:
    """What happened on the cursor's step since it started."""

    rounds: int = 0
    """Rounds that ended with the step open, without those of the edit step that wrote a file."""
    signals: tuple[OutputSignal, ...] = ()
    wrote: bool = False
    """A file was written in this round."""
    check_failed: str = ""
    """Why a check failed in this round."""


@dataclass(frozen=True)
class GraphRun:
    """The graph and the state that moves it."""

    graph: TaskGraph | None = None
    paused: bool = False
    """The graph is kept for display, and no longer follows the work."""
    task_phase: TaskPhase = TaskPhase.INTENT
    use: StepUse = field(default_factory=StepUse)
    round: int = 0
    """The current round."""
    open_files: int = 0
    """Planned files that were missing or not sound after the last round."""
    missing: tuple[str, ...] = ()
    """What the plan still missed after the last round, in words."""
    command_passed: bool = False
    """A command succeeded since the last write: the check of a plan without checks."""
    mark: str = ""
    """The cursor at the end of the last round, to see whether it moved."""


@dataclass(frozen=True)
class Evaluated:
    """The outcome of a round, a verdict or a switch for a graph."""

    run: GraphRun
    signals: tuple[ModeSignal, ...] = ()
    graph_failed: bool = False
    """The graph failed just now."""
    moved: bool = False
    """A step became done, or the cursor moved."""
    entries: tuple[TimelineEntry, ...] = ()


def mark_of(graph: TaskGraph) -> str:
    return f"{graph.cursor.branch_id} {graph.cursor.node_id} {len(graph.cursor.completed_node_ids)}"
