"""Read the quote of a row, and find it in a text that may differ in one letter out of twenty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

_LETTERS_A_SLIP = 20
_MOST_PLACES = 40
"""So many places are looked at: where pieces of a quote stand more often, they are none to find it by."""

_START = 80
"""Characters that are enough to find a text by."""

_MOST_STEPS = 1_000_000
"""Letters of a quote times its slips times such places: what a long quote may cost."""


def quote_of(row: Mapping[str, Any]) -> str:
    """Return the words that a row cites: its quote, else how the text of a requirement begins that is the cited words."""
    said = str(row["source"]["quote"] or "")
    if said or row.get("status") != "stated" or len(row.get("text", "")) <= _START:
        return said or str(row.get("text", "") if row.get("status") == "stated" else "")
    start = " ".join(str(row["text"]).split())
    return start[: start.find(" ", _START) % (2 * _START)]


def is_reworded(row: Mapping[str, Any]) -> bool:
    """Return whether a requirement is in its planner's words, of which the quote may support only a part."""
    quote, text = (" ".join(str(said or "").split()) for said in (row["source"]["quote"], row.get("text")))
    return bool(quote and text) and row.get("status") == "stated" and not text.startswith(quote)


def find_nearly(quote: str, text: str) -> tuple[int, int] | None:
    """Return start and end of the quote with at most one wrong letter in twenty; None where there is no such place.

    Cut into one piece more than it may have wrong letters, a quote that stands there has a piece without one.
    """
    slips = len(quote) // _LETTERS_A_SLIP
    if not slips:
        return None
    width, letters = len(quote) // (slips + 1), Counter(quote)
    left = max(1, min(_MOST_PLACES, _MOST_STEPS // (len(quote) * slips)))
    for number in range(slips + 1):
        offset = number * width
        piece = quote[offset : offset + width]
        at = text.find(piece)
        while at >= 0 and left:
            start, left = max(0, at - offset), left - 1
            there = text[start : start + len(quote)]
            # letters that are missing there are slips, in whatever order they stand
            if (letters - Counter(there)).total() <= 2 * slips and _distance(quote, there, slips) <= slips:
                return start, min(len(text), start + len(quote))
            at = text.find(piece, at + 1)
    return None


def _distance(one: str, other: str, most: int) -> int:
    """Return the edit distance of two texts; counting stops beyond `most`."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        first, last = max(1, number - most), min(len(other), number + most)
        following = [most + 1] * (len(other) + 1)
        following[0] = number
        for place in range(first, last + 1):
            following[place] = min(
                row[place] + 1, following[place - 1] + 1, row[place - 1] + (letter != other[place - 1])
            )
        row = following
        if min(row[max(0, first - 1) : last + 1]) > most:
            return most + 1
    # letters that were put in push others over the end
    return min(row[max(0, len(other) - most) :])
