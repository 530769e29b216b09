"""Cuts a long formula where no group of it is torn."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\(?:begin|end) ?\{[^{}]*\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
_GOES_ON = re.compile(r" ?[{_^]")
"""What follows belongs to what stands before it: the second half of a fraction, an index."""


def cut_formula(formula: str, most: int) -> str:
    r"""A formula in LaTeX of so many characters at most. A longer one ends, with "…", outside all groups, so that no \frac is
    left without its second half; it may end inside an environment."""
    if len(formula) <= most:
        return formula
    end = depth = 0
    for match in _TOKEN.finditer(formula, 0, most - 2):
        sign, after = match.group(), formula[match.end()]
        depth += (sign == "{") - (sign == "}")
        is_inside_word = sign.isalnum() and after.isalnum()
        if depth == 0 and not re.match(r"\\[A-Za-z]|[_^]", sign) and not is_inside_word:
            end = end if _GOES_ON.match(formula, match.end()) else match.end()
    return f"{formula[: end or most - 2].rstrip()} …"
