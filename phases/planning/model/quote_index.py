"""Locate quotes in the paper: page and section, or the reason why a quote is refused."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from phases.planning.links import printed_addresses
from phases.planning.model.form import SOURCED, Row
from phases.planning.quotes import find_nearly, quote_of
from phases.planning.rules import sentences_of

QUOTED = ("requirements", "values")
"""The lists whose rows are asked for again where they misquote."""
_MOST_LOOKED_UP, _LONGEST = 40, 300


def find_places(plan: Row, cited: QuoteIndex, present: Mapping[str, Any] | None = None) -> Row:
    """Return the plan with the page and section of each quote. Rows of the present plan stay as they are.

    A quote that a person asked for is of the review. A name whose quote stands nowhere is kept without it.
    """
    made, lost = dict(plan), list[str]()
    for name in SOURCED:
        kept = list((present or {}).get(name, ()))
        rows = [row if row in kept else _with_place(row, cited) for row in plan.get(name, ())]
        if name not in QUOTED:
            rows = [row if row in kept or is_cited(row, cited) else _unquoted(row) for row in rows]
            lost += [str(row.get("id", row["name"])) for row, said in zip(rows, plan.get(name, ()), strict=True)
                     if said["source"]["quote"] and not row["source"]["quote"]]  # fmt: skip
        if name in plan:
            made[name] = rows
    if lost and "uncertain" in plan:
        made["uncertain"] = [
            *plan["uncertain"],
            {"what": f"What these quote is not there: {', '.join(lost)}. Are they needed?"},
        ]
    return made


def is_cited(row: Row, cited: QuoteIndex) -> bool:
    """Return whether a row quotes nothing, or words of the paper."""
    return (
        not row["source"]["quote"] or row["source"]["section"] == REVIEW or bool(cited.pages_of(row["source"]["quote"]))
    )


def without_quote(row: Row, cited: QuoteIndex) -> Row:
    """Return a row that misquotes as one that is inferred."""
    # decision 136: nothing in a plan may claim words that the paper does not have.
    page = row["source"]["page"] if cited.has_page(row["source"]["page"]) else 0
    section = None if row["source"]["section"] == REVIEW else row["source"]["section"]
    status = "missing" if row.get("status") == "missing" else "inferred"
    return {**row, "source": {"section": section, "page": page, "quote": ""}, "status": status}


def _unquoted(row: Row) -> Row:
    return {**row, "source": {"section": None, "page": 0, "quote": ""}}


def _with_place(row: Row, cited: QuoteIndex) -> Row:
    source, words = row["source"], quote_of(row)
    if source["section"] == REVIEW or not words:
        return row
    pages = cited.pages_of(words)
    if not pages and "text" in row and cited.is_asked_for(words):
        return {**row, "source": {**source, "section": REVIEW, "page": 0}}
    if source["page"] in pages and source["section"] is not None:
        return row
    page = source["page"] if source["page"] in pages or not pages else min(pages)
    return {**row, "source": {**source, "page": page, "section": cited.section_of(words, page) or source["section"]}}


def nearest_sentences(rows: Sequence[Row], pages: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Return for the id of a row the sentence of the paper that has most of the words that it quotes, where one has half."""
    sentences = [
        (number, sentence, _words_of(sentence))
        for number, text in pages
        for line in text.splitlines()
        for sentence in sentences_of(line)
    ]
    made: dict[str, str] = {}
    for row in rows[:_MOST_LOOKED_UP] if sentences else ():
        wanted = _words_of(row["source"]["quote"])
        number, sentence, words = max(sentences, key=lambda one: len(one[2] & wanted))
        if wanted and 2 * len(words & wanted) >= len(wanted):
            made[row["id"]] = f"the nearest sentence is on page {number}: {' '.join(sentence.split())[:_LONGEST]!r}"
    return made


def _words_of(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))


_FEWEST_LETTERS, _MOST_PLACES = 10, 200
REVIEW = "review"
"""The section that a requirement cites which a person asked for."""


class QuoteIndex:
    """The sources that may be quoted: the pages of the paper, and the user's requests."""

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
        """Return whether these words are part of a user's request."""
        letters = _letters_of(quote)
        return len(letters.encode("utf-8")) >= _FEWEST_LETTERS and letters in self._requests

    def has_address(self, address: str) -> bool:
        """Return whether the paper prints exactly this address, with a path."""
        return re.match(r"https?://[^/]+/", address) is not None and address in self._addresses

    def pages_of(self, text: str) -> set[int]:
        """Return every page that has at least a part of a text, allowing for one wrong letter in twenty."""
        return {page for place in self._places_of(_letters_of(text)) for page in self._pages_between(*place)}

    def section_of(self, text: str, page: int) -> str | None:
        """Return number or title of the section in which a text of a page begins; None for no section."""
        found = [start for start, end in self._places_of(_letters_of(text)) if page in self._pages_between(start, end)]
        place = bisect_right(self._begins, found[0]) - 1 if found else -1
        return self._sections[place] if place >= 0 else None

    def fault(self, row: Mapping[str, Any]) -> str | None:
        """Return why the source of a row is refused, or None. Only letters and digits count."""
        source, said = row["source"], quote_of(row)
        quote = _letters_of(said)
        if source["section"] == REVIEW and source["page"] == 0:
            return None if quote in self._requests else "no request has what it quotes"
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
        """Return start and end of each place of the quote, in letters; of the nearest match where there is none.

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
    """Return letters and digits in one case, so that line breaks, spaces and markup do not matter."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
