"""What pypdfium2 tells of a PDF: its outline, its title, fonts at a place, and text that nobody sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from phases.readers.pdf import pdfium
from phases.readers.pdf.objects import MOST_HIDDEN, Objects
from phases.readers.pdf.page import Box
from phases.readers.reading import Hidden

_MOST_PIECES = 20_000


@contextmanager
def open_pdf(path: str, password: str | None) -> Iterator[Scan]:
    """A scan of the PDF in a file."""
    document = pdfium.open_document(path, password)
    with document:
        yield Scan(document)


class Scan:
    """Owns the open PDF. `hidden` fills while its pages are looked at."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.hidden: list[Hidden] = []
        self._seen: set[int] = set()

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self._document)

    def bookmarks(self) -> Iterator[tuple[str, int, int, float | None]]:
        """The PDF's own outline: title, level from 0, page from 1, points from the page's top. A damaged one counts as none."""
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
        except (pdfium.PdfiumError, IndexError):
            yield PageScan(None, [], [])
            return
        try:
            found = Objects(page, number)
            if number not in self._seen:
                self._seen.add(number)
                self.hidden.extend(found.hidden[: MOST_HIDDEN - len(self.hidden)])
            yield PageScan(page, found.texts, found.unseen)
        finally:
            page.close()


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one line in one font, as PDFium cuts it."""

    text: str
    box: Box
    size: float


class PageScan:
    """Where one page has text objects, and which of them are not seen. `page` is None for one that cannot be opened."""

    def __init__(self, page: Any, texts: list[tuple[Box, Any]], unseen: list[Box]) -> None:
        self._page = page
        self._texts = texts
        self._unseen = unseen
        size = page.get_size() if page else (1.0, 1.0)
        self.width, self.height = float(size[0]), float(size[1])

    def pieces(self) -> Iterator[Piece]:
        """The text of the page."""
        if self._page is None:
            return
        text = self._page.get_textpage()
        left, _, _, top = self._page.get_bbox()
        for index in range(min(text.count_rects(), _MOST_PIECES)):
            x0, y0, x1, y1 = text.get_rect(index)
            place = text.get_index((x0 + x1) / 2, (y0 + y1) / 2, 4, 4)
            box = Box(x0 - left, top - y1, x1 - left, top - y0)
            yield Piece(text.get_text_bounded(x0, y0, x1, y1), box, pdfium.letter_size(text, place))

    def hides(self, box: Box) -> bool:
        """Whether what stands here is not seen."""
        return any(unseen.holds(box) for unseen in self._unseen)

    def font_at(self, box: Box) -> str | None:
        """The name of the font in which the last letters of this box are set."""
        end, middle = box.x1 - min(2.0, box.width / 4), (box.y0 + box.y1) / 2
        for place, text in reversed(self._texts):
            if place.x0 <= end <= place.x1 and place.y0 - 1 <= middle <= place.y1 + 1:
                return pdfium.font_of(text)
        return None
