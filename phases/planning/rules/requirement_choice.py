"""Which of the requirements that a paper has are kept, where it has more than a reader can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from phases.planning.rules.requirements import SURE, Requirement
from phases.planning.rules.sections import BUILD

MOST = 60
_EACH, _FEWEST_SET_UP, _MOST_SET_UP = 2, 12, 30
"""How many of MOST each component gets first, and how many the set-up, where what is built would fill them all."""
_MOST_OF_LISTS = 40
"""How many of MOST lists that are taken whole may fill, so that the other sentences keep some."""
_ENOUGH = 30
"""With so many requirements more are taken only where they are sure: places are not filled because they are free."""


def choose_requirements(
    found: Sequence[Requirement], homes: Sequence[int | None]
) -> list[tuple[Requirement, int | None]]:
    """At most MOST of those that were found, each with its component: what is built first, then what is set up.

    `homes`: the component of each. Each component gets some before others get more, and the set-up has places of its own.
    """
    rows = sorted(zip(found, homes, strict=True), key=lambda pair: (-pair[0].score, pair[0].place))
    rows = [pair for place, pair in enumerate(rows) if place < _ENOUGH or pair[0].score >= SURE]
    told: Counter[int | None] = Counter()
    first: list[tuple[Requirement, int | None]] = []
    more: list[tuple[Requirement, int | None]] = []
    for row, home in rows:
        is_built = row.sentences[0].role == BUILD
        told[home] += is_built
        (first if is_built and home is not None and told[home] <= _EACH else more).append((row, home))
    built = [pair for pair in more if pair[0].sentences[0].role == BUILD]
    other = [pair for pair in more if pair[0].sentences[0].role != BUILD]
    by_score = sum(pair in other for pair in rows[:MOST])
    room = max(min(max(by_score, _FEWEST_SET_UP), _MOST_SET_UP), MOST - len(first) - len(built))
    kept = [*other[:room]]
    kept = _with_whole_lists([*first, *built][: MOST - len(kept)] + kept, rows)
    return sorted(kept, key=lambda pair: (pair[0].sentences[0].role != BUILD, pair[0].place))


def _with_whole_lists(
    kept: Sequence[tuple[Requirement, int | None]], rows: Sequence[tuple[Requirement, int | None]]
) -> list[tuple[Requirement, int | None]]:
    """What is kept, with the lists of which a third is kept whole while there are places; the weakest others give up theirs."""
    counts = Counter(row.list_place for row, _ in kept)
    sizes = Counter(row.list_place for row, _ in rows)
    whole: set[int] = set()
    for place in dict.fromkeys(row.list_place for row, _ in rows if row.list_place is not None):
        if 3 * counts[place] >= sizes[place] and sizes[place] + sum(sizes[one] for one in whole) <= _MOST_OF_LISTS:
            whole.add(place)
    items = [pair for pair in rows if pair[0].list_place in whole]
    others = [pair for pair in kept if pair[0].list_place not in whole]
    others.sort(key=lambda pair: (-pair[0].score, pair[0].place))
    return [*items, *others[: MOST - len(items)]]


def is_told_in(steps: str, row: Requirement) -> bool:
    """Whether most of a requirement stands in the lines of steps; the words above a list do not."""
    return 2 * sum(one.text.rstrip(" .,;") in steps for one in row.sentences) > len(row.sentences)
