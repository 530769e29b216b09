"""Page of one task: its state, the next step, its phases as a graph, and the buttons that start commands."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.base.errors import UsageError
from pipeline.cli.assembly import locate_task
from pipeline.cli.cost import sum_costs
from pipeline.cli.next_steps import next_steps
from pipeline.cli.output import rewrite_commands
from pipeline.cli.status import describe_task
from pipeline.cli.summary import evidence_of
from pipeline.cli.web.commands import Ended, run_command_to_end, start_command
from pipeline.cli.web.exchange import HtmlPage, NotThere, PageRequest, SeeOther, Site
from pipeline.cli.web.tasks_page import count_requirements, read_title
from pipeline.engine.phase import Phase
from pipeline.engine.stamps import RUNNING
from pipeline.engine.store import TaskStore

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 110, 46, 24, 18
_LIMITS = (
    "max-usd",
    "add-usd",
    "max-tokens",
    "max-turns",
    "max-minutes",
    "max-output-tokens",
    "max-acceptance-continues",
)
_ANYWAY = "anyway"
_ASKED = {"model NAME": "model", "code-model NAME": "code_model"}
"""Form fields for the open parts of a step."""
_OVER = ("completed", "warning")
WAITS = "its plan is to be approved"
_FLAG = re.compile(rf"--({'|'.join(_LIMITS)}|{_ANYWAY})(?: (?:N|([0-9]{{1,12}}(?:\.[0-9]{{1,6}})?)))?")
_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


def head_of(site: Site, store: TaskStore) -> dict[str, Any]:
    """Collect the head of every page of a task."""
    in_force = site.in_force(store)
    state = describe_task(store, in_force.values)
    waits = any(row["name"] == "plan_review" and row["status"] == "stopped" for row in state["phases"])
    return {
        "task": store.id,
        "title": read_title(store),
        "state": state,
        "status": "waits for you" if waits and not state["holder"] else state["status"],
        "reason": _why_it_stands(store, state, waits),
        "evidence_told": evidence_of(state),
        "distrusted": rewrite_commands(in_force.told),
        "waits": waits and not state["holder"],
        "has": {name: store.exists(document) for name, document in _TABS.items()},
        "usd": sum_costs(store)["total"]["usd"],
    }


def _why_it_stands(store: TaskStore, state: Mapping[str, Any], waits: bool) -> str:
    """Return the phases at work, or why none is."""
    if state["holder"]:
        at_work = [row for row in state["phases"] if row["status"] == RUNNING]
        running = [f"{row['number']} {row['name']}" + (f" ({row['now']})" if row["now"] else "") for row in at_work]
        return ", ".join(running) or "it begins"
    return WAITS if waits else rewrite_commands(locate_task(state["reason"], store.root))


_TABS = {"plan": "initial_plan.txt", "live": "journal.jsonl", "trace": "traceability.json", "results": "results.json"}


def show_task(site: Site, request: PageRequest) -> HtmlPage:
    return HtmlPage("overview.html", _describe(site, site.open(request.route["task"])))


def show_now(site: Site, request: PageRequest) -> HtmlPage:
    """Show the part of the page that changes."""
    return HtmlPage("now.html", {**_describe(site, site.open(request.route["task"])), "part": True})


def _describe(site: Site, store: TaskStore) -> dict[str, Any]:
    head = head_of(site, store)
    report = store.load("report.json") if store.exists("report.json") else None
    stale = [row for row in head["state"]["phases"] if row["stale"]]
    money = sum_costs(store)["by_phase"]
    for row in head["state"]["phases"]:
        row["usd"] = money.get(f"{row['number']} {row['name']}", {}).get("usd", 0.0)
        row["stale"] = rewrite_commands(locate_task(row["stale"], store.root)) if row["stale"] else ""
    steps = next_steps(store, report) if report and not head["state"]["holder"] else []
    is_over = not stale and head["state"]["status"] in _OVER
    return {
        **head,
        "stale": stale,
        "limit": _raised_limit(report),
        "evidence": count_requirements(report or {}),
        "files": (report or {}).get("files", {}),
        "checks": (report or {}).get("checks", ()),
        "steps": [(rewrite_commands(command), what) for command, what in steps],
        "offers": [] if is_over or head["waits"] else [one for step in steps if (one := _offer(*step))],
        "is_over": is_over,
        "missing": (report or {}).get("requirements", {}).get("open", ()),
        "graph": _draw(store, head["state"]["phases"]),
    }


def _offer(command: str, what: str) -> dict[str, str] | None:
    """Return a step of the terminal as a field, button or link of this page, else as a command.

    None for a step that the page shows anyway.
    """
    verb, _, options = command.partition(" --")
    is_resume = verb.startswith("pipeline resume ")
    found = _FLAG.fullmatch(f"--{options}") if is_resume else None
    if found:
        # the limit that the run itself reached has a field of its own
        is_shown = not found[2] or "higher limit" in what
        return None if is_shown else {"limit": found[1], "amount": found[2], "what": what}
    if is_resume and options in _ASKED:
        return {"field": _ASKED[options], "what": what}
    if is_resume and options == "install allowed":
        return {"install": "allowed", "what": what}
    if verb.startswith("pipeline show ") and verb.endswith(" acceptance"):
        return {"page": "live", "what": what}
    is_shown = verb.startswith(("pipeline show ", "pipeline trace ", "pipeline why ", "pipeline models"))
    return None if is_shown or (is_resume and not options) else {"command": rewrite_commands(command), "what": what}


def _raised_limit(report: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the option that raises a reached limit, and its new value if that is known.

    The task is untrusted: nothing but a limit passes.
    """
    found = _FLAG.fullmatch(str((report or {}).get("resume_with") or ""))
    return (found.group(1), found.group(2) or "") if found else ("", "")


