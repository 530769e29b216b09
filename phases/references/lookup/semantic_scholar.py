"""Asks Semantic Scholar for a paper, and looks for code in its abstract.

The Graph API (GET /graph/v1/paper/{DOI:…|ARXIV:…} and /graph/v1/paper/search/match?query=TITLE, one paper or 404) has no field
for code: of what it gives (title, authors, year, externalIds, abstract, openAccessPdf, …), only the abstract may name a
repository, and publishers keep some abstracts back. Without a key all users share one limit: one question a second is asked.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from phases.references.lookup.agreement import Record, search_words
from phases.references.lookup.answers import long_text_in, rows_in, text_in, year_in
from phases.references.lookup.papers import Paper, candidates_of
from phases.references.lookup.protocol import Canonical
from phases.references.lookup.questions import Ground, Pace, Questions
from phases.references.values import Candidate, Entry

SERVER = "https://api.semanticscholar.org"
_PACE = Pace(most=1, seconds=1.0)
_FIELDS = "fields=title,year,authors,externalIds,abstract"
_LONGEST_QUESTION = 250


class SemanticScholar:
    """The graph of papers."""

    name = "semanticscholar"

    def __init__(self, ground: Ground, canonical: Canonical, server: str = SERVER) -> None:
        self._questions, self._canonical, self._server = Questions(self.name, _PACE, ground), canonical, server

    def ask(self, entry: Entry) -> list[Candidate]:
        """Repositories that the abstract of the paper names."""
        for question in _questions(entry):
            answer = self._questions.answer(f"{self._server}/graph/v1/paper/{question}", _found)
            if papers := [_paper(row) for row in _rows(answer)]:
                return candidates_of(entry, papers, self.name, self._canonical)
        return []


def _questions(entry: Entry) -> list[str]:
    """By number where there is one, and by title where there is none, or nobody knows it."""
    numbers = [f"DOI:{entry.doi}"] if entry.doi else [f"ARXIV:{entry.arxiv}"] if entry.arxiv else []
    words = search_words(entry.title or "", _LONGEST_QUESTION)
    asked = [f"{quote(number, safe=':/')}?{_FIELDS}" for number in numbers]
    return [*asked, *([f"search/match?query={quote(words, safe='')}&{_FIELDS}"] if words else [])]


def _rows(answer: Any) -> list[dict[str, Any]]:
    """The papers of an answer: a search has a list of them, a number has one."""
    if isinstance(answer, dict) and "data" in answer:
        return rows_in(answer, "data", 5)
    return [answer] if isinstance(answer, dict) and text_in(answer, "title") else []


def _found(answer: Any) -> bool:
    return bool(_rows(answer))


def _paper(row: dict[str, Any]) -> Paper:
    numbers = row.get("externalIds")
    names = tuple(filter(None, (text_in(author, "name", 100) for author in rows_in(row, "authors"))))
    record = Record(
        text_in(row, "title"),
        names,
        year_in(row, "year"),
        text_in(numbers, "DOI", 200),
        text_in(numbers, "ArXiv", 50),
    )
    return Paper(record, (("abstract", long_text_in(row, "abstract")),))
