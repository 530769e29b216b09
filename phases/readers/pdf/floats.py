"""Finds the picture or the table that a caption of a PDF belongs to: the ink that stands next to the caption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import groupby
from typing import Any

from phases.readers.pdf import pdfium
from phases.readers.pdf.characters import box_around_boxes
from phases.readers.pdf.page import BoundingBox
from phases.readers.pdf.quotes import QuoteFinder

FIGURE, TABLE = "figure", "table"
_CELL = 4.0
"""Points: ink is looked at in squares of this side."""
_JOINED = 3
"""Squares without ink that part two pieces of one picture, at most."""
_BACKGROUND = 0.8
"""What fills more of the page than this is no picture on it."""
_NEAREST = 48.0
"""Points between a caption and what it is of, at most."""
_BESIDE = 36.0
"""The same between the parts of one picture."""
_MARGIN = 4.0
_LABEL = 14.0
"""Points: letters so near to a picture belong to it."""
_SMALLEST = 12.0
_CAPTION_WORDS = 12
_LONGEST_LABEL = 0.6
_FLAT = 12.0
"""Points: what is no higher is a ruling."""
_TALLEST_ROWS = 160.0
"""Points between two rulings of a table, at most."""
_WIDE = 0.45
"""A line as wide as this share of the page is of the text, and no label."""
_MOST_LETTERS = 20_000


def find_floats(path: str, task: Any) -> Iterator[dict[str, Any]]:
    """A row for each caption of a task (page_pictures.find_floats) next to which something stands."""
    with pdfium.open_document(path, task["password"]) as document:
        finder = QuoteFinder(document)
        captions = sorted(enumerate(task["captions"]), key=lambda row: row[1]["page"])
        for number, group in groupby(captions, key=lambda row: row[1]["page"]):
            rows = list(group)
            boxes = [_find_caption(finder, number, row["text"]) for _, row in rows]
            taken = [box for box in boxes if box]
            with pdfium.open_page(document, number) as page:
                if page is None or page.get_rotation():
                    continue
                sheet = _Sheet(page)
                for (index, row), box in zip(rows, boxes, strict=True):
                    found = sheet.find(box, row["kind"], taken) if box else None
                    if found:
                        yield {"index": index, "box": astuple(found)}


def _find_caption(finder: QuoteFinder, number: int, text: str) -> BoundingBox | None:
    """Where the whole caption stands, as far as it is on this page."""
    words = text.split()
    for wanted in (text, " ".join(words[:_CAPTION_WORDS])):
        boxes = [box for page, boxes in finder.find(number, wanted) if page == number for box in boxes]
        if boxes:
            return box_around_boxes(boxes)
    return None


class _Sheet:
    """The pieces of ink of one page, and its lines of text."""

    def __init__(self, page: Any) -> None:
        self._width, self._height = map(float, page.get_size())
        self._pieces = _join_ink(self._drawn(page), self._width, self._height)
        self._lines = list(_lines_of(page))

    def find(self, caption: BoundingBox, kind: str, captions: Sequence[BoundingBox]) -> BoundingBox | None:
        """What the caption is of: a figure stands above it and a table below, where anything does."""
        others = [box for box in captions if box is not caption]
        for above in (kind == FIGURE, kind != FIGURE):
            found = self._beside(caption, kind, others, above=above)
            if found:
                # the caption itself is not shown
                top, bottom = (0.0, caption.y0) if above else (caption.y1, self._height)
                return BoundingBox(
                    max(found.x0 - _MARGIN, 0.0),
                    max(found.y0 - _MARGIN, top),
                    min(found.x1 + _MARGIN, self._width),
                    min(found.y1 + _MARGIN, bottom),
                )
        return None

    def _beside(
        self, caption: BoundingBox, kind: str, others: Sequence[BoundingBox], *, above: bool
    ) -> BoundingBox | None:
        """All pieces on one side of a caption that hang together, with the letters in and next to them."""
        side = [
            box for box in self._pieces if (box.y1 <= caption.y0 + _MARGIN if above else box.y0 >= caption.y1 - _MARGIN)
        ]
        if kind == FIGURE:
            # the line under a running head, or over a footnote
            side = [box for box in side if box.height > _FLAT or box.width < _WIDE * self._width]
        near = [box for box in side if _overlap(box, caption) and _gap(box, caption) <= _NEAREST]
        if not near:
            return None
        found = min(near, key=lambda box: _gap(box, caption))
        ruling = found if kind == TABLE and found.height <= _FLAT else None
        rest = [box for box in side if box is not found]
        while more := [box for box in rest if self._hangs_on(box, found, ruling, caption, others)]:
            found = box_around_boxes([found, *more])
            rest = [box for box in rest if box not in more]
        labels = [line for line in self._lines if self._is_label(line, found, caption)]
        found = box_around_boxes([found, *labels])
        return found if min(found.width, found.height) >= _SMALLEST else None

    def _hangs_on(
        self,
        box: BoundingBox,
        found: BoundingBox,
        ruling: BoundingBox | None,
        caption: BoundingBox,
        others: Sequence[BoundingBox],
    ) -> bool:
        """Whether a piece is of what was found: beside or over it, under the caption's width, with no text between."""
        joined = box.around(found)
        if any(_touch(joined, other) for other in others):
            return False
        if ruling:
            # of a table with rulings alone: they end where the first one does, or lie within it
            inside = ruling.x0 - _CELL <= box.x0 and box.x1 <= ruling.x1 + _CELL
            return box.height <= _FLAT and inside and _gap(box, found) <= _TALLEST_ROWS
        level = min(box.y1, found.y1) - max(box.y0, found.y0) > 0
        between = [line for line in self._lines if line.width > _WIDE * self._width and _between(line, box, found)]
        if level and caption.x0 <= box.centre <= caption.x1:
            return not between  # another part of it, over the same caption
        return _gap(box, found) <= _BESIDE and not between and (level or _overlap(box, found) or _overlap(box, caption))

    def _is_label(self, line: BoundingBox, found: BoundingBox, caption: BoundingBox) -> bool:
        if _touch(line, caption):
            return False
        near = _gap(line, found) <= _LABEL and _overlap(line, found) and line.width < _LONGEST_LABEL * found.width
        return near or found.holds(line)

    def _drawn(self, page: Any) -> Iterator[BoundingBox]:
        """Where shapes and pictures are; a form counts by what is in it."""
        left, _, _, top = page.get_bbox()
        for kind, item, matrix in pdfium.objects_of(page):
            if kind not in (pdfium.PATH, pdfium.IMAGE):
                continue
            x0, y0, x1, y1 = pdfium.bounds_of(item, matrix)
            box = BoundingBox(
                max(x0 - left, 0.0), max(top - y1, 0.0), min(x1 - left, self._width), min(top - y0, self._height)
            )
            if (
                box.x1 >= box.x0
                and box.y1 >= box.y0
                and box.width * box.height < _BACKGROUND * self._width * self._height
            ):
                yield box