def _draw(store: TaskStore, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Lay out the phases as boxes in columns, and the arrows that others do not imply."""
    shown = [phase for phase in store.graph.phases if any(row["number"] == phase.number for row in rows)]
    columns: dict[str, int] = {}
    for phase in shown:
        before = [columns[one.number] for one in store.graph.before(phase) if one.number in columns]
        columns[phase.number] = max(before, default=-1) + 1
    lanes: dict[int, int] = {}
    boxes = {}
    for phase in shown:
        column = columns[phase.number]
        lane = lanes.get(column, 0)
        lanes[column] = lane + 1
        row = next(row for row in rows if row["number"] == phase.number)
        place = {"x": 2 + column * (_WIDTH + _GAP_X), "y": 2 + lane * (_HEIGHT + _GAP_Y)}
        boxes[phase.number] = {**row, **place, "w": _WIDTH, "h": _HEIGHT}
    arrows = [
        (boxes[before.number], boxes[phase.number])
        for phase in shown
        for before in _nearest(store, phase)
        if before.number in boxes
    ]
    return {
        "boxes": list(boxes.values()),
        "arrows": arrows,
        "gap": _GAP_X,
        "width": (max(columns.values(), default=0) + 1) * (_WIDTH + _GAP_X) - _GAP_X + 4,
        "height": max(lanes.values(), default=1) * (_HEIGHT + _GAP_Y) - _GAP_Y + 4,
    }


def _nearest(store: TaskStore, phase: Phase) -> list[Phase]:
    """Return the direct predecessors of a phase."""
    before = store.graph.before(phase)
    behind = {other.number for one in before for other in store.graph.after(one)}
    return [one for one in dict.fromkeys(before) if one.number not in behind]


def ask_redo(site: Site, request: PageRequest) -> HtmlPage:
    """Ask before a phase is run again: which results are replaced, and what they cost last time."""
    store = site.open(request.route["task"])
    phase = _phase_named(store, request.query.get("phase", ""))
    money = sum_costs(store)["by_phase"]
    again = [one for one in (phase, *store.graph.after(phase)) if one.number in store.stamps]
    rows = [
        {
            "label": one.label,
            "seconds": store.stamps[one.number].seconds,
            "usd": money.get(f"{one.number} {one.name}", {}).get("usd", 0.0),
            "owns": [name for name in one.owns if store.exists(name)],
        }
        for one in again
    ]
    return HtmlPage("redo.html", {**head_of(site, store), "phase": phase, "rows": rows})


def _phase_named(store: TaskStore, number: str) -> Phase:
    found = next((phase for phase in store.graph.phases if phase.number == number), None)
    if found is None:
        raise NotThere("There is no such phase.")
    return found


def act(site: Site, request: PageRequest) -> SeeOther | HtmlPage:
    """Start the command that a button stands for."""
    store, form = site.open(request.route["task"]), request.form
    action = form.get("action", "")
    if action == "stop":
        return _back(store, run_command_to_end(["stop", store.root]))
    if action == "take-over":
        return _back(store, run_command_to_end(["supervisor", store.root, "--take-over"]))
    if action == "rm":
        ended = run_command_to_end(["rm", store.id, "--yes", f"--tasks-dir={site.folder}"])
        return SeeOther("/", ended.text) if ended.code == 0 else _back(store, ended)
    if action == "redo":
        phase = _phase_named(store, form.get("phase", ""))
        return _back(store, start_command(["resume", store.root, "--redo", phase.number]))
    if action == "step":
        return _back(store, start_command(["step", store.root]))
    if action == "resume":
        return _back(store, start_command(["resume", store.root, *_flags_in(form)]))
    raise NotThere("There is no such button.")


def _flags_in(form: Mapping[str, str]) -> list[str]:
    limit, amount = (form.get(name, "").strip() for name in ("limit", "amount"))
    if limit and limit != _ANYWAY and not (limit in _LIMITS and _AMOUNT.fullmatch(amount)):
        raise UsageError("that is not a limit that a run can be given; type a number")
    raised = [] if not limit else [f"--{limit}"] if limit == _ANYWAY else [f"--{limit}={amount}"]
    typed = [(name, form.get(name, "").strip()) for name in ("model", "code_model", "add_usd")]
    install = ["--install=allowed"] if form.get("install") else []
    return [*raised, *install, *(f"--{name.replace('_', '-')}={text}" for name, text in typed if text)]


def _back(store: TaskStore, ended: Ended) -> SeeOther:
    """Return the page of the task, with the error, or the result."""
    tells = ended.code is not None and (ended.code not in (0, 3, 5) or os.path.basename(ended.text) != "")
    return SeeOther(f"/t/{store.id}", last_words(ended) if tells else "")


def last_words(ended: Ended) -> str:
    """Return a command's last words: the line with the error if there is one."""
    lines = [line for line in ended.text.splitlines() if line.strip()]
    told = [line.partition(": ")[2] for line in lines if line.startswith("pipeline: ")]
    return "\n".join(told or lines[-1:])
