"""traceability.json: each requirement of the plan, its rung, its places in the code, and the tests that stand for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.evidence.demands import demands_of, is_value
from phases.evidence.observation import NOTHING
from phases.evidence.places import Place, find_all_places
from phases.evidence.rungs import DIFFERS, EXECUTED, IMPLEMENTED, NAMED, RUNGS, STUBBED, climb
from phases.workspace.workspace import Workspace, WorkspaceError

_TEXT = 80
_WORDS = {NAMED: "named and not run", STUBBED: "a stub", EXECUTED: "run and not tested"}
_MOST_NAMED = 20
DIFFERENT = "differs"
"""The judge's word for code that does not do what the paper says."""
OLD_STATUS = "implemented"
"""What version 1 said of code that was not a stub, whether it was ever run or not."""


def trace_requirements(
    workspace: Workspace, plan: dict[str, Any], evidence: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The document. `evidence` is what a check of just this code found; without it nothing was run, and nothing is tested."""
    places = find_all_places(workspace, plan)
    rows = evidence or climb(demands_of(plan), places, read_sources(workspace), NOTHING)
    known = {row["id"]: row for row in rows}
    return {"version": 2, "requirements": [_trace_row(row, known[row["id"]], places) for row in demands_of(plan)]}


def _trace_row(requirement: Mapping[str, Any], known: Mapping[str, Any], places: Sequence[Place]) -> dict[str, Any]:
    own = [place for place in places if place.identifier == requirement["id"]]
    tests = dict.fromkeys(place.name for place in own if place.is_test)
    return {
        "id": requirement["id"],
        "kind": "value" if is_value(requirement) else "requirement",
        "text": requirement["text"],
        "status": known["rung"],
        "why": known["why"],
        "places": list(dict.fromkeys(place.name for place in own if not place.is_test)) or list(known["places"]),
        "tests": list(tests),
        "user_tests": list(known.get("user_tests", ())),
        **({"judged": dict(known["judged"])} if known.get("judged") else {}),
        "noticed": known["noticed"],
        "tried": known["tried"],
    }


def count_rungs(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many requirements stand on each rung, and how many differ."""
    return {rung: sum(row["status"] == rung for row in rows) for rung in (*RUNGS, "differs")}


def is_implemented(row: Mapping[str, Any]) -> bool:
    """Whether a row of the document says that the code was run, or, in version 1, that it is no stub."""
    return row["status"] in IMPLEMENTED or row["status"] == OLD_STATUS


def read_sources(workspace: Workspace) -> dict[str, str]:
    """The files that are text, by path."""
    sources = {}
    for path in workspace.paths():
        try:
            sources[path] = workspace.read(path)
        except WorkspaceError:
            continue
    return sources


def open_problem(requirements: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> str:
    """What the model is told of the requirements that it can still mend, in the plan's order; empty where there are none."""
    texts = {row["id"]: row["text"] for row in requirements}
    told = [_describe_open(row, _short(texts[row["id"]])) for row in rows if row["is_open"]]
    if not told:
        return ""
    more = len(told) - _MOST_NAMED
    lines = [*told[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
    return f"{len(told)} of {len(rows)} requirements of the plan are open:\n" + "\n".join(lines)


def differing_problem(requirements: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> str:
    """What the model is told of the requirements that the judge finds to differ from the paper."""
    texts = {row["id"]: row["text"] for row in requirements}
    lines = [
        f"{row['id']} does not do what the paper says ({describe_judgement(row)}): {_short(texts[row['id']])}"
        for row in rows
    ]
    return (
        f"{len(rows)} of {len(texts)} requirements differ from the paper, as a second model reads them:\n"
        + "\n".join(lines)
    )


def describe_judgement(row: Mapping[str, Any]) -> str:
    """The judge's verdict on a row; empty where it gave none."""
    judged = row.get("judged")
    if not judged:
        return ""
    line = f", line {judged['line']}" if judged["line"] else ""
    return f"{judged['by']}: {judged['verdict']}{line}: {judged['sentence']}"


def _describe_open(row: Mapping[str, Any], text: str) -> str:
    rung = "differs" if row["rung"] == DIFFERS else f"is {_WORDS.get(row['rung'], row['rung'])}"
    return f"{row['id']} {rung}: {row['why']}: {text}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT else line[: _TEXT - 1].rstrip() + "…"
