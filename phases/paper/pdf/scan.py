"""What pypdfium2 tells of a PDF: its outline, its title, fonts at a place, and text that nobody sees."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from phases.paper.pdf.page import Box
from phases.paper.reading import BROKEN, Hidden, Unreadable

_TINIEST = 1.0
_WHITE = 250
_SCAN = 0.5
"""A picture that fills more of the page than this may be the scan that an invisible text layer belongs to."""
_DEEPEST_FORM = 4
_MOST_OBJECTS = 200_000
_MOST_HIDDEN = 200
_LONGEST_HIDDEN = 300
_NEVER_SHOWN = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)


@contextmanager
def open_pdf(path: str, password: str | None) -> Iterator[Scan]:
    """A scan of the PDF in a file."""
    try:
        document = pypdfium2.PdfDocument(path, password=password)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(BROKEN, " ".join(str(error).split())) from error
    with document:
        yield Scan(document)


class Scan:
    """Owns the open PDF. `hidden` fills while its pages are looked at."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.hidden: list[Hidden] = []
        self._seen: set[int] = set()

    def bookmarks(self) -> Iterator[tuple[str, int, int, float | None]]:
        """The PDF's own outline: title, level from 0, page from 1, points from the page's top. A damaged one counts as none."""
        try:
            for mark in self._document.get_toc():
                target = mark.get_dest()
                page = target.get_index() if target else None
                if page is not None:
                    yield " ".join(mark.get_title().split()), mark.level, page + 1, self._height_of(page, target)
        except pypdfium2.PdfiumError:
            return

    def _height_of(self, page: int, target: Any) -> float | None:
        mode, place = target.get_view()
        if mode == pdfium.PDFDEST_VIEW_XYZ and len(place) > 1 and place[1]:
            return float(self._document.get_page_size(page)[1] - place[1])
        return None

    def title_and_authors(self) -> tuple[str | None, tuple[str, ...]]:
        """What the PDF's own properties say."""
        given = self._document.get_metadata_dict()
        names = given.get("Author", "").replace(" and ", ";").replace(",", ";").split(";")
        title = " ".join(given.get("Title", "").split())
        return title or None, tuple(" ".join(name.split()) for name in names if name.strip())

    @contextmanager
    def page(self, number: int) -> Iterator[PageScan]:
        """A page's objects, for as long as they are looked at. `number` counts from 1."""
        try:
            page = self._document[number - 1]
        except (pypdfium2.PdfiumError, IndexError):
            yield PageScan([], [])
            return
        try:
            found = _Objects(page, number)
            if number not in self._seen:
                self._seen.add(number)
                self.hidden.extend(found.hidden[: _MOST_HIDDEN - len(self.hidden)])
            yield PageScan(found.texts, found.unseen)
        finally:
            page.close()


class PageScan:
    """Where one page has text objects, and which of them are not seen."""

    def __init__(self, texts: list[tuple[Box, Any]], unseen: list[Box]) -> None:
        self._texts = texts
        self._unseen = unseen

    def hides(self, box: Box) -> bool:
        """Whether what stands here is not seen."""
        return any(unseen.holds(box) for unseen in self._unseen)

    def font_at(self, box: Box) -> str | None:
        """The name of the font in which the last letters of this box are set."""
        end, middle = box.x1 - min(2.0, box.width / 4), (box.y0 + box.y1) / 2
        for place, text in reversed(self._texts):
            if place.x0 <= end <= place.x1 and place.y0 - 1 <= middle <= place.y1 + 1:
                return _font_name(text)
        return None


def _font_name(text: Any) -> str | None:
    font = pdfium.FPDFTextObj_GetFont(text)
    length = pdfium.FPDFFont_GetBaseFontName(font, None, 0) if font else 0
    if not length:
        return None
    name = ctypes.create_string_buffer(length)
    pdfium.FPDFFont_GetBaseFontName(font, name, length)
    return name.value.decode("utf-8", "replace")


