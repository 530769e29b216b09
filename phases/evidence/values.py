"""Compare values in the code with those of the plan: numbers in any scale of their unit, words without their case."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.evidence.places import Place

_ARITHMETIC: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
_DEEPEST, _LARGEST_BASE, _LARGEST_EXPONENT = 8, 10_000, 64
"""Beyond these nothing is computed: the code is not ours."""
_POWER = re.compile(r"([1-9][0-9]{0,3})\^(0|[1-9][0-9]?)")
_FRACTION = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})")
_AMOUNT = re.compile(r"([-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?)\s*([A-Za-zµ%]*)")
_SCALES: Mapping[str, tuple[float, ...]] = {
    "s": (1e3,), "seconds": (1e3,), "%": (0.01,), "percent": (0.01,),
    "k": (1e3, 1024), "K": (1e3, 1024), "M": (1e6, 2**20), "G": (1e9, 2**30),
    "min": (60,), "minutes": (60,), "h": (3600,), "hours": (3600,), "thousand": (1e3,), "million": (1e6,), "billion": (1e9,),
}  # fmt: skip
_PREFIXES: Mapping[str, tuple[float, ...]] = {
    "k": (1e3, 1024), "K": (1e3, 1024), "M": (1e6, 2**20), "G": (1e9, 2**30), "T": (1e12, 2**40),
    "m": (1e-3,), "µ": (1e-6,), "u": (1e-6,), "n": (1e-9,), "c": (0.01,),
}  # fmt: skip
_BASES = frozenset(("Hz", "s", "sec", "B", "b", "bit", "bits", "byte", "bytes", "m", "g", "W", "V", "A", "iB", "bps"))
_WHOLES = (10, 100)
"""Sums of the shares of a split: 80/20 is not a quotient."""


def value_difference(row: Mapping[str, Any], places: Sequence[Place]) -> str:
    """Return how the values in the code differ from the plan's, in words; empty if one agrees or nothing can be compared.

    Args:
        row: A value of the plan as a demand: `value` (one, or a list of which any may hold) and `unit`.
        places: The places of this value in the code.
    """
    if "value" not in row:
        return ""
    literals = [(place.name, literal_value(place.value)) for place in places]
    found = [(name, value) for name, value in literals if isinstance(value, (str, int, float))]
    wanted = row["value"] if isinstance(row["value"], list) else [row["value"]]
    if any(_agree(value, each, str(row.get("unit") or "")) for _, value in found for each in wanted):
        return ""
    unit = f" {row['unit']}" if row.get("unit") else ""
    return "; ".join(f"the plan says {row['value']!r}{unit}, {name} is {value!r}" for name, value in found)


def _agree(found: object, planned: object, unit: str) -> bool:
    """Return whether a literal is the planned value: in any scale of its unit, or in the same words."""
    if isinstance(found, bool) or isinstance(planned, bool):
        return found == planned or type(found) is not type(planned)
    amounts, own = _amounts(planned, unit), _amounts(found, "")
    if amounts and own:
        return any(math.isclose(first, other, rel_tol=1e-9) for first in own for other in amounts)
    if isinstance(found, str) and isinstance(planned, str):
        first, other = (" ".join(text.lower().replace("_", " ").replace("-", " ").split()) for text in (found, planned))
        return first in other or other in first
    return True  # a number and a word cannot be compared


def _amounts(value: object, unit: str) -> list[float]:
    """Return the numbers that a value may be written as: as it is, and scaled by its unit; none for words."""
    if isinstance(value, str):
        expression = write_expression(value)
        value = literal_value(ast.parse(expression, mode="eval").body) if expression else value
    if isinstance(value, str) and (match := _AMOUNT.fullmatch(value.strip())):
        value, unit = float(match[1].replace(",", "")), match[2] or unit
    if not isinstance(value, (int, float)):
        return []
    try:
        return [float(value), *(value * scale for scale in _scales(unit))]
    except OverflowError:
        return []


def _scales(unit: str) -> tuple[float, ...]:
    """Return the factors from a unit to its base: kHz to Hz, ms to s, % to a share, KB to bytes."""
    if unit in _SCALES:
        return _SCALES[unit]
    prefix, base = unit[:1], unit[1:]
    return _PREFIXES[prefix] if prefix in _PREFIXES and base in _BASES else ()


def literal_value(node: ast.expr | None) -> object:
    """Return the value of a literal, or of a sum, product or power of numbers such as 2**19; None for anything else."""
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
    """Return 2^19 or 1/2 as a Python expression; empty for any other text, and for a split such as 80/20."""
    if power := _POWER.fullmatch(text):
        return power.expand(r"\1 ** \2")
    fraction = _FRACTION.fullmatch(text)
    is_split = fraction is not None and sum(map(int, fraction.groups())) in _WHOLES
    return fraction.expand(r"\1 / \2") if fraction and not is_split else ""
