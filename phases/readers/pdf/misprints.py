"""Signs that a PDF gives as letters: typesetters' fonts that name `=` Z or ¼ and `(` ð, and draw the sign."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from phases.readers.pdf.page import BoundingBox, Item

_FLAT, _BARS, _TALL, _SQUARE, _HIGH, _ANY = "flat", "bars", "tall", "square", "high", ""
_SIGNS = {
    "K": ("-", _FLAT), "À": ("-", _FLAT), "Z": ("=", _BARS), "¼": ("=", _BARS),
    "ð": ("(", _TALL), "Þ": (")", _TALL), "½": ("[", _TALL), "Š": ("]", _TALL), "þ": ("+", _SQUARE),
    "!": ("<", _SQUARE), "P": ("∑", _HIGH), "C": ("+", _SQUARE), "O": (">", _SQUARE), "N": ("∞", _BARS),
    "w": ("∼", _BARS), "Â": ("×", _SQUARE), "Ã": ("∗", _SQUARE), "Æ": ("±", _ANY),
}  # fmt: skip
"""What these fonts draw for a letter, and the shape of that."""
_TELLING = re.compile(r"[ðÞ½¼þÀŠKZ]|(?<!\w)[P!](?![a-z])")
"""Letters that no font can draw in such a shape; the others count in a font that one of these has given away."""
_MOST_CANDIDATES = 200


class Letter(NamedTuple):
    """A letter of a page's text, which counts its place there, and the sign that it shows: itself, or another."""

    place: int
    letter: str
    sign: str
    box: BoundingBox


def find_doubtful_letters(
    text: str, box_of: Callable[[int], BoundingBox | None], font_of: Callable[[int], tuple[str, float]]
) -> list[Letter]:
    """All letters of a page of the kinds of which some show another sign; nothing where none does.

    `box_of` and `font_of` give the ink of a place of the text, and the name and size of its font, in points.
    """
    fonts = set()
    for found in list(_TELLING.finditer(text))[:_MOST_CANDIDATES]:
        box, (font, size) = box_of(found.start()), font_of(found.start())
        if box and size and font not in fonts and _shape_of(box, size) == _SIGNS[found.group()][1]:
            fonts.add(font)
    letters = []
    for place, letter in enumerate(text) if fonts else ():
        sign, shape = _SIGNS.get(letter, ("", _ANY))
        box = box_of(place) if sign else None
        if box:
            font, size = font_of(place)
            is_sign = font in fonts and shape in (_ANY, _shape_of(box, size))
            letters.append(Letter(place, letter, sign if is_sign else letter, box))
    misprinted = {one.letter for one in letters if one.sign != one.letter}
    return [one for one in letters if one.letter in misprinted]


def _shape_of(box: BoundingBox, size: float) -> str:
    """How the ink of a sign looks that is set in this size."""
    wide, high = box.width / size, box.height / size
    if wide < 0.4 * high:
        return _TALL if high > 0.75 else _ANY
    if high > 0.95:
        return _HIGH if high < 1.5 else _ANY  # a size that is scaled elsewhere
    if high < 0.15 * wide:
        return _FLAT
    if high < 0.65 * wide:
        return _BARS
    return _SQUARE if wide > 0.4 and abs(wide - high) < 0.1 else _ANY


def with_signs(items: Iterable[Item], letters: Sequence[Letter]) -> list[Item]:
    """The items with the signs that their letters show, without those whose text does not agree with the `letters`."""
    return [mended for item in items if (mended := _mend(item, letters))]


def _mend(item: Item, letters: Sequence[Letter]) -> Item | None:
    inside = [one for one in letters if item.box.holds(one.box)]
    if all(one.sign == one.letter for one in inside) or "\\" in item.text:
        return item  # where the engine wrote LaTeX, it knew the sign
    text = _with_signs(item.text, inside)
    within = [[one for one in inside if x0 <= one.box.centre <= x1] for _, x0, x1 in item.words]
    words = [
        (said, x0, x1)
        for (word, x0, x1), own in zip(item.words, within, strict=True)
        if (said := _with_signs(word, own)) is not None
    ]
    return None if text is None else replace(item, text=text, words=tuple(words) if len(words) == len(within) else ())


def _with_signs(text: str, letters: Sequence[Letter]) -> str | None:
    """A text with the signs of its letters, which come in its order; None where it has others, or more or fewer of them."""
    signs = {
        letter: [one.sign for one in letters if one.letter == letter] for letter in {one.letter for one in letters}
    }
    if any(text.count(letter) != len(found) for letter, found in signs.items()):
        return None
    return "".join(signs[letter].pop(0) if letter in signs else letter for letter in text)
