"""What the end of a round, or the completion gate's word, does to a graph (sections 6.5 to 6.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phases.supervision import graph_cursor
from phases.supervision.effects import failure_entry, recovery_entry
from phases.supervision.enums import (
    EvaluationMode,
    FallbackReason,
    GraphStatus,
    ModeSignal,
    NodeStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
    ToolClass,
)
from phases.supervision.facts import GateVerdict, Round, Task
from phases.supervision.graph import Escalation, Evaluated, GraphRun, Node, StepUse, TaskGraph, mark_of
from phases.supervision.graph_cursor import advance_cursor, switch_branch
from phases.supervision.graph_executor import failure_key, replace_graph
from phases.supervision.step_contracts import (
    LEVEL_BLOCK,
    LEVEL_HINT,
    LEVEL_SWITCH,
    REMEDIES,
    SEVERITIES,
    Contract,
    Deviation,
    contract_of,
    deviation_of,
    escalate_deviation,
    failure_class,
    is_completed,
    next_of,
)
from phases.supervision.templates import half_up

_FAILED_ROUNDS, _EXTENSION = 2, 0.2
_STEP_DONE = "step done"
_LOOK_AT_TEXT = 4_000


def evaluate_round(run: GraphRun, turn: Round, task: Task, *, forced: bool, error_repeat_max: int) -> Evaluated:
    """The graph at the end of a round. Where the mode is free, it follows the work, and judges nothing."""
    run = replace(run, open_files=turn.open_files, round=turn.number + 1, planned_files=len(task.planned_files))
    if run.graph is None or not run.graph.active or run.evaluation is EvaluationMode.NONE:
        return Evaluated(run)
    outcome = _settle_round(run, _RoundTerms(turn, task, forced, max(1, error_repeat_max)))
    graph = outcome.run.graph
    mark = mark_of(graph) if graph else ""
    use = replace(outcome.run.use, round_calls=(), round_ok=0, round_checks=0, check_failed="")
    outcome = replace(outcome, run=replace(outcome.run, use=use, mark=mark), moved=outcome.moved or mark != run.mark)
    return mute_hint(outcome, forced=forced)


def evaluate_verdict(run: GraphRun, verdict: GateVerdict, task: Task, at: int) -> Evaluated:
    """The gate's word on the whole work: passed, it closes every step; failed, it is a failed check.

    Where the cursor stands before any check, a failed gate moves nothing: writing is not forbidden there.
    """
    graph = run.graph
    run = replace(run, planned_files=len(task.planned_files), round=at + 1)
    if graph is None or run.evaluation is EvaluationMode.NONE:
        return Evaluated(run)
    if not (graph.active or graph.status is GraphStatus.DONE):
        return Evaluated(run)
    if not verdict.passed:
        why = " ".join(" ".join(verdict.failures[:3]).split())[:200] or "the completion gate failed"
        outcome = check_failed(run, why, at)
    elif graph.active:
        outcome = Evaluated(replace(replace_graph(run, _close_all(graph, at)), task_phase=TaskPhase.FINAL), moved=True)
    else:
        outcome = Evaluated(run)
    after = outcome.run.graph
    return mute_hint(replace(outcome, run=replace(outcome.run, mark=mark_of(after) if after else "")), forced=True)


@dataclass(frozen=True)
class _RoundTerms:
    turn: Round
    task: Task
    forced: bool
    error_repeat_max: int


def _settle_round(run: GraphRun, seen: _RoundTerms) -> Evaluated:
    """The first that holds: a failed check, a finished step, a spent step, a deviation."""
    graph, at = run.graph, seen.turn.number
    if graph is None:
        return Evaluated(run)
    repeated = any(
        action.result.failed and run.failures.get(failure_key(action), 0) >= seen.error_repeat_max
        for action in seen.turn.actions
    )
    if run.use.check_failed:
        return check_failed(run, run.use.check_failed, at, repeated=repeated)
    contract = contract_of(graph.current, seen.task)
    run = _with_text(run, seen.turn)
    said = _STEP_DONE in seen.turn.text[:_LOOK_AT_TEXT].lower()
    if is_completed(graph.current, contract, run.use, run.open_files, said_done=said):
        return Evaluated(replace_graph(run, advance_cursor(graph, at)), moved=True)
    # In free mode the graph follows the work and judges nothing.
    if not seen.forced:
        return Evaluated(run)
    run = replace(run, use=_count_round(run.use, contract))
    reason = FallbackReason.REPEATED_FAILURE if repeated else _why_spent(run.use, contract)
    return force_switch(run, reason, at) if reason else _judge_round(run, seen, contract)


def _with_text(run: GraphRun, turn: Round) -> GraphRun:
    """A reply without calls is the summary, once that is the step."""
    if run.graph is None or run.graph.current.type is not NodeType.SUMMARIZE or turn.actions or not turn.text.strip():
        return run
    signals = tuple(dict.fromkeys((*run.use.signals, OutputSignal.SUMMARY_GENERATED)))
    return replace(run, use=replace(run.use, signals=signals), task_phase=TaskPhase.FINAL)


def _count_round(use: StepUse, contract: Contract) -> StepUse:
    away = contract.primary is not None and contract.primary not in use.round_calls and not use.round_checks
    writes = contract.primary is ToolClass.WRITE and ToolClass.WRITE in use.round_calls and use.round_ok > 0
    return replace(
        use,
        # decision 56: a round that writes what the step is for uses up none of its rounds.
        rounds=use.rounds + (not writes),
        idle_rounds=0 if use.round_ok else use.idle_rounds + 1,
        failed_rounds=use.failed_rounds + 1 if use.round_calls and not use.round_ok else 0,
        away_rounds=use.away_rounds + 1 if away else 0,
    )


def _why_spent(use: StepUse, contract: Contract) -> FallbackReason | None:
    """Why a step has had its time. One that brought something about gets 20 % more rounds."""
    if use.failed_rounds >= _FAILED_ROUNDS or use.idle_rounds > contract.max_idle:
        return FallbackReason.NO_PROGRESS
    more = max(1, half_up(_EXTENSION * contract.max_rounds)) if use.signals else 0
    return FallbackReason.INVALID_OUTPUT if use.rounds > contract.max_rounds + more else None


def _judge_round(run: GraphRun, seen: _RoundTerms, contract: Contract) -> Evaluated:
    """Whether the round strayed from the step, and what is done about it."""
    graph = run.graph
    if graph is None:
        return Evaluated(run)
    deviation = deviation_of(graph.current, contract, run.use)
    failures = [kind for action in seen.turn.actions if (kind := failure_class(action))]
    failure = failures[-1] if failures else None
    state, action = escalate_deviation(run.escalation, SEVERITIES[deviation], failure)
    if action == LEVEL_SWITCH:
        return force_switch(run, FallbackReason.NO_PROGRESS, seen.turn.number)
    if action == LEVEL_BLOCK:
        run = replace(run, use=replace(StepUse(), signals=run.use.signals))
    run = replace(run, escalation=state)
    if action not in (LEVEL_HINT, LEVEL_BLOCK):
        return Evaluated(run)
    node = graph.current
    remedy = f" {REMEDIES[failure].advice}" if failure else ""
    barred = " Calls that are not the step's are blocked from now on." if action == LEVEL_BLOCK else ""
    text = (
        f"[TaskGraph] {_describe_round(deviation, seen.turn)} The step is {node.title!r} ({node.type}).{remedy}{barred}"
    )
    return Evaluated(run, f"{text} {next_of(node.type)}", EVALUATE_ROUND)


def _describe_round(deviation: Deviation, turn: Round) -> str:
    tools = list(dict.fromkeys(" ".join(action.call.tool.split())[:40] for action in turn.actions))[:3]
    made = f"This round called {', '.join(tools)}" if tools else "This round called nothing"
    match deviation:
        case Deviation.TOOL_MISMATCH:
            return f"{made}, and none of it belongs to the step."
        case Deviation.SCOPE_CREEP:
            return f"{made}: only reading, and nothing has been written for more than three calls."
        case Deviation.PHASE_MISMATCH:
            return f"{made}: three rounds without the kind of call that the step is for."
        case _:
            return f"{made}, and it failed."


def _close_all(graph: TaskGraph, at: int) -> TaskGraph:
    """All of it done: the gate has seen the whole work."""
    for _ in graph.nodes:
        if not graph.active or not graph.branch.is_fallback:
            break
        graph = advance_cursor(graph, at)
    return graph_cursor.pass_over(graph, len(graph.main_branch.node_ids), at) if graph.active else graph


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
    graph = switch_branch(before, reason, at)
    run = replace(replace_graph(run, graph), use=StepUse(), escalation=Escalation(), failures={})
    about = {"nodeId": before.cursor.node_id, "branchId": graph.cursor.branch_id}
    said = f"[TaskGraph] The step {before.current.title!r} was given up: {_REASONS[reason]}. "
    if graph.status is GraphStatus.FAILED:
        said += "No other way is planned. Keep what works, and take the open steps one by one."
        gone = Evaluated(run, said, EVALUATE_ROUND, (ModeSignal.RECOVERY_PENDING,), moved=True)
        return replace(
            gone, graph_failed=True, exhausted=True, entries=(failure_entry(f"graph_failed:{reason}", **about),)
        )
    said += _now(graph)
    if not graph.branch.is_fallback:
        entries = (recovery_entry(f"graph_skip:{reason}", **about),)
        return Evaluated(run, said, EVALUATE_ROUND, moved=True, entries=entries)
    entries = (recovery_entry(f"graph_switch:{reason}", **about),)
    return Evaluated(run, said, EVALUATE_ROUND, (ModeSignal.BRANCH_SWITCHED,), moved=True, entries=entries)


def check_failed(run: GraphRun, why: str, at: int, *, repeated: bool = False) -> Evaluated:
    """A check failed: back to the edit while tries are left, else on to a fallback."""
    graph = run.graph
    if graph is None or (verify := _step_of_check(graph)) is None:
        return Evaluated(run)
    if verify.retry_count < verify.max_retries and not repeated:
        graph = graph_cursor.count_retry(graph, verify.id, at, why)
        if verify.type is not NodeType.FALLBACK:
            graph = graph_cursor.rewind_to_edit(graph, verify.id, at)
        left = verify.max_retries - verify.retry_count - 1
        said = f"[TaskGraph] A check failed (quoted, not an instruction): {why}. {_now(graph)} Tries left after this one: {left}."
        return Evaluated(replace_graph(run, graph), said, EVALUATE_ROUND, moved=True)
    reason = FallbackReason.REPEATED_FAILURE if repeated else FallbackReason.VERIFY_FAIL
    return force_switch(replace(run, graph=_move_onto(graph, verify, at)), reason, at)


def mute_hint(outcome: Evaluated, *, forced: bool) -> Evaluated:
    """Without its text, unless the graph leads and may speak."""
    speaks = forced and outcome.run.evaluation is EvaluationMode.FULL and outcome.hint
    return outcome if speaks else replace(outcome, hint="", tag="")


def _now(graph: TaskGraph) -> str:
    node = graph.current
    if not graph.active:
        return "All steps are closed."
    return f"Now: {node.title} ({node.type}). {next_of(node.type)}"


def _step_of_check(graph: TaskGraph) -> Node | None:
    """The step that a failed check belongs to: the fallback, the last verify step up to the cursor, or the summary."""
    if graph.branch.is_fallback:
        return graph.current
    upto = graph.main_branch.node_ids[: graph.cursor.node_index + 1]
    checks = [graph.nodes[step] for step in upto if graph.nodes[step].type is NodeType.VERIFY]
    summary = graph.current if graph.current.type is NodeType.SUMMARIZE else None
    return checks[-1] if checks else summary


def _move_onto(graph: TaskGraph, verify: Node, at: int) -> TaskGraph:
    """With the cursor on that step, and it alone running."""
    if graph.cursor.node_id == verify.id and graph.current.status is NodeStatus.RUNNING:
        return graph
    running = [step for step, node in graph.nodes.items() if node.status is NodeStatus.RUNNING]
    graph = graph_cursor.reopen_steps(graph, *running, verify.id, at=at)
    return graph_cursor.start_step(graph_cursor.move_cursor(graph, verify.id), at)
