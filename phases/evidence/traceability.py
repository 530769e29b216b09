"""traceability.json: each requirement of the plan with its place in the code and the tests that run it; and its counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.evidence.demands import demands_of, is_value
from phases.evidence.locate import read_sources
from phases.evidence.observation import NOTHING
from phases.evidence.table import GUARDED, LEVELS, LOCATED, RUN, STUBBED, UNLOCATED, build_table
from phases.workspace.workspace import Workspace

MET, DIFFERENT = "meets", "differs"
"""The reviewer's verdicts on code that does what the paper says, and on code that does not."""
_KEPT = ("how", "note", "places", "tests", "test_count", "user_tests", "measured", "noticed", "tried", "missed")


def trace_requirements(
    workspace: Workspace, plan: dict[str, Any], evidence: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the document. `evidence` is the table of a check of just this code; without it no test was run."""
    rows = evidence or build_table(plan, read_sources(workspace), NOTHING)
    known = {row["id"]: row for row in rows}
    return {"version": 3, "requirements": [_trace_row(row, known[row["id"]]) for row in demands_of(plan)]}


def _trace_row(requirement: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": requirement["id"],
        "kind": "value" if is_value(requirement) else "requirement",
        "text": requirement["text"],
        "status": known["level"],
        **{name: known[name] for name in _KEPT},
        **({"judged": dict(known["judged"])} if known.get("judged") else {}),
    }


def count_evidence(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts that every report shows: {total, unlocated, stubbed, located, run, guarded, differing, reviewed}.

    Levels add up: what is guarded is also run, and what is run is also located. `rows` are those of the document.
    """
    at = {level: sum(row["status"] == level for row in rows) for level in LEVELS}
    judged = [row["judged"]["verdict"] for row in rows if row.get("judged")]
    return {
        "total": len(rows),
        "unlocated": at[UNLOCATED],
        "stubbed": at[STUBBED],
        "located": at[LOCATED] + at[RUN] + at[GUARDED],
        "run": at[RUN] + at[GUARDED],
        "guarded": at[GUARDED],
        "measured": sum(bool(row["measured"]) for row in rows),
        "tried": sum(row["tried"] for row in rows),
        "reviewed": len(judged),
        "differing": judged.count(DIFFERENT),
    }


def open_requirements(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return id, text and status of the requirements that are stubs or were not located."""
    wanted = (STUBBED, UNLOCATED)
    return [{name: row[name] for name in ("id", "text", "status")} for row in rows if row["status"] in wanted]


def describe_counts(counts: Mapping[str, Any]) -> str:
    """Return the counts in words: "40 of 42 requirements located, 38 run by passing tests"."""
    total = counts["total"]
    words = [f"{counts['located']} of {total} requirements located"]
    words += [f"{counts['run']} run by passing tests" if counts["measured"] else "test coverage was not measured"]
    words += [f"{counts['guarded']} guarded"] if counts["tried"] else []
    words += [f"{counts['stubbed']} stubs"] if counts["stubbed"] else []
    words += [f"{counts['reviewed']} reviewed, {counts['differing']} differ"] if counts["reviewed"] else []
    return ", ".join(words) if total else "no requirements"


def describe_judgement(row: Mapping[str, Any]) -> str:
    """Return what the reviewer found for a row; empty if it was not reviewed."""
    judged = row.get("judged")
    if not judged:
        return ""
    line = f", line {judged['line']}" if judged["line"] else ""
    return f"{judged['by']}: {judged['verdict']}{line}: {judged['sentence']}"
