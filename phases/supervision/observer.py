"""What L2 sees of a run (section 7.1): signs that the work goes wrong, of this round, and of the last few."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from phases.supervision.config import GoalDrift, Triggers
from phases.supervision.effects import TimelineEntry, failure_entry
from phases.supervision.enums import DeviationSignal, ProgressClass, TaskIntent, TimelineEvent, ToolClass
from phases.supervision.facts import Action, Round, Task, classify_round
from phases.supervision.loops import failures_of
from phases.supervision.signals import SIGNALS, Signal
from phases.supervision.signatures import command_key, digest_of_result
from phases.supervision.work_ledger import WorkLedger, check_fails

_KEPT_OF_A_KIND = 3
_LONGEST_DETAIL = 200


@dataclass(frozen=True)
class Edits:
    counts: Mapping[str, int] = field(default_factory=dict)
    """Path -> rounds that edited it since a check fails, or since fewer tests failed; the least recent left out over a bound."""
    failing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Verify command -> what failed in its last run."""
    ways: tuple[str, ...] = ()
    """Digests of the ways in which checks failed, the latest last."""
    strayed: tuple[str, ...] = ()
    """Files written outside the plan."""


@dataclass(frozen=True)
class ObserverState:
    """What the observer remembers, in every mode."""

    live: tuple[Signal, ...] = ()
    """At most three of a kind, none older than the time to live."""
    edits: Edits = field(default_factory=Edits)
    drift_rounds: int = 0
    """In a row, with an alignment below the threshold and nothing new seen."""


@dataclass(frozen=True)
class ObservedRound:
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
class Observation:
    """What was seen: signals of this round, those that are still live, and lines for the event log."""

    state: ObserverState
    now: tuple[Signal, ...]
    live: tuple[Signal, ...]
    entries: tuple[TimelineEntry, ...]


@dataclass(frozen=True)
class _Look:
    seen: ObservedRound
    before: ObserverState
    after: ObserverState
    aligned: Alignment
    triggers: Triggers


def observe_round(state: ObserverState, seen: ObservedRound, triggers: Triggers) -> Observation:
    """The state after a round, with all that speaks against it."""
    aligned = measure_alignment(
        seen.round, seen.task, seen.ledger, seen.budget_triggers, triggers.goal_drift.jaccard_min
    )
    # decision 56: who learns what was not known yet does not drift.
    drifts = aligned.value < triggers.goal_drift.threshold and not seen.ledger.learning.learned
    edits = after_edits(state.edits, seen.round, seen.task, failing=check_fails(seen.ledger))
    after = replace(state, edits=edits, drift_rounds=state.drift_rounds + 1 if drifts else 0)
    look = _Look(seen, state, after, aligned, triggers)
    raised = (*(detect(look) for detect in DETECTORS.values()), *seen.loops)
    now = tuple(signal for signal in raised if signal and signal.kind not in triggers.disabled)
    live = _last_of_each_kind((*_still_live(state.live, seen.round, triggers, drifts=drifts), *now))
    entries = tuple(_entry_of(signal, aligned) for signal in now)
    return Observation(replace(after, live=live), now, live, entries)


def _repeat_fail(look: _Look) -> Signal | None:
    """A call that fails in the same way again and again. Checks that do are a plateau, and have a detector of their own."""
    seen, turn = look.seen, look.seen.round
    # decision 66: a check that fails again is a plateau, so that the model reads a hint before it is led.
    failures = [row for row in seen.ledger.recent_failures if not row.check]
    kept_back = tuple(f"{action.call.signature} " for action in turn.actions if not action.result.executed)
    now = [row for row in failures if row.round == turn.number]
    concerned = [*now, *(row for row in failures if kept_back and row.signature.startswith(kept_back))]
    all_failed = classify_round(turn) is ProgressClass.ALL_FAILED_OR_BLOCKED
    if not concerned or not (all_failed or seen.branch_recover or any(row.count >= 2 for row in now)):
        return None
    worst = max(concerned, key=lambda row: row.count)
    if worst.count < look.triggers.tool_repeat_fail_min:
        return None
    return _signal_of(DeviationSignal.TOOL_REPEAT_FAIL, worst.count, turn, f"{worst.tool} {worst.about}")


def _no_progress(look: _Look) -> Signal | None:
    ledger = look.seen.ledger
    # decision 123: what failed with something read in between gets a word; to lead for it, it must have failed in a row.
    failed = ledger.failed_in_a_row if ledger.failed_since else ledger.consecutive_failed_rounds
    rounds = max(ledger.consecutive_reading_rounds, ledger.consecutive_no_tool_rounds, failed)
    if rounds < look.triggers.no_progress_rounds_min:
        return None
    return _signal_of(DeviationSignal.NO_PROGRESS, rounds, look.seen.round)


