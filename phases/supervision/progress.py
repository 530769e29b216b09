"""Measure progress, and count what happens while a run makes none. No other module defines progress.

Work is a call that changes a file in a way not seen before, or a check that passes. News is a result that was not known
before:
a file that is read, or a check that fails in a new way. Everything else adds to the stall, in half rounds: little for a new
failure, more for a known failure or a known result, most from the third identical call in a row on.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeVar

from phases.supervision.enums import ProgressClass, ToolClass
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round, describe_call
from phases.supervision.signatures import command_key, digest_of_text, error_key, is_transient

T = TypeVar("T")

GATE = "the completion gate"
"""The completion gate, counted as one more check."""
_MOST_KNOWN, _MOST_MARKS, _MOST_WAYS, _MOST_CHECKS, _MOST_FAILURES = 100, 25, 8, 10, 50
_WAY_AGE = 20
"""Rounds after which a kind of failure is forgotten."""
MOST_LEARNED, _READS_FOR_EVER = 10, 30
"""Rounds that read something new since the last work: up to the first they reduce the stall, beyond the second they add to
it.
"""
_LONGEST_PERIOD = 5
_CLOSER = 0.98
"""A number that comes two percent nearer to its target is progress."""


class Gain(IntEnum):
    """The value of one call, the best first."""

    WORK = 0
    NEWS = 1
    NEUTRAL = 2
    NEW_FAILURE = 3
    AGAIN = 4
    """A known failure or a known result."""
    THIRD = 5
    """The same call with the same result, at least three times in a row."""


# Chosen on one half of the public runs: decision 198 has the figures.
_POINTS = {Gain.NEUTRAL: 0, Gain.NEW_FAILURE: 1, Gain.AGAIN: 2, Gain.THIRD: 3}
_NEWS_READ, _NEWS_RUN, _SILENT = 2, 4, 1


@dataclass(frozen=True)
class Mark:
    """A call with its result."""

    signature: str
    result: str
    label: str
    """For texts."""


@dataclass(frozen=True)
class Way:
    """One kind of failure, or of fruitless call, since the last work."""

    kind: str
    label: str
    error: str
    count: int
    round: int
    """The last occurrence."""
    limit: str = ""
    """The machine's limitation, if the call failed for that."""


@dataclass(frozen=True)
class Fruitless:
    """A call without a result worth having, with nothing changed since."""

    count: int
    failed: bool


@dataclass(frozen=True)
class Plateau:
    """One kind of failure of the checks, whatever command runs them."""

    failures: tuple[str, ...]
    count: int = 1
    """Runs with exactly these failures, each but the first after a file changed."""
    changed: bool = False
    """A file changed since the last of them."""
    gap: float | None = None
    """The smallest distance of the compared number from its target."""
    command: str = ""


@dataclass(frozen=True)
class Progress:
    stall: int = 0
    """In half rounds."""
    since: int = 0
    """The round in which the stall began."""
    last: ProgressClass = ProgressClass.NO_TOOL
    """Class of the last round."""
    learned: int = 0
    """Rounds since the last work that read something new."""
    known: tuple[str, ...] = ()
    """Calls with their results, the latest last."""
    marks: tuple[Mark, ...] = ()
    """The last calls."""
    ways: tuple[Way, ...] = ()
    fruitless: Mapping[str, Fruitless] = field(default_factory=dict)
    """By call signature."""
    plateaus: Mapping[str, Plateau] = field(default_factory=dict)
    """By failures."""
    edits: Mapping[str, int] = field(default_factory=dict)
    """Path -> rounds that edited it while a check was known to fail and no check failed in a new way."""
    grown: tuple[str, ...] = ()
    """Plateaus that grew in this round."""
    gains: tuple[Gain, ...] = ()
    """Values of this round's calls."""

    @property
    def rounds(self) -> int:
        """Return the stall in whole rounds."""
        return self.stall // 2


def begin_round(state: Progress) -> Progress:
    """Return the state at the start of a round, without the results of the last one."""
    return replace(state, grown=(), gains=())


def begin_takeover(state: Progress, at: int) -> Progress:
    """Return the state at the start of a takeover: no stall, and everything may be read once more."""
    return replace(state, fruitless={}, stall=0, ways=(), known=(), learned=0, since=at)


