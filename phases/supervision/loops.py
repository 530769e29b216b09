"""Calls that go round in circles, seen early (section 14): a word first, then a block, then L2; never a stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.bounded_map import put_bounded, without_keys
from phases.supervision.config import RULES, Triggers
from phases.supervision.enums import DeviationSignal
from phases.supervision.facts import Action, CallResult, GateVerdict, Round
from phases.supervision.signals import Signal
from phases.supervision.signatures import command_key
from phases.supervision.wording import cycle_hint, cycle_refusal, plateau_hint, plateau_refusal
from phases.supervision.work_ledger import GATE, describe_call

_WINDOW, _LONGEST_PERIOD = 25, 5
_MOST_CYCLES = 5
LOOP_SIGNALS = (DeviationSignal.CYCLE, DeviationSignal.ERROR_PLATEAU)
"""The signals that are raised here."""
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
    marks: tuple[Mark, ...] = ()
    """Of the last 25 calls."""
    calls: int = 0
    cycles: tuple[Cycle, ...] = ()
    plateaus: Mapping[str, Plateau] = field(default_factory=dict)
    """Verify command -> how it fails."""


@dataclass(frozen=True)
class LoopFindings:
    state: LoopState
    hint: str = ""
    """For the model."""
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Signature of a call -> why it is kept back from now on."""
    signals: tuple[Signal, ...] = ()
    """For L2."""
    submit: bool = False
    """L1 must know (LOOP_DETECTED): only forced mode keeps calls back."""


def watch_round(state: LoopState, turn: Round, triggers: Triggers, *, rules: int = RULES) -> LoopFindings:
    """The detectors after a round: at most one step up for each loop, as the model has to read a hint before it can heed it."""
    for action in turn.actions:
        state = _mark_call(state, action)
    plateaus, grown = after_actions(state.plateaus, turn.actions)
    state = replace(state, plateaus=plateaus)
    state, cycle = _find_cycle(state, triggers)
    return _collect_findings(state, cycle, grown, turn.number, triggers, rules)


def watch_verdict(
    state: LoopState, verdict: GateVerdict, turn: int, triggers: Triggers, *, rules: int = RULES
) -> LoopFindings:
    """The detectors after the completion gate's word: its failures are those of one more verify command."""
    plateaus, grown = after_verdict(state.plateaus, verdict)
    return _collect_findings(replace(state, plateaus=plateaus), None, grown, turn, triggers, rules)


def _mark_call(state: LoopState, action: Action) -> LoopState:
    call = action.call
    digest = action.result.digest
    if not action.result.executed:
        # What is kept back has the result that it had: to ask again is to repeat.
        digest = next((mark.digest for mark in reversed(state.marks) if mark.signature == call.signature), "")
    label = " ".join(f"{call.tool} {describe_call(call)}".split())
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


def _find_cycle(state: LoopState, triggers: Triggers) -> tuple[LoopState, Cycle | None]:
    """The cycle that the last calls make, where it is new or went on for a whole period."""
    period, repeats = _find_period(state.marks, max(2, triggers.cycle_repeats))
    if not period or DeviationSignal.CYCLE in triggers.disabled:
        return state, None
    signatures = tuple(sorted({mark.signature for mark in state.marks[-period:]}))
    known = next((cycle for cycle in state.cycles if cycle.signatures == signatures), None)
    # At most one step up a period: the model has to read a hint before it can heed it.
    if known and state.calls - known.at < period:
        return state, None
    repeats, stage = (max(repeats, known.repeats + 1), min(known.stage + 1, TOLD)) if known else (repeats, HINTED)
    cycle = Cycle(signatures, period, repeats, stage, state.calls)
    others = [other for other in state.cycles if other.signatures != signatures]
    return replace(state, cycles=(*others, cycle)[-_MOST_CYCLES:]), cycle


# The result is part of what must come again: a call whose result changed made progress, like one that waits for a job.
def _find_period(marks: tuple[Mark, ...], least: int) -> tuple[int, int]:
    """The shortest period of the last calls, with its repeats; zeros where there is none."""
    calls = [(mark.signature, mark.digest) for mark in reversed(marks)]
    for period in range(1, _LONGEST_PERIOD + 1):
        same = next(
            (at for at in range(len(calls) - period) if calls[at] != calls[at + period]), max(0, len(calls) - period)
        )
        if (same + period) // period >= least:
            return period, (same + period) // period
    return 0, 0


