"""Tasks that were supervised, for tests: the files of supervision as the kernel writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phases.pages.supervisor_page import View, read_view
from pipeline.engine.contract import Contracts

Document = dict[str, Any]
PYTEST = "pytest -q"
ASSERTION = "test_total (tests/test_total.py:4)\nAssertionError: 3 != 4"


class Log:
    """An event log as it grows: each line knows the modes that the lines before it led to."""

    def __init__(self, mode: str = "adaptive") -> None:
        self.mode, self.phase, self.execution = mode, "free", "free"
        self.lines: list[Document] = []

    def add(self, turn: int, event: str, reason: str, /, **payload: Any) -> Log:
        """One more line."""
        if event == "switch" and "->" in reason:
            self.execution = reason.partition(":")[0].rpartition(">")[2]
        if event == "handoff":
            self.phase = {"handoff": "cooldown", "cooldown_over": "free"}.get(reason, reason)
        line = {"schemaVersion": 1, "seq": len(self.lines) + 1, "ts": 1_717_480_000_000, "taskId": "paper"}
        line |= {"round": turn, "turn": turn, "mode": self.mode, "phase": self.phase, "executionMode": self.execution}
        self.lines.append({**line, "event": event, "reason": reason, "payload": payload})
        return self

    def take_over(self, turn: int, reason: str, **payload: Any) -> Log:
        """The supervisor takes the lead."""
        self.phase = "takeover"
        return self.add(turn, "recover", reason, **payload)


def takeover_log() -> Log:
    """A run that got stuck, was taken over, and was handed back."""
    log, said = Log(), {"text": "[Supervision] 3 != 4.\nWhat to do next: read total.py.", "assertion": ASSERTION}
    log.add(4, "switch", "free->forced: tool_failure", enteredBy=["tool_failure", "multi_write"])
    log.add(5, "switch", "denied:mode_lock")
    log.add(7, "failure", "error_plateau:3", detail=PYTEST, stage=1).add(7, "recover", "hint:error_plateau", **said)
    for turn in (8, 9):
        log.add(turn, "recover", "kept_back", detail=f"Bash {PYTEST} failed 3 times, and nothing changed since")
    log.add(9, "failure", "error_plateau:4", detail=PYTEST, stage=2).add(9, "drift", "goal_drift:5", stage=1)
    log.add(10, "failure", "error_plateau:5", detail=PYTEST, stage=3)
    log.take_over(10, "error_plateau:5", signals=[f"error_plateau:5 ({PYTEST})"], **said)
    log.add(10, "recover", "template_graph:2/5", snapshotId="snapshot-10", confidence=0.885)
    log.add(14, "handoff", "handoff_pending").add(15, "handoff", "handoff")
    log.add(16, "switch", "forced->free: stable", enteredBy=["tool_failure"])
    return log.add(18, "handoff", "cooldown_over")


def led_log() -> Log:
    """A run that is led, and was not handed back."""
    log = takeover_log()
    return log.take_over(20, "no_progress:5,scope_creep:3", signals=["no_progress:5", "scope_creep:3 (a.py, b.py)"])


def graph(**changes: Any) -> Document:
    """A graph under way: its edit step was left for a fallback, and its verify step has another."""
    steps = [
        _step("node-01", "inspect", "Understand the goal", status="done"),
        _step("node-02", "search", "Consult related content", status="skipped"),
        _step(
            "node-03", "edit", "Write the code", status="failed", retryCount=2, maxRetries=2, error="repeated_failure"
        ),
        _step("node-04", "verify", "Run the checks"),
        _step("node-fb01", "fallback", "Write it another way", status="running"),
        _step("node-fb02", "fallback", "Run one check at a time"),
    ]
    names = [step["id"] for step in steps]
    taken = {"id": "branch-fb-1", "nodeIds": names[4:5], "failedNodeId": "node-03", "attemptCount": 1}
    cursor = {"branchId": "branch-fb-1", "nodeId": "node-fb01", "nodeIndex": 0}
    fixed = {"graphId": "graph-1", "version": 1, "goal": "Write the model", "status": "running"}
    return fixed | {
        "progress": 40,
        "nodes": {step["id"]: step for step in steps},
        "edges": [{"from": "node-04", "to": "node-fb02", "type": "fallback", "condition": "verify_fail"}],
        "mainBranch": {"id": "branch-main-1", "nodeIds": names[:4]},
        "fallbackBranches": [taken, {"id": "branch-fb-2", "nodeIds": names[5:]}],
        "cursor": {**cursor, "completedNodeIds": [], "skippedNodeIds": []},
    } | changes  # fmt: skip


def _step(name: str, kind: str, title: str, **more: Any) -> Document:
    fixed = {"id": name, "type": kind, "title": title, "phase": "editing", "status": "pending"}
    return {**fixed, "retryCount": 0, "maxRetries": 1, **more}


def report(**changes: Any) -> Document:
    """A report of a run that ended with accepted work."""
    example: Document = Contracts().schema("kernel-report.json")["examples"][0]
    return {**example, "stopReason": "model_done", "rounds": 24} | changes


def write_files(
    root: Path,
    lines: Iterable[Mapping[str, Any]] = (),
    *,
    drawn: Mapping[str, Any] | None = None,
    told: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """Write the files of supervision into a task. What is not given is not written."""
    (root / "kernel").mkdir(parents=True, exist_ok=True)
    if rows := [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]:
        (root / "kernel" / "supervisor-events.jsonl").write_text("".join(rows), encoding="utf-8")
    named = {"kernel/task-graph.json": drawn, "kernel-report.json": told, "kernel/supervisor-config.json": config}
    for name, value in named.items():
        if value is not None:
            (root / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return root


def view_of(root: Path, *, running: bool = False) -> View:
    """Read the files of a task, checked by the schemas."""
    contracts = Contracts()

    def check(name: str, value: Any) -> str | None:
        return contracts.breach(contracts.schema(name), value)

    return read_view(str(root), "paper", check, running=running)
