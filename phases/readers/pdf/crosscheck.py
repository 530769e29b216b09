"""Holds the engine's pieces of a page against PDFium's characters, and puts back what the engine dropped."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from unicodedata import lookup, normalize

from phases.readers.math_symbols import FUNCTIONS
from phases.readers.pdf.characters import PageText, TextLine, box_around, is_bold, is_typewriter
from phases.readers.pdf.letters import mend_letters
from phases.readers.pdf.page import BoundingBox, Character, Item
from phases.readers.pdf.symbols import mend_symbol

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
)
_COMMAND = re.compile(r"\\(?:var)?([a-zA-Z]+)")
_SIGNS = {name: lookup(f"GREEK SMALL LETTER {name.upper()}") for name in _GREEK.split()}
_SIGNS |= {name.capitalize(): lookup(f"GREEK CAPITAL LETTER {name.upper()}") for name in _GREEK.split()}
_SIGNS |= {"lambda": "λ", "Lambda": "Λ", "ell": "ℓ"}
_SYMBOLS = re.compile(r"cmsy|cmbsy|cmex|msam|msbm", re.IGNORECASE)
"""Fonts of signs alone."""
_BARRED = re.compile(r"\\(?:overline|underline)\s*\{[^{}$]{8,}\}")
_ENDS_CODE = re.compile(r"[({;})]\s*$")
_ALEFS, _LAM = frozenset("اأإآ"), "ل"
_MOST_MISSING = 0.1
_FEWEST_MISSING = 2
_SHORTEST = 5
_FEWEST_LETTERS = 12
_CELL_GAP = 0.9
"""White as wide as this share of the letters' size parts two pieces."""
_DESCENDING = frozenset("gjpqyQ,;()[]{}|/$")
_ASCENT, _DESCENT = 0.85, 0.25
_SMALLER, _RAISED, _LOWERED = 0.85, 0.2, 0.08


def with_dropped(items: Sequence[Item], text: PageText, known: str, skipped: Sequence[BoundingBox]) -> list[Item]:
    """The items of a page, with those lines of PDFium's text that are not in them as items of their own.

    `known` is all that the engine found on the page, shown or not; what stands in a box of `skipped` is not looked at.
    """
    # a ruling of a table above some letters reads as one long bar over a formula
    kept = [item for item in items if not _BARRED.search(item.text)]
    body = fold(_BARRED.sub(" ", known))
    lines = list(text.lines())
    letters = [fold(line.text) for line in lines]
    whole = {fold(word) for word in known.split()}
    for index, line in enumerate(lines):
        # a figure or two stand in many a word
        given = whole if len(letters[index]) < _SHORTEST else body
        if letters[index] and letters[index] not in given:
            elsewhere = f"{''.join(letters[:index])}|{''.join(letters[index + 1 :])}"
            kept = _with_line(kept, line, text, skipped, elsewhere)
        elif _ENDS_CODE.search(line.text):
            kept += _signs_of_code(kept, line, text, skipped)
    return kept


def _signs_of_code(
    items: Sequence[Item], line: TextLine, text: PageText, skipped: Sequence[BoundingBox]
) -> Iterator[Item]:
    """What the engine has not of the end of a line of code: it drops pieces without a letter, `) {`."""
    characters = text.characters(line)
    if 2 * sum(is_typewriter(one.font) for one in characters) <= len(characters):
        return
    boxes = [item.box for item in items] + list(skipped)
    lost = itertools.takewhile(lambda one: not any(box.holds(one.box) for box in boxes), reversed(characters))
    if ending := list(lost)[::-1]:
        yield from map(item_of, _pieces_of(ending))


def items_of_lines(text: PageText, skipped: Sequence[BoundingBox]) -> list[Item]:
    """An item for each line of PDFium's text, as it runs: the engine gives what runs from right to left in pieces."""
    items = []
    for line in text.lines():
        characters = [one for one in text.characters(line) if not any(box.holds(one.box) for box in skipped)]
        if characters:
            items.append(replace(item_of(characters), text=mend_letters(_in_order(characters))))
    return items


def _in_order(characters: Sequence[Character]) -> str:
    """The text of a line; a ligature of lam and alef, which is one glyph, comes with its letters the wrong way round."""
    signs = [one.text for one in characters]
    for index, (one, after) in enumerate(itertools.pairwise(characters)):
        if one.text in _ALEFS and after.text == _LAM and one.box == after.box:
            signs[index], signs[index + 1] = after.text, one.text
    return "".join(f" {sign}" if one.blank else sign for one, sign in zip(characters, signs, strict=True))


def fold(text: str) -> str:
    """The letters and figures alone, as they are compared; LaTeX counts as what it shows."""
    if "\\" in text:
        text = _COMMAND.sub(lambda match: _SIGNS.get(match[1], match[1] if match[1] in FUNCTIONS else " "), text)
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))


