"""Define the output of PDF engines: pages with text pieces, positions and fonts, in points from the page's top left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phases.readers.reading import Hidden, Link


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """A rectangle on a page."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def centre(self) -> float:
        """Horizontal centre."""
        return (self.x0 + self.x1) / 2

    @property
    def middle(self) -> float:
        """Vertical centre."""
        return (self.y0 + self.y1) / 2

    def holds(self, other: BoundingBox) -> bool:
        """Return whether the centre of the other box is inside."""
        return self.x0 <= other.centre <= self.x1 and self.y0 <= other.middle <= self.y1

    def around(self, other: BoundingBox) -> BoundingBox:
        """Return the smallest box around both."""
        return BoundingBox(
            min(self.x0, other.x0), min(self.y0, other.y0), max(self.x1, other.x1), max(self.y1, other.y1)
        )


Word = tuple[str, float, float]
"""A word with its left and right edge."""
Rows = tuple[tuple[str, ...], ...]
"""Cells of a table."""


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of a line; mathematics in it is between dollar signs. `font` is that of its first letter."""

    text: str
    box: BoundingBox
    size: float
    font: str
    bold: bool
    bold_end: bool
    """Whether its last letter is bold too: true of headings, not of paragraphs that begin with a bold word."""
    words: tuple[Word, ...] = ()
    """Positions of its words, if the engine reports all of them."""
    table: Rows | None = None
    """Set if it stands for a whole table."""
    run_in: bool = False
    """Whether it is a heading followed by text in the same line."""


@dataclass(frozen=True, slots=True)
class Character:
    """A visible letter or sign."""

    text: str
    box: BoundingBox
    size: float
    font: str
    blank: bool = False
    """Whether a blank precedes it."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page. `number` counts from 1."""

    number: int
    width: float
    height: float
    items: tuple[Item, ...]
    aside: str = ""
    """Rotated text in its original order: the cells of a rotated table."""
    margin: str = ""
    """Rotated text along the edge of the sheet: the stamp of arXiv."""
    rulings: tuple[BoundingBox, ...] = ()
    """Horizontal rules."""
    glyphs: tuple[tuple[Character, ...], ...] = ()
    """Characters of lines that may be formulas, line by line."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the PDF's own outline. `level` counts from 0; `y` is the position on the page, if known."""

    title: str
    level: int
    page: int
    y: float | None


@dataclass(frozen=True, slots=True)
class Document:
    """An engine's whole output for a PDF. Verdicts other than ok come without pages."""

    verdict: str
    engine: str
    pages: tuple[Page, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    title: str | None = None
    authors: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    missing: str = ""
    """Description of pages without text, with the verdict partial."""


PdfEngine = Callable[[str, str | None], Document]
"""Reads the pages of a PDF: (path, password) -> document. Raises Unreadable."""
