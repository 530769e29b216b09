"""Abbreviations in brackets behind the words that they may stand for: "Lazy Extra Newton (LEN)"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SHORT = re.compile(r"\(([A-Za-z][\w*+-]{1,10})[);,]")
_NO_WORD = re.compile(r"[^\w*+’' -]|  ")
_REACH = 160
"""How many characters before the brackets are read, so that the work grows with the text and not with its square."""
_CAPITALS = re.compile(r"(?:[A-Z][\w*+-]*+ ){1,5}(?:[a-z]++ )?(?:[A-Z][\w*+-]*+)? ?$")


class ShortForm(NamedTuple):
    """What stands in brackets, and the words before them, back to the first sign that is no part of a word."""

    short: str
    before: str
    capitals: str
    """The last of these words that have capitals, with one small word among them at most; empty where `short` has none."""
    place: int
    """Where the words with capitals begin."""


def find_short_forms(text: str) -> Iterator[ShortForm]:
    """Every abbreviation in brackets with words before it, whether or not it stands for them."""
    for match in _SHORT.finditer(text):
        end = match.start()
        before = text[max(0, end - _REACH) : end]
        if end > _REACH:
            before = before.partition(" ")[2]  # half a word is none
        before = _NO_WORD.split(before)[-1]
        is_name = match.group(1)[0].isupper() and match.group().endswith(")")
        capitals = _CAPITALS.search(before) if is_name else None
        place = end - len(before) + capitals.start() if capitals else end
        if before.strip():
            yield ShortForm(match.group(1), before, capitals.group().strip() if capitals else "", place)
