"""Signs of TeX's fonts that a PDF gives as the letters of their codes: v0 is v′ where the 0 is of the font of symbols."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from phases.readers.pdf.characters import PageText
from phases.readers.pdf.page import Character, Item

_SYMBOLS = re.compile(r"cmb?sy", re.IGNORECASE)
_SIGNS = {
    "0": "′",
    "1": "∞",
    "2": "∈",
    "6": "\u0338",
    "7": "↦",
    "8": "∀",
    "9": "∃",
    "!": "→",
    ">": "⊤",
    "?": "⊥",
    ";": "∅",
}
"""What the engine leaves in the text; all of them are other signs in the fonts of letters."""
_CODES = _SIGNS | {"h": "⟨", "i": "⟩", "k": "‖", "f": "{", "g": "}", "j": "|", "µ": "⪯"}
_ITALICS = re.compile(r"cmmi", re.IGNORECASE)
_CODED = re.compile(f"{_SYMBOLS.pattern}|{_ITALICS.pattern}", re.IGNORECASE)
_SPELLED = {
    "′": ("'", "\\prime"), "∞": ("\\infty",), "∈": ("\\in",), "\u0338": ("≠", "\\neq", "\\not"), "↦": ("\\mapsto",),
    "∀": ("\\forall",), "∃": ("\\exists",), "→": ("\\rightarrow", "\\to"), "⊤": ("\\top",), "⊥": ("\\bot", "\\perp"),
    "∅": ("\\emptyset",), "ℓ": ("\\ell",),
}  # fmt: skip
"""How the engine writes a sign where it knows it, beside the sign itself."""


def with_symbols(items: Iterable[Item], text: PageText) -> list[Item]:
    """The items of a page with these signs; an item whose letters are not those of the page stays as it is."""
    letters = sorted(text.find({*_SIGNS, "`"}, _CODED), key=lambda one: one.box.middle)
    signs = [mend_symbol(one).text for one in letters]
    if all(sign == one.text for sign, one in zip(signs, letters, strict=True)):
        return list(items)
    heights = [one.box.middle for one in letters]
    mended = []
    for item in items:
        rows = slice(bisect_left(heights, item.box.y0), bisect_right(heights, item.box.y1))
        near = zip(letters[rows], signs[rows], strict=True)
        inside = sorted(((one, sign) for one, sign in near if item.box.holds(one.box)), key=lambda pair: pair[0].box.x0)
        mended.append(_mend(item, inside) if any(sign != one.text for one, sign in inside) else item)
    return mended


def _mend(item: Item, letters: Sequence[tuple[Character, str]]) -> Item:
    words = tuple(
        (_put_in(word, [pair for pair in letters if x0 <= pair[0].box.centre <= x1]), x0, x1)
        for word, x0, x1 in item.words
    )
    return replace(item, text=_put_in(item.text, letters), words=words)


def mend_symbol(one: Character) -> Character:
    """What a code of TeX's fonts stands for."""
    if one.text == "`" and _ITALICS.search(one.font):
        return replace(one, text="ℓ")
    known = _CODES.get(one.text) if _SYMBOLS.search(one.font) else None
    return replace(one, text=known) if known else one


def _put_in(text: str, letters: Sequence[tuple[Character, str]]) -> str:
    """The text with these signs for their letters, which come in its order; as it is, if it has not just these."""
    waiting: dict[str, list[str]] = defaultdict(list)
    spelled: dict[str, str] = {}
    """What stands in the text -> the letter of the page."""
    for one, sign in letters:
        waiting[one.text].append(sign)
        spelled |= dict.fromkeys((one.text, sign, *_SPELLED.get(sign, ())), one.text)
    if not letters:
        return text
    known = "|".join(
        re.escape(one) + "(?![a-z])" * one.startswith("\\") for one in sorted(spelled, key=len, reverse=True)
    )
    pieces = re.split(f"({known})", text)
    for place in range(1, len(pieces), 2):
        piece, signs = pieces[place], waiting[spelled[pieces[place]]]
        is_code = piece == spelled[piece]
        if signs and (is_code or piece in (signs[0], *_SPELLED.get(signs[0], ()))):
            sign = signs.pop(0)
            pieces[place] = sign if is_code else piece
        elif is_code:
            return text
    if any(waiting.values()):
        return text
    return re.sub("\u0338 ?=", "≠", "".join(pieces)).replace("↦→", "↦")
