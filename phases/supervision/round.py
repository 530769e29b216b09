"""A round from its beginning to its end: the decision of L1, what came of its calls, and what is counted after it (section 4).

In a healthy turn this module, L1, the ledger, the loop detectors and the observer are all that runs: the others are
entered where they have something to decide, which the conditions before their calls are for.
"""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import loops
from phases.supervision.branch_budget import BranchBudget, count_call, settle_all, settle_switch, update_failures
from phases.supervision.corrections import Correction
from phases.supervision.effects import LADDER_PIN, Effects, TimelineEntry, recovery_entry
from phases.supervision.enums import (
    CorrectionKind,
    ExecutionMode,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
    ToolClass,
)
from phases.supervision.execution_mode import (
    EXIT_FORCED,
    ModeContext,
    RuntimeState,
    apply_decision,
    evaluate_mode,
    is_forced,
    submit_signals,
)
from phases.supervision.execution_mode import count_round as mode_after_round
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round, without_verdict
from phases.supervision.gate import count_trigger
from phases.supervision.graph import Evaluated, GraphRun
from phases.supervision.graph_executor import has_pending_edit, is_active, pending_steps, track_call
from phases.supervision.graph_step import count_kept_back, evaluate_graph, make_first_graph, settle_recovery
from phases.supervision.messages import send_warning
from phases.supervision.observer import Observation, ObservedRound, observe_round
from phases.supervision.signals import Signal
from phases.supervision.state import Counts, KernelState, LastRound, Setting
from phases.supervision.work_ledger import GATE, after_action, after_gate
from phases.supervision.work_ledger import after_round as ledger_after_round


