"""Detect problems of a run, and decide how far the answer to each has gone (section 7.1).

An answer has stages: a hint, then refused calls, then L2. A round is one stage at most, since a model must read a hint before
it can act on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from phases.supervision.config import Triggers
from phases.supervision.effects import TimelineEntry, failure_entry
from phases.supervision.enums import DeviationSignal, TimelineEvent, ToolClass
from phases.supervision.facts import Action, Round, Task
from phases.supervision.progress import Progress, edits_of, find_period, is_run_of_check
from phases.supervision.signals import BLOCKED, HINTED, SIGNALS, TOLD, Signal

_KEPT_OF_A_KIND = 3
_LONGEST_DETAIL = 200
_STALL_BLOCKS, _STALL_LEADS, _STALL_STOPS = 1, 2, 5
"""Half rounds after the first hint on a stall."""


@dataclass(frozen=True)
class ObserverState:
    """The observer's memory, in every mode."""

    live: tuple[Signal, ...] = ()
    """At most three of a kind, none older than the time to live."""
    stages: Mapping[str, int] = field(default_factory=dict)
    """Problem -> stage of the answer."""
    stall: int = 0
    """After the last round."""
    strayed: tuple[str, ...] = ()
    """Files written outside the plan, in its directories."""
    has_written: bool = False
    """This run has written a file."""
    drift_rounds: int = 0
    """Rounds off the plan since one touched it."""

    @property
    def blocks(self) -> bool:
        """Return whether fruitless calls are to be refused."""
        return any(stage >= BLOCKED for key, stage in self.stages.items() if key != _ASKED)


@dataclass(frozen=True)
class ObservedRound:
    """One round, with the state after it."""

    round: Round
    task: Task
    progress: Progress
    force_takeover: bool = False
    """The user requests a takeover."""


@dataclass(frozen=True)
class Observation:
    """Signals of this round, those that are still live, and lines for the event log."""

    state: ObserverState
    now: tuple[Signal, ...]
    live: tuple[Signal, ...]
    entries: tuple[TimelineEntry, ...]

    @property
    def hints(self) -> tuple[Signal, ...]:
        """Return the signals that the model is to be told of now."""
        return tuple(signal for signal in self.now if signal.stage == HINTED)


class _Trouble(NamedTuple):
    """One problem."""

    key: str
    signal: Signal
    steps: int
    """Steps beyond its threshold: the answer may go that far."""
    fresh: bool = True
    """It went on in this round."""


@dataclass(frozen=True)
class _Look:
    seen: ObservedRound
    before: ObserverState
    after: ObserverState
    triggers: Triggers


def observe_round(state: ObserverState, seen: ObservedRound, triggers: Triggers) -> Observation:
    """Return the state after a round, with every problem that it shows."""
    strayed = dict.fromkeys(
        (*state.strayed, *(path for action in seen.round.actions for path in _strays(action, seen.task)))
    )
    after = replace(
        state,
        has_written=state.has_written or any(action.ok and action.result.changed for action in seen.round.actions),
        drift_rounds=count_drift(state.drift_rounds, seen.round, seen.task),
        strayed=tuple(strayed)[-_MOST_FILES:],
        stall=seen.progress.stall,
    )
    look = _Look(seen, state, after, triggers)
    troubles = [trouble for detect in DETECTORS for trouble in detect(look)]
    troubles = [trouble for trouble in troubles if trouble.signal.kind not in triggers.disabled]
    stages = _next_stages(state.stages, troubles)
    now = tuple(replace(trouble.signal, stage=stages[trouble.key]) for trouble in troubles if trouble.fresh)
    live = _last_of_each_kind((*_still_live(state.live, seen, triggers, drifts=after.drift_rounds > 0), *now))
    return Observation(replace(after, live=live, stages=stages), now, live, tuple(map(_entry_of, now)))


def is_hopeless(before: ObserverState, progress: Progress, triggers: Triggers, *, led: bool) -> bool:
    """Return whether a stall outlasted every answer. A stall in a takeover ends the run where it would otherwise start one."""
    spent = led or before.stages.get(_STALL, 0) >= min(TOLD, _most_stage(progress))
    most = _first_word(triggers) + (_STALL_LEADS if led else _STALL_STOPS)
    return spent and progress.stall > before.stall and progress.stall >= most


def without_stall(state: ObserverState) -> ObserverState:
    """Return the state of an observer for which no stall has begun."""
    return replace(state, stall=0, stages={key: stage for key, stage in state.stages.items() if key != _STALL})


def _next_stages(before: Mapping[str, int], found: Iterable[_Trouble]) -> dict[str, int]:
    """Return the stages after a round. A model reads one hint a round: a second problem waits for the next one."""
    stages, hinted = dict[str, int](), False
    for trouble in found:
        stage = _next_stage(before.get(trouble.key, 0), trouble)
        is_new = stage == HINTED and not before.get(trouble.key)
        stages[trouble.key], hinted = 0 if is_new and hinted else stage, hinted or is_new
    return stages


