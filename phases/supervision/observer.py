"""What L2 sees of a run (section 7.1): signs that the work goes wrong, of this round, and of the last few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from phases.supervision.alignment import Alignment, alignment
from phases.supervision.config import Triggers
from phases.supervision.edits import Edits, after_edits, most_edited
from phases.supervision.facts import Round, Task
from phases.supervision.ledger import WorkLedger, check_fails
from phases.supervision.phases import Signal
from phases.supervision.progress import progress_of
from phases.supervision.timeline import Entry, failure
from phases.supervision.words import DeviationSignal, ProgressClass, TimelineEvent

_KEPT_OF_A_KIND = 3
_LONGEST_DETAIL = 200
_ENDED_BY_PROGRESS = (DeviationSignal.NO_PROGRESS, DeviationSignal.TOOL_REPEAT_FAIL)


@dataclass(frozen=True)
class ObserverState:
    """What the observer remembers, in every mode."""

    live: tuple[Signal, ...] = ()
    """At most three of a kind, none older than the time to live."""
    edits: Edits = field(default_factory=Edits)
    drift_rounds: int = 0
    """In a row, with an alignment below the threshold and nothing new seen."""


@dataclass(frozen=True)
class Seen:
    """One round, with what is known after it."""

    round: Round
    task: Task
    ledger: WorkLedger
    branch_recover: bool = False
    """The branch budget asked for recovery in this round."""
    budget_triggers: int = 0
    """How often it did so in this round."""
    force_takeover: bool = False
    """The user asks for a takeover."""
    loops: tuple[Signal, ...] = ()
    """What the loop detectors raised."""


@dataclass(frozen=True)
class Observed:
    """What was seen: signals of this round, those that are still live, and lines for the event log."""

    state: ObserverState
    now: tuple[Signal, ...]
    live: tuple[Signal, ...]
    entries: tuple[Entry, ...]


def observe(state: ObserverState, seen: Seen, triggers: Triggers) -> Observed:
    """The state after a round, with all that speaks against it."""
    aligned = alignment(seen.round, seen.task, seen.ledger, seen.budget_triggers, triggers.goal_drift.jaccard_min)
    drifts = aligned.value < triggers.goal_drift.threshold and not seen.ledger.learning.learned
    edits = after_edits(state.edits, seen.round, seen.task, failing=check_fails(seen.ledger))
    after = replace(state, edits=edits, drift_rounds=state.drift_rounds + 1 if drifts else 0)
    raised = (
        _repeat_fail(seen, triggers),
        _no_progress(seen, triggers),
        _file_loop(after, seen.round, triggers),
        _goal_drift(after, aligned, seen.round, triggers),
        _scope_creep(state.edits, edits, seen.round, triggers),
        Signal(DeviationSignal.USER_FORCE_TAKEOVER, 1, seen.round.number) if seen.force_takeover else None,
        *seen.loops,
    )
    now = tuple(signal for signal in raised if signal and signal.kind not in triggers.disabled)
    live = _last_of_each_kind((*_still_live(state.live, seen.round, triggers, drifts=drifts), *now))
    entries = tuple(_entry(signal, aligned) for signal in now)
    return Observed(replace(after, live=live), now, live, entries)


def clear(state: ObserverState) -> ObserverState:
    """A fresh start, after control was handed back."""
    return replace(state, live=(), edits=Edits(), drift_rounds=0)


def without_signals(state: ObserverState) -> ObserverState:
    """For a run that is resumed: the counts stay, what was accumulated goes."""
    return replace(state, live=())


def _repeat_fail(seen: Seen, triggers: Triggers) -> Signal | None:
    """A call that fails in the same way again and again. Checks that do are a plateau, and have a detector of their own."""
    turn, failures = seen.round, [row for row in seen.ledger.recent_failures if not row.check]
    kept_back = tuple(f"{action.call.signature} " for action in turn.actions if not action.result.executed)
    now = [row for row in failures if row.round == turn.number]
    concerned = [*now, *(row for row in failures if kept_back and row.signature.startswith(kept_back))]
    all_failed = progress_of(turn) is ProgressClass.ALL_FAILED_OR_BLOCKED
    if not concerned or not (all_failed or seen.branch_recover or any(row.count >= 2 for row in now)):
        return None
    worst = max(concerned, key=lambda row: row.count)
    if worst.count < triggers.tool_repeat_fail_min:
        return None
    return _signal(DeviationSignal.TOOL_REPEAT_FAIL, worst.count, turn, f"{worst.tool} {worst.about}")


def _no_progress(seen: Seen, triggers: Triggers) -> Signal | None:
    ledger = seen.ledger
    # What failed with something read in between gets a word; to lead for it, it must have failed in a row.
    failed = ledger.failed_in_a_row if ledger.failed_since else ledger.consecutive_failed_rounds
    rounds = max(ledger.consecutive_reading_rounds, ledger.consecutive_no_tool_rounds, failed)
    if rounds < triggers.no_progress_rounds_min:
        return None
    return _signal(DeviationSignal.NO_PROGRESS, rounds, seen.round)


def _file_loop(after: ObserverState, turn: Round, triggers: Triggers) -> Signal | None:
    path, count = most_edited(after.edits, turn)
    return _signal(DeviationSignal.FILE_LOOP, count, turn, path) if path and count >= triggers.file_loop_min else None


def _goal_drift(after: ObserverState, aligned: Alignment, turn: Round, triggers: Triggers) -> Signal | None:
    if after.drift_rounds < max(1, triggers.goal_drift.rounds):
        return None
    return _signal(DeviationSignal.GOAL_DRIFT, aligned.value, turn)


def _scope_creep(before: Edits, after: Edits, turn: Round, triggers: Triggers) -> Signal | None:
    # Only a file that is new among them speaks: else three such files would keep a takeover from ever ending.
    new = [path for path in after.strayed if path not in before.strayed]
    if not new or len(after.strayed) < triggers.scope_creep_files:
        return None
    return _signal(DeviationSignal.SCOPE_CREEP, len(after.strayed), turn, new[-1])


def _signal(kind: DeviationSignal, value: float, turn: Round, detail: str = "") -> Signal:
    return Signal(kind, value, turn.number, detail[:_LONGEST_DETAIL])


def _still_live(live: Iterable[Signal], turn: Round, triggers: Triggers, *, drifts: bool) -> list[Signal]:
    """Without what is too old, and without what this round has disproved."""
    ended: set[DeviationSignal] = set(triggers.disabled)
    if progress_of(turn) is ProgressClass.MEANINGFUL_PROGRESS:
        ended.update(_ENDED_BY_PROGRESS)
    if any(action.verified for action in turn.actions):
        ended.add(DeviationSignal.FILE_LOOP)
    if not drifts:
        ended.add(DeviationSignal.GOAL_DRIFT)
    return [
        signal
        for signal in live
        if signal.kind not in ended and turn.number - signal.round < triggers.signal_ttl_rounds
    ]


def _last_of_each_kind(signals: tuple[Signal, ...]) -> tuple[Signal, ...]:
    kept: list[Signal] = []
    for signal in reversed(signals):
        if sum(other.kind is signal.kind for other in kept) < _KEPT_OF_A_KIND:
            kept.append(signal)
    return tuple(reversed(kept))


def _entry(signal: Signal, aligned: Alignment) -> Entry:
    if signal.kind is DeviationSignal.GOAL_DRIFT:
        return Entry(TimelineEvent.DRIFT, signal.reason, {"factors": dict(aligned.factors)})
    return failure(signal.reason, detail=signal.detail)
