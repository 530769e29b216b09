"""The characters of a page as PDFium has them, line by line, with place, size and font where somebody asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from phases.readers.pdf import pdfium
from phases.readers.pdf.letters import KEYS
from phases.readers.pdf.misprints import Letter, find_doubtful_letters
from phases.readers.pdf.page import BoundingBox, Character

_BOLD = re.compile(r"bold|black|heavy|medi(?!um)|demi|bx[0-9]|cmb[0-9]|sfbx|-b$|\.b$", re.IGNORECASE)
_TYPEWRITER = re.compile(
    r"mono|nimbusmon|courier|typewriter|cmtt|cmvtt|lmtt|txtt|sftt|ectt|consol|inconsolata|menlo", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_HYPHEN = "\ufffe"
"""What PDFium gives for the hyphen that parts a word at the end of a line."""
_LINE_END = re.compile(rf"(?<=[\r\n{_HYPHEN}])")
LARGE_SIGNS = re.compile(r"cmex|[tp]xex|mathex|extension", re.IGNORECASE)
"""The fonts of TeX that have large signs, by their names."""
_CODE = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f]|\r(?!\n)|(?<!\r)\n")
"""What no text has: neither letters nor the ends of lines."""
_BRACKETS = dict(enumerate("⎛⎞⎡⎤⌊⌋⌈⌉⎧⎫⟨⟩|‖")) | dict(enumerate("⎛⎞⎛⎞⎡⎤⌊⌋⌈⌉⎧⎫⟨⟩", 0x10))
"""Codes of these fonts; as pieces of brackets, for a bracket itself is the code of another sign there."""
_PIECE_OF_BRACKET = re.compile("[⎛⎞⎡⎤⎧⎫⌊⌋⌈⌉⟨⟩|‖]+")
_MATHEMATICS = re.compile(r"[=≤≥<>∈∼≈→←≠≡∝⊆⊂⇒⇔∑∏∫∀∃±]")
_MOST_WORDS, _MOST_LINES, _AROUND = 4, 300, 4
_MOST_AROUND, _LONGEST_PIECE = 24, 16
_MOST_CHARACTERS = 200_000
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of the page's text. `start` counts the characters of the text before it."""

    text: str
    start: int


