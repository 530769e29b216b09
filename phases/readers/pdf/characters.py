"""Read the characters of a page from PDFium, with positions, sizes and fonts on demand, and correct misencoded letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from unicodedata import bidirectional, normalize

from phases.readers.pdf import pdfium
from phases.readers.pdf.page import BoundingBox, Character, Item

_BOLD = re.compile(r"bold|black|heavy|medi(?!um)|demi|bx[0-9]|cmb[0-9]|sfbx|-b$|\.b$", re.IGNORECASE)
_TYPEWRITER = re.compile(
    r"mono|nimbusmon|courier|typewriter|cmtt|cmvtt|lmtt|txtt|sftt|ectt|consol|inconsolata|menlo", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_HYPHEN = "\ufffe"
"""PDFium's code for a hyphen that splits a word at the end of a line."""
_LINE_END = re.compile(rf"(?<=[\r\n{_HYPHEN}])")
LARGE_SIGNS = re.compile(r"cmex|[tp]xex|mathex|extension", re.IGNORECASE)
"""Name patterns of TeX's fonts of large symbols."""
_CODE = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f]|\r(?!\n)|(?<!\r)\n")
"""Codes that are neither letters nor line ends."""
_BRACKETS = dict(enumerate("⎛⎞⎡⎤⌊⌋⌈⌉⎧⎫⟨⟩|‖")) | dict(enumerate("⎛⎞⎛⎞⎡⎤⌊⌋⌈⌉⎧⎫⟨⟩", 0x10))
"""Codes of these fonts, as pieces of brackets: a whole bracket is the code of another symbol there."""
_PIECE_OF_BRACKET = re.compile("[⎛⎞⎡⎤⎧⎫⌊⌋⌈⌉⟨⟩|‖]+")
_MATHEMATICS = re.compile(r"[=≤≥<>∈∼≈→←≠≡∝⊆⊂⇒⇔∑∏∫∀∃±]")
_MOST_WORDS, _MOST_LINES, _AROUND = 4, 300, 4
_MOST_AROUND, _LONGEST_PIECE = 24, 16
_MOST_CHARACTERS = 200_000
_LONGEST_LINE = 2_000
_FLAT, _BARS, _TALL, _SQUARE, _HIGH, _ANY = "flat", "bars", "tall", "square", "high", ""
_SIGNS = {
    "K": ("-", _FLAT), "À": ("-", _FLAT), "Z": ("=", _BARS), "¼": ("=", _BARS),
    "ð": ("(", _TALL), "Þ": (")", _TALL), "½": ("[", _TALL), "Š": ("]", _TALL), "þ": ("+", _SQUARE),
    "!": ("<", _SQUARE), "P": ("∑", _HIGH), "C": ("+", _SQUARE), "O": (">", _SQUARE), "N": ("∞", _BARS),
    "w": ("∼", _BARS), "Â": ("×", _SQUARE), "Ã": ("∗", _SQUARE), "Æ": ("±", _ANY),
}  # fmt: skip
"""The symbol drawn for a letter by these fonts, and its shape."""
_TELLING = re.compile(r"[ðÞ½¼þÀŠKZ]|(?<!\w)[P!](?![a-z])")
"""Letters that no font draws in such a shape; the others count in a font identified by one of these."""
_MOST_CANDIDATES = 200
_ODD_SPACES = re.compile(r"[\x00-\x1f\x7f\u00a0\u2000-\u200b\u2028\u2029\u202f\u3000\ufeff\ufffe\uffff]+")
KEYS = str.maketrans("⇥⇤↵⇡⇢⇣✏⌘⌃⌦⌫", "×∗απρζϵηΣΩν")
"""Key symbols, which a common PDF producer assigns to symbols of TeX's fonts."""
_LIGATURES = KEYS | str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": "-", "\x88": "•"}
)
_LARGE = str.maketrans("⎛⎞⎡⎤⎧⎫", "()[]{}")
"""Codes of large brackets in one piece; next to bracket pieces they are the top of a taller bracket."""
_PIECES = re.compile("[⎜⎝⎟⎠⎢⎣⎥⎦⎨⎩⎬⎭⎪]")
_ACCENTS = {
    "´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "˚": "\u030a",
    "¯": "\u0304",
}  # fmt: skip
_LITTLE = (
    "the of and to in is for that with are der die und das den von ist mit für nicht les des est une dans que pour "
    "los las del una por con el la le de che di il per non и в не на что по как из для في من على إلى أن عن هذا هذه التي "
    "الذي مع של את על לא זה עם כי או גם از به در که این را با است"
)
_LITTLE_WORDS = frozenset(_LITTLE.split())
_FEWEST_WORDS, _LITTLE_SHARE = 100, 0.08
_FORMAL = re.compile("[\U0001d400-\U0001d7ff]+")
"""Mathematical alphanumeric symbols, which have a code per typeface."""
_ACCENT = re.compile(r"([´`¨ˆ˜ˇ˚¯])([A-Za-zı])")


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of the page's text. `start` counts the preceding characters."""

    text: str
    start: int


