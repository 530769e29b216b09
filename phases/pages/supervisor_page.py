"""Read the supervision files of a task, and describe them as one table (the state) and one timeline.

A damaged file is reported, and the others are shown. The terminal, the page of a task and `serve` show the same rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from phases.acceptance.stop_reasons import describe_reason as describe_stop
from phases.agent import kernel_files
from phases.pages.render import page_start, render_file
from phases.supervision import serialization
from phases.supervision.config import Config
from phases.supervision.enums import LED, ExecutionMode, StopReason, SupervisorMode, SupervisorPhase, TimelineEvent
from pipeline.base.errors import FormatError, PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.base.text_escaping import one_line

DIRECTORY, REPORT = "kernel", "kernel-report.json"
CONFIG, GRAPH, EVENTS, TAKE_OVER = (
    f"{DIRECTORY}/{name}"
    for name in (kernel_files.CONFIG, kernel_files.GRAPH, kernel_files.EVENTS, kernel_files.REQUEST)
)
_SCHEMAS = {REPORT: REPORT, CONFIG: "supervisor-config.json", GRAPH: "task-graph.json", EVENTS: "supervisor-event.json"}
Check = Callable[[str, Any], str | None]
"""(schema name, value) -> why the value does not fit, or None."""
Document = Mapping[str, Any]
PAGE_START = page_start("supervisor")
MOST_ROWS = 3000
_LONGEST_TEXT, _LONGEST_DETAIL, _MOST_DAMAGE, _LOOK_BACK = 300, 400, 20, 8


@dataclass(frozen=True)
class View:
    """The supervision files of one task. A missing file is None, or empty."""

    task: str
    config: Config = field(default_factory=Config)
    events: tuple[Document, ...] = ()
    graph: Document | None = None
    report: Document | None = None
    take_over_asked: bool = False
    running: bool = False
    damage: tuple[str, ...] = ()
    """Unreadable content: file, line, reason."""

    @property
    def empty(self) -> bool:
        return not (self.events or self.graph or self.report or self.damage)

    @property
    def over(self) -> bool:
        """Return whether the report belongs to this run, and not to an earlier start that was resumed."""
        last = [line["round"] + (line["reason"] == "checkpoint_resumed") for line in self.events[-1:]]
        return self.report is not None and not self.running and max(last, default=0) <= self.report["rounds"]

    @property
    def mode(self) -> SupervisorMode:
        if self.over and self.report:
            return SupervisorMode(self.report["mode"])
        return SupervisorMode(self.events[-1]["mode"] if self.events else self.config.mode or SupervisorMode.ADAPTIVE)

    @property
    def shadow(self) -> bool:
        noted = any(line["event"] == TimelineEvent.SHADOW_DIAGNOSTIC for line in self.events)
        return bool(self.report["shadow"]) if self.report else self.config.shadow or noted

    @property
    def turns(self) -> int:
        """Return the last recorded turn."""
        known = [line["turn"] for line in self.events[-1:]] + ([self.report["rounds"]] if self.report else [])
        return int(max(known, default=0))


def read_view(root: str, task: str, check: Check, *, running: bool = False) -> View:
    """Read the supervision files of a task directory."""
    reader = _Reader(root, check)
    config, events = reader.config(), tuple(reader.lines())
    graph, report = reader.document(GRAPH), reader.document(REPORT)
    asked = os.path.lexists(os.path.join(root, TAKE_OVER))
    return View(task, config, events, graph, report, asked, running, tuple(reader.damage))


def read_config(root: str, check: Check) -> tuple[Config, str]:
    """Return the settings in force, and what is wrong with their file; empty if nothing is."""
    reader = _Reader(root, check)
    return reader.config(), next(iter(reader.damage), "")


class _Reader:
    """Reads the files of one task, and collects the damage."""

    def __init__(self, root: str, check: Check) -> None:
        self._root, self._check = root, check
        self.damage: list[str] = []

    def document(self, name: str) -> Document | None:
        """Return a JSON document that fits its schema; None if it is missing or damaged."""
        data = self._bytes(name)
        return None if data is None else self._parse(name, data)

    def config(self) -> Config:
        """Return the settings; the defaults if there are none, or none that can be used."""
        try:
            return serialization.from_json(Config, self.document(CONFIG) or {})
        except ValueError as error:  # the schema is stricter: this is for a schema and a class that disagree
            self.damage.append(f"{CONFIG}: {error}")
            return Config()

    def lines(self) -> Iterator[Document]:
        """Yield every valid line of the event log."""
        rows = (self._bytes(EVENTS) or b"").split(b"\n")
        for number, row in enumerate(rows[:-1], 1):
            line = self._parse(EVENTS, row, number) if row.strip() else None
            if line is not None:
                yield line
        if rows[-1].strip():
            self.damage.append(f"{EVENTS}, line {len(rows)}: it is incomplete: still being written, or cut by a crash")

    def _bytes(self, name: str) -> bytes | None:
        path = os.path.join(self._root, *name.split("/"))
        if not os.path.lexists(path):
            return None
        try:
            return read_bytes(path)
        except PipelineError as error:
            self.damage.append(str(error))
            return None

    def _parse(self, name: str, data: bytes, line: int = 0) -> Document | None:
        place = f"{name}, line {line}" if line else name
        try:
            value = parse_json(data)
        except FormatError as error:
            place = f"{name}, line {line or error.line}, column {error.column}" if error.line else place
            self.damage.append(f"{place}: {error}")
            return None
        if wrong := self._check(_SCHEMAS[name], value):
            self.damage.append(f"{place}: {wrong}")
            return None
        return dict(value)


# The timeline.

_SIGNALS: Mapping[str, tuple[str, str]] = {
    "tool_repeat_fail": ("a call", "{n} turns produced nothing new, and one call keeps failing: {about}"),
    "no_progress": ("", "{n} turns produced nothing new"),
    "file_loop": ("one file", "{about} was edited {n} times, and the checks fail as before"),
    "goal_drift": ("", "{n} consecutive turns touched no planned file, test or check"),
    "scope_creep": ("they are not named", "{n} files outside the plan were written: {about}"),
    "user_force_takeover": ("", "you requested a takeover"),
    "cycle": ("a loop", "the same calls repeat without a new result ({about})"),
    "error_plateau": ("a check", "{about} failed {n} times with the same failures"),
}
"""Signal -> (its subject if the event names none, the sentence)."""
_SIGNAL = re.compile(r"(\w+):([-+0-9.e]{1,20})(?: \((.*)\))?", re.DOTALL)
_WORDS: Mapping[str, tuple[str, str]] = {
    "free->forced": ("mode", "repeated calls without a new result are refused from here on"),
    "forced->free": ("mode", "every call is executed again"),
    "hint": ("hint", "the model was told"),
    "strong_hint": ("steps", "no list of steps could be made, so one next action leads the work"),
    "kept_back": ("refused", "a call was not executed"),
    "task_graph_init": ("steps", "a list of steps leads the work"),
    "template_graph": ("steps", "a list of steps leads the work; {rest} of them are done in the workspace already"),
    "graph_switch": ("steps", "a step was replaced by its fallback"),
    "graph_skip": ("steps", "a step was skipped"),
    "graph_failed": ("steps", "no step is left to try"),
    "graph_init_failed": ("steps", "no list of steps could be made"),
    "handoff_pending": ("handback", "the work is stable; control returns to the model next turn if it stays so"),
    "handoff": ("handback", "control was returned to the model"),
    "handoff_withdrawn": ("takeover", "the work did not stay stable, so the supervisor still leads"),
    "cooldown_over": ("handback", "the cooldown after the handback is over: any signal counts again"),
    "budget_extended": ("budget", "the takeover makes progress, so it gets half as many turns again"),
    "budget_exhausted": ("budget", "the takeover has used up its budget of {rest}"),
    **dict.fromkeys(("budget_time", "budget_minutes"), ("budget", "a time limit was reached")),
    "stalled": ("stop", "the run was stopped: no new result since turn {since}"),
    "checkpoint": ("stop", "the run was stopped for you to decide"),
    "rollback": ("stop", "the run was stopped: the model wanted to discard work"),
    "checkpoint_resumed": ("resume", "the run was resumed"),
    "kernel_error": ("fault", "supervision itself failed, and the work continued"),
    "would_say": ("shadow", "the model would have been told"),
    "would_keep_back": ("shadow", "a call would have been refused"),
    "would_handoff": ("shadow", "control would have been returned to the model"),
    "would_fail": ("shadow", "the run would have been stopped"),
}
"""First word of a reason -> (kind, what happened)."""
_SIGNAL_KINDS: Mapping[str, tuple[str, str]] = {
    TimelineEvent.RECOVER: ("takeover", "the supervisor leads: "),
    TimelineEvent.SHADOW_DIAGNOSTIC: ("shadow", "the supervisor would lead: "),
}
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
    "loop_detected": "the problem that the model was told of persists",
    "engine_fail_safe": "supervision itself failed",
    "retries_exceeded": "its retries are used up",
    "repeated_failure": "the same failure kept recurring",
    "no_progress": "it made no progress",
    "invalid_output": "it did not produce its result",
    "verify_fail": "its checks fail",
    "low_confidence": "too little of the workspace is known to be the model's own work",
    "unsafe": "the workspace is not fit to build on",
    "builder_failed": "no list of steps fits the task",
    "no_executor": "lists of steps are switched off",
}
_ABOUT = ("why", "detail", "command", "path", "error")
"""Payload keys that name the subject of an event, the best first."""


class TimelineRow(NamedTuple):
    """One line of the timeline, for events of one or more turns."""

    first: int
    last: int
    mode: str
    """After it: free, limited or led, as `mode_after` says."""
    kind: str
    text: str
    times: int = 1
    message: str = ""
    """The whole text that the model read."""
    key: str = ""
    """Neighbours with the same key are one row."""

    @property
    def turns(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"


def timeline_rows(events: Sequence[Document]) -> list[TimelineRow]:
    """Return the timeline: one row for each event, or for equal events that follow one another."""
    rows: list[TimelineRow] = []
    for event in events:
        if event["reason"].partition(":")[0] in _HIDDEN:
            continue
        row = _row_of(event)
        near = [at for at in range(max(0, len(rows) - _LOOK_BACK), len(rows)) if rows[at].key == row.key]
        if near and not row.message and all(other.kind == row.kind for other in rows[near[-1] :]):
            old = rows[near[-1]]
            times = 1 if row.kind == "signal" else old.times + 1  # a signal counts itself
            rows[near[-1]] = row._replace(first=old.first, times=times)
        else:
            rows.append(row)
    return rows


def describe_reason(text: str) -> str:
    """Return a reason in plain words, or unchanged if it is not known."""
    match = _SIGNAL.fullmatch(text)
    if match and match[1] in _SIGNALS:
        subject, sentence = _SIGNALS[match[1]]
        return sentence.format(n=match[2], about=match[3] or subject)
    return _REASONS.get(text.strip().partition(":")[0], text)


def mode_after(event: Document) -> str:
    """Return how the model works after an event: free, limited (some calls are refused) or led by the supervisor."""
    if event["phase"] in LED:
        return "led"
    return "limited" if event["executionMode"] == ExecutionMode.FORCED else "free"


def _row_of(event: Document) -> TimelineRow:
    reason, payload, turn = event["reason"], event["payload"], int(event["turn"])
    word, _, rest = reason.partition(":")
    about = next((value for name in _ABOUT if isinstance(value := payload.get(name), str) and value), "")
    listed = payload.get("enteredBy" if word == "free->forced" else "signals")
    named = [str(name) for name in listed] if isinstance(listed, list) else []
    if signals := _signals_in(reason):
        kind, lead = _SIGNAL_KINDS.get(event["event"], ("signal", ""))
        listed = named or ([f"{reason} ({about})"] if about else signals)
        text = lead + "; ".join(map(describe_reason, listed))
    else:
        kind, text = _WORDS.get(word, ("other", reason.replace("_", " ")))
        text = text.replace("{rest}", rest.replace("/", " of ")).replace("{since}", str(payload.get("since", "?")))
        why = ", ".join(map(describe_reason, named)) or _REASONS.get(rest.strip().partition(":")[0], "")
        text += (f": {why}" if why else "") + (f" ({describe_reason(about)})" if about else "")
    text, message = (
        one_line(text, _LONGEST_TEXT),
        payload.get("text") if event["event"] == TimelineEvent.RECOVER else "",
    )
    key = one_line(f"{word} {about}" if signals else text)
    return TimelineRow(
        turn, turn, mode_after(event), kind, text, message=message if isinstance(message, str) else "", key=key
    )


def _signals_in(reason: str) -> list[str]:
    """Return the signals of a reason that is a list of them; empty for any other reason."""
    parts = [part.strip() for part in reason.split(",")]
    matches = [_SIGNAL.fullmatch(part) for part in parts]
    return parts if all(match and match[1] in _SIGNALS for match in matches) else []


# The state.

_ENDINGS: Mapping[str, str] = {
    "": "ended, and not by supervision",
    "model_done": "the work was accepted",
    "budget": "a limit was reached",
    "completed_unverified": "the model finished, and no check has verified its work",
    StopReason.USER_CHECKPOINT: "stopped by supervision, for you to decide",
    StopReason.CIRCUIT_BREAKER: "stopped by supervision, because there was no new result",
    StopReason.STUCK_CYCLE: "stopped by supervision, because the same calls kept repeating",
}
_MODES = {
    "led": "the supervisor leads",
    "free": "the model leads, and every call is executed",
    "limited": "the model leads, and repeated calls without a new result are refused",
}
_PHASES: Mapping[str, str] = {
    SupervisorPhase.HANDOFF_PENDING: "; control returns next turn if the work stays stable",
    SupervisorPhase.COOLDOWN: "; so soon after a handback only a strong signal starts another takeover",
}


def describe_state(view: View) -> list[tuple[str, str]]:
    """Return the rows (label, text) of the state: how the run ended and why, its mode, who leads, and the counts."""
    report, last = view.report or {}, view.events[-1] if view.events else None
    reason = str(report["stopReason"]) if view.over and report["stopReason"] else ""
    ending = "it is running" if view.running else "not finished, and no process is working on it"
    if view.over:
        ending = _ENDINGS.get("budget" if reason.startswith("budget_") else reason) or describe_stop(reason)
    leads = f"{_MODES[mode_after(last)]}{_PHASES.get(last['phase'], '')}" if last else _MODES["free"]
    rows = [
        ("Run", f"{_count(view.turns, 'turn')}, {ending}"),
        ("Why", str(report["detail"]) if view.over else ""),
        ("Mode", f"{view.mode}{', in shadow: it notes what it would do, and does nothing' if view.shadow else ''}"),
        (
            "At end" if view.over else "Now",
            "" if reason == "model_done" or view.mode is SupervisorMode.OFF else leads,
        ),
        ("Steps", _describe_steps(view.graph) if view.graph else ""),
        ("So far" if view.over else f"To turn {report.get('rounds', 0):g}", _counts(report) if report else ""),
        ("Warning", str(report.get("warning") or "")),
        ("Requested", "a takeover, which begins with the next turn" if view.take_over_asked else ""),
    ]
    return [(label, one_line(text, _LONGEST_DETAIL)) for label, text in rows if text]


def next_steps(view: View, name: str = "") -> list[str]:
    """Return what a user can do after a stop by supervision; nothing in any other state."""
    if not (view.over and view.report and view.report["stopReason"] in tuple(StopReason)):
        return []
    task = name or view.task
    return [
        f"if the check asks for the wrong thing, change it in the plan: pipeline review {task}",
        f"correct the code or the test yourself, in the task's generate_code/, then: pipeline resume {task}",
        f"let the model try again: pipeline resume {task}; without supervision, with --supervisor off",
    ]


def describe_supervision(view: View, name: str = "") -> dict[str, Any]:
    """Return the values of the templates; `name` is the task as a command takes it."""
    rows = timeline_rows(view.events)
    return {
        "state": describe_state(view),
        "next": next_steps(view, name),
        "take_over_asked": view.take_over_asked,
        "damage": view.damage[:_MOST_DAMAGE],
        "events": rows[:MOST_ROWS],
        "more": max(0, len(rows) - MOST_ROWS),
    }


def render_page(view: View, name: str = "") -> str:
    """Return the page, as HTML; `name` is the task as a command takes it."""
    title = f"Supervision of {view.task}"
    values = {"title": title, **describe_supervision(view, name)}
    return render_file(PAGE_START, title, "supervision_file.html", values, ("timeline",))


def _describe_steps(graph: Document) -> str:
    current = graph["nodes"].get(graph["cursor"]["nodeId"], {}).get("title", "")
    now = f"now: {current}" if graph["status"] in ("ready", "running") else str(graph["status"])
    return f"{graph['progress']:g} % done, {now}"


def _counts(report: Document) -> str:
    done, refused = report["interventions"], f"{_count(report['interventions']['blocks'], 'call')} refused"
    handbacks = _count(report["handoffs"], "handback")
    return ", ".join((_count(done["hints"], "hint"), refused, _count(done["takeovers"], "takeover"), handbacks))


def _count(number: float, what: str) -> str:
    return f"{number:g} {what}{'' if number == 1 else 's'}"
