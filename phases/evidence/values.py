"""Whether a value in the code is the one that the plan names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from phases.evidence.places import Place


def value_difference(requirement: dict[str, Any], places: Sequence[Place]) -> str:
    """How a hyperparameter's constants differ from the plan's value, in words; empty where one agrees, or nobody can tell."""
    if requirement.get("kind") != "hyperparameter" or "value" not in requirement:
        return ""
    own = [(place, _literal_value(place.value)) for place in places if place.identifier == requirement["id"]]
    told = [(place.name, found) for place, found in own if isinstance(found, (str, int, float))]
    wanted = requirement["value"] if isinstance(requirement["value"], list) else [requirement["value"]]
    if any(_is_same_value(found, one) for _, found in told for one in wanted):
        return ""  # a requirement may be about more than the one value that the plan names
    return "; ".join(f"the plan says {requirement['value']!r}, {name} is {found!r}" for name, found in told)


def _literal_value(node: ast.expr | None) -> object:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_same_value(found: object, planned: object) -> bool:
    try:
        return float(str(found)) == float(str(planned))
    except ValueError:
        return str(found).strip().lower() == str(planned).strip().lower() or type(found) is not type(planned)
