"""Pieces of text -> lines in reading order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from phases.readers.pdf.columns import columns_of_pages, rows_of
from phases.readers.pdf.letters import mend_letters
from phases.readers.pdf.page import BoundingBox, Item, Page

_SPACE = 0.12
"""A gap of more than this share of the letters' size is a space between words."""
_HOLE = 1.6
_CLOSING = re.compile(r"^[,.;:!?)\]}’”]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of one column. `x0` and `x1` of `column` are the column's edges; `fresh` says that a column begins here."""

    text: str
    box: BoundingBox
    size: float
    font: str
    bold: bool
    """All of it is bold."""
    bold_start: bool
    page: int
    column: BoundingBox
    fresh: bool = False
    gap: float = 0.0
    """White above it, up to the line before in the same column; what is on top of a column has the page's usual gap."""
    items: tuple[Item, ...] = ()


def lines_of_pages(pages: Sequence[Page]) -> list[list[Line]]:
    """The lines of each page in reading order."""
    columns = columns_of_pages(pages)
    return [
        [line for stretch in stretches for line in _build_lines(stretch, page.number)]
        for page, stretches in zip(pages, columns, strict=True)
    ]


def _build_lines(stretch: Sequence[Item], page: int) -> list[Line]:
    rows = rows_of(stretch)
    edges = _edges_of(rows)
    lines: list[Line] = []
    for row in rows:
        lines.append(_build_line(row, page, edges, lines[-1].box if lines else None))
    return lines


def _edges_of(rows: Sequence[Sequence[Item]]) -> BoundingBox:
    """The column's edges, by where most of its lines begin and end."""
    starts = sorted(row[0].box.x0 for row in rows)
    ends = sorted(row[-1].box.x1 for row in rows)
    return BoundingBox(starts[len(starts) // 10], rows[0][0].box.y0, ends[-1 - len(ends) // 10], rows[-1][-1].box.y1)


def _build_line(row: Sequence[Item], page: int, column: BoundingBox, above: BoundingBox | None) -> Line:
    box = row[0].box
    for item in row[1:]:
        box = box.around(item.box)
    longest = max(row, key=lambda item: (len(item.text), -item.box.x0))
    lettered = [item for item in row if any(character.isalpha() for character in item.text)] or list(row)
    return Line(
        text=join_items(row),
        box=box,
        size=longest.size,
        font=longest.font,
        bold=_is_bold(lettered),
        bold_start=row[0].bold,
        page=page,
        column=column,
        fresh=above is None,
        gap=box.y0 - above.y1 if above else 0.0,
        items=tuple(row),
    )


def _is_bold(items: Sequence[Item]) -> bool:
    """All of it is bold but the mathematics in it, which has fonts of its own."""
    words = [item for item in items if not item.text.startswith("$")]
    return bool(words) and all(item.bold and (item.bold_end or item.text.endswith("$")) for item in words)


def join_items(row: Sequence[Item]) -> str:
    """The text of items side by side."""
    text = row[0].text
    for left, right in itertools.pairwise(row):
        gap = right.box.x0 - left.box.x1
        close = gap < _SPACE * min(left.size, right.size) and not ("$" in left.text[-1:] and "$" in right.text[:1])
        text += right.text if close or _CLOSING.match(right.text) else f" {right.text}"
    return mend_letters(text)  # an accent may stand at the end of one item, its letter at the start of the next


def has_holes(line: Line, *, after: int = 0, widest: float = _HOLE) -> bool:
    """Wide white between the words, from the gap `after` on: a row of a table."""
    gaps = [right.box.x0 - left.box.x1 for left, right in zip(line.items, line.items[1:], strict=False)]
    return any(gap > widest * line.size for gap in gaps[after:])
