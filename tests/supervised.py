"""Tasks that were supervised, for tests: the kernel's files, written from the kernel's own values."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from phases.pages.supervisor_view import View, read_view
from phases.supervision.config import Config
from phases.supervision.enums import FallbackReason, GraphStatus, NodeStatus, NodeType, TaskIntent, TaskPhase
from phases.supervision.graph import Branch, BranchRecord, Cursor, Edge, Node, NodeRecord, TaskGraph
from phases.supervision.serialization import to_json
from phases.supervision.workspace_snapshot import WorkspaceSnapshot
from pipeline.engine.contract import Contracts

START = 1_717_480_000_000
Line = dict[str, Any]


class Log:
    """An event log as it grows: each line knows the modes that the lines before it led to."""

    def __init__(self, mode: str = "adaptive") -> None:
        self.mode, self.phase, self.execution = mode, "free", "free"
        self.lines: list[Line] = []

    def add(self, turn: int, event: str, reason: str, /, **payload: Any) -> Log:
        """One more line."""
        if event == "switch" and "->" in reason:
            self.execution = reason.partition(":")[0].rpartition(">")[2]
        if event == "handoff":
            self.phase = "cooldown" if reason == "handoff" else reason
        self.lines.append(
            {
                "schemaVersion": 1,
                "seq": len(self.lines) + 1,
                "ts": START + 30_000 * turn + len(self.lines),
                "taskId": "paper",
                "round": turn,
                "turn": turn + 1,
                "mode": self.mode,
                "phase": self.phase,
                "executionMode": self.execution,
                "event": event,
                "reason": reason,
                "payload": payload,
            }
        )
        return self

    def takeover(self, turn: int, reason: str) -> Log:
        """L2 takes the lead."""
        self.phase = "takeover"
        return self.add(turn, "recover", reason)

    def freed(self) -> Log:
        """The cooldown is over, which is no event."""
        self.phase = "free"
        return self


def quiet_log() -> Log:
    """A run of one round in which nothing but a switch happened."""
    return Log("strict").add(1, "switch", "free->forced: explicit_impl", enteredBy=["explicit_impl"])


def takeover_log() -> Log:
    """A run that got stuck, was taken over, and was handed back."""
    log = Log()
    log.add(4, "switch", "free->forced: tool_failure", enteredBy=["tool_failure", "multi_write"])
    for turn in (5, 6):
        log.add(turn, "switch", "denied:mode_lock")
    log.add(7, "recover", "graph_hint:forced_step_warn").add(8, "recover", "graph_hint:forced_step_block")
    log.add(8, "failure", "tool_repeat_fail:3", command="pytest -q").add(9, "failure", "no_progress:4")
    log.add(9, "drift", "goal_drift:0.31", factors={"toolIntent": 0.2, "fileIntent": 0.3})
    log.takeover(10, "tool_repeat_fail:3,no_progress:4")
    log.add(10, "recover", "template_graph:2/5", snapshotId="snapshot-10", confidence=0.885, markedDone=["node-01"])
    log.add(14, "handoff", "handoff_pending").add(15, "handoff", "handoff").add(16, "switch", "forced->free: stable")
    return log.freed().add(20, "failure", "budget_extended:rounds")


def long_log(rounds: int = 200) -> Log:
    """A long run, with a bit of everything."""
    chance, log = random.Random(7), Log()
    log.add(1, "failure", "checkpoint_resumed")
    for turn in range(2, rounds):
        if turn % 31 == 10:
            log.add(turn, "switch", "free->forced: tool_failure", enteredBy=["tool_failure"])
        if log.execution == "forced" and chance.random() < 0.3:
            log.add(turn, "recover", f"graph_hint:{chance.choice(['evaluate_round', 'forced_step_block'])}")
        if chance.random() < 0.15:
            log.add(
                turn,
                "failure",
                f"{chance.choice(['tool_repeat_fail', 'no_progress', 'file_loop', 'cycle'])}:{turn % 5 + 3}",
            )
        if turn % 62 == 20:
            log.takeover(turn, "file_loop:4").add(turn, "recover", "strong_hint:low_confidence", confidence=0.41)
        if turn % 62 == 27:
            log.add(turn, "handoff", "handoff_pending").add(turn + 1, "handoff", "handoff")
            log.freed()
        if turn % 31 == 30 and log.execution == "forced":
            log.add(turn, "switch", "forced->free: stable")
    return log.add(rounds, "failure", "budget_exhausted:rounds").add(rounds, "failure", "checkpoint")


def graph(**changes: Any) -> TaskGraph:
    """A graph that is under way: its edit step was left for a fallback once, and its verify step has two of them."""
    steps = [
        Node("node-01", NodeType.INSPECT, "Understand the goal", TaskPhase.INTENT, False, NodeStatus.DONE),
        Node("node-02", NodeType.SEARCH, "Consult related content", TaskPhase.CONTEXT, status=NodeStatus.SKIPPED),
        Node("node-03", NodeType.EDIT, "Write or modify code", TaskPhase.EDITING, status=NodeStatus.FAILED,
             retry_count=2, max_retries=2, error="the same error three times"),
        Node("node-04", NodeType.VERIFY, "Run verification", TaskPhase.VERIFICATION),
        Node("node-05", NodeType.SUMMARIZE, "Summarize the changes that were made to every file", TaskPhase.FINAL),
        Node("node-fb01", NodeType.FALLBACK, "Fallback plan 1", TaskPhase.EDITING, status=NodeStatus.RUNNING, retry_count=1),
        Node("node-fb02", NodeType.FALLBACK, "Fallback plan 2", TaskPhase.EDITING),
        Node("node-fb03", NodeType.FALLBACK, "Fallback plan 3", TaskPhase.EDITING),
    ]  # fmt: skip
    names = tuple(step.id for step in steps)
    edges = [Edge(one, other) for one, other in pairwise(names[:5])]
    edges += [
        Edge(one, other, "fallback", "retries_exceeded") for one, other in zip(names[2:4], names[5:7], strict=True)
    ]
    edges.append(Edge("node-04", "node-fb03", "fallback", "verify_fail"))
    main = Branch("branch-main-1", names[:5])
    taken = Branch("branch-fb-1-0", ("node-fb01",), True, main.id, "node-03", FallbackReason.REPEATED_FAILURE, 1)
    branches = (taken, *(Branch(f"branch-fb-1-{n}", (f"node-fb0{n + 1}",), True, main.id) for n in (1, 2)))
    made = TaskGraph(
        "graph-1",
        "Write the waiting model of the paper with its tests",
        TaskIntent.EDIT,
        {step.id: step for step in steps},
        tuple(edges),
        main,
        Cursor(taken.id, "node-fb01", 0, ("node-01",), ("node-02",)),
        status=GraphStatus.RUNNING,
        progress=40,
        fallback_branches=branches,
        node_history=(NodeRecord("node-01", NodeStatus.DONE, 1, 2, 0),),
        branch_history=(BranchRecord(taken.id, FallbackReason.REPEATED_FAILURE, 9),),
    )
    return replace(made, **changes)


def report(**changes: Any) -> dict[str, Any]:
    """How a run was supervised that ended by itself."""
    spent = {"rounds": 4, "effectiveRounds": 3, "retries": 1, "peakTokenRatio": 0.12, "extended": False}
    return {
        "version": 1,
        "mode": "adaptive",
        "shadow": False,
        "stopReason": "model_done",
        "detail": "",
        "rounds": 24,
        "modeRounds": {"free": 12, "forced": 12},
        "modeSwitches": 2,
        "phaseRounds": {"free": 16, "takeover": 4, "handoff_pending": 1, "cooldown": 3},
        "takeovers": 1,
        "handoffs": 1,
        "interventions": {"hints": 1, "blocks": 1, "takeovers": 1},
        "budgets": {"corrections": 1, "recovery": spent, "branchDebt": 0, "branchTriggers": 1},
        "warning": None,
    } | changes


def checkpoint(turn: int) -> dict[str, Any]:
    """A checkpoint of that round."""
    return {
        "runtimeVersion": 1,
        "taskId": "paper",
        "round": turn,
        "turn": turn + 1,
        "trigger": "tool_failed",
        "currentNode": None,
        "verificationPending": False,
        "lastStopReason": None,
        "recentTools": [],
        "recentFailures": [],
        "recoverySignals": [],
        "taskGraph": None,
        "timelineTail": [],
        "supervisorState": {},
    }


SNAPSHOT = WorkspaceSnapshot("snapshot-10", 10, "1 added", ("src/model.py",), build_summary="ok", test_summary="failed")


def write_files(
    root: Path,
    lines: Iterable[Mapping[str, Any]] = (),
    *,
    drawn: TaskGraph | None = None,
    told: Mapping[str, Any] | None = None,
    snapshots: Iterable[WorkspaceSnapshot] = (),
    config: Config | None = None,
    saved: Mapping[str, Any] | None = None,
) -> Path:
    """The kernel's files of a task. What is not given is not written."""
    kernel = root / "kernel"
    (kernel / "snapshots").mkdir(parents=True, exist_ok=True)
    rows = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
    if rows:
        (kernel / "supervisor-events.jsonl").write_text("".join(rows), encoding="utf-8")
    found: dict[str, Any] = {
        "kernel/task-graph.json": to_json(drawn),
        "kernel-report.json": told,
        "kernel/supervisor-config.json": to_json(config),
        "kernel/checkpoint.json": saved,
        **{f"kernel/snapshots/{row.snapshot_id}.json": to_json(row) for row in snapshots},
    }
    for name, value in found.items():
        if value is not None:
            (root / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return root


def view_of(root: Path) -> View:
    """What is read of a task, checked by the schemas."""
    contracts = Contracts()
    return read_view(str(root), "paper", lambda name, value: contracts.breach(contracts.schema(name), value))
