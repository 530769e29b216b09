"""Ask for a plan that is too long for one reply in four steps: quoting rows, values, results, then files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from phases.llm.model import Message, tokens_of
from phases.planning.model.form import complete_plan, is_whole, reply_form
from phases.planning.model.material import as_data, strip_invisible
from phases.planning.model.plan_validation import PLAN, NoPlan, object_in_reply, whole_plan
from phases.planning.plan_words import write_value
from pipeline.engine.phase import Checker

STEPS = (
    ("plan_version", "paper", "language", "framework", "requirements", "components"),
    ("values", "datasets", "metrics", "baselines"),
    ("expected_results", "experiments", "uncertain"),
    ("file_structure", "validation_approach", "environment_setup", "implementation_strategy"),
)
"""The keys of each reply. What one names by its id stands in it, or in one before."""
_WIDTHS = (160, 80, 40, 0)
"""Characters of a row that later steps name; fewer where the question would be too long."""


def step_question(
    messages: Sequence[Message], number: int, sofar: Mapping[str, Any], most_tokens: int
) -> list[Message]:
    """Return the question for one step: the question for the whole plan, and what is wanted now."""
    keys = ", ".join(f'"{key}"' for key in STEPS[number])
    told = (
        f"The whole plan is too long for one reply of yours, so it is asked for in {len(STEPS)} parts. This is part "
        f"{number + 1}: reply with one JSON object that has the keys {keys} and no others, each as complete as if it were all."
    )
    if rows := _rows_before(sofar, most_tokens) if number == len(STEPS) - 1 else "":
        told += (
            f"\n\nYour rows of the parts before, to be named by their ids:\n{as_data('ROWS', strip_invisible(rows))}"
        )
    last = messages[-1]
    return [*messages[:-1], replace(last, text=f"{last.text}\n\n{told}")]


def step_schema(schema: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the schema of one step, taken from the schema of a plan."""
    kept = {key: schema["properties"][key] for key in STEPS[number] if key in schema["properties"]}
    required = [key for key in kept if key in schema["required"]]
    return {"type": "object", "additionalProperties": False, "properties": kept, "required": required}


def part_in_reply(text: str, number: int, sofar: Mapping[str, Any], contracts: Checker) -> dict[str, Any]:
    """Return one part of a plan, or a whole plan; `sofar` are the parts before. Raises NoPlan."""
    value, schema = object_in_reply(text), contracts.schema(PLAN)
    if is_whole(value):
        return whole_plan(value, contracts)
    if breach := contracts.breach(step_schema(reply_form(schema, is_change=False), number), value):
        raise NoPlan(f"the part of the plan {breach}")
    completed = complete_plan({**{key: rows for key, rows in sofar.items() if key not in STEPS[number]}, **value})
    part = {key: completed[key] for key in completed if key in value or key in STEPS[number]}
    if breach := contracts.breach(step_schema(schema, number), part):
        raise NoPlan(f"the part of the plan {breach}")
    return part


def empty_plan() -> dict[str, Any]:
    """Return a plan without any of its parts."""
    lists = ("requirements", *STEPS[1], *STEPS[2], "components", "file_structure", "implementation_strategy")
    empty: dict[str, Any] = {name: [] for name in lists}
    setup = {"validation_approach": {"verify_commands": list[str]()}, "environment_setup": {"packages": list[str]()}}
    return {"plan_version": 2, "paper": {"title": "", "core_contribution": ""}, "language": "", **empty, **setup}


def _rows_before(plan: Mapping[str, Any], most_tokens: int) -> str:
    made = ("\n".join(_lines_of(plan, width)) for width in _WIDTHS)
    return next((text for text in made if tokens_of(text) <= most_tokens), "")


def _lines_of(plan: Mapping[str, Any], width: int) -> Iterator[str]:
    for row in plan["components"]:
        yield f"{row['id']} {row['name']}: {json.dumps(row['requirements'])}"
    for row in plan["requirements"]:
        yield f"{row['id']} {row['text'][:width]}".strip()
    for row in plan["values"]:
        yield f"{row['id']} {row['kind']}: {row['name']} = {write_value(row)}"[: width + 8]
