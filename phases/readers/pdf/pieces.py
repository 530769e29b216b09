"""The engine's pieces of text -> items: places, sizes, fonts, and whole letters; cells of a table that it took for one apart."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phases.readers.pdf.letters import is_accent, mend_letters, with_accent
from phases.readers.pdf.page import BoundingBox, Item

_BOLD = re.compile(r"bold|black|heavy|medi(?!um)|demi|bx[0-9]|cmb[0-9]|sfbx|-b$|\.b$", re.IGNORECASE)
_COUNTED = re.compile(r"[0-9A-Z][0-9.]*\s+\S.{0,100}$")
_CELL_GAP = 1.0
"""White as wide as a letter is high parts two cells."""
_MOST_WORDS = 200
_SMALLEST_SIZE = 2.0
_SIZE_OF_HEIGHT = 0.75
"""A font whose size is 1 is scaled elsewhere; its letters' height is what is left to go by."""


def items_of(piece: Any, page: Any, turned: bool) -> list[Item]:
    """The items of a piece of text as liteparse gives it; `turned` says that the page is to be read sideways."""
    box = BoundingBox(piece.x, piece.y, piece.x + piece.width, piece.y + piece.height)
    if turned and piece.rotation % 360 == 270:
        box = BoundingBox(page.height - box.y1, box.x0, page.height - box.y0, box.x1)
    elif turned:
        box = BoundingBox(box.y0, page.width - box.x1, box.y1, page.width - box.x0)
    size = piece.font_size or 0.0
    size = round(size if size >= _SMALLEST_SIZE else box.height * _SIZE_OF_HEIGHT, 1)
    font = piece.font_name or ""
    bold = is_bold(font)
    words = [] if turned or len(piece.words or ()) > _MOST_WORDS else list(piece.words or ())
    item = Item(mend_letters(_with_accents(piece.text, words)), box, size, font.rpartition("+")[2], bold, bold)
    return _split_cells(item, piece.text, words)


def with_end_style(item: Item, font_at: Callable[[BoundingBox], str | None]) -> Item:
    """The item with what the font of its last letters says: bold to the end or not, how the words behind a number are set."""
    if not item.bold and not _COUNTED.match(item.text):
        return item
    last = font_at(item.box)
    if last is None or (item.bold and is_bold(last)):
        return item
    return replace(item, bold_end=False) if item.bold else replace(item, font=last.rpartition("+")[2])


def is_bold(font: str) -> bool:
    """Whether a font's name says that it is bold."""
    return bool(_BOLD.search(font))


def _with_accents(text: str, words: list[Any]) -> str:
    """The text of a piece; accents that the engine found after all of its words go back to their letters."""
    loose = [word for word in words if is_accent(word.text)]
    kept = [word for word in words if not is_accent(word.text)]
    if not loose or text != " ".join(word.text for word in kept) + "".join(word.text for word in loose):
        return text
    texts = [word.text for word in kept]
    for accent in loose:
        middle = accent.x + accent.width / 2
        for index, word in enumerate(kept):
            if word.x - 1 <= middle <= word.x + word.width + 1 and word.width:
                texts[index] = with_accent(texts[index], (middle - word.x) / word.width, accent.text)
    return " ".join(texts)


def _split_cells(item: Item, text: str, words: list[Any]) -> list[Item]:
    """An item for each cell where the engine took the cells of a table for one piece."""
    gaps = [right.x - left.x - left.width for left, right in itertools.pairwise(words)]
    wide = max(gaps, default=0.0) >= _CELL_GAP * item.size
    if not wide or "".join(word.text for word in words) != text.replace(" ", ""):
        return [item]
    parts: list[list[Any]] = [[words[0]]]
    for gap, word in zip(gaps, words[1:], strict=True):
        if gap >= _CELL_GAP * item.size:
            parts.append([])
        parts[-1].append(word)
    return [
        replace(
            item,
            text=mend_letters(" ".join(word.text for word in part)),
            box=BoundingBox(part[0].x, item.box.y0, part[-1].x + part[-1].width, item.box.y1),
        )
        for part in parts
    ]
