"""What a listing visibly lacks: lines between its numbers, or the other half of a bracket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from phases.planning.plan_words import Step, read_aloud, steps_of

_MOST_NAMED, _WIDEST_GAP = 4, 200
_COMMENT = re.compile(r"(?://|▷|#).*|^\W?\(?\w{1,3}\)(?=\s+\w)")
"""What a line says of itself, and the mark of an item: a bracket there says nothing of the code."""
_HALVES = {")": "([", "]": "([", "}": "{"}
"""[0, 1) is whole."""


def doubts_of_listings(components: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """One row for each algorithm that is not whole, with its lines."""
    for row in components:
        if not row.get("algorithm") or not row.get("steps"):
            continue
        steps = steps_of(row)
        told = [*_tell_gaps(steps), *_tell_brackets(steps)]
        if told:
            where = f"page {row['source']['page']}" if row["source"]["page"] else "the paper"
            what = f"{row['algorithm']}: {', and '.join(told)}. Hold it against {where}."
            yield {"about": str(row["id"]), "what": what}


def _tell_gaps(steps: Sequence[Step]) -> Iterator[str]:
    numbers = [int(step.number) for step in steps if step.number]
    gaps = [(one + 1, two - 1) for one, two in pairwise(numbers) if 1 < two - one < _WIDEST_GAP]
    if gaps:
        named = ", ".join(str(one) if one == two else f"{one}–{two}" for one, two in gaps[:_MOST_NAMED])
        yield f"it has no line {named}" if len(gaps) == 1 and gaps[0][0] == gaps[0][1] else f"it has no lines {named}"


def _tell_brackets(steps: Sequence[Step]) -> Iterator[str]:
    waiting: list[tuple[str, str]] = []
    lines: list[str] = []
    for place, step in enumerate(steps, 1):
        for sign in re.findall(r"[()\[\]{}]", _COMMENT.sub("", read_aloud(step.text))):
            if sign not in _HALVES:
                waiting.append((sign, step.number or str(place)))
            elif waiting and waiting[-1][0] in _HALVES[sign]:
                waiting.pop()
            else:
                lines.append(step.number or str(place))
    lines += [line for _, line in waiting]
    if lines:
        named = list(dict.fromkeys(sorted(lines, key=int)))
        many = "s" if len(named) > 1 else ""
        yield f"a bracket of its line{many} {', '.join(named[:_MOST_NAMED])} has no other half"
