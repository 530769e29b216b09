"""traceability.json: each requirement of the plan with its place in the code and the tests that run it; and its counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.evidence.demands import demands_of, is_value
from phases.evidence.locate import read_sources
from phases.evidence.observation import NOTHING
from phases.evidence.table import GUARDED, LEVELS, LOCATED, RUN, STUBBED, UNLOCATED, build_table
from phases.workspace.workspace import Workspace

MEETS, DIFFERENT, UNCLEAR = "meets", "differs", "cannot tell"
"""The reviewer's verdicts."""
_ID = re.compile(r"\b[RV][0-9]+\b")
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
    """Return the counts that every report shows: {total, unlocated, stubbed, located, run, guarded, measured, tried, reviewed,
    differing, unclear}.

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
        "unclear": judged.count(UNCLEAR),
    }


def open_requirements(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return id, text and status of the requirements that are stubs or were not located."""
    wanted = (STUBBED, UNLOCATED)
    return [{name: row[name] for name in ("id", "text", "status")} for row in rows if row["status"] in wanted]


def describe_counts(counts: Mapping[str, Any]) -> str:
    """Return the counts in words: "40 of 42 requirements and values located, 38 run by passing tests"."""
    total, differing = counts["total"], counts["differing"]
    meet = counts["reviewed"] - differing - counts["unclear"]
    words = [f"{counts['located']} of {total} requirements and values located"]
    is_measured = counts["measured"] or counts["run"]
    words += [f"{counts['run']} run by passing tests" if is_measured else "test coverage was not measured"]
    words += [f"{counts['guarded']} guarded"] if counts["tried"] else []
    words += [f"{counts['stubbed']} stub{'s' * (counts['stubbed'] > 1)}"] if counts["stubbed"] else []
    if counts["reviewed"]:
        words += [f"{meet} meet{'s' * (meet == 1)} the text by the reviewer", f"{differing} differ{'s' * (differing == 1)}"]
        words += [f"{counts['unclear']} it cannot tell"] if counts["unclear"] else []
    return ", ".join(words) if total else "no requirements"


def _describe_verifiers(names: Sequence[str]) -> str:
    alone = len(names) == 1 and names[0].startswith("own tests")
    return "checked by its own tests only" if alone else f"checked by {', '.join(names)}" if names else ""


def describe_evidence(counts: Mapping[str, Any], verified_by: Sequence[str]) -> str:
    """Return who vouches for the code and the counts, as every screen and page says it; empty if there is neither."""
    told = describe_counts(counts) if counts["total"] else ""
    return "; ".join(filter(None, [_describe_verifiers(verified_by), told]))


def find_unread(doubts: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the doubts but for those about requirements on which a reviewer has decided: who has read the code knows better.

    `rows` are those of a table of evidence. A doubt that names no requirement, about tests say, is nothing that was asked.
    """
    read = {row["id"] for row in rows if row.get("judged", {}).get("verdict") in (MEETS, DIFFERENT)}
    return [doubt for doubt in doubts if not (named := {*_ID.findall(doubt)}) or not named <= read]


def describe_judgement(row: Mapping[str, Any]) -> str:
    """Return what the reviewer found for a row; empty if it was not reviewed."""
    judged = row.get("judged")
    if not judged:
        return ""
    line = f" in {judged['file']}, line {judged['line']}" if judged["file"] and judged["line"] else ""
    return f"{judged['verdict']}{line}: {judged['sentence']} ({judged['by']})"
