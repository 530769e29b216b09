"""The page on which a plan is reviewed: what is uncertain first, then its tables, then each row beside its page of the paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.pages.plan_sheets import Reviewed, describe_figure, describe_sheets
from phases.pages.render import embed_picture, page_start, render_file
from phases.planning.plan_words import (
    count_rows,
    describe_tables,
    group_doubts,
    group_mentions,
    group_results,
    steps_of,
    without_only_page,
)

__all__ = ["PAGE_START", "Reviewed", "describe_figure", "describe_plan", "render_review"]
PAGE_START = page_start("review")
_DOUBT = re.compile(r"(?:line [0-9]+: )?([RCVEX][0-9]+): ")
"""A doubt begins with the line of the file, which is for an editor, and the id of its row."""
Row = Mapping[str, Any]


def render_review(shown: Reviewed) -> str:
    """The page, as HTML. It runs nothing and loads nothing."""
    values = {**describe_plan(shown), "commands": _list_commands(shown)}
    return render_file(PAGE_START, shown.plan["paper"]["title"], "plan_file.html", values, ("uncertain", "paper"))


def describe_plan(shown: Reviewed) -> dict[str, Any]:
    """What the template of a plan shows."""
    plan = without_only_page(shown.plan)
    values = {
        "plan": plan,
        "counts": count_rows(plan),
        "digest": shown.digest,
        "standing": shown.standing,
        "doubts": [_split_doubt(line) for line in shown.doubts],
        "uncertain": list(group_doubts(plan)),
        "difference": [(line[:1], line[1:].strip()) for line in shown.difference if line.strip()],
        "components": [{**row, "shown_steps": steps_of(row)} for row in plan.get("components", ())],
        "mentions": list(group_mentions(plan)),
        "tables": describe_tables(plan),
        "results": [_describe_target(shown, place, rows) for place, rows in group_results(plan)],
        "experiments": [
            *plan.get("experiments", ()),
            *({"what": text} for text in plan["validation_approach"].get("experiments", ())),
        ],
        "files": _list_files(plan),
        "sheets": describe_sheets(shown),
    }
    there = {
        **values,
        "decide": shown.command,
        "changes": values["difference"],
        "values": plan.get("values"),
        "data": values["mentions"],
    }
    return {**values, "sections": [(name, head) for name, head in _SECTIONS if there.get(name, True)]}


_SECTIONS = (
    ("changes", "What changed"),
    ("decide", "How to decide"),
    ("components", "Components"),
    ("values", "Values"),
    ("data", "Data sets, metrics, baselines"),
    ("results", "Expected results"),
    ("experiments", "Experiments"),
    ("files", "Files"),
    ("checks", "Checks and packages"),
    ("paper", "Each row beside its page"),
)


def _split_doubt(line: str) -> tuple[str, str]:
    """The id of its row, and what is said of it."""
    found = _DOUBT.match(line)
    return (found.group(1), line[found.end() :]) if found else ("", line)


def _list_commands(shown: Reviewed) -> list[tuple[str, str]]:
    """Commands to paste, with ids of this very plan."""
    requirement = next((row["id"] for row in shown.plan["requirements"]), "R1")
    value = next((row["id"] for row in shown.plan.get("values", ())), "V1")
    rows = [
        (f"--strike {requirement}", "strike a row: a requirement, value, component, expected result or experiment"),
        (f"--set {value}.value=0.1", "change a field of a row; also .owner, .condition, .name, .text"),
        ('--add value "batch size = 32"', "add a value"),
        ('--add requirement "It must log every step."', "add a requirement"),
        ("--diff", "what changed since the version before"),
        ('--change "use the second data set too"', "ask the planner for another plan"),
        (f"--approve --plan {shown.digest[:12]}", "approve exactly this plan"),
        ("--reject", "reject it"),
    ]
    return [(f"{shown.command} {flags}", what) for flags, what in rows]


def _describe_target(shown: Reviewed, place: str, rows: Sequence[Row]) -> dict[str, Any]:
    """A table of expected results; the condition that all of its rows have stands once."""
    conditions = {str(row.get("condition") or "") for row in rows}
    drawn = shown.floats.get(str(rows[0]["table"]).partition(", part ")[0])
    return {
        "place": place,
        "page": rows[0]["page"],
        "rows": rows,
        "said": conditions.pop() if len(conditions) == 1 else None,
        "picture": embed_picture(drawn.png) if drawn else "",
    }


def _list_files(plan: Row) -> list[Row]:
    files = {row["path"]: row for row in plan["file_structure"]}
    return [
        files.get(path, {"path": path, "purpose": "is not in file_structure"})
        for path in plan["implementation_strategy"]
    ]