def _next_stage(before: int, trouble: _Trouble) -> int:
    """Return one stage further at most, and never one back while the problem lasts."""
    if trouble.signal.kind is DeviationSignal.USER_FORCE_TAKEOVER:
        return TOLD
    if not trouble.fresh:
        return before
    return max(before, min(before + 1, HINTED + trouble.steps, TOLD))


_STALL, _ASKED = "stall", "asked"


def _first_word(triggers: Triggers) -> int:
    return 2 * triggers.no_progress_rounds_min + 1


def _most_stage(progress: Progress) -> int:
    """Return the last stage for a stall. No takeover follows from what the machine lacks: no other approach would help."""
    ways = [way for way in progress.ways if way.count]
    return BLOCKED if ways and all(way.limit for way in ways) else TOLD


def _stalled(look: _Look) -> Iterable[_Trouble]:
    progress, turn = look.seen.progress, look.seen.round
    over = progress.stall - _first_word(look.triggers)
    if not progress.stall or (over < 0 and _STALL not in look.before.stages):
        return
    kind, detail = _name_stall(look)
    if kind is None:
        return
    if over < 0:
        yield _Trouble(_STALL, _signal_of(kind, progress.rounds, turn), 0, fresh=False)
        return
    steps = 2 if over >= _STALL_LEADS else 1 if over >= _STALL_BLOCKS else 0
    fresh = progress.stall > look.before.stall
    yield _Trouble(
        _STALL, _signal_of(kind, progress.rounds, turn, detail), min(steps, _most_stage(progress) - HINTED), fresh
    )


def _name_stall(look: _Look) -> tuple[DeviationSignal | None, str]:
    """Return the kind of a stall: calls that repeat in order, one kind of failure, or nothing new."""
    progress, triggers, off = look.seen.progress, look.triggers, look.triggers.disabled
    period, repeats = find_period(progress, max(2, triggers.cycle_repeats))
    if period > 1 and DeviationSignal.CYCLE not in off:
        return DeviationSignal.CYCLE, f"{period} calls, {repeats} times"
    worst = max((way for way in progress.ways if way.error), key=lambda way: way.count, default=None)
    if worst and worst.count >= triggers.tool_repeat_fail_min and DeviationSignal.TOOL_REPEAT_FAIL not in off:
        return DeviationSignal.TOOL_REPEAT_FAIL, f"{worst.label}: {worst.error}"
    return (None if DeviationSignal.NO_PROGRESS in off else DeviationSignal.NO_PROGRESS), ""


def _plateaus(look: _Look) -> Iterable[_Trouble]:
    progress, least = look.seen.progress, look.triggers.plateau_repeats
    for key, plateau in progress.plateaus.items():
        if plateau.count < least:
            continue
        signal = _signal_of(DeviationSignal.ERROR_PLATEAU, plateau.count, look.seen.round, plateau.command)
        yield _Trouble(f"plateau {key}", signal, plateau.count - least, key in progress.grown)


def _file_loops(look: _Look) -> Iterable[_Trouble]:
    edits, least = look.seen.progress.edits, look.triggers.file_loop_min
    now = {path for action in look.seen.round.actions for path in edits_of(action)}
    path = max(sorted(edits), key=lambda name: edits[name], default="")
    if path and edits[path] >= least:
        signal = _signal_of(DeviationSignal.FILE_LOOP, edits[path], look.seen.round, path)
        yield _Trouble(f"file {path}", signal, edits[path] - least, path in now)


def _drifts(look: _Look) -> Iterable[_Trouble]:
    rounds, least = look.after.drift_rounds, look.triggers.goal_drift_rounds
    if rounds >= least:
        signal = _signal_of(DeviationSignal.GOAL_DRIFT, rounds, look.seen.round, look.seen.round.next_file)
        # A model that has written nothing yet is exploring: a hint, then as much time again.
        over = rounds - (least if look.after.has_written else 2 * least)
        fresh = rounds > look.before.drift_rounds and (over >= 0 or rounds == least)
        yield _Trouble("drift", signal, max(0, over), fresh)


def _creeps(look: _Look) -> Iterable[_Trouble]:
    count, new = len(look.after.strayed), len(look.after.strayed) > len(look.before.strayed)
    if count >= look.triggers.scope_creep_files:
        signal = _signal_of(DeviationSignal.SCOPE_CREEP, count, look.seen.round, look.after.strayed[-1])
        yield _Trouble("scope", signal, count - look.triggers.scope_creep_files, new)


def _asked_for(look: _Look) -> Iterable[_Trouble]:
    if look.seen.force_takeover:
        signal = _signal_of(DeviationSignal.USER_FORCE_TAKEOVER, 1, look.seen.round)
        yield _Trouble(_ASKED, signal, TOLD)


