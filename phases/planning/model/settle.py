"""What is put right in a model's plan without asking it again, and what of that the reviewer is told."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.model.plan_validation import NAMED, QUOTED, count_faults
from phases.planning.model.quote_index import REVIEW, QuoteIndex
from phases.planning.plan_words import write_ids
from phases.planning.rules import quote_start, sentences_of

Row = Mapping[str, Any]
_FEW = 20
_MOST_LOOKED_UP, _LONGEST = 40, 300
_FORMULA = re.compile(r"\$[^$]{0,2000}\$")
_FEWEST_LETTERS = 10
PLACED = (*QUOTED, *NAMED)
"""The lists of a plan whose rows have a source."""


def find_places(plan: dict[str, Any], cited: QuoteIndex, present: Row | None = None) -> dict[str, Any]:
    """The plan with page and section of each quote where they are not told, and the right page where a quote stands on one other.

    Where words stand is known, so nobody is asked. A requirement in the paper's words quotes how it begins.
    """
    if any(count_faults(plan)):
        return plan  # it goes back, and so many words are not looked up
    kept = {name: list((present or {}).get(name, ())) for name in PLACED}
    lists = {
        name: [row if row in kept[name] else _with_place(row, cited) for row in plan[name]]
        for name in PLACED
        if name in plan
    }
    return {**plan, **lists}


def _with_place(row: dict[str, Any], cited: QuoteIndex) -> dict[str, Any]:
    source = row["source"]
    if source["section"] == REVIEW:
        return row
    if not source["quote"] and row.get("status") == "stated" and "text" in row and _stands(row["text"], cited):
        source = {**source, "quote": quote_start(row["text"])}
    said = source["quote"] or row.get("text", "")
    if source["section"] is None and "text" in row and not cited.pages_of(said) and cited.is_asked_for(said):
        return {**row, "source": {**source, "section": REVIEW, "page": 0, "quote": said}}
    if not source["quote"]:
        return row
    pages = cited.closest_pages_of(source["quote"])
    if source["page"] not in pages and (len(pages) == 1 or (pages and not source["page"])):
        source = {**source, "page": min(pages)}
    if source["section"] is None:
        source = {**source, "section": cited.section_of(source["quote"], source["page"])}
    return {**row, "source": source}


def settle_plan(plan: dict[str, Any], cited: QuoteIndex, found: Row, present: Row | None = None) -> dict[str, Any]:
    """The plan with what its model may not claim taken back, and told in `uncertain`.

    A requirement in a model's own words is inferred; a name loses a quote that the paper does not have. `found` is what the
    rules read in the paper. What stands so in the present plan is left as it is.
    """
    if plan["plan_version"] == 1:
        return plan
    before = present or {}
    own = [
        row for row in plan["requirements"] if row not in before.get("requirements", ()) and _is_reworded(row, cited)
    ]
    made = {
        **plan,
        "requirements": [{**row, "status": "inferred"} if row in own else row for row in plan["requirements"]],
    }
    lost: list[str] = []
    for name in NAMED:
        wrong = [row for row in plan[name] if row not in before.get(name, ()) and _why_lost(row, cited)]
        made[name] = [_without_words(row, cited) if row in wrong else row for row in plan[name]]
        lost += [str(row.get("id") or row["name"]) for row in wrong]
    told = [*_reworded_doubts(own), *_lost_doubts(lost), *_repeated_doubts(plan), *_few_doubts(plan, found)]
    new = [row for row in told if row not in plan["uncertain"]]
    return {**made, "uncertain": [*plan["uncertain"], *new]} if new else made


def _is_reworded(row: Row, cited: QuoteIndex) -> bool:
    """Whether a requirement that the paper is said to state is not in its words; how formulas are written is nobody's concern."""
    text = row["text"]
    if row["status"] != "stated" or row["source"]["section"] == REVIEW or _stands(text, cited):
        return False
    parts = [part for part in _FORMULA.split(text) if sum(map(str.isalnum, part)) >= _FEWEST_LETTERS]
    return not parts or not all(_stands(part, cited) for part in parts)


def _stands(text: str, cited: QuoteIndex) -> bool:
    """Whether a text begins and ends in words of the paper."""
    return bool(cited.pages_of(text[:_LONGEST]) and cited.pages_of(text[-_LONGEST:]))


def _why_lost(row: Row, cited: QuoteIndex) -> bool:
    source = row["source"]
    if source["section"] == REVIEW or not source["quote"]:
        return False
    return source["page"] not in cited.pages_of(source["quote"])


def _without_words(row: Row, cited: QuoteIndex) -> dict[str, Any]:
    """The row with the page of its quote, or without a quote that is on none."""
    source = row["source"]
    pages = cited.pages_of(source["quote"])
    page = min(pages, default=source["page"] if cited.has_page(source["page"]) else 0)
    return {**row, "source": {**source, "page": page, "quote": source["quote"] if pages else ""}}


def _reworded_doubts(rows: Sequence[Row]) -> Iterator[dict[str, str]]:
    if rows:
        yield {
            "about": ", ".join(row["id"] for row in rows),
            "what": "These requirements are in the model's words and not the paper's, and so are marked as inferred: do they say "
            "what their quotes say?",
        }


def _lost_doubts(names: Sequence[str]) -> Iterator[dict[str, str]]:
    if names:
        yield {
            "what": f"The words that the model quoted are not where it says: {', '.join(names)}. Are they of this paper?"
        }


def _repeated_doubts(plan: Row) -> Iterator[dict[str, str]]:
    alike: dict[str, list[str]] = defaultdict(list)
    for row in plan["requirements"]:
        alike[" ".join(row["text"].casefold().split())].append(row["id"])
    again = [ids for ids in alike.values() if len(ids) > 1]
    if again:
        said = "; ".join(write_ids(ids) for ids in again[:8])
        yield {"what": f"These requirements say the same: {said}. Strike all but one."}


def _few_doubts(plan: Row, found: Row) -> Iterator[dict[str, str]]:
    count, others = len(plan["requirements"]), len(found.get("requirements", ()))
    if count < _FEW and others >= 2 * count:
        yield {"what": f"The model gives {count} requirements, and rules find {others} in the paper: what is missing?"}


def nearest_sentences(rows: Sequence[Row], pages: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Id of a row -> the sentence of the paper that has most of the words that it quotes, with its page, where one has half."""
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
            made[row["id"]] = f"nearest to it is on page {number}: {' '.join(sentence.split())[:_LONGEST]!r}"
    return made


def _words_of(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))