def _with_line(
    items: Sequence[Item], line: TextLine, text: PageText, skipped: Sequence[BoundingBox], elsewhere: str
) -> list[Item]:
    """The items, where one line of PDFium's takes the place of those that have too little of it.

    `elsewhere` are the letters of the page's other lines.
    """
    characters = [one for one in text.characters(line) if not any(box.holds(one.box) for box in skipped)]
    inked = [one for one in characters if one.text.isalnum() and not _SYMBOLS.search(one.font)]
    if not inked:
        return list(items)
    box, base = box_around(inked), _baseline(inked)
    near = [
        item
        for item in items
        if _touch(item.box, box)
        and any(_holds(item.box, one, base) for one in inked)
        # the box of an item may reach over a line that the engine dropped
        and not _is_of(fold(item.text), elsewhere, fold(line.text))
    ]
    size = max(one.size for one in inked)
    # the number of a line of code, or of a footnote, stands small before it
    said = list(itertools.dropwhile(lambda one: one.text.isdigit() and one.size < _SMALLER * size, inked))
    # each figure counts, and each letter of mathematics beyond U+FFFF, of which the engine knows none
    exact = {fold(one.text) for one in said if one.text.isdigit() or one.text > "\uffff"}
    missing = Counter(fold("".join(one.text for one in inked)))
    missing.subtract(fold(" ".join(item.text for item in near)))
    count = sum(number for number in missing.values() if number > 0)
    complete = not any(missing[sign] > 0 for sign in exact)
    if complete and count <= max(_MOST_MISSING * len(inked), _FEWEST_MISSING) and near:
        return list(items)
    replaced = {item for item in near if _lies_in(item.box, box)}
    # the box of a formula may reach over letters that it has not
    others = [(item.box, Counter(fold(item.text))) for item in near if item not in replaced]
    pieces = _pieces_of([one for one in characters if not _is_given(one, others, base)])
    return [*(item for item in items if item not in replaced), *map(item_of, pieces)]


def _baseline(characters: Sequence[Character]) -> float:
    """Where most of the letters stand."""
    size = max(one.size for one in characters)
    feet = [one.box.y1 for one in characters if one.text not in _DESCENDING and one.size > 0.9 * size]
    feet = feet or [one.box.y1 for one in characters]
    return sorted(feet)[len(feet) // 2]


def _holds(box: BoundingBox, one: Character, base: float) -> bool:
    """Whether a letter is of the line that a box is drawn around: tall letters reach into the box of the line above."""
    middle = min(max(one.box.y0, base - one.size / 4), one.box.y1)
    return box.x0 <= one.box.centre <= box.x1 and box.y0 <= middle <= box.y1


def _is_given(one: Character, others: Sequence[tuple[BoundingBox, Counter[str]]], base: float) -> bool:
    """Whether one of these items has a letter; it is counted off there. Signs are those of the item that they stand in."""
    for box, letters in others:
        sign = fold(one.text)
        if _holds(box, one, base) and (not sign or letters[sign] > 0):
            letters.subtract([sign] if sign else [])
            return True
    return False


def _is_of(letters: str, elsewhere: str, line: str) -> bool:
    """Whether a piece is of another line, and not of this one."""
    return len(letters) >= _FEWEST_LETTERS and letters in elsewhere and letters not in line


def _touch(one: BoundingBox, other: BoundingBox) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


def _lies_in(inner: BoundingBox, outer: BoundingBox) -> bool:
    """Whether a piece is of this line and of no other: it begins and ends within it, and its middle is at its height."""
    slack = outer.height / 2
    across = inner.x0 > outer.x0 - slack and inner.x1 < outer.x1 + slack
    return across and outer.y0 - 1 <= inner.middle <= outer.y1 + 1


def _pieces_of(characters: Sequence[Character]) -> Iterator[list[Character]]:
    """The characters of a line, parted where wide white is, or where the line goes back or to another height."""
    piece: list[Character] = []
    for one in characters:
        if piece:
            gap, size = one.box.x0 - piece[-1].box.x1, max(one.size, piece[-1].size)
            away = abs(one.box.middle - piece[-1].box.middle)
            if gap > _CELL_GAP * size or gap < -2 * size or away > size:
                yield piece
                piece = []
        piece.append(one)
    if piece:
        yield piece


def item_of(piece: Sequence[Character]) -> Item:
    """An item of characters that stand side by side; raised and lowered ones between dollar signs."""
    size = Counter(round(one.size, 1) for one in piece).most_common(1)[0][0]
    font = Counter(one.font for one in piece).most_common(1)[0][0]
    ink, base = box_around(piece), _baseline(piece)
    box = BoundingBox(ink.x0, min(ink.y0, base - _ASCENT * size), ink.x1, max(base + _DESCENT * size, base))
    text = mend_letters(_text_with_scripts(piece, size, base))
    return Item(text, box, size, font.rpartition("+")[2], is_bold(piece[0].font), is_bold(piece[-1].font))


def _text_with_scripts(piece: Sequence[Character], size: float, base: float) -> str:
    parts: list[tuple[str, str]] = []
    for one in map(mend_symbol, piece):
        mark = script_of(one, size, base)
        if parts and parts[-1][0] == mark and not (mark and one.blank):
            parts[-1] = (mark, parts[-1][1] + (" " if one.blank else "") + one.text)
        else:
            parts.append((mark, (" " if one.blank and parts and not mark else "") + one.text))
    return "".join(f"${mark}{{{text}}}$" if mark else text for mark, text in parts)


def script_of(one: Character, size: float, base: float) -> str:
    """`^` or `_` for a character that is smaller than its line and stands higher or lower; empty for others."""
    if one.size > _SMALLER * size or not one.text.isalnum():
        return ""
    if one.box.y1 < base - _RAISED * size:
        return "^"
    return "_" if one.box.y1 > base + _LOWERED * size else ""
