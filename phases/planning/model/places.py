"""Where the words stand that a plan cites: looked up, so that no model is asked; and what becomes of those that stand nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.model.form import SOURCED
from phases.planning.model.plan_change import Row
from phases.planning.model.quote_index import REVIEW, QuoteIndex
from phases.planning.quotes import quote_of
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
    """Whether a row quotes nothing, or what is there."""
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
