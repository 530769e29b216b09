"""Asks OpenAlex for a paper, and looks for code in its abstract and among the places where it is.

GET /works/doi:… gives one work, /works?filter=title.search:… several. A work has title, publication_year, authorships, doi,
locations (landing_page_url, pdf_url: publishers and archives, hardly ever a host of code) and abstract_inverted_index, which
has every link of the abstract as one word; it has no field for code. A work by its DOI is free; searches without a key are
few a day, and what is beyond that is answered with 429. An arXiv paper is asked for by its DOI 10.48550/arxiv.….
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from phases.references.lookup.agreement import Record, search_words
from phases.references.lookup.answers import rows_in, text_in, words_in, year_in
from phases.references.lookup.papers import Paper, candidates_of
from phases.references.lookup.protocol import Canonical
from phases.references.lookup.questions import Ground, Pace, Questions
from phases.references.values import Candidate, Entry

SERVER = "https://api.openalex.org"
_PACE = Pace(most=10, seconds=1.0)
_FIELDS = "select=id,doi,title,publication_year,authorships,locations,abstract_inverted_index"
_ARXIV = "10.48550/arxiv."
_LONGEST_QUESTION = 250
_MOST_WORKS = 5


class OpenAlex:
    """The catalogue of works."""

    name = "openalex"

    def __init__(self, ground: Ground, canonical: Canonical, server: str = SERVER) -> None:
        self._questions, self._canonical, self._server = Questions(self.name, _PACE, ground), canonical, server

    def ask(self, entry: Entry) -> list[Candidate]:
        """Repositories that the abstract, or a place of the paper, names."""
        for question in _questions(entry):
            answer = self._questions.answer(f"{self._server}/works{question}", _found)
            if papers := [_paper(row) for row in _rows(answer)]:
                return candidates_of(entry, papers, self.name, self._canonical)
        return []


def _questions(entry: Entry) -> list[str]:
    """By number where there is one, and by title where there is none, or nobody knows it."""
    doi = entry.doi or (f"{_ARXIV}{entry.arxiv}" if entry.arxiv else "")
    words = search_words(entry.title or "", _LONGEST_QUESTION)
    asked = [f"/doi:{quote(doi, safe='/')}?{_FIELDS}"] if doi else []
    if words:
        asked.append(f"?filter=title.search:{quote(words, safe='')}&per_page={_MOST_WORKS}&{_FIELDS}")
    return asked


def _rows(answer: Any) -> list[dict[str, Any]]:
    if isinstance(answer, dict) and "results" in answer:
        return rows_in(answer, "results", _MOST_WORKS)
    return [answer] if isinstance(answer, dict) and text_in(answer, "title") else []


def _found(answer: Any) -> bool:
    return bool(_rows(answer))


def _paper(row: dict[str, Any]) -> Paper:
    doi = text_in(row, "doi", 300).lower().removeprefix("https://doi.org/")
    arxiv = doi.removeprefix(_ARXIV) if doi.startswith(_ARXIV) else ""
    names = (text_in(authorship.get("author"), "display_name", 100) for authorship in rows_in(row, "authorships"))
    record = Record(text_in(row, "title"), tuple(filter(None, names)), year_in(row, "publication_year"), doi, arxiv)
    places = "\n".join(
        text_in(place, name) for place in rows_in(row, "locations") for name in ("landing_page_url", "pdf_url")
    )
    return Paper(record, (("abstract", words_in(row, "abstract_inverted_index")), ("place", places)))
