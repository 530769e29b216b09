"""Asks OpenAlex for a paper, and looks for code in its abstract and among the places where it is.

GET /works/doi:… gives one work, /works?filter=title.search:… several. A work has title, publication_year, authorships, doi,
locations (landing_page_url, pdf_url: publishers and archives, hardly ever a host of code) and abstract_inverted_index, which
has every link of the abstract as one word; it has no field for code. A work by its DOI is free; searches without a key are
few a day, and what is beyond that is answered with 429. An arXiv paper is asked for by its DOI 10.48550/arxiv.….
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from phases.references.lookup.agreement import FoundPaper, search_words
from phases.references.lookup.client import ClientSettings, RateLimit, ServiceClient
from phases.references.lookup.service import (
    Canonical,
    PaperRecord,
    candidates_of,
    long_text_in,
    rows_in,
    text_in,
    words_in,
    year_in,
)
from phases.references.values import Candidate, Entry

OPENALEX_SERVER = "https://api.openalex.org"
_OPENALEX_PACE = RateLimit(most=10, seconds=1.0)
_OPENALEX_FIELDS = "select=id,doi,title,publication_year,authorships,locations,abstract_inverted_index"
_ARXIV = "10.48550/arxiv."
_LONGEST_QUERY = 250
_MOST_WORKS = 5


class OpenAlex:
    """The catalogue of works."""

    name = "openalex"

    def __init__(self, ground: ClientSettings, canonical: Canonical, server: str = OPENALEX_SERVER) -> None:
        self._questions, self._canonical, self._server = (
            ServiceClient(self.name, _OPENALEX_PACE, ground),
            canonical,
            server,
        )

    def ask(self, entry: Entry) -> list[Candidate]:
        """Repositories that the abstract, or a place of the paper, names."""
        for question in _openalex_queries(entry):
            answer = self._questions.answer(f"{self._server}/works{question}", _has_works)
            if papers := [_parse_work(row) for row in _openalex_rows(answer)]:
                return candidates_of(entry, papers, self.name, self._canonical)
        return []


def _openalex_queries(entry: Entry) -> list[str]:
    """By number where there is one, and by title where there is none, or nobody knows it."""
    doi = entry.doi or (f"{_ARXIV}{entry.arxiv}" if entry.arxiv else "")
    words = search_words(entry.title or "", _LONGEST_QUERY)
    asked = [f"/doi:{quote(doi, safe='/')}?{_OPENALEX_FIELDS}"] if doi else []
    if words:
        asked.append(f"?filter=title.search:{quote(words, safe='')}&per_page={_MOST_WORKS}&{_OPENALEX_FIELDS}")
    return asked


def _openalex_rows(answer: Any) -> list[dict[str, Any]]:
    if isinstance(answer, dict) and "results" in answer:
        return rows_in(answer, "results", _MOST_WORKS)
    return [answer] if isinstance(answer, dict) and text_in(answer, "title") else []


def _has_works(answer: Any) -> bool:
    return bool(_openalex_rows(answer))


def _parse_work(row: dict[str, Any]) -> PaperRecord:
    doi = text_in(row, "doi", 300).lower().removeprefix("https://doi.org/")
    arxiv = doi.removeprefix(_ARXIV) if doi.startswith(_ARXIV) else ""
    names = (text_in(authorship.get("author"), "display_name", 100) for authorship in rows_in(row, "authorships"))
    record = FoundPaper(text_in(row, "title"), tuple(filter(None, names)), year_in(row, "publication_year"), doi, arxiv)
    places = "\n".join(
        text_in(place, name) for place in rows_in(row, "locations") for name in ("landing_page_url", "pdf_url")
    )
    return PaperRecord(record, (("abstract", words_in(row, "abstract_inverted_index")), ("place", places)))


SCHOLAR_SERVER = "https://api.semanticscholar.org"
_SCHOLAR_PACE = RateLimit(most=1, seconds=1.0)
_SCHOLAR_FIELDS = "fields=title,year,authors,externalIds,abstract"
_LONGEST_QUESTION = 250


class SemanticScholar:
    """The graph of papers."""

    name = "semanticscholar"

    def __init__(self, ground: ClientSettings, canonical: Canonical, server: str = SCHOLAR_SERVER) -> None:
        self._questions, self._canonical, self._server = (
            ServiceClient(self.name, _SCHOLAR_PACE, ground),
            canonical,
            server,
        )

    def ask(self, entry: Entry) -> list[Candidate]:
        """Repositories that the abstract of the paper names."""
        for question in _scholar_queries(entry):
            answer = self._questions.answer(f"{self._server}/graph/v1/paper/{question}", _has_papers)
            if papers := [_parse_paper(row) for row in _scholar_rows(answer)]:
                return candidates_of(entry, papers, self.name, self._canonical)
        return []


def _scholar_queries(entry: Entry) -> list[str]:
    """By number where there is one, and by title where there is none, or nobody knows it."""
    numbers = [f"DOI:{entry.doi}"] if entry.doi else [f"ARXIV:{entry.arxiv}"] if entry.arxiv else []
    words = search_words(entry.title or "", _LONGEST_QUESTION)
    asked = [f"{quote(number, safe=':/')}?{_SCHOLAR_FIELDS}" for number in numbers]
    return [*asked, *([f"search/match?query={quote(words, safe='')}&{_SCHOLAR_FIELDS}"] if words else [])]


def _scholar_rows(answer: Any) -> list[dict[str, Any]]:
    """The papers of an answer: a search has a list of them, a number has one."""
    if isinstance(answer, dict) and "data" in answer:
        return rows_in(answer, "data", 5)
    return [answer] if isinstance(answer, dict) and text_in(answer, "title") else []


def _has_papers(answer: Any) -> bool:
    return bool(_scholar_rows(answer))


def _parse_paper(row: dict[str, Any]) -> PaperRecord:
    numbers = row.get("externalIds")
    names = tuple(filter(None, (text_in(author, "name", 100) for author in rows_in(row, "authors"))))
    record = FoundPaper(
        text_in(row, "title"),
        names,
        year_in(row, "year"),
        text_in(numbers, "DOI", 200),
        text_in(numbers, "ArXiv", 50),
    )
    return PaperRecord(record, (("abstract", long_text_in(row, "abstract")),))
