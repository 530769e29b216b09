"""The facade: the one thing of the kernel that an agent loop talks to. It holds the state, and does nothing by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from phases.supervision.context import context_of
from phases.supervision.effects import Effects, TimelineEntry, failure_entry
from phases.supervision.enums import FAULTS, GateAction, ModeSignal, SupervisorPhase, TimelineEvent
from phases.supervision.execution_mode import ModeState, is_forced, submit_signals
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round
from phases.supervision.gate import GateDecision, gate_call, refusal_text
from phases.supervision.l2_phases import PhaseState
from phases.supervision.l2_step import step_l2
from phases.supervision.round import end_round, observe_end, record_result, send_hint, start_round
from phases.supervision.state import KernelState, Setting
from phases.supervision.workspace_snapshot import DiskFacts

T = TypeVar("T")


class SupervisorBridge:
    """One run under supervision. A round is: begin, then for each call gate and record, then end."""

    def __init__(self, setting: Setting, disk: Callable[[], DiskFacts]) -> None:
        """`disk` is asked what stands in the workspace, when a takeover begins."""
        self.setting, self._disk = setting, disk
        self.state = KernelState()
        self._actions: list[Action] = []
        self._out = Effects()
        self._context: str | None = None
        self._lines: list[dict[str, Any]] = []
        self._seq = 0

    @property
    def on(self) -> bool:
        """Whether anything may be said, kept back or written down."""
        return self.setting.policy.auto_decision

    def begin(self) -> str:
        """Decides on the mode of the next round, once, and says what the model is told for that round alone."""
        if self._context is None:
            self._context = ""
            out = Effects()
            self._step(lambda: start_round(self.state, self.setting, out))
            self._note(out)
            if (
                self.state.graph.graph is not None or self.state.phase.phase is not SupervisorPhase.FREE
            ):  # else nobody leads
                self._context = self._guarded(lambda: context_of(self.state, self.setting), "")
        return self._context

    @property
    def is_forced(self) -> bool:
        """Whether calls of this round may be kept back."""
        return is_forced(self.state.mode)

    def gate(self, call: Call) -> str:
        """Why a call must not be executed, as its result; empty where it may. What else there is to say comes with the end."""
        if not call.rollback and not is_forced(self.state.mode):  # free mode keeps nothing back
            return ""
        let = self.state, GateDecision(GateAction.EXECUTE)
        self.state, decision = self._guarded(lambda: gate_call(self.state, self.setting, call, self._out), let)
        self._note(self._out)
        return "" if decision.action is GateAction.EXECUTE else refusal_text(decision.reason)

    def record(self, call: Call, result: CallResult) -> None:
        """Takes in what came of a call, also of one that was kept back."""
        unseen = self.state, Action(call, result)
        self.state, action = self._guarded(lambda: record_result(self.state, self.setting, call, result), unseen)
        self._actions.append(action)

    def end(self, turn: Round, verdict: GateVerdict | None = None) -> Effects:
        """Ends a round; `turn` brings what is not of single calls. Says what is to be told to the model, and whether to stop."""
        out, turn = self._out, replace(turn, number=self.state.round, actions=tuple(self._actions))
        self._out, self._actions, self._context = Effects(), [], None
        self._step(lambda: end_round(self.state, self.setting, turn, out, verdict))
        self._note(out)
        # Nobody leads work that is done, or that stops here.
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
        """The run was cut off, or stopped, and goes on: what was accumulated goes, and L1 looks closely."""
        state = self.state
        # decision 54: a resume is a person's word, so what counted against the work begins anew.
        if state.stopped:
            allowed = state.rollback_asked
            state = replace(self._anew(), rollback_allowed=allowed, mode=ModeState())
        mode = submit_signals(state.mode, ModeSignal.CHECKPOINT_RESUMED) if self.on else state.mode
        self._context = None
        self.state = replace(state, resumed=self.on, mode=mode, observer=replace(state.observer, live=()))
        self._entry(failure_entry("checkpoint_resumed"))

    def set_to(self, setting: Setting) -> None:
        """Goes on with other settings: what is counted stays, what was decided is decided anew."""
        self.setting, self.state, self._context = setting, self._anew(), None

    def _anew(self) -> KernelState:
        """The state with the history of the run, and without what it was supervised for."""
        old, phase = self.state, self.state.phase
        ledger = replace(old.ledger, recent_failures=(), stable_rounds=0)
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
        """The user asks for a takeover after the next round."""
        self.state = replace(self.state, force_takeover=True)

    def timed_out(self, which: str) -> None:
        self._entry(TimelineEntry(TimelineEvent.TIMEOUT, which))

    def lines(self) -> list[dict[str, Any]]:
        """The lines for the event log since this was asked last."""
        lines, self._lines = self._lines, []
        return lines

    def _step(self, step: Callable[[], KernelState]) -> bool:
        """The state after a step. One that fails is logged, and leaves the state as it was: supervision may err, work goes on."""
        before = self.state
        self.state = self._guarded(step, before)
        return self.state is not before

    def _guarded(self, step: Callable[[], T], instead: T) -> T:
        try:
            return step()
        # decision 63: supervision may err, the work under it must not; what is no mistake is not caught.
        except FAULTS as error:
            self._entry(failure_entry("kernel_error", error=f"{type(error).__name__}: {error}"[:200]))
            return instead

    def _note(self, out: Effects) -> None:
        for entry in out.entries:
            self._entry(entry)
        out.entries.clear()

    def _entry(self, entry: TimelineEntry) -> None:
        if self.on and self.setting.config.event_timeline.enabled:
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
