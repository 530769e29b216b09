"""Calls that go round in circles, seen early (section 14): a word first, then a block, then L2; never a stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.config import Triggers
from phases.supervision.facts import Action, GateVerdict, Round
from phases.supervision.ledger import about
from phases.supervision.phases import Signal
from phases.supervision.plateaus import Plateau, after_actions, after_verdict, escalated
from phases.supervision.rules import RULES
from phases.supervision.texts import cycle_hint, cycle_refusal, plateau_hint, plateau_refusal
from phases.supervision.words import DeviationSignal

_WINDOW, _LONGEST_PERIOD = 25, 5
_MOST_CYCLES = 5
HINTED, BLOCKED, TOLD = 1, 2, 3
"""How far the answer to one loop has gone."""


@dataclass(frozen=True)
class Mark:
    """A call with its result. What changed its result made progress."""

    signature: str
    digest: str
    label: str
    """For a text."""


@dataclass(frozen=True)
class Cycle:
    """One loop that was seen, until a file changes by another call or its calls are long past."""

    signatures: tuple[str, ...]
    """Of its calls, sorted, each once."""
    period: int
    repeats: int
    stage: int
    at: int
    """How many calls the run had when the stage was reached."""
    lifted: bool = False
    """Another command ended well since, and may have changed what nobody looks at: the block waits for the next repeat."""


@dataclass(frozen=True)
class LoopState:
    """What the detectors remember."""

    marks: tuple[Mark, ...] = ()
    """Of the last 25 calls."""
    calls: int = 0
    cycles: tuple[Cycle, ...] = ()
    plateaus: Mapping[str, Plateau] = field(default_factory=dict)
    """Verify command -> how it fails."""


@dataclass(frozen=True)
class Watched:
    """What the detectors say after a round."""

    state: LoopState
    hint: str = ""
    """For the model."""
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Signature of a call -> why it is kept back from now on."""
    signals: tuple[Signal, ...] = ()
    """For L2."""
    submit: bool = False
    """L1 must know (LOOP_DETECTED): only forced mode keeps calls back."""


def watch(state: LoopState, turn: Round, triggers: Triggers, *, rules: int = RULES) -> Watched:
    """The detectors after a round: at most one step up for each loop, as the model has to read a hint before it can heed it."""
    for action in turn.actions:
        state = _marked(state, action)
    plateaus, grown = after_actions(state.plateaus, turn.actions)
    state = replace(state, plateaus=plateaus)
    state, cycle = _cycled(state, triggers)
    return _watched(state, cycle, grown, turn.number, triggers, rules)


def gate_failed(
    state: LoopState, verdict: GateVerdict, turn: int, triggers: Triggers, *, rules: int = RULES
) -> Watched:
    """The detectors after the completion gate's word: its failures are those of one more verify command."""
    plateaus, grown = after_verdict(state.plateaus, verdict)
    return _watched(replace(state, plateaus=plateaus), None, grown, turn, triggers, rules)


def _marked(state: LoopState, action: Action) -> LoopState:
    call = action.call
    digest = action.result.digest
    if not action.result.executed:
        # What is kept back has the result that it had: to ask again is to repeat.
        digest = next((mark.digest for mark in reversed(state.marks) if mark.signature == call.signature), "")
    label = " ".join(f"{call.tool} {about(call)}".split())
    marks = (*state.marks, Mark(call.signature, digest, label))[-_WINDOW:]
    recent = {mark.signature for mark in marks}
    cycles = tuple(
        cycle
        for cycle in state.cycles
        if not recent.isdisjoint(cycle.signatures) and (not action.result.changed or call.signature in cycle.signatures)
    )
    if action.may_have_changed:
        cycles = tuple(
            replace(cycle, lifted=cycle.lifted or call.signature not in cycle.signatures) for cycle in cycles
        )
    return replace(state, marks=marks, calls=state.calls + 1, cycles=cycles)


def _cycled(state: LoopState, triggers: Triggers) -> tuple[LoopState, Cycle | None]:
    """The cycle that the last calls make, where it is new or went on for a whole period."""
    period, repeats = _repeated(state.marks, max(2, triggers.cycle_repeats))
    if not period or DeviationSignal.CYCLE in triggers.disabled:
        return state, None
    signatures = tuple(sorted({mark.signature for mark in state.marks[-period:]}))
    known = next((cycle for cycle in state.cycles if cycle.signatures == signatures), None)
    if known and state.calls - known.at < period:
        return state, None
    if known:
        repeats = max(repeats, known.repeats + 1)
        cycle = Cycle(signatures, period, repeats, min(known.stage + 1, TOLD), state.calls)
    else:
        cycle = Cycle(signatures, period, repeats, HINTED, state.calls)
    others = [other for other in state.cycles if other.signatures != signatures]
    return replace(state, cycles=(*others, cycle)[-_MOST_CYCLES:]), cycle


def _repeated(marks: tuple[Mark, ...], least: int) -> tuple[int, int]:
    """The shortest period of the last calls, with its repeats; zeros where there is none."""
    calls = [(mark.signature, mark.digest) for mark in reversed(marks)]
    for period in range(1, _LONGEST_PERIOD + 1):
        same = next(
            (at for at in range(len(calls) - period) if calls[at] != calls[at + period]), max(0, len(calls) - period)
        )
        if (same + period) // period >= least:
            return period, (same + period) // period
    return 0, 0


def _watched(
    state: LoopState, cycle: Cycle | None, grown: tuple[str, ...], turn: int, triggers: Triggers, rules: int
) -> Watched:
    plateaus, stepped = escalated(state.plateaus, grown, triggers)
    state = replace(state, plateaus=plateaus)
    hints, signals, stages = [], [], [plateaus[command].stage for command in stepped]
    if cycle:
        stages.append(cycle.stage)
        if cycle.stage == HINTED:
            labels = list(dict.fromkeys(mark.label for mark in state.marks[-cycle.period :]))
            hints.append(cycle_hint(labels, cycle.repeats))
        if cycle.stage == TOLD:
            signals.append(Signal(DeviationSignal.CYCLE, cycle.repeats, turn, f"period {cycle.period}"))
    for command in stepped:
        plateau = plateaus[command]
        if plateau.stage == HINTED:
            hints.append(plateau_hint(command, plateau.failures, plateau.count, rules=rules))
        if plateau.stage == TOLD:
            signals.append(Signal(DeviationSignal.ERROR_PLATEAU, plateau.count, turn, command))
    return Watched(
        state, "\n\n".join(hints), _blocked(state), tuple(signals), any(stage >= BLOCKED for stage in stages)
    )


def _blocked(state: LoopState) -> dict[str, str]:
    reasons = {
        signature: plateau_refusal(plateau.count)
        for plateau in state.plateaus.values()
        if plateau.stage >= BLOCKED and not plateau.written and not plateau.lifted
        for signature in plateau.signatures
    }
    for cycle in state.cycles:
        if cycle.stage >= BLOCKED and not cycle.lifted:
            reasons.update(dict.fromkeys(cycle.signatures, cycle_refusal(cycle.repeats)))
    return reasons