class PageText:
    """The text of a page in PDFium's order. `left` and `top` are the edges of the visible page."""

    def __init__(self, page: Any, left: float, top: float) -> None:
        self._page = page
        self._left, self._top = left, top
        self._fonts: dict[int, tuple[str, float, bool]] = {}

    @cached_property
    def _handle(self) -> Any:
        return self._page.get_textpage()

    @cached_property
    def text(self) -> str:
        """Whole text with corrected symbols. Lines end in line feeds, or in a hyphen that splits a word."""
        signs = {glyph.place: glyph.sign for glyph in self.doubtful_letters}
        text = self._letters[0]
        return "".join(signs.get(place, letter) for place, letter in enumerate(text)) if signs else text

    @cached_property
    def doubtful_letters(self) -> list[Letter]:
        """Letters of all kinds with members drawn as another symbol."""
        numbers = self._letters[1]
        return find_doubtful_letters(
            self._letters[0],
            lambda place: self._box_at(numbers[place]),
            lambda place: self._font_at(numbers[place])[:2],
        )

    def lines(self) -> Iterator[TextLine]:
        """Yield the lines with text."""
        start = 0
        for line in _LINE_END.split(self.text):
            if line.strip():
                yield TextLine(line.rstrip("\r\n")[:_LONGEST_LINE], start)
            start += len(line)

    def characters(self, line: TextLine) -> list[Character]:
        """Return the visible characters of a line that are not rotated: a stamp may cross the page."""
        result: list[Character] = []
        blank = False
        for place, sign in enumerate(line.text, line.start):
            index = self._letters[1][place]
            box = None if sign.isspace() else self._box_at(index)
            if box is None:
                blank = True
                continue
            font, size, turned = self._font_at(index)
            if not turned:
                result.append(
                    Character("-" if sign == _HYPHEN else sign.translate(KEYS), box, size or box.height, font, blank)
                )
            blank = False
        return result

    def find(self, letters: Set[str], fonts: re.Pattern[str]) -> Iterator[Character]:
        """Yield the characters equal to letters of which some use a font with such a name, wherever they are."""
        places = [place for place, letter in enumerate(self.text) if letter in letters]
        coded = {self.text[place] for place in places if fonts.search(self._font_at(self._letters[1][place])[0])}
        for place in places if coded else ():
            box = self._box_at(self._letters[1][place]) if self.text[place] in coded else None
            if box:
                font, size, _ = self._font_at(self._letters[1][place])
                yield Character(self.text[place], box, size or box.height, font)

    def are_drawn_together(self, first: int, last: int) -> bool:
        """Return whether two characters share a text object, and so font and size."""
        one, other = (pdfium.object_of_letter(self._handle, self._letters[1][place])[0] for place in (first, last))
        return one == other

    def formula_lines(self) -> list[tuple[Character, ...]]:
        """Return the characters of lines with hardly a word, near lines with a mathematical sign."""
        lines = [line for line in self.lines() if len(_WORD.findall(line.text)) <= _MOST_WORDS]
        signs = [index for index, line in enumerate(lines) if _MATHEMATICS.search(line.text)]
        near = {index for sign in signs for index in _around(lines, sign)}
        chosen = [lines[index] for index in sorted(near)]
        return [tuple(found) for line in chosen[:_MOST_LINES] if (found := self.characters(line))]

    @cached_property
    def _letters(self) -> tuple[str, Sequence[int]]:
        """Text and the index of each character, without characters undefined in every font."""
        text, numbers = pdfium.text_of(self._handle, _MOST_CHARACTERS)
        if not _CODE.search(text):
            return text, numbers
        signs = [self._sign_at(index, sign) for sign, index in zip(text, numbers, strict=True)]
        return "".join(signs), [index for index, sign in zip(numbers, signs, strict=True) if sign]

    def _sign_at(self, index: int, sign: str) -> str:
        """Return the sign, or the bracket of its code in TeX's font of large symbols; "" for code 0 of another font."""
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
        address, item = pdfium.object_of_letter(self._handle, index)
        if address not in self._fonts:
            turned = pdfium.is_turned(self._handle, index)
            known = (pdfium.font_of(item) or "", pdfium.size_of(item) or 0.0) if item else ("", 0.0)
            self._fonts[address] = (*known, turned)
        return self._fonts[address]


def _around(lines: Sequence[TextLine], sign: int) -> Iterator[int]:
    """Yield the lines around a sign: limits and parts of fractions are separate lines directly before or after it."""
    for step in (-1, 1):
        count = 0
        for index in range(sign, -1 if step < 0 else len(lines), step):
            if count > _AROUND and (count > _MOST_AROUND or len(lines[index].text) > _LONGEST_PIECE):
                break
            yield index
            count += not _PIECE_OF_BRACKET.fullmatch(lines[index].text.strip())  # a tall bracket has many


def box_around(characters: Sequence[Character]) -> BoundingBox:
    """Return the smallest box around the characters."""
    return box_around_boxes([character.box for character in characters])