class PageText:
    """The text of one page, in PDFium's own order. `left` and `top` are the edges of what is shown of the page."""

    def __init__(self, page: Any, left: float, top: float) -> None:
        self._page = page
        self._left, self._top = left, top
        self._fonts: dict[int, tuple[str, float, bool]] = {}

    @cached_property
    def _handle(self) -> Any:
        return self._page.get_textpage()

    @cached_property
    def text(self) -> str:
        """All of it. Lines end in line feeds, or in the hyphen that parts a word; letters that show a sign are that sign."""
        signs = {one.place: one.sign for one in self.doubtful_letters}
        text = self._letters[0]
        return "".join(signs.get(place, letter) for place, letter in enumerate(text)) if signs else text

    @cached_property
    def doubtful_letters(self) -> list[Letter]:
        """All letters of the kinds of which some show another sign."""
        numbers = self._letters[1]
        return find_doubtful_letters(
            self._letters[0],
            lambda place: self._box_at(numbers[place]),
            lambda place: self._font_at(numbers[place])[:2],
        )

    def lines(self) -> Iterator[TextLine]:
        """The lines that have text."""
        start = 0
        for line in _LINE_END.split(self.text):
            if line.strip():
                yield TextLine(line.rstrip("\r\n")[:_LONGEST_LINE], start)
            start += len(line)

    def characters(self, line: TextLine) -> list[Character]:
        """The characters of a line that have ink and are not turned: a stamp may run across the page."""
        found: list[Character] = []
        blank = False
        for place, sign in enumerate(line.text, line.start):
            index = self._letters[1][place]
            box = None if sign.isspace() else self._box_at(index)
            if box is None:
                blank = True
                continue
            font, size, turned = self._font_at(index)
            if not turned:
                found.append(
                    Character("-" if sign == _HYPHEN else sign.translate(KEYS), box, size or box.height, font, blank)
                )
            blank = False
        return found

    def find(self, letters: Set[str], fonts: re.Pattern[str]) -> Iterator[Character]:
        """The characters of those of these letters of which some are in a font with such a name, wherever they stand."""
        places = [place for place, letter in enumerate(self.text) if letter in letters]
        coded = {self.text[place] for place in places if fonts.search(self._font_at(self._letters[1][place])[0])}
        for place in places if coded else ():
            box = self._box_at(self._letters[1][place]) if self.text[place] in coded else None
            if box:
                font, size, _ = self._font_at(self._letters[1][place])
                yield Character(self.text[place], box, size or box.height, font)

    def are_drawn_together(self, first: int, last: int) -> bool:
        """Whether two characters of the text are of one text object, and so of one font and size."""
        one, other = (pdfium.object_of_letter(self._handle, self._letters[1][place])[0] for place in (first, last))
        return one == other

    def formula_lines(self) -> list[tuple[Character, ...]]:
        """The characters of each line that has hardly a word, on a page where some line has a sign of mathematics."""
        lines = [line for line in self.lines() if len(_WORD.findall(line.text)) <= _MOST_WORDS]
        signs = [index for index, line in enumerate(lines) if _MATHEMATICS.search(line.text)]
        near = {index for sign in signs for index in _around(lines, sign)}
        chosen = [lines[index] for index in sorted(near)]
        return [tuple(found) for line in chosen[:_MOST_LINES] if (found := self.characters(line))]

    @cached_property
    def _letters(self) -> tuple[str, Sequence[int]]:
        """The text, and the number of the letter that each character is; without what no font gives a meaning."""
        text, numbers = pdfium.text_of(self._handle, _MOST_CHARACTERS)
        if not _CODE.search(text):
            return text, numbers
        signs = [self._sign_at(index, sign) for sign, index in zip(text, numbers, strict=True)]
        return "".join(signs), [index for index, sign in zip(numbers, signs, strict=True) if sign]

    def _sign_at(self, index: int, sign: str) -> str:
        """The sign, or the bracket that its code is in TeX's font of large signs; nothing for a code 0 of another font."""
        if sign >= " " and sign != _HYPHEN:
            return sign
        if LARGE_SIGNS.search(self._font_at(index)[0]):
            return _BRACKETS.get(2 if sign == _HYPHEN else ord(sign), sign)
        return sign.strip("\0")

    def _box_at(self, index: int) -> BoundingBox | None:
        found = pdfium.box_of_letter(self._handle, index)
        if found is None:
            return None
        x0, x1, y0, y1 = found
        return BoundingBox(x0 - self._left, self._top - y1, x1 - self._left, self._top - y0)

    def _font_at(self, index: int) -> tuple[str, float, bool]:
        """Name and size of the font, and whether the letter is turned; each text object is asked once."""
        address, item = pdfium.object_of_letter(self._handle, index)
        if address not in self._fonts:
            turned = pdfium.is_turned(self._handle, index)
            known = (pdfium.font_of(item) or "", pdfium.size_of(item) or 0.0) if item else ("", 0.0)
            self._fonts[address] = (*known, turned)
        return self._fonts[address]


def _around(lines: Sequence[TextLine], sign: int) -> Iterator[int]:
    """The lines by one with a sign: limits and parts of fractions come right before or behind it, piece by piece."""
    for step in (-1, 1):
        count = 0
        for index in range(sign, -1 if step < 0 else len(lines), step):
            if count > _AROUND and (count > _MOST_AROUND or len(lines[index].text) > _LONGEST_PIECE):
                break
            yield index
            count += not _PIECE_OF_BRACKET.fullmatch(lines[index].text.strip())  # a tall one has many


def box_around(characters: Sequence[Character]) -> BoundingBox:
    """The smallest box that holds them all."""
    return box_around_boxes([character.box for character in characters])


def box_around_boxes(boxes: Sequence[BoundingBox]) -> BoundingBox:
    """The smallest box that holds them all."""
    return BoundingBox(
        min(box.x0 for box in boxes),
        min(box.y0 for box in boxes),
        max(box.x1 for box in boxes),
        max(box.y1 for box in boxes),
    )


def is_bold(font: str) -> bool:
    """Whether a font's name says that it is bold."""
    return bool(_BOLD.search(font))


def is_typewriter(font: str) -> bool:
    """Whether a font of this name has letters that are all as wide as each other."""
    return bool(_TYPEWRITER.search(font))
