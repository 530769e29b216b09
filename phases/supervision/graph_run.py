"""What the graph's executor remembers between rounds, as values: all of it survives a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phases.supervision.graph import TaskGraph
from phases.supervision.timeline import Entry
from phases.supervision.words import EvaluationMode, ModeSignal, OutputSignal, TaskPhase, ToolClass


@dataclass(frozen=True)
class StepUse:
    """What was done on the cursor's step since it was started."""

    rounds: int = 0
    """Rounds that ended with the step still open."""
    idle_rounds: int = 0
    """In a row, without a call that succeeded."""
    failed_rounds: int = 0
    """In a row, in which calls were executed and all failed."""
    away_rounds: int = 0
    """In a row, without a call of the class that the step is for."""
    calls: int = 0
    reads: int = 0
    """Successful READ and SEARCH calls."""
    reads_since_write: int = 0
    signals: tuple[OutputSignal, ...] = ()
    last_signature: str = ""
    same_calls: int = 0
    """How often that call was made in a row."""
    round_calls: tuple[ToolClass, ...] = ()
    """Executed in this round; bounded by what a round holds."""
    round_ok: int = 0
    round_checks: int = 0
    """Calls of this round that say if the work is right: they belong to every step."""
    check_failed: str = ""
    """Why a check failed in this round."""


@dataclass(frozen=True)
class Escalation:
    """How far a model has strayed from its step (section 6.7). Level 0: it has not."""

    level: int = 0
    counter: int = 0
    hints: int = 0
    blocks: int = 0
    blocking: bool = False
    """Classes that are not the step's are blocked, whatever its contract tolerates."""


@dataclass(frozen=True)
class GraphRun:
    """The graph with all that steers it. Without a graph, nothing does."""

    graph: TaskGraph | None = None
    evaluation: EvaluationMode = EvaluationMode.FULL
    task_phase: TaskPhase = TaskPhase.INTENT
    use: StepUse = field(default_factory=StepUse)
    escalation: Escalation = field(default_factory=Escalation)
    in_takeover: bool = False
    round: int = 0
    """The one that is going on."""
    planned_files: int = 0
    open_files: int = 0
    """As of the last round: planned files that are not there, or not sound."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """How often a call failed in one way, since the branch was entered."""
    command_passed: bool = False
    """A command ended well since the last write: where the plan has no checks, that is one."""
    mark: str = ""
    """Where the cursor stood at the end of the last round, to see that it moved."""


@dataclass(frozen=True)
class Evaluated:
    """What a round, a verdict or a switch did to a graph."""

    run: GraphRun
    hint: str = ""
    """For the model; empty where nothing is to be said."""
    tag: str = ""
    signals: tuple[ModeSignal, ...] = ()
    graph_failed: bool = False
    """It failed just now."""
    exhausted: bool = False
    """A fallback was wanted, and none is left."""
    moved: bool = False
    """A step became done, or the cursor moved."""
    entries: tuple[Entry, ...] = ()


def mark_of(graph: TaskGraph) -> str:
    """Stands for where a graph is."""
    return f"{graph.cursor.branch_id} {graph.cursor.node_id} {len(graph.cursor.completed_node_ids)}"
