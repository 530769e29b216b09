"""Clean up printed text: white space, hyphens at line ends, letters to compare."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 20_000
"""Characters of a printed reference that are parsed; the rest cannot belong to one."""
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_][^\W\d_])- (?=(?!(?:and|or|und|oder)\b)[a-zà-öø-ÿ])")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


def tidy_reference(raw: str) -> str:
    """Return a reference on one line, without the hyphens of line ends."""
    return _BROKEN_WORD.sub("", " ".join(_INVISIBLE.sub("", raw[:LONGEST]).split()))


def letters_of(text: str) -> str:
    """Return letters and digits only, in lower case without accents, for comparing names and titles."""
    split = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in split if letter.isalnum())


def shorten_text(text: str, longest: int = 300) -> str:
    """Return a text on one line of limited length."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
