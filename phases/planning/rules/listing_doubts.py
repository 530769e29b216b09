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
_TWO_HEADERS = re.compile(r"\b(process|procedure|function|algorithm) \w+ ?\(.{0,200}\b\1 \w+ ?\(", re.IGNORECASE)
_BAD_ARROW = re.compile(r"(?<=[\w)\]])[ ]?(~|\*-|\.--|,--|¢|;~)(?=[ ]?[\w(\[])")
_ARROW = re.compile(r"←|:=|\\leftarrow|\\gets")
_FEWEST_ARROWS = 2
"""In how many lines of a scan ~ stands where an arrow was, if none has an arrow."""


def doubts_of_listings(components: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """One row for each algorithm that is not whole, with its lines."""
    for row in components:
        if not row.get("algorithm") or not row.get("steps"):
            continue
        steps = steps_of(row)
        told = [*_tell_gaps(steps), *_tell_brackets(steps), *_tell_two_in_one(steps), *_tell_arrows(steps)]
        if told:
            where = f"page {row['source']['page']}" if row["source"]["page"] else "the paper"
            what = f"{row['algorithm']}: {', and '.join(told)}. Hold it against {where}."
            yield {"about": str(row["id"]), "what": what}


def _tell_gaps(steps: Sequence[Step]) -> Iterator[str]:
    places = [place for place, step in enumerate(steps) if step.number]
    numbered = [(place, int(steps[place].number)) for place in places]
    gaps = [
        (one + 1, two - 1)
        for (before, one), (after, two) in pairwise(numbered)
        if after - before < two - one < _WIDEST_GAP  # a line whose number was not read stands for it
    ]
    if gaps:
        named = ", ".join(str(one) if one == two else f"{one}–{two}" for one, two in gaps[:_MOST_NAMED])
        yield f"it has no line {named}" if len(gaps) == 1 and gaps[0][0] == gaps[0][1] else f"it has no lines {named}"


def _tell_two_in_one(steps: Sequence[Step]) -> Iterator[str]:
    """Listings that were printed side by side and read as one."""
    place, step = next(
        ((place, step) for place, step in enumerate(steps, 1) if _TWO_HEADERS.search(step.text)), (0, None)
    )
    if step:
        yield f"its line {step.number or place} begins two listings, whose lines are mixed"


def _tell_arrows(steps: Sequence[Step]) -> Iterator[str]:
    lines = [step.text for step in steps]
    found = dict.fromkeys(match.group(1) for line in lines for match in _BAD_ARROW.finditer(line))
    many = sum(bool(_BAD_ARROW.search(line)) for line in lines)
    if many >= _FEWEST_ARROWS and not any(_ARROW.search(line) for line in lines):
        yield f"its arrows and other signs are read as {', '.join(list(found)[:_MOST_NAMED])} in {many} lines"


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
