"""The facade: the one thing of the kernel that an agent loop talks to. It holds the state, and does nothing by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from phases.agent.supervision import observer
from phases.agent.supervision.constraints import cleared_recovery
from phases.agent.supervision.facts import Action, Call, GateVerdict, Result, Round
from phases.agent.supervision.gate import skipped_text
from phases.agent.supervision.gating import context_of, gated, recorded
from phases.agent.supervision.leading import led
from phases.agent.supervision.mode import submit
from phases.agent.supervision.outbox import Outbox
from phases.agent.supervision.phases import PhaseState
from phases.agent.supervision.recovery_budget import RecoveryBudget
from phases.agent.supervision.rounds import begun, closed
from phases.agent.supervision.state import KernelState, Setting
from phases.agent.supervision.timeline import Entry, failure
from phases.agent.supervision.words import FAULTS, GateAction, ModeSignal, SupervisorMode
from phases.agent.supervision.workspace import DiskFacts


class SupervisorBridge:
    """One run under supervision. A round is: begin, then for each call gate and record, then end."""

    def __init__(self, setting: Setting, disk: Callable[[], DiskFacts]) -> None:
        """`disk` is asked what stands in the workspace, when a takeover begins."""
        self.setting, self._disk = setting, disk
        self.state = KernelState()
        self._actions: list[Action] = []
        self._out = Outbox()
        self._context: str | None = None
        self._lines: list[dict[str, Any]] = []
        self._seq = 0

    @property
    def on(self) -> bool:
        """Whether anything may be said, kept back or written down."""
        return self.setting.policy.mode is not SupervisorMode.OFF

    def begin(self) -> str:
        """Decides on the mode of the next round, once, and says what the model is told for that round alone."""
        if self._context is None:
            out = Outbox()
            self.state = begun(self.state, self.setting, out)
            self._note(out)
            self._context = context_of(self.state, self.setting)
        return self._context

    def gate(self, call: Call) -> str:
        """Why a call must not be executed, as its result; empty where it may. What else there is to say comes with the end."""
        self.state, decision = gated(self.state, self.setting, call, self._out)
        self._note(self._out)
        return "" if decision.action is GateAction.EXECUTE else skipped_text(decision.reason)

    def record(self, call: Call, result: Result) -> None:
        """Takes in what came of a call, also of one that was kept back."""
        self.state, action = recorded(self.state, self.setting, call, result)
        self._actions.append(action)

    def end(self, turn: Round, verdict: GateVerdict | None = None) -> Outbox:
        """Ends a round; `turn` brings what is not of single calls. Says what is to be told to the model, and whether to stop."""
        out, turn = self._out, replace(turn, number=self.state.round, actions=tuple(self._actions))
        self._out, self._actions, self._context = Outbox(), [], None
        state, signals = closed(self.state, self.setting, turn, out, verdict)
        self._note(out)
        lead = Outbox()
        try:
            if not out.stop:
                state = led(state, self.setting, turn, signals, self._disk, lead)
            self.state = state
            out.add(lead)
        except FAULTS as error:  # L2 may fail; then the work goes on as if it had decided nothing
            self.state = state
            out.note(failure("kernel_error", error=f"{type(error).__name__}: {error}"[:200]))
        if out.stop:
            self.state = replace(self.state, stopped=out.stop.reason)
        self._note(out)
        return out

    def resumed(self) -> None:
        """The run was cut off, or stopped, and goes on: what was accumulated goes, and L1 looks closely."""
        state = self.state
        if state.stopped:  # a person looked at it: everything that counted against the work begins anew
            state = replace(
                state,
                phase=PhaseState(takeovers=state.phase.takeovers, handoffs=state.phase.handoffs),
                recovery=RecoveryBudget(),
                recovery_failed=False,
                loops=type(state.loops)(),
                blocked={},
                observer=observer.clear(state.observer),
                ledger=replace(state.ledger, consecutive_failed_rounds=0, recent_failures=()),
                mode=cleared_recovery(state.mode),
                stopped=None,
            )
        mode = submit(state.mode, ModeSignal.CHECKPOINT_RESUMED) if self.on else state.mode
        self.state = replace(state, resumed=self.on, mode=mode, observer=observer.without_signals(state.observer))
        self._entry(failure("checkpoint_resumed"))

    def set_to(self, setting: Setting) -> None:
        """Goes on with other settings: what is counted stays, what was decided is decided anew."""
        fresh = KernelState()
        self.setting = setting
        self.state = replace(
            fresh,
            round=self.state.round,
            ledger=self.state.ledger,
            observer=self.state.observer,
            corrections=self.state.corrections,
            counts=self.state.counts,
            open_files=self.state.open_files,
        )

    def take_over(self) -> None:
        """The user asks for a takeover after the next round."""
        self.state = replace(self.state, force_takeover=True)

    def lines(self) -> list[dict[str, Any]]:
        """The lines for the event log since this was asked last."""
        lines, self._lines = self._lines, []
        return lines

    def _note(self, out: Outbox) -> None:
        for entry in out.entries:
            self._entry(entry)
        out.entries.clear()

    def _entry(self, entry: Entry) -> None:
        if not self.on or not self.setting.config.event_timeline.enabled:
            return
        self._seq += 1
        self._lines.append({**_line(entry, self.state, self.setting), "seq": self._seq})


def _line(entry: Entry, state: KernelState, setting: Setting) -> dict[str, Any]:
    payload: Mapping[str, Any] = entry.payload
    return {
        "round": state.round,
        "mode": setting.policy.mode.value,
        "phase": state.phase.phase.value,
        "executionMode": state.mode.execution_mode.value,
        "event": entry.event.value,
        "reason": entry.reason,
        "payload": dict(payload),
    }
