"""Describe a supervised run for the terminal and for a page: its state, its timeline and its list of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from phases.acceptance.stop_reasons import describe_reason as describe_stop
from phases.pages.render import page_start, render_file
from phases.pages.supervisor_events import describe_reason, timeline_rows
from phases.pages.supervisor_view import Document, View
from phases.supervision.enums import (
    LED,
    ExecutionMode,
    GraphStatus,
    NodeStatus,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
)
from pipeline.base.text_escaping import one_line

PAGE_START = page_start("supervisor")
MOST_ROWS = 3000
_MARKS: Mapping[str, str] = {"done": "✓", "now": "▶", "failed": "✗", "skipped": "–", "pending": "○"}
"""State of a step -> its sign, so that no state is shown by a colour alone."""
_LONGEST_TITLE, _LONGEST_DETAIL, _MOST_DAMAGE = 100, 400, 20
_ENDINGS: Mapping[str, str] = {
    "": "ended, and not by supervision",
    "model_done": "the work was accepted",
    "budget": "a limit was reached",
    "completed_unverified": "the model was done, and no check has verified its work",
    StopReason.USER_CHECKPOINT: "stopped by supervision, for you to decide",
    StopReason.CIRCUIT_BREAKER: "stopped by supervision, because nothing new came",
    StopReason.STUCK_CYCLE: "stopped by supervision, because the same calls came again and again",
}
_PHASES: Mapping[str, str] = {
    SupervisorPhase.HANDOFF_PENDING: "; the work is handed back in the next turn if it stays stable",
    SupervisorPhase.COOLDOWN: "; so soon after a handback only a strong signal leads to another takeover",
}
_STEPS: Mapping[str, str] = {
    GraphStatus.PAUSED: "; no longer followed, since the work was handed back",
    GraphStatus.FAILED: "; no step is left to try",
}


def render_page(view: View, name: str = "") -> str:
    """Return the page, as HTML; `name` is the task as a command takes it, where that is not its id."""
    title = f"Supervision of {view.task}"
    values = {"title": title, **describe_supervision(view, name)}
    return render_file(PAGE_START, title, "supervision_file.html", values, ("timeline", "steps"))


def describe_supervision(view: View, name: str = "") -> dict[str, Any]:
    """Return the values of the templates."""
    rows = timeline_rows(view.events)
    return {
        "state": describe_state(view),
        "next": next_steps(view, name),
        "take_over_asked": view.take_over_asked,
        "damage": view.damage[:_MOST_DAMAGE],
        "events": rows[:MOST_ROWS],
        "more": max(0, len(rows) - MOST_ROWS),
        "steps": view.graph and {"about": describe_steps(view.graph), "rows": step_rows(view.graph)},
    }


def describe_state(view: View) -> list[tuple[str, str]]:
    """Return (label, text) for the end and its reason, the mode, who leads, the budget and the counts."""
    report, events = view.report or {}, view.events
    reason = str(report["stopReason"]) if view.over and report["stopReason"] else ""
    ending = "it is running" if view.running else "not finished, and no process works on it"
    if view.over:
        ending = _ENDINGS.get("budget" if reason.startswith("budget_") else reason) or describe_stop(reason)
    (leader, since), gated = lead_of(events), gated_since(events)
    assertions = [told for event in events if isinstance(told := event["payload"].get("assertion"), str) and told]
    phase = _PHASES.get(events[-1]["phase"], "") if events else ""
    rows = [
        ("Run", one_line(f"{_count(view.turns, 'turn')}, {ending}")),
        ("Why", str(report["detail"]) if view.over else ""),
        ("Fails at", assertions[-1] if assertions else ""),
        ("Mode", f"{view.mode}{', in shadow: it notes what it would do, and does nothing' if view.shadow else ''}"),
        ("Led by", f"the {leader}, since turn {since}{phase}"),
        ("Calls", f"those that bring nothing are kept back, since turn {gated}" if gated else "none is kept back"),
        ("Takeover", _takeover_budget(view) if leader == "supervisor" else ""),
        ("So far" if view.over else f"To turn {report.get('rounds', 0):g}", _counts(report) if report else ""),
        ("Warning", str(report.get("warning") or "")),
        ("Asked for", "a takeover, which comes with the next turn" if view.take_over_asked else ""),
    ]
    past = ("Fails at", "Led by", "Calls") if reason == "model_done" else ()
    past = ("Led by", "Calls", "Takeover") if view.mode is SupervisorMode.OFF else past
    return [(label, one_line(text, _LONGEST_DETAIL)) for label, text in rows if text and label not in past]


def next_steps(view: View, name: str = "") -> list[str]:
    """Return what a user can do after a stop by supervision; nothing in any other state."""
    if not (view.over and view.report and view.report["stopReason"] in tuple(StopReason)):
        return []
    return [
        f"if the check asks for the wrong thing, change it in the plan: pipeline review {name or view.task}",
        f"correct the code or the test yourself, in the task's generate_code/, then: pipeline resume {name or view.task}",
        f"let the model try again: pipeline resume {name or view.task}; without supervision, with --supervisor off",
    ]


def lead_of(events: Sequence[Document]) -> tuple[str, int]:
    """Return who leads, supervisor or model, and since which turn."""
    if since := _since(events, lambda event: event["phase"] in LED):
        return "supervisor", since
    was_led = any(event["phase"] in LED for event in events)
    return "model", _since(events, lambda event: event["phase"] not in LED) if was_led else 1


def gated_since(events: Sequence[Document]) -> int:
    """Return since which turn calls that bring nothing are kept back; 0 if none is."""
    return _since(events, lambda event: event["executionMode"] == ExecutionMode.FORCED)


def describe_steps(graph: Document) -> str:
    """Return how far the list of steps is, and whether it is followed."""
    return f"{graph['progress']:g} % done{_STEPS.get(graph['status'], '')}"


def step_rows(graph: Document) -> list[tuple[str, str]]:
    """Return (mark and title, state) of each step, a fallback below the step that it stands in for."""
    fallbacks: dict[str, list[str]] = {}
    for branch in graph["fallbackBranches"]:
        edges = [edge for edge in graph["edges"] if edge["type"] == "fallback" and edge["to"] in branch["nodeIds"]]
        replaced = branch.get("failedNodeId") or (edges[0]["from"] if edges else "")
        fallbacks.setdefault(replaced, []).extend(branch["nodeIds"])
    rows = []
    for name in graph["mainBranch"]["nodeIds"]:
        rows.append(_step_row(graph, name, ""))
        rows += [_step_row(graph, other, "  instead: ") for other in fallbacks.pop(name, ())]
    return [*rows, *(_step_row(graph, name, "  instead: ") for names in fallbacks.values() for name in names)]


def _step_row(graph: Document, name: str, before: str) -> tuple[str, str]:
    node = graph["nodes"][name]
    followed = graph["status"] not in (GraphStatus.DONE, GraphStatus.FAILED, GraphStatus.PAUSED)
    is_open = node["status"] in (NodeStatus.PENDING, NodeStatus.RUNNING)
    here = followed and is_open and name == graph["cursor"]["nodeId"]
    state = "now" if here else "pending" if is_open else str(node["status"])
    tried = f"tried again {node['retryCount']:g} of {node['maxRetries']:g} times" if node["retryCount"] else ""
    error = one_line(describe_reason(node.get("error") or ""), _LONGEST_TITLE)
    title = f"{_MARKS[state]} {before}{one_line(node['title'], _LONGEST_TITLE)}"
    return title, ", ".join(part for part in (state, tried, error) if part)


def _since(events: Sequence[Document], holds: Callable[[Document], bool]) -> int:
    """The turn of the first of the last events for which this holds; 0 if it does not hold for the last."""
    last = list(takewhile(holds, reversed(events)))
    return max(1, int(last[-1]["turn"])) if last else 0


def _takeover_budget(view: View) -> str:
    """What a takeover may use; once the run is over, also what it used."""
    most, report = view.config.takeover.max_recovery_rounds, view.report if view.over else None
    used = "; used: {effectiveRounds:g} and {rounds:g}".format(**report["budgets"]["recovery"]) if report else ""
    return f"at most {most} turns with progress, {2 * most} in all{used}"


def _counts(report: Document) -> str:
    """The one count of what supervision did."""
    done, handbacks = report["interventions"], _count(report["handoffs"], "handback")
    kept = f"{_count(done['blocks'], 'call')} kept back"
    return ", ".join((_count(done["hints"], "hint"), kept, _count(done["takeovers"], "takeover"), handbacks))


def _count(number: float, what: str) -> str:
    return f"{number:g} {what}{'' if number == 1 else 's'}"