def box_around_boxes(boxes: Sequence[BoundingBox]) -> BoundingBox:
    """Return the smallest box around the boxes."""
    return BoundingBox(
        min(box.x0 for box in boxes),
        min(box.y0 for box in boxes),
        max(box.x1 for box in boxes),
        max(box.y1 for box in boxes),
    )


def is_bold(font: str) -> bool:
    """Return whether a font name says bold."""
    return bool(_BOLD.search(font))


def is_typewriter(font: str) -> bool:
    """Return whether a font name says monospaced."""
    return bool(_TYPEWRITER.search(font))


class Letter(NamedTuple):
    """A letter of a page's text with its index and the symbol it is drawn as, which may be itself."""

    place: int
    letter: str
    sign: str
    box: BoundingBox


def find_doubtful_letters(
    text: str, box_of: Callable[[int], BoundingBox | None], font_of: Callable[[int], tuple[str, float]]
) -> list[Letter]:
    """Find letters that are drawn as other symbols; return all letters of these kinds, or nothing.

    `box_of` and `font_of` give the ink of a text position, and its font name and size in points.
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
    misprinted = {glyph.letter for glyph in letters if glyph.sign != glyph.letter}
    return [glyph for glyph in letters if glyph.letter in misprinted]


def _shape_of(box: BoundingBox, size: float) -> str:
    wide, high = box.width / size, box.height / size
    if wide < 0.4 * high:
        return _TALL if high > 0.75 else _ANY
    if high > 0.95:
        return _HIGH if high < 1.5 else _ANY  # the size is scaled elsewhere
    if high < 0.15 * wide:
        return _FLAT
    if high < 0.65 * wide:
        return _BARS
    return _SQUARE if wide > 0.4 and abs(wide - high) < 0.1 else _ANY


def with_signs(items: Iterable[Item], letters: Sequence[Letter]) -> list[Item]:
    """Return the items with their drawn symbols, without items whose text disagrees with `letters`."""
    return [mended for item in items if (mended := _mend(item, letters))]


def _mend(item: Item, letters: Sequence[Letter]) -> Item | None:
    inside = [glyph for glyph in letters if item.box.holds(glyph.box)]
    if all(glyph.sign == glyph.letter for glyph in inside) or "\\" in item.text:
        return item  # LaTeX means that the engine knew the symbol
    text = _with_signs(item.text, inside)
    within = [[glyph for glyph in inside if x0 <= glyph.box.centre <= x1] for _, x0, x1 in item.words]
    words = [
        (shown, x0, x1)
        for (word, x0, x1), own in zip(item.words, within, strict=True)
        if (shown := _with_signs(word, own)) is not None
    ]
    return None if text is None else replace(item, text=text, words=tuple(words) if len(words) == len(within) else ())


def _with_signs(text: str, letters: Sequence[Letter]) -> str | None:
    """Return a text with the drawn symbols of its letters, in order; None if it has other letters, or more or fewer."""
    signs = {
        letter: [glyph.sign for glyph in letters if glyph.letter == letter]
        for letter in {glyph.letter for glyph in letters}
    }
    if any(text.count(letter) != len(found) for letter, found in signs.items()):
        return None
    return "".join(signs[letter].pop(0) if letter in signs else letter for letter in text)


def is_language(text: str) -> bool:
    """Return whether a text has enough function words of its language."""
    words = text.lower().split()
    return len(words) >= _FEWEST_WORDS and sum(word in _LITTLE_WORDS for word in words) > _LITTLE_SHARE * len(words)


def is_right_to_left(text: str) -> bool:
    """Return whether most letters belong to a right-to-left script."""
    directions = Counter(bidirectional(character) for character in text)
    return directions["R"] + directions["AL"] > directions["L"]


def mend_letters(text: str) -> str:
    """Return the text with composed letters and plain blanks."""
    if text.isascii() and text.isprintable() and "`" not in text:
        return text.strip()
    if not _PIECES.search(text):
        text = text.translate(_LARGE)
    text = _FORMAL.sub(lambda match: normalize("NFKC", match.group()), text.translate(_LIGATURES))
    return _ACCENT.sub(_compose_accent, _ODD_SPACES.sub(" ", text)).strip()


def _compose_accent(match: re.Match[str]) -> str:
    return normalize("NFC", match.group(2).replace("ı", "i") + _ACCENTS[match.group(1)])


def is_accent(text: str) -> bool:
    """Return whether a text is an accent without its letter."""
    return text in _ACCENTS


def with_accent(word: str, share: float, accent: str) -> str:
    """Put an accent on the letter at this share of the word's width, or on the nearest one that can have it."""
    wanted = share * len(word) - 0.5
    for place in sorted(range(len(word)), key=lambda place: abs(place - wanted)):
        letter = normalize("NFC", word[place].replace("ı", "i") + _ACCENTS[accent])
        if len(letter) == 1:
            return word[:place] + letter + word[place + 1 :]
    return word
