"""The facade of the kernel, and the steps of a round: the decision of L1, the results of calls, the end (section 4).

An agent loop talks to `SupervisorBridge` alone. A healthy turn runs this module, L1, the ledger, the loop detectors and the
observer; the other modules are entered only when they have something to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from phases.supervision.effects import Effects, TimelineEntry, failure_entry, recovery_entry
from phases.supervision.enums import (
    FAULTS,
    LED,
    CorrectionKind,
    ExecutionMode,
    GateAction,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
    ToolClass,
)
from phases.supervision.execution_mode import (
    EXIT_FORCED,
    ModeContext,
    ModeState,
    RuntimeState,
    apply_decision,
    evaluate_mode,
    is_forced,
    submit_signals,
)
from phases.supervision.execution_mode import count_round as mode_after_round
from phases.supervision.facts import (
    Action,
    Call,
    CallResult,
    DiskFacts,
    GateVerdict,
    Round,
    relative_paths,
    without_verdict,
)
from phases.supervision.gate import GateDecision, gate_call, open_refusals, refusal_text
from phases.supervision.graph import GraphRun, is_active
from phases.supervision.graph_executor import (
    Evaluated,
    evaluate_graph,
    has_pending_edit,
    make_first_graph,
    pending_steps,
    settle_recovery,
    track_call,
)
from phases.supervision.observer import Observation, ObservedRound, observe_round
from phases.supervision.progress import (
    begin_round,
    count_action,
    count_round,
    count_verdict,
    settle_switch,
    settle_verified,
)
from phases.supervision.state import Counts, KernelState, LastRound, PhaseState, Setting
from phases.supervision.takeover import step_l2
from phases.supervision.wording import context_of, hint_text, next_action, send_text
from phases.supervision.work_ledger import after_action, after_gate, check_fails
from phases.supervision.work_ledger import after_round as ledger_after_round

T = TypeVar("T")


class SupervisorBridge:
    """Supervise one run. A round is: begin, then gate and record for each call, then end."""

    def __init__(self, setting: Setting, disk: Callable[[], DiskFacts]) -> None:
        """`disk` returns the state of the workspace when a takeover begins."""
        self.setting, self._disk = setting, disk
        self.state = KernelState()
        self._actions: list[Action] = []
        self._out = Effects()
        self._context: str | None = None
        self._lines: list[dict[str, Any]] = []
        self._seq = 0

    @property
    def on(self) -> bool:
        """Return whether supervision may speak, refuse calls or log."""
        return self.setting.policy.auto_decision

    def begin(self) -> str:
        """Decide on the mode of the next round, once, and return the text that the model reads in that round alone."""
        if self._context is None:
            self._context = ""
            out = Effects()
            self._step(lambda: start_round(self.state, self.setting, out))
            self._note(out)
            led = self.state.phase.phase is not SupervisorPhase.FREE
            if led or self.state.graph.graph is not None:
                self._context = self._guarded(lambda: context_of(self.state, self.setting), "")
        return self._context

    @property
    def is_forced(self) -> bool:
        """Return whether calls of this round may be refused."""
        return is_forced(self.state.mode)

    def gate(self, call: Call) -> str:
        """Return why a call must not be executed, as its result; empty if it may be."""
        if not call.rollback and not is_forced(self.state.mode):  # free mode refuses nothing
            return ""
        let = self.state, GateDecision(GateAction.EXECUTE)
        self.state, decision = self._guarded(lambda: gate_call(self.state, self.setting, call, self._out), let)
        self._note(self._out)
        return "" if decision.action is GateAction.EXECUTE else refusal_text(decision.reason)

    def record(self, call: Call, result: CallResult) -> None:
        """Record the result of a call, also of a refused one."""
        unseen = self.state, Action(call, result)
        self.state, action = self._guarded(lambda: record_result(self.state, self.setting, call, result), unseen)
        self._actions.append(action)

    def end(self, turn: Round, verdict: GateVerdict | None = None) -> Effects:
        """End a round, and return what the model is told and whether to stop. `turn` holds what belongs to no single call."""
        out, turn = self._out, replace(turn, number=self.state.round, actions=tuple(self._actions))
        self._out, self._actions, self._context = Effects(), [], None
        self._step(lambda: end_round(self.state, self.setting, turn, out, verdict))
        self._note(out)
        # No takeover of work that is done, or that stops here.
        if not out.stop and not (verdict and verdict.passed):
            lead = Effects()
            if self._step(lambda: self._supervise(turn, lead)):
                _add_effects(out, lead)
        if out.stop:
            self.state = replace(self.state, stopped=out.stop.reason)
        self._note(out)
        return out

    def _supervise(self, turn: Round, out: Effects) -> KernelState:
        before = self.state.observer
        state, observed = observe_end(self.state, self.setting, turn, out)
        if not observed:
            return state
        state = step_l2(state, self.setting, turn, observed, before, self._disk, out)
        return send_hint(state, self.setting, observed, out)

    def resumed(self) -> None:
        """Continue an interrupted or stopped run: accumulated signals are cleared, and L1 enters forced mode."""
        state = self.state
        # decision 54: a resume is the user's decision, so what counted against the work is cleared.
        if state.stopped:
            allowed = state.rollback_asked
            state = replace(self._anew(), rollback_allowed=allowed, mode=ModeState())
        mode = submit_signals(state.mode, ModeSignal.CHECKPOINT_RESUMED) if self.on else state.mode
        self._context = None
        self.state = replace(state, resumed=self.on, mode=mode, observer=replace(state.observer, live=()))
        self._entry(failure_entry("checkpoint_resumed"))

    def set_to(self, setting: Setting) -> None:
        """Continue with other settings: counts stay, decisions are made again."""
        self.setting, self.state, self._context = setting, self._anew(), None

    def _anew(self) -> KernelState:
        """Return the state with the run's history, but without what it was supervised for."""
        old, phase = self.state, self.state.phase
        ledger = replace(old.ledger, stable_rounds=0)
        return KernelState(
            round=old.round,
            ledger=ledger,
            phase=PhaseState(takeovers=phase.takeovers, handoffs=phase.handoffs),
            counts=old.counts,
            open_files=old.open_files,
            next_file=old.next_file,
            force_takeover=old.force_takeover,
        )

    def take_over(self) -> None:
        """Request a takeover after the next round."""
        self.state = replace(self.state, force_takeover=True)

    def timed_out(self, which: str) -> None:
        self._entry(TimelineEntry(TimelineEvent.TIMEOUT, which))

    def lines(self) -> list[dict[str, Any]]:
        """Return the event log lines since the last call."""
        lines, self._lines = self._lines, []
        return lines

    def _step(self, step: Callable[[], KernelState]) -> bool:
        """Take a step, and return whether it changed the state. A failed step is logged and changes nothing."""
        before = self.state
        self.state = self._guarded(step, before)
        return self.state is not before

    def _guarded(self, step: Callable[[], T], instead: T) -> T:
        try:
            return step()
        # decision 63: supervision may fail, the work that it supervises must not; other exceptions are not caught.
        except FAULTS as error:
            self._entry(failure_entry("kernel_error", error=f"{type(error).__name__}: {error}"[:200]))
            return instead

    def _note(self, out: Effects) -> None:
        for entry in out.entries:
            self._entry(entry)
        out.entries.clear()

    def _entry(self, entry: TimelineEntry) -> None:
        if self.on:
            self._seq += 1
            self._lines.append({**_event_line(entry, self.state, self.setting), "seq": self._seq})


