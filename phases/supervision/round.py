"""Around a round: the decision of L1 before it, the count of L1 and the graph after it (section 4)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import branch_budget, loops
from phases.supervision.corrections import Correction
from phases.supervision.effects import Effects, TimelineEntry, recovery_entry
from phases.supervision.enums import (
    CorrectionKind,
    ExecutionMode,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)
from phases.supervision.execution_mode import EXIT_FORCED, ModeContext, apply_decision, evaluate_mode, submit_signals
from phases.supervision.execution_mode import count_round as mode_after_round
from phases.supervision.facts import GateVerdict, Round
from phases.supervision.graph_step import count_kept_back, evaluate_graph, make_first_graph, settle_recovery
from phases.supervision.l2_phases import Signal
from phases.supervision.loops import GATE
from phases.supervision.messages import send_warning
from phases.supervision.state import Counts, KernelState, Setting, last_round, runtime_of
from phases.supervision.work_ledger import after_gate
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
    out.note(*entries)
    switched = after.execution_mode is not state.mode.execution_mode
    ledger = state.ledger
    if decision.kind == EXIT_FORCED:  # the stable rounds vouch for these lines: else the same ones force the next round
        ledger = replace(ledger, diff_lines=0)
        state = replace(state, kept_back=0, graphs_failed=0)
    counts = _count_modes(state.counts, after.execution_mode, state.phase.phase, switched=switched)
    return replace(state, mode=after, ledger=ledger, resumed=False, counts=counts)


def end_round(
    state: KernelState, setting: Setting, turn: Round, out: Effects, verdict: GateVerdict | None = None
) -> tuple[KernelState, tuple[Signal, ...]]:
    """The end of a round, as L1 and the graph count it, with what the loop detectors raised for L2.

    What is submitted here is decided on before the next round.
    """
    state = count_kept_back(state, setting, turn)
    state, signals = _look_for_loops(state, setting, turn, verdict, out)
    state, evaluated = evaluate_graph(state, setting, turn, verdict, out)
    switched = ModeSignal.BRANCH_SWITCHED in evaluated.signals
    ledger, budget = state.ledger, state.budget
    if switched:
        budget = branch_budget.settle_switch(budget)
        out.triggers.append("branch_switch")
    if verdict:
        ledger = after_gate(ledger, verdict, turn.number)
        passed, failures = branch_budget.settle_all(budget), verdict.failures
        budget = passed if verdict.passed else branch_budget.update_failures(budget, GATE, failures)
    disturbed = switched or state.mode.recovery_pending
    ledger = ledger_after_round(ledger, turn, disturbed=disturbed, rules=setting.rules)
    mode = submit_signals(state.mode, *_tool_signals(turn), *evaluated.signals)
    bearing = evaluated.moved or any(action.ok for action in turn.actions)
    state = replace(
        state,
        ledger=ledger,
        budget=budget,
        mode=mode_after_round(mode, task_bearing=bearing),
        last=last_round(turn, branch_switched=switched),
        open_files=turn.open_files,
    )
    return settle_recovery(state, setting), signals


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
        out.note(*([TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_say:loop")] if text else []))
        return state, signals
    if text:
        out.note(recovery_entry("loop_hint", text=text[:400]))
        state = send_warning(state, setting, Correction(CorrectionKind.RECOVERY, text), out)
    mode = submit_signals(state.mode, ModeSignal.LOOP_DETECTED) if submits else state.mode
    return replace(state, blocked=seen.blocked, mode=mode), signals


def _tool_signals(turn: Round) -> tuple[ModeSignal, ...]:
    """What the step gate submits. A check that fails is how work goes, and no failure of a tool."""
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
