"""Render pages of a PDF as PNG with tinted places, and locate quotes, figures and tables on them."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any
from unicodedata import normalize

from phases.readers.pdf import pdfium
from phases.readers.pdf.characters import box_around_boxes
from phases.readers.pdf.page import BoundingBox

_POINTS_PER_INCH = 72
_MOST_PIXELS = 6_000_000
_LEAST = 1.0
"""Narrowest and lowest rendered part, in points."""
_YELLOW = tuple(bytes(value * share // 255 for value in range(256)) for share in (255, 238, 110))
"""Mapping of the red, green and blue of a tinted dot: black letters stay black."""
_SIXTEEN = bytes(17 * round(value / 17) for value in range(256))
"""Sixteen shades per colour, which halve a picture's bytes without a visible difference."""
_MOST_CHARACTERS = 100_000
_COMMAND = re.compile(r"\\[A-Za-z]+|<!--.*?-->")
"""Commands of mathematics and marks of the text, which are not letters of the page."""
_FEWEST_LETTERS = 6
_ALIKE, _PIECE = 0.6, 0.15
"""Share of a quote's letters that must be found, and share of them on a page for that page to count."""
_STRAY = 0.5
"""Words further from the rest than this share of the quote's length belong to another sentence."""
_FEWEST_STRAY = 4
_PAGES_KEPT = 4
FIGURE, TABLE = "figure", "table"
_CELL = 4.0
"""Side of the squares in which ink is searched, in points."""
_JOINED = 3
"""Empty squares between two pieces of one picture, at most."""
_BACKGROUND = 0.8
"""Share of the page from which on a shape is background."""
_NEAREST = 48.0
"""Distance in points between a caption and its float, at most."""
_BESIDE = 36.0
"""The same between the parts of one picture."""
_MARGIN = 4.0
_LABEL = 14.0
"""Distance in points within which letters belong to a picture."""
_SMALLEST = 12.0
_CAPTION_WORDS = 12
_LONGEST_LABEL = 0.6
_FLAT = 12.0
"""Height in points up to which a shape is a rule."""
_TALLEST_ROWS = 160.0
"""Distance in points between two rules of a table, at most."""
_WIDE = 0.45
"""A line as wide as this share of the page is text, not a label."""
_MOST_LETTERS = 20_000


def draw_views(path: str, task: Any) -> Iterator[dict[str, Any]]:
    """Yield a row for each view of a task (page_pictures.draw_views) that can be rendered."""
    with pdfium.open_document(path, task["password"]) as document:
        for index, view in enumerate(task["views"]):
            part = BoundingBox(*view["part"]) if view["part"] else None
            marks = [BoundingBox(*mark) for mark in view["marks"]]
            try:
                drawn = draw_view(document, view["page"], part, marks, task["dots_per_inch"])
            except (pdfium.PdfiumError, MemoryError):
                # only this page is lost
                continue
            if drawn:
                yield {"index": index, "png": base64.b64encode(drawn[0]).decode(), "box": astuple(drawn[1])}


def draw_view(
    document: Any, number: int, part: BoundingBox | None, marks: Sequence[BoundingBox], dots_per_inch: float
) -> tuple[bytes, BoundingBox] | None:
    """Render a page, counted from 1, or a part of it as PNG; return it with the part shown. None if it is empty."""
    with pdfium.open_page(document, number) as page:
        if page is None:
            return None
        width, height = page.get_size()
        shown = BoundingBox(0.0, 0.0, width, height)
        if part is not None:
            edges = max(part.x0, 0.0), max(part.y0, 0.0), min(part.x1, width), min(part.y1, height)
            shown = BoundingBox(*edges)
        if shown.width < _LEAST or shown.height < _LEAST:
            return None
        scale = min(dots_per_inch / _POINTS_PER_INCH, (_MOST_PIXELS / (shown.width * shown.height)) ** 0.5)
        crop = (shown.x0, height - shown.y1, width - shown.x1, shown.y0)
        columns, rows, dots = pdfium.draw_in_colour(page, scale, crop)
    for mark in marks:
        moved = (mark.x0 - shown.x0, mark.y0 - shown.y0, mark.x1 - shown.x0, mark.y1 - shown.y0)
        _tint(dots, columns, rows, [round(edge * scale) for edge in moved])
    return _png_of(columns, rows, dots), shown


