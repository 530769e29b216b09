"""Finds the headings that a PDF's own outline names among the lines of its pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

from phases.readers.line_patterns import plain_title
from phases.readers.pdf.lines import Line
from phases.readers.pdf.page import Bookmark
from phases.readers.pdf.words import Words

LONGEST = 160
MOST_LINES = 6
_ALIKE = 0.86
_NEAR = 30.0
"""So many points away from where the outline points a heading may stand that is worded a little otherwise."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Lines `first` up to `first + count` are one heading. `level` counts from 1."""

    first: int
    count: int
    text: str
    level: int


def headings_by_bookmarks(
    lines: Sequence[Line], bookmarks: Sequence[Bookmark], words: Words, outside: Set[int]
) -> list[Heading]:
    """The headings that could be found, in reading order. Lines `outside` (contents, tables) are none."""
    pages: dict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if index not in outside:
            pages[line.page].append(index)
    found: dict[int, Heading] = {}
    for mark in bookmarks:
        places = [index for page in (mark.page, mark.page + 1) for index in pages.get(page, ()) if index not in found]
        best = max(
            (match for index in places if (match := _match_bookmark(lines, index, mark, words))),
            default=None,
            key=lambda match: match[0],
        )
        if best:
            found[best[1].first] = best[1]
    return [found[first] for first in sorted(found)]


def _match_bookmark(lines: Sequence[Line], first: int, mark: Bookmark, words: Words) -> tuple[float, Heading] | None:
    """How well a heading that begins at a line is what the bookmark says, and the heading."""
    wanted = plain_title(mark.title)
    best: tuple[float, Heading] | None = None
    line = lines[first]
    away = abs(line.box.y0 - mark.y) if mark.y is not None and line.page == mark.page else 2 * _NEAR
    if not wanted or len(line.text) > 2 * LONGEST:
        return None
    for count in range(1, MOST_LINES + 1):
        if first + count > len(lines) or lines[first + count - 1].page != line.page:
            break
        text = words.join([each.text for each in lines[first : first + count]])
        given = plain_title(text)
        if len(given) > len(wanted) + 12:
            break
        if given != wanted and (away >= _NEAR or abs(len(given) - len(wanted)) > 0.3 * len(wanted)):
            continue
        likeness = 1.0 if given == wanted else SequenceMatcher(None, given, wanted, autojunk=False).ratio() - 0.05
        if likeness >= _ALIKE:
            score = 10 * likeness - min(away, 300.0) / 100 + (0.5 if line.bold else 0.0)
            if best is None or score > best[0]:
                best = (score, Heading(first, count, text, mark.level + 1))
    return best
