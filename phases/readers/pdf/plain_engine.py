"""The engine for PDFs that the first one breaks on: pypdfium2 alone. It knows no mathematics and no links."""

from __future__ import annotations

from importlib.metadata import version

from phases.readers.pdf.engine import MOST_PAGES
from phases.readers.pdf.letters import mended
from phases.readers.pdf.page import Document, Item, Page
from phases.readers.pdf.pieces import is_bold
from phases.readers.pdf.scan import Scan, open_pdf
from phases.readers.reading import NO_TEXT, OK

_SMALLEST = 2.0


def read_plainly(path: str, password: str | None) -> Document:
    """The document in a PDF file (PdfEngine)."""
    name = f"pypdfium2 {version('pypdfium2')}"
    with open_pdf(path, password) as scan:
        pages = tuple(_page(scan, number) for number in range(1, min(scan.count, MOST_PAGES) + 1))
        title, authors = scan.title_and_authors()
    verdict = OK if any(page.items for page in pages) else NO_TEXT
    return Document(verdict, name, pages, (), title, authors, (), tuple(scan.hidden))


def _page(scan: Scan, number: int) -> Page:
    with scan.page(number) as looked:
        items = []
        for piece in looked.pieces():
            words = mended(piece.text)
            if words and not looked.hides(piece.box):
                font = looked.font_at(piece.box) or ""
                size = round(piece.size if piece.size >= _SMALLEST else piece.box.height, 1)
                items.append(Item(words, piece.box, size, font.rpartition("+")[2], is_bold(font), is_bold(font)))
        return Page(number, looked.width, looked.height, tuple(items))
