"""What is kept of a run for people (section 9): the checkpoint, the state again, and kernel-report.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from phases.supervision.enums import GraphStatus, NodeStatus, SupervisorPhase
from phases.supervision.graph import Branch, BranchRecord, Cursor, Node, NodeRecord, TaskGraph
from phases.supervision.serialization import from_json, to_json
from phases.supervision.state import KernelState, Setting
from phases.supervision.work_ledger import PASSED

VERSION, GRAPH_VERSION = 1, 1
_MOST_SIGNALS = 8


def build_checkpoint(
    state: KernelState, *, task: str, turn: int, trigger: str, tail: tuple[Mapping[str, Any], ...]
) -> dict[str, Any]:
    """kernel/checkpoint.json. `tail`: the last lines of the event log."""
    graph = state.graph.graph
    bare = replace(state, graph=replace(state.graph, graph=None))
    return {
        "runtimeVersion": VERSION,
        "taskId": task,
        "round": state.round,
        "turn": turn,
        "trigger": trigger,
        "currentNode": {"id": graph.current.id, "title": graph.current.title} if graph else None,
        "verificationPending": bool(state.ledger.last_write_round) and state.ledger.test_summary != PASSED,
        "lastStopReason": state.stopped,
        "recentTools": to_json(state.ledger.recent_tools),
        "recentFailures": to_json(state.ledger.recent_failures),
        "recoverySignals": [
            {"source": signal.kind.value, "message": signal.detail, "at": signal.round, "consumed": False}
            for signal in state.observer.live[-_MOST_SIGNALS:]
        ],
        "taskGraph": to_json(snapshot_graph(graph)) if graph else None,
        "timelineTail": [dict(line) for line in tail],
        "supervisorState": to_json(bare),
    }


def restore_state(data: Mapping[str, Any], graph: Mapping[str, Any] | None) -> KernelState | None:
    """The state that a checkpoint and task-graph.json hold; None for another version. Raises ValueError for what does not fit."""
    # decision 51: no run goes on from this
    if data.get("runtimeVersion") != VERSION:
        return None
    state = from_json(KernelState, data.get("supervisorState", {}))
    if not data.get("taskGraph") or graph is None:
        return state
    whole = apply_snapshot(from_json(TaskGraph, graph), from_json(GraphSnapshot, data["taskGraph"]))
    return replace(state, graph=replace(state.graph, graph=whole))


@dataclass(frozen=True)
class NodeSnapshot:
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


def snapshot_graph(graph: TaskGraph) -> GraphSnapshot:
    # Titles and edges are left out: task-graph.json has them, and a checkpoint is written often.
    nodes = {step: NodeSnapshot(**_values_of(NodeSnapshot, node)) for step, node in graph.nodes.items()}
    values = _values_of(GraphSnapshot, graph)
    return GraphSnapshot(**{**values, "version": GRAPH_VERSION, "nodes": nodes})


def apply_snapshot(graph: TaskGraph, snapshot: GraphSnapshot) -> TaskGraph | None:
    """A graph of the same template, standing as the snapshot says; none where the two do not belong together."""
    same = (snapshot.version, snapshot.graph_id) == (GRAPH_VERSION, graph.graph_id)
    if not same or snapshot.nodes.keys() != graph.nodes.keys():
        return None
    ways = {branch.id: branch.node_ids for branch in (graph.main_branch, *snapshot.fallback_branches)}
    at, index = ways.get(snapshot.cursor.branch_id, ()), snapshot.cursor.node_index
    if at[index : index + 1] != (snapshot.cursor.node_id,):
        return None
    nodes = {step: Node(**{**vars(graph.nodes[step]), **vars(kept)}) for step, kept in snapshot.nodes.items()}
    return TaskGraph(**{**vars(graph), **vars(snapshot), "nodes": nodes})


def _values_of(kind: type, source: object) -> dict[str, Any]:
    """What a value holds of the fields of another kind."""
    return {row.name: getattr(source, row.name) for row in fields(kind)}


def kernel_report(
    state: KernelState, setting: Setting, *, stop_reason: str | None, detail: str, warning: str
) -> dict[str, Any]:
    """The report, so far. `stop_reason` is None while the run goes on."""
    counts, recovery = state.counts, state.recovery
    return {
        "version": 1,
        "mode": setting.policy.mode.value,
        "shadow": setting.policy.shadow,
        "stopReason": stop_reason,
        "detail": detail,
        "rounds": state.round,
        "modeRounds": {"free": counts.free_rounds, "forced": counts.forced_rounds},
        "modeSwitches": counts.mode_switches,
        "phaseRounds": {phase.value: counts.phase_rounds.get(phase.value, 0) for phase in SupervisorPhase},
        "takeovers": state.phase.takeovers,
        "handoffs": state.phase.handoffs,
        "interventions": {"hints": counts.hints, "blocks": counts.blocks, "takeovers": state.phase.takeovers},
        "budgets": {
            "recovery": {
                "rounds": recovery.rounds,
                "effectiveRounds": recovery.effective_rounds,
                "retries": max(recovery.retries.values(), default=0),
                "peakTokenRatio": round(recovery.peak_token_ratio, 4),
                "extended": recovery.extended,
            },
            "branchDebt": len(state.refused),
            "branchTriggers": counts.blocks,
        },
        "warning": warning or None,
    }