def _add_effects(out: Effects, more: Effects) -> None:
    out.entries += more.entries
    out.injections += more.injections
    out.stop = out.stop or more.stop
    out.snapshot = more.snapshot or out.snapshot
    out.triggers += more.triggers


def _event_line(entry: TimelineEntry, state: KernelState, setting: Setting) -> dict[str, Any]:
    return {
        "round": state.round,
        "mode": setting.policy.mode.value,
        "phase": state.phase.phase.value,
        "executionMode": state.mode.execution_mode.value,
        "event": entry.event.value,
        "reason": entry.reason,
        "payload": dict(entry.payload),
    }


def start_round(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """Take steps 1 to 3 of a round: the graph if one is due, then the decision on the execution mode."""
    state = replace(state, round=state.round + 1, progress=begin_round(state.progress))
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
    # decision 58: stable rounds count these lines as checked, or they would force the next round.
    if decision.kind == EXIT_FORCED:
        ledger = replace(ledger, diff_lines=0)
    counts = _count_modes(state.counts, after.execution_mode, state.phase.phase, switched=switched)
    return replace(state, mode=after, ledger=ledger, resumed=False, counts=counts)


def record_result(state: KernelState, setting: Setting, call: Call, result: CallResult) -> tuple[KernelState, Action]:
    """Return the state with a call's result, and the action. In off mode it is counted, and nothing follows from it."""
    call = without_verdict(call) if result.undecided else call
    ledger, verified = after_action(state.ledger, call, result, state.round, setting.task.verify_commands)
    action = Action(call, result, verified)
    progress = count_action(state.progress, action, state.round)
    if verified:
        progress = settle_verified(progress)
    graph = _with_command(state.graph, action)
    if graph.graph is not None and result.executed:
        graph = track_call(graph, action, setting.task)
    return replace(state, ledger=ledger, progress=progress, graph=graph), action


def end_round(
    state: KernelState, setting: Setting, turn: Round, out: Effects, verdict: GateVerdict | None = None
) -> KernelState:
    """Return the state at the end of a round, for L1 and the graph. Submitted signals are decided on before the next round."""
    progress = count_round(state.progress, turn, check_fails=check_fails(state.ledger))
    state, evaluated = _follow_graph(replace(state, progress=progress), setting, turn, verdict, out)
    switched = ModeSignal.BRANCH_SWITCHED in evaluated.signals
    ledger = state.ledger
    if switched:
        progress = settle_switch(progress)
        out.triggers.append("branch_switch")
    if verdict:
        # A refusal for what the machine lacks does not count against the work.
        ledger = ledger if verdict.limit else after_gate(ledger, verdict)
        progress = count_verdict(progress, verdict)
    ledger = ledger_after_round(ledger, turn, disturbed=switched or state.mode.recovery_pending)
    mode = submit_signals(state.mode, *_tool_signals(turn), *evaluated.signals)
    bearing = evaluated.moved or any(action.ok for action in turn.actions)
    state = replace(
        state,
        ledger=ledger,
        progress=progress,
        refused=tuple(name for name in state.refused if name in progress.fruitless),
        mode=mode_after_round(mode, task_bearing=bearing),
        last=_last_round(turn, branch_switched=switched),
        open_files=turn.open_files,
        next_file=turn.next_file,
    )
    return settle_recovery(state, setting) if state.mode.recovery_pending else state


def observe_end(
    state: KernelState, setting: Setting, turn: Round, out: Effects
) -> tuple[KernelState, Observation | None]:
    """Return the state after the observer, with the observation; None if L2 has nothing to decide."""
    if not setting.policy.observer:
        return state, None
    seen = ObservedRound(turn, setting.task, state.progress, force_takeover=state.force_takeover)
    observed = observe_round(state.observer, seen, setting.config.triggers)
    if observed.entries:
        out.note(*observed.entries)
    state = replace(state, observer=observed.state, force_takeover=False)
    if observed.now:
        state = _answer(state, setting, observed, out)
    led = {state.phase.phase, state.shadow_phase.phase} != {SupervisorPhase.FREE}
    return state, observed if observed.live or led else None


def _answer(state: KernelState, setting: Setting, observed: Observation, out: Effects) -> KernelState:
    """Request forced mode, which refuses calls, if the observer blocks; in shadow mode, log the hints."""
    if setting.policy.shadow:
        # decision 64: shadow mode neither speaks nor refuses.
        out.note(
            *(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:{signal.kind}") for signal in observed.hints)
        )
        return state
    return replace(state, mode=submit_signals(state.mode, ModeSignal.LOOP_DETECTED)) if observed.state.blocks else state


def send_hint(state: KernelState, setting: Setting, observed: Observation, out: Effects) -> KernelState:
    """Tell the model of the first new problem, after L2 has decided: a model that is led reads the lead block alone."""
    if not observed.hints or setting.policy.shadow or state.phase.phase in LED:
        return state
    text = hint_text(observed.hints[0], state.progress, state.ledger.assertion, next_action(state, setting))
    kinds = ",".join(signal.kind for signal in observed.hints)
    out.note(recovery_entry(f"hint:{kinds}", text=text, assertion=relative_paths(state.ledger.assertion)))
    return send_text(state, setting, CorrectionKind.RECOVERY, text, out)


def _follow_graph(
    state: KernelState, setting: Setting, turn: Round, verdict: GateVerdict | None, out: Effects
) -> tuple[KernelState, Evaluated]:
    if state.graph.graph is not None or verdict or not setting.policy.task_graph:
        return evaluate_graph(state, setting, turn, verdict, out)
    run = replace(state.graph, open_files=turn.open_files)
    return replace(state, graph=run), Evaluated(run)


def _tool_signals(turn: Round) -> tuple[ModeSignal, ...]:
    # decision 56: a failing check is normal work, and not a failure of a tool.
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
    """Return the run with whether a command passed since the last write, with or without a graph."""
    if not action.ok or action.result.background:
        return run
    if action.call.tool_class is ToolClass.WRITE:
        return replace(run, command_passed=False)
    return replace(run, command_passed=True) if action.call.tool_class is ToolClass.EXEC else run


def runtime_of(state: KernelState, setting: Setting) -> RuntimeState:
    """Return the run as L1 sees it (section 5.1)."""
    drives = setting.policy.task_graph and state.graph.graph is not None and is_active(state.graph)
    return RuntimeState(
        task_graph_active=drives,
        pending_step_count=pending_steps(state.graph) if drives else 0,
        write_targets=state.last.write_targets,
        planned_write_targets=state.last.planned_write_targets,
        accumulated_diff_lines=state.ledger.diff_lines,
        branch_switched=state.last.branch_switched,
        checkpoint_resumed=state.resumed,
        last_tool_success=state.last.tool_success,
        recovery_pending=state.mode.recovery_pending,
        branch_debt=open_refusals(state) if state.refused else 0,
        stable_rounds=state.ledger.stable_rounds,
        edit_step_open=drives and has_pending_edit(state.graph),
    )


def _last_round(turn: Round, *, branch_switched: bool) -> LastRound:
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
    )
