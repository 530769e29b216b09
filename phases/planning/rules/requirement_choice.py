"""Which of the requirements that a paper has are kept, where it has more than a reader can hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from phases.planning.rules.requirements import SURE, Requirement
from phases.planning.rules.sections import BUILD, SETUP

MOST = 60
_FEWEST_SET_UP, _MOST_SET_UP = 12, 30
"""How many of MOST the set-up gets, where what is built would fill them all."""
_FIRST, _SECOND, _LED = 10.0, 0.4, 0.4
"""What a requirement gains as the first of its component, which has one in any case, as the second, and by a formula."""
_MOST_OF_LISTS = 40
"""How many of MOST lists that are taken whole may fill, so that the other sentences keep some."""
_ENOUGH = 30
"""With so many requirements more are taken only where they are sure: places are not filled because they are free."""
_WEIGHED = 4 * MOST
"""How many are put in their turn; those behind them have no place in any case."""
_SHARED = 0.5
"""What a requirement gives way, where all others of its component are kept: each gets places in proportion to its own."""
_FEWEST_SAID = 5
"""Of so many telling words all stand in another requirement, where one says the same again."""
_WORD = re.compile(r"[0-9]+(?:[.,][0-9]+)+|[<>=≤≥≠]|(?:(?![\u3040-\u9fff])\w)+|(?=[\u3040-\u9fff]{2})..")
_LITTLE_WORDS = """
a an and are as at be by can for had has have in is it its of our so that the these this those to was we were
"""
_LITTLE = frozenset(_LITTLE_WORDS.split())
"""Words that tell nothing; all others count, and numbers as they are written: "on" and "off", 0.5 and 5.0."""
_DENIED = re.compile(r"(?:\b(?:not?|non|nor|never|without|cannot)|n['’]t)[ -]\w+")
"""What is denied: without it a sentence says the opposite."""
Pair = tuple[Requirement, int | None]


class _Said(NamedTuple):
    """What of a requirement another one has to say as well, to say the same."""

    words: frozenset[str]
    denied: frozenset[str]
    formula: str


def choose_requirements(found: Sequence[Requirement], homes: Sequence[int | None]) -> list[Pair]:
    """At most MOST of those that were found, each with its component: what is built first, then what is set up.

    `homes`: the component of each. Each component gets some before others get more, and the set-up has places of its own.
    """
    rows = sorted(zip(found, homes, strict=True), key=lambda pair: (-pair[0].score, pair[0].place))
    rows = [
        pair for place, pair in enumerate(rows) if place < _ENOUGH or pair[0].score >= SURE or _has_formula(pair[0])
    ]
    by_score = sum(row.sentences[0].role != BUILD for row, _ in rows[:MOST])
    if len(rows) > MOST:
        rows = _in_turn(rows)
    built = [pair for pair in rows if pair[0].sentences[0].role == BUILD]
    other = [pair for pair in rows if pair[0].sentences[0].role != BUILD]
    room = max(min(max(by_score, _FEWEST_SET_UP), _MOST_SET_UP), MOST - len(built))
    kept = [*other[:room]]
    kept = _with_whole_lists(built[: MOST - len(kept)] + kept, rows)
    return sorted(kept, key=lambda pair: (pair[0].sentences[0].role != BUILD, pair[0].place))


def _has_formula(row: Requirement) -> bool:
    return bool(row.formula) and row.sentences[0].role in (BUILD, SETUP)


def _in_turn(rows: Sequence[Pair]) -> list[Pair]:
    """All rows, the next always the one that is needed most beside those before it; those that say it again come last."""
    asked = Counter(home for _, home in rows)
    told: Counter[int | None] = Counter()
    # Within a component and a role the order never changes: only the first of each queue is compared with the others.
    queues: dict[tuple[int | None, bool], list[tuple[float, int]]] = {}
    for place, (row, home) in enumerate(rows):
        known = home is not None and row.sentences[0].role == BUILD
        queues.setdefault((home, known), []).append((row.score + _LED * _has_formula(row), -place))
    for queue in queues.values():
        queue.sort()

    def need(key: tuple[int | None, bool]) -> tuple[float, int]:
        (home, known), (worth, place) = key, queues[key][-1]
        first = _FIRST * (known and not told[home]) + _SECOND * (known and told[home] == 1)
        return worth + first - _SHARED * told[home] / asked[home], place

    taken, again = dict[int, _Said](), dict[int, None]()
    while queues and len(taken) + len(again) < _WEIGHED:
        best = max(queues, key=need)
        place = -queues[best].pop()[1]
        if not queues[best]:
            del queues[best]
        said = _said_by(rows[place][0])
        if any(_says_again(said, known) for known in taken.values()):
            again[place] = None
        else:
            taken[place] = said
            told[best[0]] += 1
    left = (place for place in range(len(rows)) if place not in taken and place not in again)
    return [rows[place] for place in (*taken, *left, *again)]


def _said_by(row: Requirement) -> _Said:
    text = row.text.lower()
    return _Said(frozenset(_WORD.findall(text)) - _LITTLE, frozenset(_DENIED.findall(text)), row.formula)


def _says_again(one: _Said, known: _Said) -> bool:
    return (
        len(one.words) >= _FEWEST_SAID
        and one.words <= known.words
        and one.denied == known.denied
        and one.formula in ("", known.formula)
    )


def _with_whole_lists(kept: Sequence[Pair], rows: Sequence[Pair]) -> list[Pair]:
    """What is kept, with the lists of which a third is kept whole while there are places; the last others give up theirs."""
    counts = Counter(row.list_place for row, _ in kept)
    sizes = Counter(row.list_place for row, _ in rows)
    whole: set[int] = set()
    for place in dict.fromkeys(row.list_place for row, _ in rows if row.list_place is not None):
        if 3 * counts[place] >= sizes[place] and sizes[place] + sum(sizes[one] for one in whole) <= _MOST_OF_LISTS:
            whole.add(place)
    items = [pair for pair in rows if pair[0].list_place in whole]
    is_kept = {id(row) for row, _ in kept}
    others = [pair for pair in rows if id(pair[0]) in is_kept and pair[0].list_place not in whole]
    return [*items, *others[: MOST - len(items)]]


def is_told_in(steps: str, row: Requirement) -> bool:
    """Whether most of a requirement stands in the lines of steps; the words above a list do not."""
    return 2 * sum(one.text.rstrip(" .,;") in steps for one in row.sentences) > len(row.sentences)