def _collect_findings(
    state: LoopState, cycle: Cycle | None, grown: tuple[str, ...], turn: int, triggers: Triggers, rules: int
) -> LoopFindings:
    plateaus, stepped = escalate_plateaus(state.plateaus, grown, triggers)
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
    return LoopFindings(
        state, "\n\n".join(hints), _calls_to_block(state), tuple(signals), any(stage >= BLOCKED for stage in stages)
    )


def _calls_to_block(state: LoopState) -> dict[str, str]:
    reasons = {
        signature: plateau_refusal(plateau.count)
        for plateau in state.plateaus.values()
        # decision 57: a check runs again once a file changed, or a command ended well that may have changed something.
        if plateau.stage >= BLOCKED and not plateau.written and not plateau.lifted
        for signature in plateau.signatures
    }
    for cycle in state.cycles:
        if cycle.stage >= BLOCKED and not cycle.lifted:
            reasons.update(dict.fromkeys(cycle.signatures, cycle_refusal(cycle.repeats)))
    return reasons


_MOST_COMMANDS, _MOST_FAILURES, _MOST_SIGNATURES = 20, 50, 5


@dataclass(frozen=True)
class Plateau:
    """One verify command that fails."""

    failures: tuple[str, ...]
    """What fails, sorted."""
    count: int = 1
    """Runs that failed in just that way, with a file changed before each but the first."""
    written: bool = False
    """A file changed since its last run."""
    lifted: bool = False
    """A command ended well since its last run, and may have changed what nobody looks at. It lifts the block, and no more."""
    stage: int = 0
    signatures: tuple[str, ...] = ()
    """Of the calls that ran it."""


def failures_of(result: CallResult) -> tuple[str, ...]:
    """What fails, sorted; nothing where it passed."""
    return (result.failures or (result.error or result.digest,)) if result.failed else ()


def after_actions(
    plateaus: Mapping[str, Plateau], actions: Iterable[Action]
) -> tuple[dict[str, Plateau], tuple[str, ...]]:
    """The plateaus after calls, and the commands that failed once more in the same way."""
    now, grown = dict(plateaus), set[str]()
    for action in actions:
        call, result = action.call, action.result
        if not call.verify:
            if result.changed and call.new_file:
                now = {}
            elif result.changed:
                now = {command: replace(plateau, written=True) for command, plateau in now.items()}
            elif action.may_have_changed:
                now = {command: replace(plateau, lifted=True) for command, plateau in now.items()}
            continue
        if not result.executed or result.background:
            continue
        command = command_key(call.command)
        now, more = _after_run(now, command, failures_of(result), call.signature)
        grown = grown | {command} if more else grown - {command}
    return now, tuple(sorted(grown))


def after_verdict(plateaus: Mapping[str, Plateau], verdict: GateVerdict) -> tuple[dict[str, Plateau], tuple[str, ...]]:
    """The same, after the completion gate has looked at the whole work."""
    failures = () if verdict.passed else verdict.failures or ("",)
    now, more = _after_run(dict(plateaus), GATE, failures, "")
    return now, (GATE,) if more else ()


def escalate_plateaus(
    plateaus: Mapping[str, Plateau], grown: Iterable[str], triggers: Triggers
) -> tuple[dict[str, Plateau], tuple[str, ...]]:
    """Those that grew are a step further where they were seen often enough; with the names of these."""
    now, stepped = dict(plateaus), []
    for command in grown:
        plateau = now[command]
        if plateau.count >= triggers.plateau_repeats and DeviationSignal.ERROR_PLATEAU not in triggers.disabled:
            now[command] = replace(plateau, stage=min(plateau.stage + 1, TOLD))
            stepped.append(command)
    return now, tuple(stepped)


def _after_run(
    plateaus: dict[str, Plateau], command: str, failures: tuple[str, ...], signature: str
) -> tuple[dict[str, Plateau], bool]:
    """Fewer failures, other failures and none are progress; the same ones count where a file changed in between."""
    if not failures:
        return without_keys(plateaus, {command}), False
    failures = tuple(sorted(set(failures)))[:_MOST_FAILURES]
    known = plateaus.get(command)
    before = known.signatures if known else ()
    signatures = tuple(name for name in dict.fromkeys((*before, signature)) if name)[-_MOST_SIGNATURES:]
    if known is None or known.failures != failures:
        plateau = Plateau(failures, signatures=signatures)
    else:
        count = known.count + known.written
        plateau = replace(known, count=count, written=False, lifted=False, signatures=signatures)
    return put_bounded(plateaus, command, plateau, _MOST_COMMANDS), known is not None and plateau.count > known.count