DETECTORS: tuple[Callable[[_Look], Iterable[_Trouble]], ...] = (
    _stalled,
    _plateaus,
    _file_loops,
    _drifts,
    _creeps,
    _asked_for,
)


def _signal_of(kind: DeviationSignal, value: float, turn: Round, detail: str = "") -> Signal:
    return Signal(kind, value, turn.number, detail[:_LONGEST_DETAIL])


def _still_live(live: Iterable[Signal], seen: ObservedRound, triggers: Triggers, *, drifts: bool) -> list[Signal]:
    turn, ended = seen.round, set[DeviationSignal](triggers.disabled)
    if not seen.progress.stall:
        ended.update(kind for kind, rule in SIGNALS.items() if rule.ended_by_progress)
    if not seen.progress.edits:
        ended.add(DeviationSignal.FILE_LOOP)
    if not drifts:
        ended.add(DeviationSignal.GOAL_DRIFT)
    return [
        signal
        for signal in live
        if signal.kind not in ended and turn.number - signal.round < triggers.signal_ttl_rounds
    ]


def _last_of_each_kind(signals: tuple[Signal, ...]) -> tuple[Signal, ...]:
    latest: list[Signal] = []
    for signal in reversed(signals):
        if sum(other.kind is signal.kind for other in latest) < _KEPT_OF_A_KIND:
            latest.append(signal)
    return tuple(reversed(latest))


def _entry_of(signal: Signal) -> TimelineEntry:
    if signal.kind is DeviationSignal.GOAL_DRIFT:
        return TimelineEntry(TimelineEvent.DRIFT, signal.reason, {"stage": signal.stage})
    return failure_entry(signal.reason, detail=signal.detail, stage=signal.stage)


_MOST_FILES = 300
_TEST = re.compile(r"^test|tests?$|(?:^|[_-])specs?$")
_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_FRAME = ("__init__.py", *_PACKAGING, "README.md", "LICENSE", "Makefile", "package.json", "Cargo.toml", "go.mod")


def _strays(action: Action, task: Task) -> tuple[str, ...]:
    if not action.ok or action.call.tool_class is not ToolClass.WRITE:
        return ()
    return tuple(path for path in action.result.changed if is_outside(path, task))


def is_outside(path: str, task: Task) -> bool:
    """Return whether a file is unplanned code in a directory of planned files.

    Tests, packaging files, and helper scripts in other directories are not.
    """
    folder, _, name = path.rpartition("/")
    # decision 68: packaging files are part of every plan.
    if not task.planned_files or path in task.planned_files or _frames(path) or name.startswith(".") or is_test(path):
        return False
    return bool(folder) and any(planned.rpartition("/")[0] == folder for planned in task.planned_files)


def is_test(path: str) -> bool:
    """Return whether a part of the path, without suffix, begins or ends with test, tests or spec, as in `total.test.js`."""
    words = [word.strip("_") for part in path.casefold().split("/") for word in (part.split(".")[:-1] or [part])]
    return any(_TEST.search(word) for word in words)


_NAME = re.compile(r"[\w./-]+")
_SHORTEST_NAME = 3
"""Of a module or directory in a command: a shorter word may mean anything."""


def count_drift(before: int, turn: Round, task: Task) -> int:
    """Return the rounds off the plan since one touched a planned file, a test or a check.

    A round that only reads counts neither way: the stall counts what brings nothing new. Nor does a failure for want of
    something that the machine lacks. Searches and notes count where nothing was there at the start, or once a drift began.
    """
    done = [action for action in turn.actions if action.result.executed and not action.result.limit]
    if not task.planned_files or any(_serves(action, task) for action in done):
        return 0
    kinds = {action.call.tool_class for action in done} - {ToolClass.READ, ToolClass.DELEGATE}
    acts = before > 0 or task.from_nothing or not kinds.isdisjoint((ToolClass.WRITE, ToolClass.EXEC))
    return before + (acts and bool(kinds))


def _serves(action: Action, task: Task) -> bool:
    """Return whether a call touched a planned file, a test or a check, or named a planned file or package."""
    paths = (action.call.path, *action.result.changed)
    if is_run_of_check(action) or any(path in task.planned_files or (path and is_test(path)) for path in paths):
        return True
    words = set(_NAME.findall(f"{action.call.command} {action.call.path}"))
    return bool(words) and not words.isdisjoint(_names_of(task.planned_files))


@lru_cache(maxsize=8)
def _names_of(planned: tuple[str, ...]) -> frozenset[str]:
    names = set(planned)
    for path in planned:
        *folders, name = path.split("/")
        stem = name.partition(".")[0]
        names |= {name, ".".join((*folders, stem)), path.removesuffix(".py").replace("/", ".")}
        names |= {word for word in (*folders, stem) if len(word) >= _SHORTEST_NAME}
    return frozenset(names)


def _frames(path: str) -> bool:
    return path.rpartition("/")[2] in _FRAME