def count_action(state: Progress, action: Action, turn: int) -> Progress:
    """Return the state with one more call. A refused call has its former result: asking again is a repetition."""
    key = _result_key(action)
    if action.result.forgotten:  # reading it again is not a repetition
        state = replace(state, known=tuple(other for other in state.known if other != key))
    if not action.result.executed:
        key = next((mark.result for mark in reversed(state.marks) if mark.signature == action.call.signature), key)
    gain = _gain_of(state, action, key)
    label = way_label(action.call)
    known = (*(other for other in state.known if other != key), key)[-_MOST_KNOWN:]
    state = replace(
        state,
        known=known,
        marks=(*state.marks, Mark(action.call.signature, key, label))[-_MOST_MARKS:],
        gains=(*state.gains, gain),
    )
    state = _count_check(state, action)
    if gain is Gain.WORK:
        return _after_work(state, action)
    if action.result.changed:  # going back and forth is not work, but other calls may succeed now
        own = {key: fruitless for key, fruitless in state.fruitless.items() if key == action.call.signature}
        state = replace(_after_work(state, action), fruitless=own)
    state = replace(state, fruitless=_after_other(state.fruitless, action, gain))
    return _with_way(state, action, label, turn) if gain >= Gain.NEW_FAILURE else state


def count_round(state: Progress, turn: Round, *, check_fails: bool) -> Progress:
    """Return the state at the end of a round, which counts as much as its best call."""
    gains, state = state.gains, replace(state, gains=())
    state = replace(state, last=_class_of(turn, gains), edits=_count_edits(state.edits, turn) if check_fails else {})
    best = min(gains, default=None)
    if best is Gain.WORK:
        return replace(state, stall=0, since=turn.number, learned=0)
    stall, learned = state.stall, state.learned
    if best is Gain.NEWS:
        ran = any(
            (action.ok and action.call.tool_class is ToolClass.EXEC) or is_run_of_check(action)
            for action, gain in zip(turn.actions, gains, strict=True)
            if gain is Gain.NEWS
        )
        learned += not ran
        # decision 56: reading something new is progress, but only for so long.
        less = _NEWS_READ if learned <= MOST_LEARNED else 0 if learned <= _READS_FOR_EVER else -_SILENT
        less = _NEWS_RUN if ran else less
        stall = max(0, stall - less)
    else:
        stall += _SILENT if best is None else _POINTS[best]
    ways = tuple(way for way in state.ways if turn.number - way.round < _WAY_AGE)  # failures age
    since = state.since if state.stall else turn.number
    return replace(state, stall=stall, since=since, learned=learned, ways=ways)


def count_verdict(state: Progress, verdict: GateVerdict) -> Progress:
    """Return the state after the completion gate has judged the whole work."""
    if verdict.passed:
        return replace(_settle_checks(state), stall=0, learned=0)
    if verdict.limit:  # the refusal names it
        return state
    return _after_failures(state, GATE, verdict.failures or ("",), None)


def settle_verified(state: Progress) -> Progress:
    """Return the state after every check has passed: nothing counts against the work any more."""
    return replace(_settle_checks(state), fruitless={})


def settle_switch(state: Progress) -> Progress:
    """Return the state on another branch of the graph: what failed before may be tried again."""
    return replace(state, fruitless={})


def way_label(call: Call) -> str:
    """Return a call for a text: its tool and its subject."""
    return " ".join(f"{call.tool} {describe_call(call)}".split())


def find_period(state: Progress, least: int) -> tuple[int, int]:
    """Return the shortest period of the last calls and results, and its repeats; zeros without one."""
    calls = [(mark.signature, mark.result) for mark in reversed(state.marks)]
    for period in range(1, _LONGEST_PERIOD + 1):
        same = next(
            (at for at in range(len(calls) - period) if calls[at] != calls[at + period]), max(0, len(calls) - period)
        )
        if (same + period) // period >= least:
            return period, (same + period) // period
    return 0, 0


def has_plateau(state: Progress, least: int) -> bool:
    """Return whether a check fails at least so often in one way, although files changed."""
    return any(plateau.count >= least for plateau in state.plateaus.values())


