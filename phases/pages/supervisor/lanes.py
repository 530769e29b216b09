"""What was when: the modes, phases, signals and interventions of a run over its rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from phases.pages.supervisor.rows import meaning, phase_after
from phases.pages.supervisor.view import DONE, Event, View
from phases.supervision.words import (
    DeviationSignal,
    ExecutionMode,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)

INTERVENTIONS = ("hint", "block", "takeover", "handoff")
_STRONG_HINT = "strong_hint"


class Span(NamedTuple):
    """From a round to a round, both included."""

    first: int
    last: int
    value: str


class Mark(NamedTuple):
    """What happened in one round."""

    round: int
    text: str
    times: int = 1


class Lanes(NamedTuple):
    """All that the drawing shows."""

    first: int
    last: int
    modes: tuple[Span, ...]
    phases: tuple[Span, ...]
    signals: Mapping[str, tuple[Mark, ...]]
    interventions: Mapping[str, tuple[Mark, ...]]
    stop: Mark | None


def lanes_of(view: View) -> Lanes:
    """The lanes of a run. A run without events has one span a lane."""
    first = min([1, *(event.round for event in view.events)])
    last = max(view.rounds, first)
    return Lanes(
        first,
        last,
        _spans(_modes(view), first, last),
        _spans(_phases(view), first, last),
        _signals(view.events),
        _interventions(view.events),
        _stop(view, last),
    )


def _spans(changes: Iterable[tuple[int, str]], first: int, last: int) -> tuple[Span, ...]:
    """A change holds from its round to the next one; the last change of a round is what the round is shown as."""
    by_round = dict(sorted(changes, key=lambda change: change[0]))
    starts = [(at, value) for at, value in by_round.items() if at <= last]
    kept = [start for index, start in enumerate(starts) if not index or starts[index - 1][1] != start[1]]
    kept = [(first, kept[0][1]), *kept[1:]] if kept else []
    return tuple(Span(at, next_at - 1, value) for (at, value), (next_at, _) in pairwise([*kept, (last + 1, "")]))


def _modes(view: View) -> list[tuple[int, str]]:
    """L1. A line may be written before the switch that it tells of, or after: the reason decides."""
    start = ExecutionMode.FORCED if view.mode is SupervisorMode.STRICT else ExecutionMode.FREE
    changes: list[tuple[int, str]] = [(0, start)]
    for event in view.events:
        word = event.reason.partition(":")[0]
        switched = event.event is TimelineEvent.SWITCH and "->" in word
        target = word.rpartition(">")[2]
        value = target if switched and target in tuple(ExecutionMode) else event.execution_mode
        changes.append((event.round, value))
    return changes


def _phases(view: View) -> list[tuple[int, str]]:
    """L2. That a cooldown ends is no event: it ends after the rounds that the settings give it, or when a line says so."""
    changes: list[tuple[int, str]] = [(0, SupervisorPhase.FREE)]
    cools_until = 0
    for event in view.events:
        after = phase_after(event)
        if cools_until and event.round >= cools_until:
            changes.append((cools_until, SupervisorPhase.FREE))
            cools_until = 0
        if after is SupervisorPhase.COOLDOWN and changes[-1][1] != after:
            cools_until = event.round + view.config.adaptive_takeover.handoff_cooldown_rounds
        elif after is not SupervisorPhase.COOLDOWN:
            cools_until = 0
        changes.append((event.round, after))
    return [*changes, (cools_until, SupervisorPhase.FREE)] if cools_until else changes


def _signals(events: Iterable[Event]) -> dict[str, tuple[Mark, ...]]:
    found: dict[str, list[Mark]] = {}
    for event in events:
        kind, text = meaning(event)
        name = "goal_drift" if event.event is TimelineEvent.DRIFT else event.reason.partition(":")[0]
        if kind == "signal":
            _add(found.setdefault(name, []), Mark(event.round, text))
    return {name: tuple(found[name]) for name in DeviationSignal if name in found}


def _interventions(events: Iterable[Event]) -> dict[str, tuple[Mark, ...]]:
    found: dict[str, list[Mark]] = {name: [] for name in INTERVENTIONS}
    for event in events:
        kind, text = meaning(event)
        name = "hint" if event.reason.startswith(_STRONG_HINT) else kind
        if name in found:
            _add(found[name], Mark(event.round, text))
    return {name: tuple(marks) for name, marks in found.items() if marks}


def _add(marks: list[Mark], mark: Mark) -> None:
    """One mark a round: what happened twice in it is counted."""
    if marks and marks[-1].round == mark.round:
        marks[-1] = marks[-1]._replace(times=marks[-1].times + 1)
    else:
        marks.append(mark)


def _stop(view: View, last: int) -> Mark | None:
    if view.report and view.over:
        reason = str(view.report["stopReason"] or DONE)
        return None if reason == DONE else Mark(last, reason)
    stops = [event for event in view.events if meaning(event)[0] == "stop"]
    going_on = stops and view.events[-1].round > stops[-1].round
    return Mark(stops[-1].round, meaning(stops[-1])[1]) if stops and not going_on else None
