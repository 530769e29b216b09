"""Where in a paper words stand: the page and section of a quote, and why a quote cannot stand."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from phases.planning.links import printed_addresses
from phases.planning.quotes import find_nearly, quote_of

_FEWEST_LETTERS, _MOST_PLACES = 10, 200
REVIEW = "review"
"""The section that a requirement cites which a person asked for."""


class QuoteIndex:
    """What may be cited: the pages of the paper, and what people asked for."""

    def __init__(
        self,
        pages: Sequence[tuple[int, str]],
        requests: Iterable[str] = (),
        sections: Sequence[tuple[str | None, str]] = (),
    ) -> None:
        """`sections`: number or title of each, and its own text, in their order; together they are the text of the pages."""
        self._numbers = [number for number, _ in pages]
        self._starts: list[int] = []
        parts, length = [], 0
        for _, text in pages:
            self._starts.append(length)
            parts.append(_letters_of(text))
            length += len(parts[-1])
        self._text = "".join(parts)
        self._addresses = printed_addresses("\n".join(text for _, text in pages))
        self._found: dict[str, list[tuple[int, int]]] = {}
        self._requests = _letters_of("\n".join(requests))
        self._sections = [label for label, _ in sections]
        ends = accumulate((len(_letters_of(text)) for _, text in sections), initial=0)
        self._begins = [*ends][: len(self._sections)]

    def has_page(self, page: int) -> bool:
        return page in self._numbers

    def is_asked_for(self, quote: str) -> bool:
        """Whether somebody who asked for a change said these words."""
        letters = _letters_of(quote)
        return len(letters.encode("utf-8")) >= _FEWEST_LETTERS and letters in self._requests

    def has_address(self, address: str) -> bool:
        """Whether the paper prints just this, with a path: nothing else is asked for on a model's word."""
        return re.match(r"https?://[^/]+/", address) is not None and address in self._addresses

    def pages_of(self, text: str) -> set[int]:
        """Every page that a text stands on, in whole or in part; with one letter in twenty otherwise at most."""
        return {page for place in self._places_of(_letters_of(text)) for page in self._pages_between(*place)}

    def section_of(self, text: str, page: int) -> str | None:
        """Number or title of the section in which a text begins that stands on a page; None where it is in none."""
        found = [start for start, end in self._places_of(_letters_of(text)) if page in self._pages_between(start, end)]
        place = bisect_right(self._begins, found[0]) - 1 if found else -1
        return self._sections[place] if place >= 0 else None

    def fault(self, row: Mapping[str, Any]) -> str | None:
        """Why the source of a requirement or value cannot stand, or None. Letters and digits count; marks and spaces do not."""
        source, said = row["source"], quote_of(row)
        quote = _letters_of(said)
        if source["section"] == REVIEW and source["page"] == 0:
            return None if quote in self._requests else "nobody asked for what it quotes"
        if not quote and row.get("status", "stated") != "stated":
            return None if source["page"] in (0, *self._numbers) else self._no_page(source["page"])
        is_short = len(quote.encode("utf-8")) < min(_FEWEST_LETTERS, len(self._text.encode("utf-8")))
        if is_short and len(self._places_of(quote)) != 1:
            return "the quote is too short to find its place by: quote a few whole words of the paper"
        pages = self.pages_of(said)
        if not pages:
            return f"the quote {said[:120]!r} is not in the paper; quote it word for word, without leaving out"
        if source["page"] not in self._numbers:
            return self._no_page(source["page"])
        if source["page"] not in pages:
            return f"the quote stands on page {min(pages)}, not on page {source['page']}"
        return None

    def _places_of(self, quote: str) -> list[tuple[int, int]]:
        """Start and end of each place where the quote stands, in letters; the one that is nearly so where it stands nowhere.

        Of a quote that is too short to be one, two places: it is asked whether there is more than one.
        """
        if quote not in self._found:
            most = _MOST_PLACES if len(quote) >= _FEWEST_LETTERS else 2
            found = list[tuple[int, int]]()
            at = self._text.find(quote) if quote else -1
            while at >= 0 and len(found) < most:
                found.append((at, at + len(quote)))
                at = self._text.find(quote, at + len(quote))
            near = find_nearly(quote, self._text) if quote and not found else None
            self._found[quote] = [near] if near else found
        return self._found[quote]

    def _pages_between(self, start: int, end: int) -> set[int]:
        first, last = (bisect_right(self._starts, place) - 1 for place in (start, end - 1))
        return set(self._numbers[first : last + 1])

    def _no_page(self, page: int) -> str:
        return f"there is no page {page}; the pages are {min(self._numbers)} to {max(self._numbers)}"


def _letters_of(text: str) -> str:
    """Letters and digits alone, in one case: how words are broken, spaced and marked makes no difference."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