def start_round(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """Steps 1 to 3: the graph where one is due, then the decision on the execution mode."""
    state = replace(state, round=state.round + 1, budget_triggers=0)
    if setting.policy.first_round_graph and not state.graph_tried:
        state = make_first_graph(replace(state, graph_tried=True), setting, out)
    policy = setting.policy
    runtime = runtime_of(state, setting)
    mode = policy.mode if policy.mode_engine else SupervisorMode.OFF
    decision = evaluate_mode(
        ModeContext(mode, policy.floor, state.phase.phase, state.mode, runtime), setting.config.execution_mode
    )
    after, entries = apply_decision(state.mode, decision, round=state.round, config=setting.config.execution_mode)
    if entries:
        out.note(*entries)
    switched = after.execution_mode is not state.mode.execution_mode
    ledger = state.ledger
    # decision 58: the stable rounds vouch for these lines, else the same ones force the next round.
    if decision.kind == EXIT_FORCED:
        ledger = replace(ledger, diff_lines=0)
        state = replace(state, kept_back=0, graphs_failed=0)
    counts = _count_modes(state.counts, after.execution_mode, state.phase.phase, switched=switched)
    return replace(state, mode=after, ledger=ledger, resumed=False, counts=counts)


def record_result(state: KernelState, setting: Setting, call: Call, result: CallResult) -> tuple[KernelState, Action]:
    """What came of a call, taken in by all that count. In off it is counted, and nothing follows from it."""
    call = without_verdict(call) if result.undecided else call
    ledger, verified = after_action(state.ledger, call, result, state.round, setting.task.verify_commands)
    action, off = Action(call, result, verified), setting.policy.mode is SupervisorMode.OFF
    budget, counts = state.budget, off or is_forced(state.mode)
    # In free mode nothing new is counted: only what is there can be settled, and only a failure adds to it.
    if result.executed and (counts or result.failed or budget != BranchBudget(triggers=budget.triggers)):
        budget = count_call(budget, action, setting.config.branch_budget, enabled=counts, turn=state.round)
    if verified:
        budget = BranchBudget(triggers=budget.triggers)
    graph = _with_command(state.graph, action)
    if graph.graph is not None and result.executed:
        graph = track_call(graph, action, setting.task)
    after = replace(state, ledger=ledger, budget=budget, graph=graph)
    return (count_trigger(after) if budget.triggers > state.budget.triggers and not off else after), action


def end_round(
    state: KernelState, setting: Setting, turn: Round, out: Effects, verdict: GateVerdict | None = None
) -> tuple[KernelState, tuple[Signal, ...]]:
    """The end of a round, as L1 and the graph count it, with what the loop detectors raised for L2.

    What is submitted here is decided on before the next round.
    """
    if is_forced(state.mode) or state.kept_back:
        state = count_kept_back(state, setting, turn)
    state, signals = _look_for_loops(state, setting, turn, verdict, out)
    state, evaluated = _follow_graph(state, setting, turn, verdict, out)
    switched = ModeSignal.BRANCH_SWITCHED in evaluated.signals
    ledger, budget = state.ledger, state.budget
    if switched:
        budget = settle_switch(budget)
        out.triggers.append("branch_switch")
    if verdict:
        ledger = after_gate(ledger, verdict, turn.number)
        budget = settle_all(budget) if verdict.passed else update_failures(budget, GATE, verdict.failures)
    disturbed = switched or state.mode.recovery_pending
    ledger = ledger_after_round(ledger, turn, disturbed=disturbed, rules=setting.rules)
    mode = submit_signals(state.mode, *_tool_signals(turn), *evaluated.signals)
    bearing = evaluated.moved or any(action.ok for action in turn.actions)
    state = replace(
        state,
        ledger=ledger,
        budget=budget,
        mode=mode_after_round(mode, task_bearing=bearing),
        last=_last_round(turn, branch_switched=switched),
        open_files=turn.open_files,
    )
    return (settle_recovery(state, setting) if state.mode.recovery_pending else state), signals


def observe_end(
    state: KernelState, setting: Setting, turn: Round, loops: tuple[Signal, ...], out: Effects
) -> tuple[KernelState, Observation | None]:
    """The state once the observer has seen the round, with what it saw; None where that leaves nothing to decide for L2."""
    if not setting.policy.observer:
        return state, None
    seen = ObservedRound(
        turn,
        setting.task,
        state.ledger,
        branch_recover=state.budget_triggers > 0,
        budget_triggers=state.budget_triggers,
        force_takeover=state.force_takeover,
        loops=loops,
    )
    observed = observe_round(state.observer, seen, setting.config.triggers)
    if observed.entries:
        out.note(*observed.entries)
    state = replace(state, observer=observed.state, force_takeover=False)
    led = {state.phase.phase, state.shadow_phase.phase} != {SupervisorPhase.FREE}
    if observed.live or state.ledger.consecutive_failed_rounds or led:
        return state, observed
    out.unpinned.append(LADDER_PIN)
    return state, None


def _follow_graph(
    state: KernelState, setting: Setting, turn: Round, verdict: GateVerdict | None, out: Effects
) -> tuple[KernelState, Evaluated]:
    """What the round is to the graph. Without one, it is noted how far the work is."""
    if state.graph.graph is not None or verdict or not setting.policy.task_graph:
        return evaluate_graph(state, setting, turn, verdict, out)
    planned = len(setting.task.planned_files)
    run = replace(state.graph, open_files=turn.open_files, round=turn.number + 1, planned_files=planned)
    return replace(state, graph=run), Evaluated(run)


def _look_for_loops(
    state: KernelState, setting: Setting, turn: Round, verdict: GateVerdict | None, out: Effects
) -> tuple[KernelState, tuple[Signal, ...]]:
    """What the detectors say: a word first, then a block, then a signal for L2."""
    if not setting.policy.observer:
        return state, ()
    seen = loops.watch_round(state.loops, turn, setting.config.triggers, rules=setting.rules)
    hints, signals, submits = [seen.hint], seen.signals, seen.submit
    if verdict:
        seen = loops.watch_verdict(seen.state, verdict, turn.number, setting.config.triggers, rules=setting.rules)
        hints, signals, submits = [*hints, seen.hint], (*signals, *seen.signals), submits or seen.submit
    state = replace(state, loops=seen.state)
    text = "\n\n".join(hint for hint in hints if hint)
    if setting.policy.shadow:
        # decision 64: shadow says and keeps back nothing.
        out.note(*([TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_say:loop")] if text else []))
        return state, signals
    if text:
        out.note(recovery_entry("loop_hint", text=text[:400]))
        state = send_warning(state, setting, Correction(CorrectionKind.RECOVERY, text), out)
    mode = submit_signals(state.mode, ModeSignal.LOOP_DETECTED) if submits else state.mode
    return replace(state, blocked=seen.blocked, mode=mode), signals


def _tool_signals(turn: Round) -> tuple[ModeSignal, ...]:
    # decision 56: a check that fails is how work goes, and no failure of a tool.
    failed = [action for action in turn.actions if action.result.executed and action.result.failed]
    return (ModeSignal.TOOL_FAILURE,) if any(not action.call.checks for action in failed) else ()


def _count_modes(counts: Counts, mode: ExecutionMode, phase: SupervisorPhase, *, switched: bool) -> Counts:
    rounds = {**counts.phase_rounds, phase.value: counts.phase_rounds.get(phase.value, 0) + 1}
    forced_now = mode is ExecutionMode.FORCED
    return replace(
        counts,
        free_rounds=counts.free_rounds + (not forced_now),
        forced_rounds=counts.forced_rounds + forced_now,
        mode_switches=counts.mode_switches + switched,
        phase_rounds=rounds,
    )


def _with_command(run: GraphRun, action: Action) -> GraphRun:
    """Counted with a graph and without one: what is left to do follows from it where none leads."""
    if not action.ok or action.result.background:
        return run
    if action.call.tool_class is ToolClass.WRITE:
        return replace(run, command_passed=False)
    return replace(run, command_passed=True) if action.call.tool_class is ToolClass.EXEC else run


def runtime_of(state: KernelState, setting: Setting) -> RuntimeState:
    """The run as L1 sees it (section 5.1)."""
    drives = setting.policy.task_graph and state.graph.graph is not None and is_active(state.graph)
    return RuntimeState(
        round=state.round,
        task_graph_active=drives,
        pending_step_count=pending_steps(state.graph) if drives else 0,
        write_targets=state.last.write_targets,
        planned_write_targets=state.last.planned_write_targets,
        accumulated_diff_lines=state.ledger.diff_lines,
        branch_switched=state.last.branch_switched,
        checkpoint_resumed=state.resumed,
        last_tool_success=state.last.tool_success,
        recovery_pending=state.mode.recovery_pending,
        branch_debt=len(state.budget.in_debt),
        stable_rounds=state.ledger.stable_rounds,
        edit_step_open=drives and has_pending_edit(state.graph),
        tool_classes=state.last.tool_classes,
        files_changed=state.ledger.files_changed,
        consecutive_failures=state.ledger.consecutive_failed_rounds,
        manifest_touched=state.ledger.manifest_touched,
        irreversible=state.last.irreversible,
    )


def _last_round(turn: Round, *, branch_switched: bool) -> LastRound:
    """What is kept of a round for the next decision."""
    done = [action for action in turn.actions if action.result.executed]
    failed = [action for action in done if action.result.failed and not action.call.checks]
    skipped = [action for action in turn.actions if not action.result.executed]
    return LastRound(
        branch_switched=branch_switched,
        write_targets=len({path for action in done if not action.result.failed for path in action.result.changed}),
        planned_write_targets=len(
            {action.call.path for action in skipped if action.call.tool_class is ToolClass.WRITE}
        ),
        tool_success=not done or len(failed) < len(done),
        tool_classes=tuple(sorted({action.call.tool_class for action in turn.actions})),
        irreversible=any(action.call.rollback for action in turn.actions),
    )
