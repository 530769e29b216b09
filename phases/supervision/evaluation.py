"""What the end of a round, or the completion gate's word, does to a graph (sections 6.5 to 6.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phases.supervision import branches, steps
from phases.supervision.complexity import half_up
from phases.supervision.contracts import Contract, completed, contract_of, next_of
from phases.supervision.counting import failure_key
from phases.supervision.escalation import (
    BLOCK,
    HINT,
    REMEDIES,
    SEVERITIES,
    SWITCH,
    Deviation,
    deviation_of,
    escalated,
    failure_class,
)
from phases.supervision.facts import GateVerdict, Round, Task
from phases.supervision.graph import TaskGraph
from phases.supervision.graph_run import Evaluated, GraphRun, StepUse, mark_of
from phases.supervision.switching import EVALUATE_ROUND, check_failed, force_switch, quiet
from phases.supervision.tracking import moved_run
from phases.supervision.words import (
    EvaluationMode,
    FallbackReason,
    GraphStatus,
    NodeType,
    OutputSignal,
    TaskPhase,
    ToolClass,
)

_FAILED_ROUNDS, _EXTENSION = 2, 0.2
_STEP_DONE = "step done"
_LOOK_AT_TEXT = 4_000


def evaluate_round(run: GraphRun, turn: Round, task: Task, *, forced: bool, error_repeat_max: int) -> Evaluated:
    """The graph at the end of a round. Where the mode is free, it follows the work, and judges nothing."""
    run = replace(run, open_files=turn.open_files, round=turn.number + 1, planned_files=len(task.planned_files))
    if run.graph is None or not run.graph.active or run.evaluation is EvaluationMode.NONE:
        return Evaluated(run)
    outcome = _settled(run, _Seen(turn, task, forced, max(1, error_repeat_max)))
    graph = outcome.run.graph
    mark = mark_of(graph) if graph else ""
    use = replace(outcome.run.use, round_calls=(), round_ok=0, round_checks=0, check_failed="")
    outcome = replace(outcome, run=replace(outcome.run, use=use, mark=mark), moved=outcome.moved or mark != run.mark)
    return quiet(outcome, forced=forced)


def after_gate(run: GraphRun, verdict: GateVerdict, task: Task, at: int) -> Evaluated:
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
        outcome = Evaluated(replace(moved_run(run, _closed(graph, at)), task_phase=TaskPhase.FINAL), moved=True)
    else:
        outcome = Evaluated(run)
    after = outcome.run.graph
    return quiet(replace(outcome, run=replace(outcome.run, mark=mark_of(after) if after else "")), forced=True)


@dataclass(frozen=True)
class _Seen:
    turn: Round
    task: Task
    forced: bool
    error_repeat_max: int


def _settled(run: GraphRun, seen: _Seen) -> Evaluated:
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
    if completed(graph.current, contract, run.use, run.open_files, said_done=said):
        return Evaluated(moved_run(run, branches.advanced(graph, at)), moved=True)
    if not seen.forced:
        return Evaluated(run)
    run = replace(run, use=_counted(run.use, contract))
    reason = FallbackReason.REPEATED_FAILURE if repeated else _spent(run.use, contract)
    return force_switch(run, reason, at) if reason else _judged(run, seen, contract)


def _with_text(run: GraphRun, turn: Round) -> GraphRun:
    """A reply without calls is the summary, once that is the step."""
    if run.graph is None or run.graph.current.type is not NodeType.SUMMARIZE or turn.actions or not turn.text.strip():
        return run
    signals = tuple(dict.fromkeys((*run.use.signals, OutputSignal.SUMMARY_GENERATED)))
    return replace(run, use=replace(run.use, signals=signals), task_phase=TaskPhase.FINAL)


def _counted(use: StepUse, contract: Contract) -> StepUse:
    away = contract.primary is not None and contract.primary not in use.round_calls and not use.round_checks
    writes = contract.primary is ToolClass.WRITE and ToolClass.WRITE in use.round_calls and use.round_ok > 0
    return replace(
        use,
        rounds=use.rounds + (not writes),  # else writing a file a round would be taken for a step that does not end
        idle_rounds=0 if use.round_ok else use.idle_rounds + 1,
        failed_rounds=use.failed_rounds + 1 if use.round_calls and not use.round_ok else 0,
        away_rounds=use.away_rounds + 1 if away else 0,
    )


def _spent(use: StepUse, contract: Contract) -> FallbackReason | None:
    """Why a step has had its time. One that brought something about gets 20 % more rounds."""
    if use.failed_rounds >= _FAILED_ROUNDS or use.idle_rounds > contract.max_idle:
        return FallbackReason.NO_PROGRESS
    more = max(1, half_up(_EXTENSION * contract.max_rounds)) if use.signals else 0
    return FallbackReason.INVALID_OUTPUT if use.rounds > contract.max_rounds + more else None


def _judged(run: GraphRun, seen: _Seen, contract: Contract) -> Evaluated:
    """Whether the round strayed from the step, and what is done about it."""
    graph = run.graph
    if graph is None:
        return Evaluated(run)
    deviation = deviation_of(graph.current, contract, run.use)
    failures = [kind for action in seen.turn.actions if (kind := failure_class(action))]
    failure = failures[-1] if failures else None
    state, action = escalated(run.escalation, SEVERITIES[deviation], failure)
    if action == SWITCH:
        return force_switch(run, FallbackReason.NO_PROGRESS, seen.turn.number)
    if action == BLOCK:
        run = replace(run, use=replace(StepUse(), signals=run.use.signals))
    run = replace(run, escalation=state)
    if action not in (HINT, BLOCK):
        return Evaluated(run)
    node = graph.current
    remedy = f" {REMEDIES[failure].advice}" if failure else ""
    barred = " Calls that are not the step's are blocked from now on." if action == BLOCK else ""
    text = f"[TaskGraph] {_evidence(deviation, seen.turn)} The step is {node.title!r} ({node.type}).{remedy}{barred}"
    return Evaluated(run, f"{text} {next_of(node.type)}", EVALUATE_ROUND)


def _evidence(deviation: Deviation, turn: Round) -> str:
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


def _closed(graph: TaskGraph, at: int) -> TaskGraph:
    """All of it done: the gate has seen the whole work."""
    for _ in graph.nodes:
        if not graph.active or not graph.branch.is_fallback:
            break
        graph = branches.advanced(graph, at)
    return steps.passed_over(graph, len(graph.main_branch.node_ids), at) if graph.active else graph
