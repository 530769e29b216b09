"""Mends the letters that fonts of print take apart or put together: ligatures, accents, odd blanks."""

from __future__ import annotations

import re
from collections import Counter
from unicodedata import bidirectional, normalize

_ODD_SPACES = re.compile(r"[\x00-\x1f\x7f\u00a0\u2000-\u200b\u2028\u2029\u202f\u3000\ufeff\ufffe\uffff]+")
KEYS = str.maketrans("⇥⇤↵⇡⇢⇣✏⌘⌃⌦⌫", "×∗απρζϵηΣΩν")
"""Signs of a keyboard's keys, which a common maker of PDFs gives for those of TeX's fonts."""
_LIGATURES = KEYS | str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": "-", "\x88": "•"}
)
_LARGE = str.maketrans("⎛⎞⎡⎤⎧⎫", "()[]{}")
"""What stands for a large bracket in one piece; with the pieces below it, it is the top of a taller one."""
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
"""Letters of mathematics in fonts that have a place of their own for each face."""
_ACCENT = re.compile(r"([´`¨ˆ˜ˇ˚¯])([A-Za-zı])")


def is_language(text: str) -> bool:
    """Whether enough of the words are the little ones that every text of their language has."""
    words = text.lower().split()
    return len(words) >= _FEWEST_WORDS and sum(word in _LITTLE_WORDS for word in words) > _LITTLE_SHARE * len(words)


def is_right_to_left(text: str) -> bool:
    """Whether most of the letters are of a script that is written from right to left."""
    directions = Counter(bidirectional(character) for character in text)
    return directions["R"] + directions["AL"] > directions["L"]


def mend_letters(text: str) -> str:
    """The text with whole letters and plain blanks."""
    if text.isascii() and text.isprintable() and "`" not in text:
        return text.strip()
    if not _PIECES.search(text):
        text = text.translate(_LARGE)
    text = _FORMAL.sub(lambda match: normalize("NFKC", match.group()), text.translate(_LIGATURES))
    return _ACCENT.sub(_compose_accent, _ODD_SPACES.sub(" ", text)).strip()


def _compose_accent(match: re.Match[str]) -> str:
    """A letter with the accent that old fonts print before it."""
    return normalize("NFC", match.group(2).replace("ı", "i") + _ACCENTS[match.group(1)])


def is_accent(text: str) -> bool:
    """Whether it is an accent without its letter."""
    return text in _ACCENTS


def with_accent(word: str, share: float, accent: str) -> str:
    """The word with an accent on the letter that stands at this share of its width, or on one near it that can have it."""
    wanted = share * len(word) - 0.5
    for place in sorted(range(len(word)), key=lambda place: abs(place - wanted)):
        letter = normalize("NFC", word[place].replace("ı", "i") + _ACCENTS[accent])
        if len(letter) == 1:
            return word[:place] + letter + word[place + 1 :]
    return word
