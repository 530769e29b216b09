"""Describe the events of supervision in plain words, as one timeline."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from phases.pages.supervisor_view import Document
from phases.supervision.enums import TimelineEvent
from pipeline.base.text_escaping import one_line

_LONGEST_TEXT, _LOOK_BACK = 300, 8
_SIGNALS: Mapping[str, tuple[str, str]] = {
    "tool_repeat_fail": ("a call", "{n} turns brought nothing new, and one call fails again and again: {about}"),
    "no_progress": ("", "{n} turns brought nothing new"),
    "file_loop": ("one file", "{about} was edited {n} times, and the checks fail as before"),
    "goal_drift": ("", "{n} turns in a row touched nothing of the plan"),
    "scope_creep": ("they are not named", "{n} files outside the plan were written: {about}"),
    "user_force_takeover": ("", "you asked for a takeover"),
    "cycle": ("a loop", "the same calls repeat without a new result ({about})"),
    "error_plateau": ("a check", "{about} failed {n} times with the same failures"),
}
"""Signal -> (its subject if the event names none, the sentence)."""
_LEADS: Mapping[str, str] = {"takeover": "the supervisor leads: ", "shadow": "the supervisor would lead: "}
_KINDS: Mapping[str, str] = {TimelineEvent.RECOVER: "takeover", TimelineEvent.SHADOW_DIAGNOSTIC: "shadow"}
_SIGNAL = re.compile(r"(\w+):([-+0-9.e]{1,20})(?: \((.*)\))?", re.DOTALL)
_WORDS: Mapping[str, tuple[str, str]] = {
    "free->forced": ("mode", "calls that bring nothing are kept back from here on"),
    "forced->free": ("mode", "every call is let through again"),
    "hint": ("hint", "the model was told"),
    "strong_hint": ("steps", "no list of steps could be made, so one next action leads the work"),
    "kept_back": ("kept back", "a call was kept back"),
    "task_graph_init": ("steps", "a list of steps leads the work"),
    "template_graph": ("steps", "a list of steps leads the work; {rest} of them are done in the workspace already"),
    "graph_switch": ("steps", "a step was replaced by its fallback"),
    "graph_skip": ("steps", "a step was skipped"),
    "graph_failed": ("steps", "no step is left to try"),
    "graph_init_failed": ("steps", "no list of steps could be made"),
    "handoff_pending": ("handback", "the work is stable, and is handed back in the next turn if it stays so"),
    "handoff": ("handback", "the work was handed back to the model"),
    "handoff_withdrawn": ("takeover", "the work did not stay stable, so the supervisor keeps the lead"),
    "cooldown_over": ("handback", "the time after the handback is over: any signal counts again"),
    "budget_extended": ("budget", "the takeover makes progress, so it is given half as many turns again"),
    "budget_exhausted": ("budget", "the takeover's budget of {rest} is used up"),
    **dict.fromkeys(("budget_time", "budget_minutes"), ("budget", "a time limit was reached")),
    "stalled": ("stop", "the run was stopped: nothing new came since turn {since}"),
    "checkpoint": ("stop", "the run was stopped for you to decide"),
    "rollback": ("stop", "the run was stopped: the model wanted to discard work"),
    "checkpoint_resumed": ("resume", "the run was resumed"),
    "kernel_error": ("fault", "supervision itself failed, and the work went on"),
    "would_say": ("shadow", "the model would have been told"),
    "would_keep_back": ("shadow", "a call would have been kept back"),
    "would_handoff": ("shadow", "the work would have been handed back"),
    "would_fail": ("shadow", "the run would have been stopped"),
}
"""First word of a reason -> (kind, what happened)."""
_HIDDEN = ("denied", "would_handoff_pending", "would_recover")
"""Reasons that change nothing for a user; --json has them."""
_REASONS: Mapping[str, str] = {
    "checkpoint_resumed": "the run was resumed",
    "task_graph_active": "a list of steps leads",
    "branch_switched": "a step was replaced by its fallback",
    "pending_steps": "steps are open",
    "tool_failure": "a call failed",
    "multi_write": "many files were written at once",
    "large_diff": "many lines changed since a check passed",
    "explicit_impl": "code is to be written",
    "takeover_floor": "the supervisor leads",
    "loop_detected": "the trouble that the model was told of goes on",
    "engine_fail_safe": "supervision itself failed",
    "retries_exceeded": "its tries are used up",
    "repeated_failure": "one failure came again and again",
    "no_progress": "it made no progress",
    "invalid_output": "it did not bring about what it is for",
    "verify_fail": "its checks fail",
    "low_confidence": "too little of the workspace is known to be the model's own work",
    "unsafe": "the workspace is not fit to build on",
    "builder_failed": "no list of steps fits the task",
    "no_executor": "lists of steps are switched off",
}
_ABOUT = ("why", "detail", "command", "path", "error")
"""Keys of a payload that name the subject of an event, the best first."""


class TimelineRow(NamedTuple):
    """One line of the timeline, for events of one or more turns."""

    first: int
    last: int
    kind: str
    text: str
    times: int = 1
    told: str = ""
    """The text that the model read, whole."""
    key: str = ""
    """Neighbours with the same key are one row."""

    @property
    def turns(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"


def timeline_rows(events: Sequence[Document]) -> list[TimelineRow]:
    """Return the timeline. A signal that is answered in its turn is the reason of the answer; equal rows are one row."""
    rows: list[TimelineRow] = []
    for event in events:
        if event["reason"].partition(":")[0] in _HIDDEN:
            continue
        row = _row_of(event)
        while row.kind in ("hint", "takeover") and rows and rows[-1].kind == "signal" and rows[-1].first == row.first:
            if rows[-1].key.partition(" ")[0] not in event["reason"]:
                break
            why = rows.pop().text
            row = row if row.kind == "takeover" else row._replace(text=one_line(f"{row.text}: {why}", _LONGEST_TEXT))
        rows.append(row)
    return _fold_rows(rows)


def describe_reason(text: str) -> str:
    """Return a reason in plain words, and one that is not known as it is."""
    match = _SIGNAL.fullmatch(text)
    if match and match[1] in _SIGNALS:
        subject, sentence = _SIGNALS[match[1]]
        return sentence.format(n=match[2], about=match[3] or subject)
    return _REASONS.get(text.strip().partition(":")[0], text)


def _fold_rows(rows: Sequence[TimelineRow]) -> list[TimelineRow]:
    folded: list[TimelineRow] = []
    for row in rows:
        near = [at for at in range(max(0, len(folded) - _LOOK_BACK), len(folded)) if folded[at].key == row.key]
        if near and not row.told and all(other.kind == row.kind for other in folded[near[-1] :]):
            old = folded[near[-1]]
            times = 1 if row.kind == "signal" else old.times + 1  # a signal counts itself
            folded[near[-1]] = row._replace(first=old.first, times=times)
        else:
            folded.append(row)
    return folded


def _row_of(event: Document) -> TimelineRow:
    reason, payload, turn = event["reason"], event["payload"], int(event["turn"])
    word, _, rest = reason.partition(":")
    about = next((value for name in _ABOUT if isinstance(value := payload.get(name), str) and value), "")
    listed = payload.get("enteredBy" if word == "free->forced" else "signals")
    named = [str(name) for name in listed] if isinstance(listed, list) else []
    if signals := _signals_in(reason):
        kind = _KINDS.get(event["event"], "signal")
        listed = named or ([f"{reason} ({about})"] if about else signals)
        text = _LEADS.get(kind, "") + "; ".join(map(describe_reason, listed))
    else:
        kind, text = _WORDS.get(word, ("other", reason.replace("_", " ")))
        text = text.replace("{rest}", rest.replace("/", " of ")).replace("{since}", str(payload.get("since", "?")))
        why = ", ".join(map(describe_reason, named)) or _REASONS.get(rest.strip().partition(":")[0], "")
        text += (f": {why}" if why else "") + (f" ({describe_reason(about)})" if about else "")
    text, told = one_line(text, _LONGEST_TEXT), payload.get("text") if event["event"] == TimelineEvent.RECOVER else ""
    told = told if isinstance(told, str) else ""
    return TimelineRow(turn, turn, kind, text, told=told, key=one_line(f"{word} {about}" if signals else text))


def _signals_in(reason: str) -> list[str]:
    """The signals of a reason that is a list of them; empty for any other reason."""
    parts = [part.strip() for part in reason.split(",")]
    matches = [_SIGNAL.fullmatch(part) for part in parts]
    return parts if all(match and match[1] in _SIGNALS for match in matches) else []
