"""What an exact replacement makes of a text, and whether it was made already."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

from pipeline.base.files import sha256
from pipeline.base.text_escaping import escape_text

_MOST_WORK = 50_000_000
_NEAR_LINES = 8
_MOST_LINES, _MOST_LINES_WANTED, _MOST_LOOKED_AT, _LONGEST_COMPARED = 5_000, 200, 40, 120
_LIKE = 0.5


class Replacement(NamedTuple):
    old: str
    new: str
    everywhere: bool = False


class EditError(Exception):
    """Why a replacement cannot be made, in words for a model."""


def apply_replacement(text: str, replacement: Replacement) -> str:
    """The text with the replacement made. Raises EditError."""
    old, new, everywhere = replacement
    if old == new:
        raise EditError("old_string and new_string are the same: there is nothing to change")
    if not old:
        raise EditError("old_string is empty; give the exact text to replace, or write the whole file with Write")
    count = _count_places(text, old)
    if not count:
        raise EditError(f"old_string does not occur in the file. {_nearest_lines(text, old)}")
    if count > 1 and not everywhere:
        raise EditError(f"old_string occurs {count} times; give more of the lines around it, or set replace_all")
    after = text.replace(old, new)
    if everywhere and (after.replace(new, old) != text if old in new else old in after):
        # Whether such a replacement was made could not be seen afterwards, and made twice it would change more.
        raise EditError("the replacement would make new places with old_string in them; edit the places one by one")
    return after


def text_before(text: str, replacement: Replacement, known: str | None) -> str | None:
    """The text that the replacement was made on, where it was made already; None where it is still to be made.

    `known` is the sha256 of the text as its author last saw it, and settles it. Without it, a new text that holds the
    old one counts as made where it is found, and any other where the old one is gone.
    """
    old, new, _ = replacement
    if not old or old == new or (known and sha256(_encode(text)) == known):
        return None
    # Whoever wrote the texts must not choose how long this takes.
    tries = max(1, _MOST_WORK // (len(text) + 1))
    candidates = [
        before for before in islice(_texts_before(text, replacement), tries) if _leads_to(before, replacement, text)
    ]
    exact = next((before for before in candidates if known and sha256(_encode(before)) == known), None)
    if exact is not None or (old in text and old not in new):
        return exact
    if candidates:
        return candidates[0]
    return text if old not in text and new in text else None  # where it stood cannot be told


def _texts_before(text: str, replacement: Replacement) -> Iterator[str]:
    old, new, everywhere = replacement
    if everywhere:
        if new:
            yield text.replace(new, old)
        return
    place = text.find(new)
    while place >= 0:
        yield text[:place] + old + text[place + len(new) :]
        place = text.find(new, place + 1) if place < len(text) else -1


def _leads_to(before: str, replacement: Replacement, text: str) -> bool:
    try:
        return apply_replacement(before, replacement) == text
    except EditError:
        return False


def _count_places(text: str, old: str) -> int:
    """How often, overlaps among them: `aa` in `aaa` is two places, and neither is the one."""
    count, place = 0, text.find(old)
    while place >= 0 and count < 1000:
        count, place = count + 1, text.find(old, place + 1)
    return count


def _nearest_lines(text: str, old: str) -> str:
    """The lines that are most like those that were looked for."""
    if not text.strip():
        return "The file is empty."
    lines, wanted = text.split("\n"), old.split("\n")[:_MOST_LINES_WANTED]
    anchor = max(range(len(wanted)), key=lambda number: len(wanted[number].strip()))
    like = SequenceMatcher(autojunk=False)
    like.set_seq2(wanted[anchor].strip()[:_LONGEST_COMPARED])

    def ratio(number: int, *, quick: bool) -> float:
        like.set_seq1(lines[number].strip()[:_LONGEST_COMPARED])
        return like.quick_ratio() if quick else like.ratio()

    likely = nlargest(
        _MOST_LOOKED_AT, range(min(len(lines), _MOST_LINES)), key=lambda number: ratio(number, quick=True)
    )
    best = max(likely, key=lambda number: ratio(number, quick=False))
    if ratio(best, quick=False) < _LIKE:
        return "Nothing in it is like that; read the file again."
    first = max(0, best - anchor)
    near = lines[first : first + min(len(wanted), _NEAR_LINES)]
    shown = "\n".join(f"{first + number:>6}\t{escape_text(line[:300])}" for number, line in enumerate(near, 1))
    return f"The nearest lines are:\n{shown}\nGive old_string exactly as it stands there, spaces included, without line numbers."


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