class _Objects:
    """One look over all objects of a page."""

    def __init__(self, page: Any, number: int) -> None:
        self.texts: list[tuple[Box, Any]] = []
        self.unseen: list[Box] = []
        self.hidden: list[Hidden] = []
        self._page, self._number = page, number
        self._left, self._bottom, self._right, self._top = page.get_bbox()
        self._colour = [ctypes.c_uint() for _ in range(4)]
        self._bounds = [ctypes.c_float() for _ in range(4)]
        self._text_page: list[Any] = []
        self._suspects: list[tuple[Box, Any, int, str]] = []
        others: list[tuple[int, Any]] = []
        for kind, item, depth in _all_objects(page):
            if kind == pdfium.FPDF_PAGEOBJ_TEXT:
                self._look(item, depth, len(others))
            elif kind != pdfium.FPDF_PAGEOBJ_FORM:
                others.append((kind, item))
        if self._suspects:
            self._judge(others)
        for opened in self._text_page:
            pdfium.FPDFText_ClosePage(opened)

    def _box(self, item: Any) -> Box:
        left, bottom, right, top = self._bounds
        pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top)
        return Box(left.value - self._left, self._top - top.value, right.value - self._left, self._top - bottom.value)

    def _look(self, item: Any, depth: int, before: int) -> None:
        """Takes in a text object. `before` counts the shapes and pictures that were drawn earlier."""
        box = self._box(item)
        self.texts.append((box, item))
        if pdfium.FPDFTextObj_GetTextRenderMode(item) in _NEVER_SHOWN:
            self._suspects.append((box, item, before, "invisible"))
        elif depth == 0 and (box.x1 < 0 or box.y1 < 0 or box.x0 > self._width or box.y0 > self._height):
            self._tell(item, box, "off_page")
        elif depth == 0 and box.height < _TINIEST and self._size(item) < _TINIEST:
            self._tell(item, box, "tiny")
        else:
            colour = self._fill(item)
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

    def _fill(self, item: Any) -> tuple[int, int, int, int] | None:
        if not pdfium.FPDFPageObj_GetFillColor(item, *self._colour):
            return None
        red, green, blue, alpha = (part.value for part in self._colour)
        return red, green, blue, alpha

    def _size(self, item: Any) -> float:
        size, matrix = ctypes.c_float(), pdfium.FS_MATRIX()
        if not (pdfium.FPDFTextObj_GetFontSize(item, size) and pdfium.FPDFPageObj_GetMatrix(item, matrix)):
            return _TINIEST
        return float(size.value * max(abs(matrix.d), abs(matrix.b)))

    def _judge(self, others: list[tuple[int, Any]]) -> None:
        """White words are seen on what is dark below them; invisible ones belong to a scan if it fills the page."""
        boxes = [self._box(item) for _, item in others]
        pictures = [kind == pdfium.FPDF_PAGEOBJ_IMAGE for kind, _ in others]
        area = self._width * self._height
        scans = [
            box
            for box, picture in zip(boxes, pictures, strict=True)
            if picture and box.width * box.height > _SCAN * area
        ]
        dark = [self._is_dark(kind, item) for kind, item in others]
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
        if kind != pdfium.FPDF_PAGEOBJ_PATH:
            return True
        colour = self._fill(item)
        return colour is not None and colour[3] > 0 and min(colour[:3]) < _WHITE

    def _tell(self, item: Any, box: Box, how: str) -> None:
        self.unseen.append(box)
        if len(self.hidden) >= _MOST_HIDDEN:
            return
        if not self._text_page:
            self._text_page.append(pdfium.FPDFText_LoadPage(self._page))
        length = pdfium.FPDFTextObj_GetText(item, self._text_page[0], None, 0)
        letters = (ctypes.c_ushort * max(length // 2, 1))()
        pdfium.FPDFTextObj_GetText(item, self._text_page[0], letters, length)
        words = " ".join(bytes(letters).decode("utf-16-le", "ignore").replace("\x00", " ").split())
        if any(character.isalnum() for character in words):
            self.hidden.append(Hidden(words[:_LONGEST_HIDDEN], self._number, how))


def _all_objects(page: Any) -> Iterator[tuple[int, Any, int]]:
    """Kind, object and depth of all that is on a page, forms looked into, in the order of drawing."""
    todo = [(pdfium.FPDFPage_GetObject(page, index), 0) for index in _downwards(pdfium.FPDFPage_CountObjects(page))]
    for _ in range(_MOST_OBJECTS):
        if not todo:
            return
        item, depth = todo.pop()
        kind = pdfium.FPDFPageObj_GetType(item)
        yield kind, item, depth
        if kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _DEEPEST_FORM:
            inside = _downwards(pdfium.FPDFFormObj_CountObjects(item))
            todo += [(pdfium.FPDFFormObj_GetObject(item, index), depth + 1) for index in inside]


def _downwards(count: int) -> range:
    return range(min(count, _MOST_OBJECTS) - 1, -1, -1)