def _file_loop(look: _Look) -> Signal | None:
    path, count = most_edited(look.after.edits, look.seen.round)
    if not path or count < look.triggers.file_loop_min:
        return None
    return _signal_of(DeviationSignal.FILE_LOOP, count, look.seen.round, path)


def _goal_drift(look: _Look) -> Signal | None:
    if look.after.drift_rounds < max(1, look.triggers.goal_drift.rounds):
        return None
    return _signal_of(DeviationSignal.GOAL_DRIFT, look.aligned.value, look.seen.round)


def _scope_creep(look: _Look) -> Signal | None:
    # Only a file that is new among them speaks: else three such files would keep a takeover from ever ending.
    before, strayed = look.before.edits.strayed, look.after.edits.strayed
    new = [path for path in strayed if path not in before]
    if not new or len(strayed) < look.triggers.scope_creep_files:
        return None
    return _signal_of(DeviationSignal.SCOPE_CREEP, len(strayed), look.seen.round, new[-1])


def _force_takeover(look: _Look) -> Signal | None:
    return _signal_of(DeviationSignal.USER_FORCE_TAKEOVER, 1, look.seen.round) if look.seen.force_takeover else None


DETECTORS: Mapping[DeviationSignal, Callable[[_Look], Signal | None]] = {
    DeviationSignal.TOOL_REPEAT_FAIL: _repeat_fail,
    DeviationSignal.NO_PROGRESS: _no_progress,
    DeviationSignal.FILE_LOOP: _file_loop,
    DeviationSignal.GOAL_DRIFT: _goal_drift,
    DeviationSignal.SCOPE_CREEP: _scope_creep,
    DeviationSignal.USER_FORCE_TAKEOVER: _force_takeover,
}
"""What raises each signal, but for those of loops.py."""


def _signal_of(kind: DeviationSignal, value: float, turn: Round, detail: str = "") -> Signal:
    return Signal(kind, value, turn.number, detail[:_LONGEST_DETAIL])


def _still_live(live: Iterable[Signal], turn: Round, triggers: Triggers, *, drifts: bool) -> list[Signal]:
    """Without what is too old, and without what this round has disproved."""
    ended: set[DeviationSignal] = set(triggers.disabled)
    if classify_round(turn) is ProgressClass.MEANINGFUL_PROGRESS:
        ended.update(kind for kind, rule in SIGNALS.items() if rule.ended_by_progress)
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


def _entry_of(signal: Signal, aligned: Alignment) -> TimelineEntry:
    if signal.kind is DeviationSignal.GOAL_DRIFT:
        return TimelineEntry(TimelineEvent.DRIFT, signal.reason, {"factors": dict(aligned.factors)})
    return failure_entry(signal.reason, detail=signal.detail)


_MOST_FILES, _MOST_COMMANDS = 300, 20
_TEST = ("test", "tests")
_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_FRAME = ("__init__.py", *_PACKAGING, "README.md", "LICENSE", "Makefile")


def after_edits(edits: Edits, turn: Round, task: Task, *, failing: bool) -> Edits:
    """The counts after a round, in which a file is edited once. To create it is no edit. `failing`: a check is known to fail."""
    counts, told, strayed = dict(edits.counts), dict(edits.failing), dict.fromkeys(edits.strayed)
    edited, ways = set[str](), list(edits.ways)
    for action in turn.actions:
        call, result = action.call, action.result
        # decision 56: edits count once a round, and only while a check is known to fail; to create a file is none.
        for path in edits_of(action):
            if path not in edited and not (call.new_file and path == call.path):
                counts[path] = counts.pop(path, 0) + 1
                edited.add(path)
            if is_outside(path, task):
                strayed.setdefault(path)
        if call.verify and result.executed and not result.background:
            key = command_key(call.command)
            before, told[key] = told.pop(key, ()), failures_of(result)
            way = digest_of_result(f"{key}\n" + "\n".join(told[key]))
            new = bool(before and told[key]) and way not in ways
            ways = [*(other for other in ways if other != way), way]
            if action.verified or set(told[key]) < set(before) or new:  # to fail in another way is to get on
                counts.clear()
        elif call.like_check and action.ok and not result.background:
            counts.clear()
    return Edits(
        dict(list(counts.items())[-_MOST_FILES:]) if failing else {},
        dict(list(told.items())[-_MOST_COMMANDS:]),
        tuple(ways[-_MOST_COMMANDS:]),
        tuple(strayed)[-_MOST_FILES:],
    )


