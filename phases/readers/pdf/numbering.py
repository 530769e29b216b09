"""Which of many lines that begin with a number count the sections: the longest run that could be a paper's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from phases.readers.headings import number_of

Path = tuple[int, ...]
_ROMANS = {"I": 1, "V": 5, "X": 10}
_FIRST_LETTER = 1000
"""Appendices are counted in letters, behind all numbers."""
_FEWEST_ROMANS = 3
_WIDEST_HOLE = 2
_MOST = 600


def longest_run(titles: Sequence[str]) -> dict[int, int]:
    """Index of a title -> depth of its number, for the titles of the longest run in the order of counting.

    Each number follows the one before: its first child, or the next (one may be missing) of it or of what it stands in.
    """
    paths = _paths(titles[:_MOST])
    best: dict[int, tuple[int, int]] = {}
    for here, path in paths.items():
        before = [(best[other][0], other) for other in best if _follows(paths[other], path)]
        length, other = max(before, default=(0, -1)) if not _starts(path) else max([*before, (0, -1)])
        if length or _starts(path):
            best[here] = (length + 1, other)
    if not best:
        return {}
    here = max(best, key=lambda index: (best[index][0], -index))
    run: dict[int, int] = {}
    while here >= 0:
        run[here] = len(paths[here])
        here = best[here][1]
    return dict(sorted(run.items()))


def _paths(titles: Sequence[str]) -> dict[int, Path]:
    """Index -> path, (3, 1) for 3.1; where sections have Roman numbers, a lone letter is a subsection."""
    numbers = {index: number for index, title in enumerate(titles) if (number := _number(title))}
    romans = [index for index, number in numbers.items() if re.fullmatch(r"[IVX]+", number)]
    roman = _counted_in_romans([numbers[index] for index in romans]) >= _FEWEST_ROMANS
    paths: dict[int, Path] = {}
    chapter: Path = ()
    section = 0
    for index, number in numbers.items():
        if roman and index in romans and _roman(number) == (chapter[0] if chapter else 0) + 1:
            chapter = (_roman(number),)
            paths[index], section = chapter, 0
        elif roman and chapter and re.fullmatch(r"[A-Z]", number):
            section = ord(number) - ord("A") + 1
            paths[index] = (*chapter, section)
        elif roman and chapter and number.isdigit():
            paths[index] = (*chapter, section, int(number))
        else:
            paths[index] = tuple(_count(part) for part in number.split("."))
    return paths


def _counted_in_romans(numbers: Sequence[str]) -> int:
    """How far I, II, III counts among these, in their order."""
    reached = 0
    for number in numbers:
        reached += _roman(number) == reached + 1
    return reached


def _number(title: str) -> str | None:
    known = number_of(title)
    letter = re.match(r"([A-Z])\s+(?=[^a-z\s])", title)
    return known or (letter.group(1) if letter else None)


def _count(part: str) -> int:
    if part.isdigit():
        return int(part)
    return _FIRST_LETTER + ord(part) - ord("A") + 1 if len(part) == 1 else _roman(part)


def _roman(number: str) -> int:
    values = [_ROMANS[sign] for sign in number]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def _starts(path: Path) -> bool:
    return path in ((0,), (1,), (2,), (_FIRST_LETTER + 1,))


def _follows(before: Path, after: Path) -> bool:
    if after == (_FIRST_LETTER + 1,) and before[0] < _FIRST_LETTER:
        return True
    if len(after) == len(before) + 1:
        return after[:-1] == before and after[-1] <= _WIDEST_HOLE
    if len(after) > len(before):
        return after == (*before, 1, 1)
    return after[:-1] == before[: len(after) - 1] and 1 <= after[-1] - before[len(after) - 1] <= _WIDEST_HOLE
