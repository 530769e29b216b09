"""Whether a value in the code is the one that the plan names."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from phases.evidence.places import Place

_ARITHMETIC: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
_DEEPEST, _LARGEST_BASE, _LARGEST_EXPONENT = 8, 10_000, 64
"""Beyond these nothing is computed: the code is not ours."""
_POWER = re.compile(r"([1-9][0-9]{0,3})\^(0|[1-9][0-9]?)")
_FRACTION = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})")
_WHOLES = (10, 100)
"""What the shares of a split add up to: 80/20 is no quotient."""


def value_difference(requirement: dict[str, Any], places: Sequence[Place]) -> str:
    """How a hyperparameter's constants differ from the plan's value, in words; empty where one agrees, or nobody can tell."""
    if requirement.get("kind") != "hyperparameter" or "value" not in requirement:
        return ""
    own = [(place, literal_value(place.value)) for place in places if place.identifier == requirement["id"]]
    told = [(place.name, found) for place, found in own if isinstance(found, (str, int, float))]
    wanted = requirement["value"] if isinstance(requirement["value"], list) else [requirement["value"]]
    if any(_is_same_value(found, one) for _, found in told for one in wanted):
        return ""  # a requirement may be about more than the one value that the plan names
    return "; ".join(f"the plan says {requirement['value']!r}, {name} is {found!r}" for name, found in told)


def literal_value(node: ast.expr | None) -> object:
    """What a literal, or a sum, product or power of numbers such as 2**19, is; None for anything else."""
    try:
        return _compute(node, _DEEPEST) if node is not None else None
    except (ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError, RecursionError):
        return None


def _compute(node: ast.expr, deepest: int) -> object:
    if not isinstance(node, ast.BinOp):
        return ast.literal_eval(node)
    compute = _ARITHMETIC[type(node.op)] if deepest and type(node.op) in _ARITHMETIC else None
    left, right = (_compute(each, deepest - 1) if compute else None for each in (node.left, node.right))
    if compute is None or not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return None
    is_huge = isinstance(node.op, ast.Pow) and (abs(left) > _LARGEST_BASE or abs(right) > _LARGEST_EXPONENT)
    return None if is_huge else compute(left, right)


def write_expression(text: str) -> str:
    """What a paper prints as 2^19 or 1/2, as Python computes it; empty for any other text, also for a split such as 80/20."""
    if power := _POWER.fullmatch(text):
        return power.expand(r"\1 ** \2")
    fraction = _FRACTION.fullmatch(text)
    is_split = fraction is not None and sum(map(int, fraction.groups())) in _WHOLES
    return fraction.expand(r"\1 / \2") if fraction and not is_split else ""


def _is_same_value(found: object, planned: object) -> bool:
    expression = write_expression(str(planned)) if not isinstance(found, str) else ""
    if expression:
        planned = literal_value(ast.parse(expression, mode="eval").body)
    try:
        return float(str(found)) == float(str(planned))
    except ValueError:
        return str(found).strip().lower() == str(planned).strip().lower() or type(found) is not type(planned)
