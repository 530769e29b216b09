"""The checkpoint of section 9: the whole state as JSON, and the state again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from phases.supervision.graph import TaskGraph
from phases.supervision.graph_snapshot import GraphSnapshot, snapshot_of, with_snapshot
from phases.supervision.ledger import PASSED
from phases.supervision.records import from_json, to_json
from phases.supervision.state import KernelState

VERSION = 1
_MOST_SIGNALS = 8


def checkpoint(
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
        "taskGraph": to_json(snapshot_of(graph)) if graph else None,
        "timelineTail": [dict(line) for line in tail],
        "supervisorState": to_json(bare),
    }


def restored(data: Mapping[str, Any], graph: Mapping[str, Any] | None) -> KernelState | None:
    """The state that a checkpoint and task-graph.json hold; None for another version. Raises ValueError for what does not fit."""
    if data.get("runtimeVersion") != VERSION:
        return None
    state = from_json(KernelState, data.get("supervisorState", {}))
    if not data.get("taskGraph") or graph is None:
        return state
    whole = with_snapshot(from_json(TaskGraph, graph), from_json(GraphSnapshot, data["taskGraph"]))
    return replace(state, graph=replace(state.graph, graph=whole))
