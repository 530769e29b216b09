"""Which sentence carries a footnote's mark, which reference is cited right before a place: what a bare address belongs to."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from phases.references.find.places import PaperPlaces
from phases.references.values import Mention

_OF_CODE = re.compile(r"\b(?:code|implement|release|available|repositor|software)", re.IGNORECASE)
_REACH = 10_000
"""Characters around a footnote in which its mark is looked for."""
_NEAR = 160
"""Characters between a citation and what it is said to be about."""
_MOST = 8


class NoteCarrier(NamedTuple):
    """The sentence that carries a footnote's mark, and where the mark stands; nothing where none is found."""

    sentence: str = ""
    start: int = 0


class Cited:
    """Every citation of a paper, by place."""

    def __init__(self, citations: Mapping[str, Iterable[Mention]]) -> None:
        self._places = sorted(
            (mention.start, name)
            for name, mentions in citations.items()
            for mention in mentions
            if mention.where != "reference" and mention.start
        )

    def before(self, at: int, places: PaperPlaces) -> str | None:
        """The reference that is cited last before a place, in the same sentence and near to it."""
        index = bisect_left(self._places, (at, "")) - 1
        if index < 0:
            return None
        start, name = self._places[index]
        near = at - start <= _NEAR and places.sentence(start, start + 1) == places.sentence(at - 1, at)
        return name if near else None


def find_carrier(places: PaperPlaces, mark: str, note: int) -> NoteCarrier:
    """Looked for on the page of the note, and on the one before, where a long note began; one that speaks of code comes first."""
    own = re.escape(mark)
    pattern = re.compile(
        rf"\[\^{own}\](?!:)"  # spelled as a mark it can be nothing else; a raised figure must stand behind a word or a year
        rf"|(?<=[^\W\d_][^\W\d_][.,)’ʼ']){own}(?!\w)|(?<=[0-9]{{4}}\)){own}(?![\w:])|(?<=[^\W\d_][^\W\d_]){own}(?![\w:])"
    )
    page = places.page(note)
    for low, high in (places.page_span(page), places.page_span(page - 1)):
        carrying = [
            NoteCarrier(places.sentence(match.start(), match.end()), match.start())
            for match in islice(pattern.finditer(places.text, max(low, note - _REACH), min(high, note + _REACH)), _MOST)
            if places.footnote(match.start()) is None
        ]
        if of_code := [one for one in carrying if _OF_CODE.search(one.sentence)]:
            return of_code[0]
        if carrying and low <= note < high:
            return carrying[0]
    return NoteCarrier()
