"""What an engine gives of a PDF: pages with pieces of text, their places and fonts. Points, from the page's top left."""

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
        """Half way from left to right."""
        return (self.x0 + self.x1) / 2

    @property
    def middle(self) -> float:
        """Half way from top to bottom."""
        return (self.y0 + self.y1) / 2

    def holds(self, other: BoundingBox) -> bool:
        """Whether the middle of the other lies inside."""
        return self.x0 <= other.centre <= self.x1 and self.y0 <= other.middle <= self.y1

    def around(self, other: BoundingBox) -> BoundingBox:
        """The smallest box that holds both."""
        return BoundingBox(
            min(self.x0, other.x0), min(self.y0, other.y0), max(self.x1, other.x1), max(self.y1, other.y1)
        )


Word = tuple[str, float, float]
"""A word, and where it begins and ends."""
Rows = tuple[tuple[str, ...], ...]
"""The cells of a table."""


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of a line in one go; mathematics in it stands between dollar signs. `font` is that of its first letter."""

    text: str
    box: BoundingBox
    size: float
    font: str
    bold: bool
    bold_end: bool
    """Whether its last letter is bold too: a heading is, a paragraph that begins with a bold word is not."""
    words: tuple[Word, ...] = ()
    """Where its words stand, if the engine says so and they are all of its text."""
    table: Rows | None = None
    """Set where it stands for a whole table."""
    run_in: bool = False
    """Whether it is a heading that the text goes on behind in the same line."""


@dataclass(frozen=True, slots=True)
class Character:
    """A letter or a sign that has ink."""

    text: str
    box: BoundingBox
    size: float
    font: str
    blank: bool = False
    """Whether a blank stands before it."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `number` counts from 1."""

    number: int
    width: float
    height: float
    items: tuple[Item, ...]
    aside: str = ""
    """What stands on it in another direction, as it comes: the cells of a turned table."""
    margin: str = ""
    """What is printed along the edge of the sheet, in another direction: the stamp of arXiv."""
    rulings: tuple[BoundingBox, ...] = ()
    """The horizontal ones."""
    glyphs: tuple[tuple[Character, ...], ...] = ()
    """The characters of lines that may be formulas, line by line."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the PDF's own outline. `level` counts from 0; `y` is where on the page, if it says so."""

    title: str
    level: int
    page: int
    y: float | None


@dataclass(frozen=True, slots=True)
class Document:
    """All that an engine has to say of a PDF. A verdict other than ok comes without pages."""

    verdict: str
    engine: str
    pages: tuple[Page, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    title: str | None = None
    authors: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    missing: str = ""
    """Which pages gave nothing, in numbers; with the verdict partial."""


PdfEngine = Callable[[str, str | None], Document]
"""Anything that can give the pages of a PDF: (path, password) -> the document. Raises Unreadable where there is none."""