def most_edited(edits: Edits, turn: Round) -> tuple[str, int]:
    """Of the files that were edited in this round, the one with the most edits; without any, an empty path."""
    paths = sorted({path for action in turn.actions for path in edits_of(action)})
    path = max(paths, key=lambda name: edits.counts.get(name, 0), default="")
    return path, edits.counts.get(path, 0)


def edits_of(action: Action) -> tuple[str, ...]:
    """Files that a WRITE changed. What a command leaves behind is its output, and no edit."""
    return action.result.changed if action.ok and action.call.tool_class is ToolClass.WRITE else ()


def is_outside(path: str, task: Task) -> bool:
    """Whether the plan does not know this file. Where there is no list, nothing is outside; tests never are."""
    name = path.rpartition("/")[2]
    # decision 68: files that frame a package are inside every plan.
    framing = name in _FRAME or name.startswith(".")
    return bool(task.planned_files) and path not in task.planned_files and not (is_test(path) or framing)


def is_test(path: str) -> bool:
    """Whether a part of the path begins or ends with test or tests; its suffix does not count."""
    parts = [part.casefold() for part in path.split("/")]
    return any(part.startswith("test") or part.partition(".")[0].endswith(_TEST) for part in parts)


_READING_INTENTS = (TaskIntent.QUESTION, TaskIntent.INSPECT)
_READS = (ToolClass.READ, ToolClass.SEARCH)
_MOSTLY = 0.6
_LONGEST_TEXT = 4000
_WORD = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True)
class Alignment:
    """From 0 to 1, and what it is made of."""

    value: float
    factors: Mapping[str, float]


def measure_alignment(
    turn: Round, task: Task, ledger: WorkLedger, budget_triggers: int, jaccard_min: float = GoalDrift.jaccard_min
) -> Alignment:
    """The alignment of one round. The ledger is the one after it."""
    factors = {
        "toolIntent": _tool_factor(turn, task),
        "fileIntent": _file_factor(turn, task),
        "text": _text_factor(turn, task, jaccard_min),
        "progress": _progress_factor(turn, ledger, budget_triggers),
    }
    return Alignment(round(sum(factors.values()) / len(factors), 3), factors)


def bigram_similarity(goal: str, said: str) -> float:
    """Jaccard's measure on the pairs of letters that stand beside each other in a word; 0 where there are none."""
    # decision 71: against a long goal, pairs of words never agree.
    one, other = _bigrams_of(goal[:_LONGEST_TEXT]), _bigrams_of(said[:_LONGEST_TEXT])
    return len(one & other) / len(one | other) if one and other else 0.0


def _tool_factor(turn: Round, task: Task) -> float:
    classes = [action.call.tool_class for action in turn.actions if action.call.tool_class is not ToolClass.NEUTRAL]
    if not classes:
        return 1.0
    reads = sum(kind in _READS for kind in classes) / len(classes)
    writes = classes.count(ToolClass.WRITE) / len(classes)
    if task.intent in _READING_INTENTS:
        return 0.4 + 0.6 * reads
    # Reading alone brings code no further, whatever is read.
    return 0.2 if not writes and reads > _MOSTLY else 0.4 + 0.6 * writes


def _file_factor(turn: Round, task: Task) -> float:
    if task.intent in _READING_INTENTS or any(action.result.changed for action in turn.actions):
        return 1.0
    return 0.3 if any(action.call.tool_class is ToolClass.WRITE for action in turn.actions) else 0.2


def _text_factor(turn: Round, task: Task, jaccard_min: float) -> float:
    if not turn.text.strip():
        return 0.3
    alike = bigram_similarity(task.goal, turn.text)
    return min(1.0, 0.5 + 2 * alike) if alike >= jaccard_min else min(1.0, 5 * alike)


def _progress_factor(turn: Round, ledger: WorkLedger, budget_triggers: int) -> float:
    failures = ledger.consecutive_failed_rounds
    lost = 0.4 if failures >= 3 else 0.2 if failures == 2 else 0.0
    lost += 0.2 if budget_triggers >= 2 else 0.0
    lost += 0.2 if classify_round(turn) is ProgressClass.ALL_FAILED_OR_BLOCKED else 0.0
    return max(0.0, 1.0 - lost)


@lru_cache(maxsize=8)
def _bigrams_of(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(word[at : at + 2] for word in words for at in range(len(word) - 1))
