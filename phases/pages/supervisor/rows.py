"""The events of supervision in plain words, a row each, equal ones that follow each other folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.pages.supervisor.view import Event
from phases.supervision.words import DeviationSignal, SupervisorPhase, TimelineEvent
from pipeline.base.text_escaping import one_line

_LONGEST_TEXT = 240
_SIGNALS = "|".join(DeviationSignal)
_A_SIGNAL = re.compile(rf"(?:{_SIGNALS})(?::[-+0-9.e]{{1,20}})?")
_SIGNALS_ONLY = re.compile(rf"{_A_SIGNAL.pattern}(?:, ?{_A_SIGNAL.pattern})*")
_ABOUT = ("detail", "path", "command", "tool", "error", "why", "text", "nodeId")
"""Keys of a payload that say what a signal is about, in this order."""

_LEADING = ("takeover", "handoff")
"""Kinds of events that change who leads."""
_HANDOFFS = {
    "handoff_pending": (
        SupervisorPhase.HANDOFF_PENDING,
        "the rounds were quiet: control goes back next round if it stays so",
    ),
    "handoff": (SupervisorPhase.COOLDOWN, "control is handed back"),
    "handoff_withdrawn": (SupervisorPhase.TAKEOVER, "it did not stay quiet: control is kept"),
    "cooldown_over": (SupervisorPhase.FREE, "the agent is trusted again"),
}


class Row(NamedTuple):
    """One line of the timeline."""

    first: int
    """Round."""
    last: int
    """Round of the last of those that are folded into it."""
    kind: str
    text: str
    times: int
    ts: int


def rows_of(events: Sequence[Event]) -> list[Row]:
    """The timeline."""
    rows: list[Row] = []
    for row in _all_rows(events):
        if rows and (rows[-1].kind, rows[-1].text) == (row.kind, row.text):
            rows[-1] = rows[-1]._replace(last=row.last, times=rows[-1].times + 1)
        else:
            rows.append(row)
    return rows


def meaning(event: Event) -> tuple[str, str]:
    """(kind, what happened in plain words) of an event. A reason that is not known is shown as it stands."""
    kind, text = _MEANINGS[event.event](event.reason, event.payload)
    return kind, one_line(text, _LONGEST_TEXT)


def phase_after(event: Event) -> SupervisorPhase:
    """Who leads once the event has happened, be its line written before that or after."""
    if event.event is TimelineEvent.HANDOFF and event.reason in _HANDOFFS:
        return _HANDOFFS[event.reason][0]
    return SupervisorPhase.TAKEOVER if meaning(event)[0] == "takeover" else event.phase


def plain(word: str) -> str:
    """A word of the files, as people write it."""
    return word.replace("_", " ")


def _all_rows(events: Sequence[Event]) -> Iterator[Row]:
    before = SupervisorPhase.FREE
    led = {event.round for event in events if meaning(event)[0] in _LEADING}
    for event in events:
        kind, text = meaning(event)
        # Lines of a round may be written at its end: what came before a takeover is then marked as in it.
        after = phase_after(event) if kind in _LEADING or event.round not in led else before
        change = f"{plain(before)} -> {plain(after)}"
        if after is not before and kind in _LEADING:
            text = f"{text} [{change}]"
        elif after is not before:
            yield Row(event.round, event.round, "phase", change, 1, event.ts)
        before = after
        yield Row(event.round, event.round, kind, text, 1, event.ts)


def _of_switch(reason: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    word, _, why = reason.partition(":")
    if word == "denied":
        return "kept", f"stays forced: {plain(why)}"
    entered = payload.get("enteredBy")
    if isinstance(entered, list) and entered and word == "free->forced":
        why = " + ".join(plain(str(name)) for name in entered)
    more = " (the engine itself failed)" if payload.get("failSafe") is True else ""
    tier = payload.get("degradedTier")
    return "mode", f"{word.replace('->', ' -> ')}: {plain(why.strip())}{more}" + (
        f", led by {plain(str(tier))}" if tier else ""
    )


def _of_failure(reason: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    word, _, rest = reason.partition(":")
    if word in tuple(DeviationSignal):
        return "signal", f"{plain(word)} {rest}{_about(payload)}"
    if reason == "checkpoint":
        return "stop", f"stopped, for a person to decide{_about(payload)}"
    if reason == "checkpoint_resumed":
        return "resumed", "the run was resumed from its checkpoint"
    about = _about(payload)
    known = {
        "circuit_breaker": ("stop", f"every call failed for too long{about}"),
        "graph_init_failed": ("graph", f"no graph of steps could be made: {rest}"),
        "graph_failed": ("graph", f"no way through the graph is left: {plain(rest)}{about}"),
        "graph_hint_dropped": ("dropped", f"a hint was not said, the agent is free: {plain(rest)}"),
        "budget_exhausted": ("budget", f"the recovery budget is spent: {rest}"),
        "budget_extended": ("budget", f"the recovery budget is extended, once: {rest}"),
        "correction_budget_exhausted": ("budget", f"not said, the budget of corrections is spent: {plain(rest)}"),
        "recovery_boundary_rejected": ("dropped", f"not said, it is not for this phase: {plain(rest)}"),
        "recovery_main_path_skipped": ("recovery", f"the workspace was not looked at: {plain(rest)}"),
        "kernel_error": ("fault", f"supervision itself failed, and the work went on {rest}{about}"),
    }
    return known.get(word, ("failure", plain(reason) + about))


def _of_drift(reason: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    factors = payload.get("factors")
    shown = ""
    if isinstance(factors, dict):
        shown = f" ({', '.join(f'{plain(str(name))} {_number(value)}' for name, value in factors.items())})"
    return "signal", f"goal drift, alignment {reason.partition(':')[2]}{shown}"


def _of_recovery(reason: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    word, _, rest = reason.partition(":")
    confidence = payload.get("confidence")
    sure = f", confidence {_number(confidence)}" if isinstance(confidence, (int, float)) else ""
    if word == "template_graph":
        marked, _, total = rest.partition("/")
        return "recovery", f"tier template graph{sure}: {marked} of {total} steps stand already in the workspace"
    if word in ("strong_hint", "manual_checkpoint"):
        return "recovery", f"tier {plain(word)}{sure}" + (f": {plain(rest)}" if rest else "")
    if word == "graph_hint":
        told = {
            "forced_step_block": ("block", f"a call was kept back{_about(payload) or ': it is not for this step'}"),
            "forced_step_warn": ("hint", "a call was let through with a hint: it is not for this step"),
            "evaluate_round": ("hint", "a hint: the round was not what this step is for"),
        }
        return told.get(rest, ("hint", f"a hint: {plain(rest)}"))
    if word in _STEERED:
        kind, told_as = _STEERED[word]
        return kind, f"{told_as}{f': {plain(rest)}' if rest else ''}{_about(payload)}"
    if _SIGNALS_ONLY.fullmatch(reason):
        return "takeover", f"takeover: {_signals(reason)}"
    return ("block" if "block" in word else "hint" if "hint" in word else "recovery"), plain(reason) + _about(payload)


_STEERED = {
    "segment_renewal": ("budget", "the takeover was begun anew"),
    "task_graph_init": ("graph", "the graph of steps was made"),
    "graph_switch": ("graph", "a step was given up for its fallback"),
    "graph_skip": ("graph", "a step was skipped"),
    "loop_hint": ("hint", "a hint: the calls go round in a loop"),
    "ladder": ("hint", "a hint: every call fails"),
}


def _of_handoff(reason: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    told = _HANDOFFS[reason][1] if reason in _HANDOFFS else plain(reason)
    return "handoff", told + _about(payload)


def _of_shadow(reason: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    if _SIGNALS_ONLY.fullmatch(reason):
        return "shadow", f"would take over: {_signals(reason)}"
    return "shadow", plain(reason) + _about(payload)


def _as_it_stands(kind: str) -> Callable[[str, Mapping[str, Any]], tuple[str, str]]:
    return lambda reason, payload: (kind, plain(reason) + _about(payload))


_MEANINGS: Mapping[TimelineEvent, Callable[[str, Mapping[str, Any]], tuple[str, str]]] = {
    TimelineEvent.SWITCH: _of_switch,
    TimelineEvent.FAILURE: _of_failure,
    TimelineEvent.DRIFT: _of_drift,
    TimelineEvent.RECOVER: _of_recovery,
    TimelineEvent.HANDOFF: _of_handoff,
    TimelineEvent.SHADOW_DIAGNOSTIC: _of_shadow,
    TimelineEvent.ROLLBACK: _as_it_stands("rollback"),
    TimelineEvent.TIMEOUT: _as_it_stands("timeout"),
}


def _signals(reason: str) -> str:
    return ", ".join(plain(part.strip()).replace(":", " ") for part in reason.split(","))


def _about(payload: Mapping[str, Any]) -> str:
    """What an event is about, in parentheses; empty where its payload does not say."""
    found = [str(payload[key]) for key in _ABOUT if isinstance(payload.get(key), str) and payload[key]]
    return f" ({found[0]})" if found else ""


def _number(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, (int, float)) else one_line(str(value), 20)
