"""The text objects of a PDF page, and which of them nobody who looks at the page sees."""

from __future__ import annotations

from typing import Any

from phases.readers.pdf import pdfium
from phases.readers.pdf.page import Box
from phases.readers.reading import Hidden

_TINIEST = 1.0
_WHITE = 250
_SCAN = 0.5
"""A picture that fills more of the page than this may be the scan that an invisible text layer belongs to."""
MOST_HIDDEN = 200
_LONGEST_HIDDEN = 300


class Objects:
    """One look over all objects of a page."""

    def __init__(self, page: Any, number: int) -> None:
        self.texts: list[tuple[Box, Any]] = []
        self.unseen: list[Box] = []
        self.hidden: list[Hidden] = []
        self._page, self._number = page, number
        self._left, self._bottom, self._right, self._top = page.get_bbox()
        self._text_page: Any = None
        self._suspects: list[tuple[Box, Any, int, str]] = []
        others: list[tuple[int, Any, pdfium.Matrix | None]] = []
        for kind, item, matrix in pdfium.objects_of(page):
            if kind == pdfium.TEXT:
                self._look(item, self._box(item, matrix), len(others))
            elif kind != pdfium.FORM:
                others.append((kind, item, matrix))
        if self._suspects:
            self._judge(others)

    def _box(self, item: Any, matrix: pdfium.Matrix | None) -> Box:
        left, bottom, right, top = pdfium.bounds_of(item, matrix)
        return Box(left - self._left, self._top - top, right - self._left, self._top - bottom)

    def _look(self, item: Any, box: Box, before: int) -> None:
        """Takes in a text object. `before` counts the shapes and pictures that were drawn earlier."""
        self.texts.append((box, item))
        if pdfium.is_never_shown(item):
            self._suspects.append((box, item, before, "invisible"))
        elif box.x1 < 0 or box.y1 < 0 or box.x0 > self._width or box.y0 > self._height:
            self._tell(item, box, "off_page")
        elif box.height < _TINIEST and (pdfium.size_of(item) or _TINIEST) < _TINIEST:
            self._tell(item, box, "tiny")
        else:
            colour = pdfium.fill_of(item)
            if colour is not None and colour[3] == 0:
                self._tell(item, box, "invisible")
            elif colour is not None and min(colour[:3]) >= _WHITE:
                self._suspects.append((box, item, before, "white"))

    @property
    def _width(self) -> float:
        return float(self._right - self._left)

    @property
    def _height(self) -> float:
        return float(self._top - self._bottom)

    def _judge(self, others: list[tuple[int, Any, pdfium.Matrix | None]]) -> None:
        """White words are seen on what is dark below them; invisible ones belong to a scan if it fills the page."""
        boxes = [self._box(item, matrix) for _, item, matrix in others]
        pictures = [kind == pdfium.IMAGE for kind, _, _ in others]
        area = self._width * self._height
        scans = [
            box
            for box, picture in zip(boxes, pictures, strict=True)
            if picture and box.width * box.height > _SCAN * area
        ]
        dark = [self._is_dark(kind, item) for kind, item, _ in others]
        for box, item, before, how in self._suspects:
            if how == "white":
                below = zip(boxes[:before], dark[:before], strict=True)
                seen = any(cover.holds(box) for cover, is_dark in below if is_dark)
            else:
                seen = any(scan.holds(box) for scan in scans)
            if not seen:
                self._tell(item, box, how)

    def _is_dark(self, kind: int, item: Any) -> bool:
        """Whether white words on it are seen: a filled shape that is not white, a picture, a shading."""
        if kind != pdfium.PATH:
            return True
        colour = pdfium.fill_of(item)
        return colour is not None and colour[3] > 0 and min(colour[:3]) < _WHITE

    def _tell(self, item: Any, box: Box, how: str) -> None:
        self.unseen.append(box)
        if len(self.hidden) >= MOST_HIDDEN:
            return
        self._text_page = self._text_page or self._page.get_textpage()
        words = pdfium.words_of(item, self._text_page)
        if any(character.isalnum() for character in words):
            self.hidden.append(Hidden(words[:_LONGEST_HIDDEN], self._number, how))
