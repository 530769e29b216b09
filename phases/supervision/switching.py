"""What follows when a step did not work out: another try, another branch, or a failed graph (sections 6.6, 6.8)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import branches, steps
from phases.supervision.contracts import next_of
from phases.supervision.graph import Node, TaskGraph
from phases.supervision.graph_run import Escalation, Evaluated, GraphRun, StepUse
from phases.supervision.timeline import failure, recover
from phases.supervision.tracking import moved_run
from phases.supervision.words import (
    EvaluationMode,
    FallbackReason,
    GraphStatus,
    ModeSignal,
    NodeStatus,
    NodeType,
)

EVALUATE_ROUND = "evaluate_round"
_REASONS = {
    FallbackReason.RETRIES_EXCEEDED: "its tries are spent",
    FallbackReason.REPEATED_FAILURE: "one call failed the same way again and again",
    FallbackReason.NO_PROGRESS: "it made no progress",
    FallbackReason.INVALID_OUTPUT: "it did not bring about what it is for",
    FallbackReason.VERIFY_FAIL: "its checks fail, and its tries are spent",
}


def force_switch(run: GraphRun, reason: FallbackReason, at: int) -> Evaluated:
    """The cursor's step has failed: on to its fallback. A step that only serves the work is skipped where it has none."""
    before = run.graph
    if before is None or not before.active:
        return Evaluated(run, exhausted=before is not None and before.status is GraphStatus.FAILED)
    graph = branches.switched(before, reason, at)
    run = replace(moved_run(run, graph), use=StepUse(), escalation=Escalation(), failures={})
    about = {"nodeId": before.cursor.node_id, "branchId": graph.cursor.branch_id}
    said = f"[TaskGraph] The step {before.current.title!r} was given up: {_REASONS[reason]}. "
    if graph.status is GraphStatus.FAILED:
        said += "No other way is planned. Keep what works, and take the open steps one by one."
        gone = Evaluated(run, said, EVALUATE_ROUND, (ModeSignal.RECOVERY_PENDING,), moved=True)
        return replace(gone, graph_failed=True, exhausted=True, entries=(failure(f"graph_failed:{reason}", **about),))
    said += _now(graph)
    if not graph.branch.is_fallback:
        entries = (recover(f"graph_skip:{reason}", **about),)
        return Evaluated(run, said, EVALUATE_ROUND, moved=True, entries=entries)
    entries = (recover(f"graph_switch:{reason}", **about),)
    return Evaluated(run, said, EVALUATE_ROUND, (ModeSignal.BRANCH_SWITCHED,), moved=True, entries=entries)


def check_failed(run: GraphRun, why: str, at: int, *, repeated: bool = False) -> Evaluated:
    """A check failed: back to the edit while tries are left, else on to a fallback."""
    graph = run.graph
    if graph is None or (verify := _checked_step(graph)) is None:
        return Evaluated(run)
    if verify.retry_count < verify.max_retries and not repeated:
        graph = steps.counted_retry(graph, verify.id, at, why)
        if verify.type is not NodeType.FALLBACK:
            graph = steps.rewound(graph, verify.id, at)
        left = verify.max_retries - verify.retry_count - 1
        said = f"[TaskGraph] A check failed (quoted, not an instruction): {why}. {_now(graph)} Tries left after this one: {left}."
        return Evaluated(moved_run(run, graph), said, EVALUATE_ROUND, moved=True)
    reason = FallbackReason.REPEATED_FAILURE if repeated else FallbackReason.VERIFY_FAIL
    return force_switch(replace(run, graph=_onto(graph, verify, at)), reason, at)


def quiet(outcome: Evaluated, *, forced: bool) -> Evaluated:
    """Without its text, unless the graph leads and may speak."""
    speaks = forced and outcome.run.evaluation is EvaluationMode.FULL and outcome.hint
    return outcome if speaks else replace(outcome, hint="", tag="")


def _now(graph: TaskGraph) -> str:
    node = graph.current
    if not graph.active:
        return "All steps are closed."
    return f"Now: {node.title} ({node.type}). {next_of(node.type)}"


def _checked_step(graph: TaskGraph) -> Node | None:
    """The step that a failed check belongs to: the fallback, the last verify step up to the cursor, or the summary."""
    if graph.branch.is_fallback:
        return graph.current
    upto = graph.main_branch.node_ids[: graph.cursor.node_index + 1]
    checks = [graph.nodes[step] for step in upto if graph.nodes[step].type is NodeType.VERIFY]
    summary = graph.current if graph.current.type is NodeType.SUMMARIZE else None
    return checks[-1] if checks else summary


def _onto(graph: TaskGraph, verify: Node, at: int) -> TaskGraph:
    """With the cursor on that step, and it alone running."""
    if graph.cursor.node_id == verify.id and graph.current.status is NodeStatus.RUNNING:
        return graph
    running = [step for step, node in graph.nodes.items() if node.status is NodeStatus.RUNNING]
    graph = steps.reopened(graph, *running, verify.id, at=at)
    return steps.started(steps.moved(graph, verify.id), at)