def is_note(action: Action) -> bool:
    """Return whether a call touched nothing but the model's own notes."""
    return action.call.tool_class is ToolClass.NEUTRAL and action.result.executed


def is_run_of_check(action: Action) -> bool:
    """Return whether a call ran a check to its end, whatever the outcome."""
    return action.call.checks and action.result.executed and not action.result.background


def failures_of(result: CallResult) -> tuple[str, ...]:
    """Return the failures, sorted; none for a call that succeeded."""
    return (result.failures or (result.error or result.digest,)) if result.failed else ()


def way_of(result: CallResult) -> str:
    """Return the kind of a failure: equal if only numbers, places and names differ."""
    return result.way or (
        _key_of_failures(result.failures) if result.failures else error_key(result.error) or result.digest
    )


def _gain_of(state: Progress, action: Action, key: str) -> Gain:
    result = action.result
    again = key in state.known
    if again and len(state.marks) > 1 and {mark.result for mark in state.marks[-2:]} == {key}:
        return Gain.THIRD
    if is_note(action):
        return Gain.AGAIN if again else Gain.NEUTRAL
    if not action.ok:
        if is_run_of_check(action) and not result.limit:
            return _gain_of_check(state, action)
        known = again or not result.executed or any(way.kind == way_of(result) for way in state.ways)
        return Gain.AGAIN if known else Gain.NEW_FAILURE
    if result.background:
        return Gain.AGAIN if again else Gain.NEWS
    if result.changed:
        return Gain.AGAIN if again else Gain.WORK
    if action.verified:
        return Gain.WORK if state.plateaus or not again else Gain.AGAIN
    return Gain.AGAIN if again else Gain.NEWS


def _gain_of_check(state: Progress, action: Action) -> Gain:
    """Return the value of a failed check: a new failure, or a smaller gap, is progress."""
    known = state.plateaus.get(_key_of_failures(failures_of(action.result)))
    if known is None or _is_closer(known.gap, action.result.gap):
        return Gain.NEWS
    # After a change the same failure is a plateau, counted separately; without one it is a known result.
    return Gain.NEUTRAL if known.changed else Gain.AGAIN


def _class_of(turn: Round, gains: tuple[Gain, ...]) -> ProgressClass:
    """Return the class of a round. Notes do not count, and a failed check does not make a round a failed one."""
    counted = [(action, gain) for action, gain in zip(turn.actions, gains, strict=True) if not is_note(action)]
    if not turn.actions:
        return ProgressClass.NO_TOOL
    ran = (gain is Gain.NEWS and action.ok and action.call.tool_class is ToolClass.EXEC for action, gain in counted)
    if any(gain is Gain.WORK for _, gain in counted) or any(ran):
        return ProgressClass.MEANINGFUL_PROGRESS
    if not counted or any(action.ok for action, _ in counted) or all(is_run_of_check(action) for action, _ in counted):
        return ProgressClass.NON_PROGRESS_SUCCESS
    return ProgressClass.ALL_FAILED_OR_BLOCKED


def _result_key(action: Action) -> str:
    result = action.result
    return f"{action.call.signature} {digest_of_text(way_of(result)) if result.failed else result.digest}"


def _after_work(state: Progress, action: Action) -> Progress:
    ways = tuple(replace(way, count=0) for way in state.ways)
    plateaus = state.plateaus
    if action.result.changed and action.call.new_file:
        plateaus = {}  # while files are still being added, checks fail because they are missing
    elif action.result.changed:
        plateaus = {key: replace(plateau, changed=True) for key, plateau in plateaus.items()}
    return replace(state, fruitless={}, ways=ways, plateaus=plateaus)


def _after_other(before: Mapping[str, Fruitless], action: Action, gain: Gain) -> Mapping[str, Fruitless]:
    """Return the fruitless calls, with this one. A successful command may have changed something unobserved."""
    signature, result = action.call.signature, action.result
    if action.may_have_changed and gain is Gain.NEWS:
        return {}
    known = before.get(signature)
    if not result.executed:
        return before
    if result.failed:
        count = 1 if known is None else known.count + 1
        # A transient shortage may be over the next time.
        return before if is_transient(result.error) else put_bounded(before, signature, Fruitless(count, True))
    if known and known.failed:
        return without_keys(before, {signature})
    if gain < Gain.AGAIN:
        return before
    return put_bounded(before, signature, Fruitless(2 if known is None else known.count + 1, False))


