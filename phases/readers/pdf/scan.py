"""Extract from a PDF with pypdfium2 its outline, title, fonts by position, and invisible text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from phases.readers.pdf import pdfium
from phases.readers.pdf.characters import PageText
from phases.readers.pdf.page import BoundingBox
from phases.readers.reading import Hidden

_MOST_PIECES = 20_000
_LETTERS = re.compile(r"[^\W_]")
_FEWEST_LETTERS, _ALIKE = 8, 0.5
_TINIEST = 1.6
_MOST_COVERS, _LEAST_COVER = 60, 8.0
_MOST_PATHS, _THICKEST, _SHORTEST = 3000, 2.5, 3.0
"""Shapes of a page that are inspected; and the height and width that distinguish a rule."""
_WHITE = 250
_SCAN = 0.5
"""Share of the page from which on pictures may be the scan below an invisible text layer."""
MOST_HIDDEN = 200
_LONGEST_HIDDEN = 300


@contextmanager
def open_pdf(path: str, password: str | None) -> Iterator[Scan]:
    """Open a PDF file as a scan."""
    document = pdfium.open_document(path, password)
    with document:
        yield Scan(document)


class Scan:
    """An open PDF. `hidden`, `unopened` and `pictured` fill while its pages are inspected."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.hidden: list[Hidden] = []
        self.unopened: set[int] = set()
        self.pictured: set[int] = set()
        """Pages with only pictures."""
        self._seen: set[int] = set()

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self._document)

    def bookmarks(self) -> Iterator[tuple[str, int, int, float | None]]:
        """Return the PDF's own outline: title, level from 0, page from 1, points from the page's top. Empty if damaged."""
        try:
            for mark in self._document.get_toc():
                target = mark.get_dest()
                page = target.get_index() if target else None
                if page is not None:
                    yield " ".join(mark.get_title().split()), mark.level, page + 1, self._height_of(page, target)
        except pdfium.PdfiumError:
            return

    def _height_of(self, page: int, target: Any) -> float | None:
        place = pdfium.height_of_target(target)
        return None if place is None else float(self._document.get_page_size(page)[1] - place)

    def title_and_authors(self) -> tuple[str | None, tuple[str, ...]]:
        """Return title and authors from the PDF's properties."""
        given = self._document.get_metadata_dict()
        names = given.get("Author", "").replace(" and ", ";").replace(",", ";").split(";")
        title = " ".join(given.get("Title", "").split())
        return title or None, tuple(" ".join(name.split()) for name in names if name.strip())

    @contextmanager
    def page(self, number: int) -> Iterator[PageScan]:
        """Open a page's objects as a context. `number` counts from 1."""
        try:
            page = self._document[number - 1]
        except (pdfium.PdfiumError, IndexError):
            self.unopened.add(number)
            yield PageScan(None, [], [], [], [])
            return
        try:
            found = PageObjects(page, number)
            if found.is_picture:
                self.pictured.add(number)
            if number not in self._seen:
                self._seen.add(number)
                self.hidden.extend(found.hidden[: MOST_HIDDEN - len(self.hidden)])
            yield PageScan(page, found.texts, found.unseen, found.rulings, found.replaced)
        finally:
            page.close()


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text of one line in one font, as split by PDFium."""

    text: str
    box: BoundingBox
    size: float


class PageScan:
    """Text objects of a page and their visibility. `page` is None if it cannot be opened."""

    def __init__(
        self,
        page: Any,
        texts: list[tuple[BoundingBox, Any]],
        unseen: list[BoundingBox],
        rulings: list[BoundingBox],
        replaced: list[tuple[str, BoundingBox]],
    ) -> None:
        self._page = page
        self._texts = texts
        self.unseen = unseen
        self.rulings = rulings
        self.replaced = replaced
        size = page.get_size() if page else (1.0, 1.0)
        self.width, self.height = float(size[0]), float(size[1])

    def pieces(self) -> Iterator[TextPiece]:
        """Yield the text of the page."""
        if self._page is None:
            return
        text = self._page.get_textpage()
        left, _, _, top = self._page.get_bbox()
        for index in range(min(text.count_rects(), _MOST_PIECES)):
            x0, y0, x1, y1 = text.get_rect(index)
            place = text.get_index((x0 + x1) / 2, (y0 + y1) / 2, 4, 4)
            box = BoundingBox(x0 - left, top - y1, x1 - left, top - y0)
            yield TextPiece(text.get_text_bounded(x0, y0, x1, y1), box, pdfium.letter_size(text, place))

    def text(self) -> PageText | None:
        """Return the page's characters; None if it is displayed rotated, so that positions differ from the engine's."""
        if self._page is None or self._page.get_rotation():
            return None
        left, _, _, top = self._page.get_bbox()
        return PageText(self._page, left, top)

    def hides(self, box: BoundingBox) -> bool:
        """Return whether content at this place is invisible."""
        return any(unseen.holds(box) for unseen in self.unseen)

    def font_at(self, box: BoundingBox) -> str | None:
        """Return the font name of the last letters in a box."""
        end, middle = box.x1 - min(2.0, box.width / 4), box.middle
        for place, text in reversed(self._texts):
            if place.x0 <= end <= place.x1 and place.y0 - 1 <= middle <= place.y1 + 1:
                return pdfium.font_of(text)
        return None


class PageObjects:
    """One pass over all objects of a page."""

    def __init__(self, page: Any, number: int) -> None:
        self.texts: list[tuple[BoundingBox, Any]] = []
        self.unseen: list[BoundingBox] = []
        self.hidden: list[Hidden] = []
        self.replaced: list[tuple[str, BoundingBox]] = []
        """Replacement texts of visible words, with their boxes."""
        self._page, self._number = page, number
        self._left, self._bottom, self._right, self._top = page.get_bbox()
        self._text_page: Any = None
        self._suspects: list[tuple[BoundingBox, Any, int, str]] = []
        self.rulings: list[BoundingBox] = []
        self._places: list[int] = []
        """Number of shapes and pictures drawn before each text."""
        self._covers: list[tuple[int, Any, BoundingBox]] = []
        self._layered: list[tuple[BoundingBox, Any]] = []
        self._picture: pdfium.GreyPicture | None = None
        self._drawn = False
        self._replaced: dict[str, list[tuple[BoundingBox, Any]]] = {}
        others: list[tuple[int, Any, pdfium.Matrix | None]] = []
        # decision 31: inspect every text object, which is a third of the cost of reading a PDF
        for kind, item, matrix in pdfium.objects_of(page):
            if kind == pdfium.TEXT:
                self._look(item, self._box(item, matrix), len(others))
            elif kind != pdfium.FORM:
                others.append((kind, item, matrix))
                if kind == pdfium.PATH and len(others) < _MOST_PATHS:
                    self._look_at_path(item, self._box(item, matrix), len(others) - 1)
        if self._suspects:
            self._judge(others)
        self._judge_covered()
        self._judge_layers()
        self._judge_replaced()
        pictures = (self._box(item, matrix) for kind, item, matrix in others if kind == pdfium.IMAGE)
        self.is_picture = not self.texts and sum(map(self._share, pictures)) > _SCAN

    def _box(self, item: Any, matrix: pdfium.Matrix | None) -> BoundingBox:
        left, bottom, right, top = pdfium.bounds_of(item, matrix)
        return BoundingBox(left - self._left, self._top - top, right - self._left, self._top - bottom)

    def _look_at_path(self, item: Any, box: BoundingBox, place: int) -> None:
        if self.texts and box.width > _LEAST_COVER and box.height > _LEAST_COVER:
            self._covers.append((place, item, box))
        if box.height < _THICKEST and box.width > _SHORTEST and box.width > 4 * box.height:
            self.rulings.append(box)

    def _look(self, item: Any, box: BoundingBox, before: int) -> None:
        self.texts.append((box, item))
        self._places.append(before)
        for name, instead in pdfium.marks_of(item):
            if name == "OC":
                self._layered.append((box, item))
            elif instead:
                self._replaced.setdefault(instead, []).append((box, item))
        if pdfium.is_never_shown(item):
            self._suspects.append((box, item, before, "invisible"))
        elif box.x1 < 0 or box.y1 < 0 or box.x0 > self._width or box.y0 > self._height:
            self._tell(item, box, "off_page")
        elif box.height < _TINIEST and 0 < (pdfium.size_of(item) or 0.0) < _TINIEST:
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
        """Detect white words, which are visible on a dark ground; invisible ones belong to a scan if it fills the page."""
        boxes = [self._box(item, matrix) for _, item, matrix in others]
        pictures = [box for box, (kind, _, _) in zip(boxes, others, strict=True) if kind == pdfium.IMAGE]
        # a scan may come in strips: all of its pictures together fill the page
        scans = pictures if sum(self._share(box) for box in pictures) > _SCAN else []
        dark = [self._is_dark(kind, item) for kind, item, _ in others]
        for box, item, before, how in self._suspects:
            if how == "white":
                below = zip(boxes[:before], dark[:before], strict=True)
                seen = any(cover.holds(box) for cover, is_dark in below if is_dark)
            else:
                seen = any(scan.holds(box) or box.holds(scan) for scan in scans)
            if not seen:
                self._tell(item, box, how)

    def _judge_covered(self) -> None:
        # the largest ones: bars of a chart hide no words
        largest = sorted(self._covers, key=lambda cover: -self._share(cover[2]))[:_MOST_COVERS]
        covers = [(place, box) for place, item, box in largest if pdfium.is_solid_rectangle(item)]
        for place, cover in covers:
            for before, (box, item) in zip(self._places, self.texts, strict=True):
                within = cover.x0 <= box.x0 and box.x1 <= cover.x1 and cover.y0 <= box.y0 and box.y1 <= cover.y1
                known = any(unseen is box for unseen in self.unseen)
                # a clip may keep the box away from them, so the rendered page decides
                if before <= place and within and not known and not self._has_ink(box):
                    self._tell(item, box, "covered")

    def _judge_layers(self) -> None:
        """Detect words of a layer that is off, by whether the page shows anything at their place."""
        for box, item in self._layered:
            if not self._has_ink(box):
                self._tell(item, box, "layer")

    def _has_ink(self, box: BoundingBox) -> bool:
        if not self._drawn:
            self._drawn, self._picture = True, pdfium.draw_in_grey(self._page)
        return self._picture is None or self._picture.has_ink(box.x0, box.y0, box.x1, box.y1)

    def _judge_replaced(self) -> None:
        """Detect texts that replace other visible words. LaTeX for a formula, and a name for a sign, are equivalent."""
        told = {
            instead: rows
            for instead, rows in self._replaced.items()
            if len(_LETTERS.findall(instead)) >= _FEWEST_LETTERS
        }
        if not told or any("\\" in instead for instead in told):
            return
        for rows in told.values():
            for _, item in rows:
                pdfium.remove_marks(item)
        text_page = self._page.get_textpage()
        for instead, rows in told.items():
            shown = "".join(pdfium.words_of(item, text_page) for _, item in rows)
            given, seen = ("".join(_LETTERS.findall(words)).lower() for words in (instead, shown))
            if len(seen) >= _FEWEST_LETTERS and SequenceMatcher(None, given, seen, autojunk=False).ratio() < _ALIKE:
                self.replaced += [(instead, box) for box, _ in rows]
                self.hidden.append(Hidden(instead[:_LONGEST_HIDDEN], self._number, "replaced"))

    def _share(self, box: BoundingBox) -> float:
        width = min(box.x1, self._width) - max(box.x0, 0.0)
        height = min(box.y1, self._height) - max(box.y0, 0.0)
        return max(width, 0.0) * max(height, 0.0) / max(self._width * self._height, 1.0)

    def _is_dark(self, kind: int, item: Any) -> bool:
        if kind != pdfium.PATH:
            return True
        colour = pdfium.fill_of(item)
        return colour is not None and colour[3] > 0 and min(colour[:3]) < _WHITE

    def _tell(self, item: Any, box: BoundingBox, how: str) -> None:
        self.unseen.append(box)
        if len(self.hidden) >= MOST_HIDDEN:
            return
        self._text_page = self._text_page or self._page.get_textpage()
        words = pdfium.words_of(item, self._text_page)
        if any(character.isalnum() for character in words):
            self.hidden.append(Hidden(words[:_LONGEST_HIDDEN], self._number, how))