def _tint(dots: bytearray, columns: int, rows: int, edges: Sequence[int]) -> None:
    left, right = max(0, edges[0]), min(columns, edges[2])
    if left >= right:
        return
    for row in range(max(0, edges[1]), min(rows, edges[3])):
        for colour, table in enumerate(_YELLOW):
            place = slice((row * columns + left) * 3 + colour, (row * columns + right) * 3 + colour, 3)
            dots[place] = dots[place].translate(table)


def _png_of(columns: int, rows: int, dots: bytearray) -> bytes:
    """Encode dots of three bytes as PNG (W3C recommendation, second edition); a page without colours in greys."""
    shades = dots.translate(_SIXTEEN)
    is_grey = shades[::3] == shades[1::3] == shades[2::3]
    width, kind = (columns, 0) if is_grey else (columns * 3, 2)
    shades = shades[::3] if is_grey else shades
    lines = b"".join(b"\x00" + shades[row * width : (row + 1) * width] for row in range(rows))
    header = struct.pack(">IIBBBBB", columns, rows, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def find_quotes(path: str, task: Any) -> Iterator[dict[str, Any]]:
    """Yield a row for each quote of a task (page_pictures.find_quotes)."""
    with pdfium.open_document(path, task["password"]) as document:
        finder = QuoteFinder(document)
        # page by page, so that few pages are inspected again
        for index, quote in sorted(enumerate(task["quotes"]), key=lambda row: row[1]["page"]):
            places = finder.find(quote["page"], quote["text"])
            rows = [{"page": page, "boxes": [astuple(box) for box in boxes]} for page, boxes in places]
            yield {"index": index, "places": rows}


class QuoteFinder:
    """Locates quotes in an open PDF."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._letters = lru_cache(_PAGES_KEPT)(self._read_letters)

    def find(self, number: int, quote: str) -> list[tuple[int, list[BoundingBox]]]:
        """Return the pages, counted from 1, with a box per line; `number` is the expected page."""
        words = _fold_words(_COMMAND.sub(" ", quote))
        wanted = "".join(words)
        if len(wanted) < _FEWEST_LETTERS:
            return []
        near = [page for page in (number, number + 1, number - 1) if 1 <= page <= len(self._document)]
        for page in near:
            letters = self._letters(page)
            if (start := letters.text.find(wanted)) >= 0:
                return [(page, letters.boxes(start, start + len(wanted)))]
        return self._find_nearly(near, words, len(wanted))

    def _find_nearly(
        self, near: Sequence[int], words: Sequence[str], count: int
    ) -> list[tuple[int, list[BoundingBox]]]:
        result = {page: self._letters(page).find_words(words) for page in near}
        result = {page: span for page, span in result.items() if span[2] >= _PIECE * count}
        best = max(result, key=lambda page: result[page][2], default=0)
        if best and result[best][2] >= _ALIKE * count:
            return [(best, self._letters(best).boxes(*result[best][:2]))]
        for first, second in pairwise(sorted(result)):
            if second == first + 1 and result[first][2] + result[second][2] >= _ALIKE * count:
                return [(page, self._letters(page).boxes(*result[page][:2])) for page in (first, second)]
        return []

    def _read_letters(self, number: int) -> PageLetters:
        with pdfium.open_page(self._document, number) as page:
            return PageLetters(page)


class PageLetters:
    """Letters and digits of a page in lower case, with their places on the visible page."""

    def __init__(self, page: Any) -> None:
        result: list[str] = []
        self._boxes: list[BoundingBox | None] = []
        self._breaks: list[bool] = []
        """Whether a line begins with this letter."""
        self._words: list[tuple[str, int]] = []
        """Each word with the index of its first letter."""
        new_line = new_word = True
        for sign, box in pdfium.letters_in_view(page, _MOST_CHARACTERS) if page else ():
            if sign in "\r\n\ufffe":
                # a hyphen that split a word is U+FFFE here, and the word continues
                new_line, new_word = True, new_word or sign != "\ufffe"
            for letter in normalize("NFKC", sign).casefold():
                if not letter.isalnum():
                    new_word = new_word or not new_line or sign.isspace()
                    continue
                if new_word:
                    self._words.append(("", len(result)))
                self._words[-1] = (self._words[-1][0] + letter, self._words[-1][1])
                result.append(letter)
                self._boxes.append(BoundingBox(*box) if box else None)
                self._breaks.append(new_line)
                new_line = new_word = False
        self.text = "".join(result)

    def find_words(self, words: Sequence[str]) -> tuple[int, int, int]:
        """Return start and end of the place with most of these words in order, and how many of their letters it has."""
        known = [word for word, _ in self._words]
        blocks = SequenceMatcher(None, words, known, autojunk=False).get_matching_blocks()[:-1]
        if not blocks:
            return 0, 0, 0
        main = max(blocks, key=lambda block: sum(map(len, words[block.a : block.a + block.size])))
        stray = max(_FEWEST_STRAY, _STRAY * len(words))
        result = [block for block in blocks if abs((block.b - block.a) - (main.b - main.a)) <= stray]
        count = sum(len(word) for block in result for word in words[block.a : block.a + block.size])
        last, start = self._words[result[-1].b + result[-1].size - 1], self._words[result[0].b][1]
        return start, last[1] + len(last[0]), count

    def boxes(self, start: int, end: int) -> list[BoundingBox]:
        """Return a box around each line from one index to another."""
        return [box_around_boxes(line) for line in self._lines(start, end)]

    def _lines(self, start: int, end: int) -> Iterator[list[BoundingBox]]:
        line: list[BoundingBox] = []
        for box, starts in zip(self._boxes[start:end], self._breaks[start:end], strict=True):
            if box is None:
                continue
            if line and (starts or box.y0 > line[-1].y1 + box.height or box.y1 < line[-1].y0 - box.height):
                yield line
                line = []
            line.append(box)
        if line:
            yield line


def _fold_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", normalize("NFKC", text).casefold())


def find_floats(path: str, task: Any) -> Iterator[dict[str, Any]]:
    """Yield a row for each caption of a task (page_pictures.find_floats) next to a float."""
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
        """Return the float of a caption: figures are above and tables below, if anything is."""
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
        """Join all connected pieces on one side of a caption, with the letters inside and next to them."""
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
        """Return whether a piece belongs to a float: beside or over it, within the caption's width, without text between."""
        joined = box.around(found)
        if any(_touch(joined, other) for other in others):
            return False
        if ruling:
            # a table with rules only: they end with the first one, or are within it
            inside = ruling.x0 - _CELL <= box.x0 and box.x1 <= ruling.x1 + _CELL
            return box.height <= _FLAT and inside and _gap(box, found) <= _TALLEST_ROWS
        level = min(box.y1, found.y1) - max(box.y0, found.y0) > 0
        between = [line for line in self._lines if line.width > _WIDE * self._width and _between(line, box, found)]
        if level and caption.x0 <= box.centre <= caption.x1:
            return not between  # another part of it, above the same caption
        return _gap(box, found) <= _BESIDE and not between and (level or _overlap(box, found) or _overlap(box, caption))

    def _is_label(self, line: BoundingBox, found: BoundingBox, caption: BoundingBox) -> bool:
        if _touch(line, caption):
            return False
        near = _gap(line, found) <= _LABEL and _overlap(line, found) and line.width < _LONGEST_LABEL * found.width
        return near or found.holds(line)

    def _drawn(self, page: Any) -> Iterator[BoundingBox]:
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
    return max(one.y0 - other.y1, other.y0 - one.y1, one.x0 - other.x1, other.x0 - one.x1, 0.0)


def _overlap(one: BoundingBox, other: BoundingBox) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1


def _touch(one: BoundingBox, other: BoundingBox) -> bool:
    return _overlap(one, other) and one.y0 < other.y1 and other.y0 < one.y1


def _between(line: BoundingBox, one: BoundingBox, other: BoundingBox) -> bool:
    upper, lower = (one, other) if one.y0 < other.y0 else (other, one)
    return upper.y1 <= line.middle <= lower.y0 and _overlap(line, upper)