def _lines_of(page: Any) -> Iterator[BoundingBox]:
    line: list[BoundingBox] = []
    for sign, edges in pdfium.letters_in_view(page, _MOST_LETTERS):
        if sign in "\r\n" and line:
            yield box_around_boxes(line)
            line = []
        if edges:
            line.append(BoundingBox(*edges))
    if line:
        yield box_around_boxes(line)


def _join_ink(boxes: Iterable[BoundingBox], width: float, height: float) -> list[BoundingBox]:
    """The pieces of ink: boxes that touch, or nearly do, are one."""
    columns, rows = int(width / _CELL) + 1, int(height / _CELL) + 1
    inked = {
        (column, row)
        for box in set(boxes)
        for column in range(int(box.x0 / _CELL), min(int(box.x1 / _CELL), columns) + 1)
        for row in range(int(box.y0 / _CELL), min(int(box.y1 / _CELL), rows) + 1)
    }
    pieces = []
    while inked:
        piece, todo = [], [inked.pop()]
        while todo:
            column, row = todo.pop()
            piece.append((column, row))
            near = {
                (x, y)
                for x in range(column - _JOINED, column + _JOINED + 1)
                for y in range(row - _JOINED, row + _JOINED + 1)
            } & inked
            inked -= near
            todo += near
        across, down = [column for column, _ in piece], [row for _, row in piece]
        edges = min(across), min(down), max(across) + 1, max(down) + 1
        pieces.append(BoundingBox(*(edge * _CELL for edge in edges)))
    return pieces


def _gap(one: BoundingBox, other: BoundingBox) -> float:
    """The white between two boxes, up and down or across, whichever is more."""
    return max(one.y0 - other.y1, other.y0 - one.y1, one.x0 - other.x1, other.x0 - one.x1, 0.0)


def _overlap(one: BoundingBox, other: BoundingBox) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1


def _touch(one: BoundingBox, other: BoundingBox) -> bool:
    return _overlap(one, other) and one.y0 < other.y1 and other.y0 < one.y1


def _between(line: BoundingBox, one: BoundingBox, other: BoundingBox) -> bool:
    """Whether a line stands between two boxes, one above the other."""
    upper, lower = (one, other) if one.y0 < other.y0 else (other, one)
    return upper.y1 <= line.middle <= lower.y0 and _overlap(line, upper)
