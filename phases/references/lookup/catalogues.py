"""Asks OpenAlex and Semantic Scholar for a paper, and looks for code in its abstract and among the places where it is.

OpenAlex: /works/doi:… gives one work, /works?filter=title.search:… several. A work has title, publication_year, authorships, doi,
locations (landing_page_url, pdf_url: publishers and archives, hardly ever a host of code) and abstract_inverted_index, which
has every link of the abstract as one word; it has no field for code. A work by its DOI is free; searches without a key are
few a day, and what is beyond that is answered with 429. An arXiv paper is asked for by its DOI 10.48550/arxiv.….

Semantic Scholar: /graph/v1/paper/DOI:… or ARXIV:… gives one paper, /search/match a list of the nearest one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from phases.references.lookup.agreement import FoundPaper, search_words
from phases.references.lookup.client import ClientSettings, RateLimit, ServiceClient
from phases.references.lookup.service import (
    PaperRecord,
    candidates_of,
    long_text_in,
    rows_in,
    text_in,
    words_in,
    year_in,
)
from phases.references.values import Candidate, Entry

_ARXIV = "10.48550/arxiv."
_LONGEST_QUERY = 250
_MOST_PAPERS = 5
_WORK_FIELDS = "select=id,doi,title,publication_year,authorships,locations,abstract_inverted_index"
_PAPER_FIELDS = "fields=title,year,authors,externalIds,abstract"


class Catalogue(NamedTuple):
    """A service that knows papers: how it is asked, and how its answers are read."""

    name: str
    server: str
    pace: RateLimit
    list_key: str
    """Where an answer to a search has its papers; an answer to a number is one paper itself."""
    list_questions: Callable[[Entry], list[str]]
    """By number where there is one, and by title where there is none, or nobody knows it."""
    parse_paper: Callable[[dict[str, Any]], PaperRecord]

    def papers_in(self, answer: Any) -> list[dict[str, Any]]:
        """The papers of an answer."""
        if isinstance(answer, dict) and self.list_key in answer:
            return rows_in(answer, self.list_key, _MOST_PAPERS)
        return [answer] if isinstance(answer, dict) and text_in(answer, "title") else []


class CatalogueLookup:
    """The questions to one catalogue."""

    def __init__(self, catalogue: Catalogue, ground: ClientSettings, server: str = "") -> None:
        self.name = catalogue.name
        self._catalogue, self._server = catalogue, server or catalogue.server
        self._questions = ServiceClient(catalogue.name, catalogue.pace, ground)

    def ask(self, entry: Entry) -> list[Candidate]:
        """Repositories that the abstract, or a place of the paper, names."""
        for question in self._catalogue.list_questions(entry):
            url = f"{self._server}/{question}"
            answer = self._questions.answer(url, lambda value: bool(self._catalogue.papers_in(value)))
            if papers := [self._catalogue.parse_paper(row) for row in self._catalogue.papers_in(answer)]:
                return candidates_of(entry, papers, self.name)
        return []


def _list_work_questions(entry: Entry) -> list[str]:
    doi = entry.doi or (f"{_ARXIV}{entry.arxiv}" if entry.arxiv else "")
    words = search_words(entry.title or "", _LONGEST_QUERY)
    asked = [f"works/doi:{quote(doi, safe='/')}?{_WORK_FIELDS}"] if doi else []
    if words:
        asked.append(f"works?filter=title.search:{quote(words, safe='')}&per_page={_MOST_PAPERS}&{_WORK_FIELDS}")
    return asked


def _parse_work(row: dict[str, Any]) -> PaperRecord:
    doi = text_in(row, "doi", 300).lower().removeprefix("https://doi.org/")
    arxiv = doi.removeprefix(_ARXIV) if doi.startswith(_ARXIV) else ""
    names = (text_in(authorship.get("author"), "display_name", 100) for authorship in rows_in(row, "authorships"))
    record = FoundPaper(text_in(row, "title"), tuple(filter(None, names)), year_in(row, "publication_year"), doi, arxiv)
    places = "\n".join(
        text_in(place, name) for place in rows_in(row, "locations") for name in ("landing_page_url", "pdf_url")
    )
    return PaperRecord(record, (("abstract", words_in(row, "abstract_inverted_index")), ("place", places)))


def _list_paper_questions(entry: Entry) -> list[str]:
    number = f"DOI:{entry.doi}" if entry.doi else f"ARXIV:{entry.arxiv}" if entry.arxiv else ""
    words = search_words(entry.title or "", _LONGEST_QUERY)
    asked = [f"{quote(number, safe=':/')}?{_PAPER_FIELDS}"] if number else []
    asked += [f"search/match?query={quote(words, safe='')}&{_PAPER_FIELDS}"] if words else []
    return [f"graph/v1/paper/{question}" for question in asked]


def _parse_paper(row: dict[str, Any]) -> PaperRecord:
    numbers = row.get("externalIds")
    names = tuple(filter(None, (text_in(author, "name", 100) for author in rows_in(row, "authors"))))
    doi, arxiv = text_in(numbers, "DOI", 200), text_in(numbers, "ArXiv", 50)
    record = FoundPaper(text_in(row, "title"), names, year_in(row, "year"), doi, arxiv)
    return PaperRecord(record, (("abstract", long_text_in(row, "abstract")),))


OPENALEX = Catalogue(
    "openalex", "https://api.openalex.org", RateLimit(10, 1.0), "results", _list_work_questions, _parse_work
)
SEMANTIC_SCHOLAR = Catalogue(
    "semanticscholar", "https://api.semanticscholar.org", RateLimit(1, 1.0), "data", _list_paper_questions, _parse_paper
)