def _with_way(state: Progress, action: Action, label: str, turn: int) -> Progress:
    result = action.result
    if not result.executed:  # it counts for the reason of its refusal
        ways = tuple(replace(way, count=way.count + 1, round=turn) if way.label == label else way for way in state.ways)
        return replace(state, ways=ways)
    kind = way_of(result) if result.failed else f"known {action.call.signature}"
    before = next((way for way in state.ways if way.kind == kind), None)
    error = result.error or (result.failures[0] if result.failures else "") if result.failed else ""
    way = Way(kind, label, error[:300], (before.count if before else 0) + 1, turn, result.limit)
    return replace(state, ways=(*(other for other in state.ways if other.kind != kind), way)[-_MOST_WAYS:])


def _count_edits(before: Mapping[str, int], turn: Round) -> Mapping[str, int]:
    """Return the edits with this round's: one for each file, none for a new file or for the output of a command."""
    edits = before
    for path in sorted({path for action in turn.actions for path in edits_of(action)}):
        edits = put_bounded(edits, path, edits.get(path, 0) + 1)
    return edits


def edits_of(action: Action) -> tuple[str, ...]:
    if not action.ok or action.call.tool_class is not ToolClass.WRITE:
        return ()
    return tuple(path for path in action.result.changed if not (action.call.new_file and path == action.call.path))


def _count_check(state: Progress, action: Action) -> Progress:
    if not is_run_of_check(action) or action.result.undecided or action.result.limit:
        return state
    command = command_key(action.call.command)
    if action.result.failed:
        return _after_failures(state, command, failures_of(action.result), action.result.gap)
    gone = {key for key, plateau in state.plateaus.items() if plateau.command == command}
    return replace(state, plateaus=without_keys(state.plateaus, gone), edits={})


def _after_failures(state: Progress, command: str, failures: tuple[str, ...], gap: float | None) -> Progress:
    """Return the state after a failed check. Fewer failures, others, or a smaller gap are progress."""
    failures = tuple(sorted(set(failures)))[:_MOST_FAILURES]
    key, known = _key_of_failures(failures), state.plateaus.get(_key_of_failures(failures))
    if known is None:
        # Failures that were seen with these and are gone are fixed.
        more = {name for name, other in state.plateaus.items() if set(failures) < set(other.failures)}
        plateaus = put_bounded(
            without_keys(state.plateaus, more), key, Plateau(failures, gap=gap, command=command), _MOST_CHECKS
        )
        return replace(state, plateaus=plateaus, edits={})
    closer = _is_closer(known.gap, gap)
    count = known.count + (known.changed and not closer)
    now = replace(known, count=count, changed=False, gap=gap if closer or known.gap is None else known.gap)
    grown = (*state.grown, key) if count > known.count else state.grown
    return replace(
        state,
        plateaus=put_bounded(state.plateaus, key, now, _MOST_CHECKS),
        grown=grown,
        edits={} if closer else state.edits,
    )


def _is_closer(before: float | None, now: float | None) -> bool:
    return before is not None and now is not None and now < _CLOSER * before


def _settle_checks(state: Progress) -> Progress:
    return replace(state, plateaus={}, edits={}, grown=())


def _key_of_failures(failures: tuple[str, ...]) -> str:
    return digest_of_text("\n".join(sorted(set(failures))[:_MOST_FAILURES]))


_MOST_KEPT = 200


def put_bounded(mapping: Mapping[str, T], key: str, value: T, most: int = _MOST_KEPT) -> dict[str, T]:
    """Return the mapping with the key at its end; beyond the bound its oldest keys are dropped."""
    rows = {**without_keys(mapping, {key}), key: value}
    while len(rows) > most:
        del rows[next(iter(rows))]
    return rows


def without_keys(mapping: Mapping[str, T], keys: Set[str]) -> dict[str, T]:
    return {name: value for name, value in mapping.items() if name not in keys}


def add_keys(keys: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """Return the keys with these, each once; beyond the bound the first are dropped."""
    return tuple(dict.fromkeys((*keys, *more)))[-_MOST_KEPT:]
