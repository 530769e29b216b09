"""What of the plan the code does not meet yet, told to the model while it can still mend it. Nothing is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phases.acceptance.checks.traceability import IMPLEMENTED, MISSING, all_places, difference, requirement_row
from phases.workspace.workspace import Workspace

_MOST_NAMED, _TEXT = 20, 80


def open_requirements(workspace: Workspace, plan: dict[str, Any]) -> list[str]:
    """One text, or none: each requirement that is missing or a stub, and each value that differs, in the plan's order."""
    places, told = all_places(workspace, plan), []
    for requirement in plan["requirements"]:
        name, status = requirement["id"], requirement_row(requirement, places)["status"]
        if status == MISSING:
            told.append(
                f"{name} is in no code; name {name} in the docstring of what implements it: {_text(requirement)}"
            )
        elif status != IMPLEMENTED:
            stubs = ", ".join(place.name for place in places if place.identifier == name and place.is_stub)
            told.append(f"{name} is a stub ({stubs}): {_text(requirement)}")
        elif other := difference(requirement, places):
            told.append(f"{name} has another value: {other}")
    if not told:
        return []
    more = len(told) - _MOST_NAMED
    lines = [*told[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
    return [f"{len(told)} of {len(plan['requirements'])} requirements of the plan are open:\n" + "\n".join(lines)]


def _text(requirement: Mapping[str, Any]) -> str:
    text = " ".join(str(requirement["text"]).split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"
