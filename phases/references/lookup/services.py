"""Open the services that a setting names, and ask them which repositories belong to references.

GitHub: GET /search/repositories, without a key 10 questions a minute of at most 256 characters, gives html_url, name,
owner.login, description, homepage, created_at and fork. It also finds words in a README and does not show it; only name,
description and homepage count, and as a repository says that of itself, never fully.

OpenAlex: /works/doi:… gives one work, /works?filter=title.search:… several, with title, publication_year, authorships, doi,
locations and abstract_inverted_index, which has every link of the abstract as one word. Searches without a key are few a day;
after that, 429. An arXiv paper has the DOI 10.48550/arxiv.….

Semantic Scholar: /graph/v1/paper/DOI:… or ARXIV:… gives one paper, /search/match a list of the nearest one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from phases.references.find.links import repository_of
from phases.references.lookup.candidates import (
    FoundPaper,
    Lookup,
    NoServiceAnswer,
    PaperRecord,
    best_candidates,
    candidates_of,
    confirmation_weight,
    family_name,
    long_text_in,
    rows_in,
    search_words,
    squeeze_text,
    text_in,
    title_words,
    words_in,
    year_in,
)
from phases.references.lookup.client import ClientSettings, RateLimit, ServiceClient
from phases.references.values import Candidate, Entry
from pipeline.base.errors import UsageError
from pipeline.base.http.proxy import Proxy
from pipeline.base.logs import logger

OFF = "off"


def open_lookups(
    setting: str,
    *,
    cache: str,
    private: bool = False,
    servers: Mapping[str, str] = {},
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
    blacklist: str = "",
    proxy: Proxy | None = None,
) -> list[Lookup]:
    """Open the services of a setting like "github,openalex", in its order; none for "" and "off".

    Nothing is requested or read yet; the setting is only checked. `servers` gives other addresses for services. Raises
    UsageError.
    """
    ground = ClientSettings(cache, private, sleep, clock, blacklist, proxy)
    opened: dict[str, Lookup] = {}
    for name in filter(None, map(str.strip, setting.split(","))):
        if name in _SERVICES:
            more = (servers[name].rstrip("/"),) if name in servers else ()
            opened[name] = _SERVICES[name](ground, *more)
        elif setting.strip() != OFF:
            near = get_close_matches(name, _SERVICES, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(f"there is no lookup {name[:100]!r}; {meant}known: {', '.join(_SERVICES)}, or off")
    return list(opened.values())


_MOST_FAILURES = 2


def look_up(
    entries: Sequence[Entry], lookups: Sequence[Lookup], *, most: int = 40
) -> tuple[list[Candidate], list[dict[str, Any]]]:
    """Return the candidates of all services, and a row for each service: service, asked, found, and why it failed.

    Only the first `most` entries without a repository, with a title or a number, are asked for, so the most likely should come
    first. A service that fails twice in a row is not asked again.
    """
    open_ones = [e for e in entries if not e.repositories and (e.title or e.doi or e.arxiv)]
    candidates, rows = [], []
    for lookup in lookups:
        service_candidates, row = _ask_service(lookup, open_ones[:most])
        if len(open_ones) > most:
            row["why"] = "; ".join(
                filter(None, [row["why"], f"only the first {most} of {len(open_ones)} were to be asked"])
            )
        logger.info("{}: asked {}, found {} {}", row["service"], row["asked"], row["found"], row["why"])
        for candidate in service_candidates:
            logger.debug("{} for {}: {} ({})", candidate.url, candidate.reference, candidate.confidence, candidate.why)
        candidates += service_candidates
        rows.append(row)
    return candidates, rows


def _ask_service(lookup: Lookup, entries: Sequence[Entry]) -> tuple[list[Candidate], dict[str, Any]]:
    """Ask one service. `asked` includes questions without an answer."""
    candidates: list[Candidate] = []
    failed, in_a_row, asked, why = 0, 0, 0, ""
    for entry in entries:
        asked += 1
        try:
            candidates += lookup.ask(entry)
            in_a_row = 0
        except NoServiceAnswer as error:
            failed, in_a_row, why = failed + 1, in_a_row + 1, str(error)
            if in_a_row == _MOST_FAILURES:
                break
    if failed:
        left = len(entries) - asked
        why = f"{failed} of {asked} questions had no answer; the last: {why}"
        why += f"; {left} more were not asked" if left else ""
    return candidates, {"service": lookup.name, "asked": asked, "found": len(candidates), "why": why}


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
    """Key of the list of papers in a search answer; the answer to an identifier is one paper."""
    list_questions: Callable[[Entry], list[str]]
    """By identifier, and by title for entries without one or with an unknown one."""
    parse_paper: Callable[[dict[str, Any]], PaperRecord]

    def papers_in(self, answer: Any) -> list[dict[str, Any]]:
        """Return the papers of an answer."""
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
        """Return repositories that the paper's abstract or one of its locations names."""
        for question in self._catalogue.list_questions(entry):
            url = f"{self._server}/{question}"
            answer = self._questions.answer(url, lambda value: bool(self._catalogue.papers_in(value)))
            if papers := [self._catalogue.parse_paper(paper) for paper in self._catalogue.papers_in(answer)]:
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


SERVER = "https://api.github.com"
_PACE = RateLimit(most=10, seconds=60)
_LONGEST_QUESTION = 200
_MOST_REPOSITORIES = 10
_SELF_SAID = 0.9
_NAMED_AFTER = 0.8
"""Title score if the title's head is the repository's name and an author is its owner."""
_SCATTERED = 0.75
"""Factor for a title whose words are all there, but not together."""
_FEW_WORDS = 3
_SHORTEST_NAME = 3
_SHARPNESS = 3
_YEARS = {-1: 1.0, 0: 1.0, 1: 1.0, 2: 0.8}
_LATER, _EARLIER = 0.5, 0.1
_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "å": "aa"})
"""Names of accounts are ASCII: some write Kühn as kuhn there, and some as kuehn."""


class GitHub:
    """The search for repositories."""

    name = "github"

    def __init__(self, ground: ClientSettings, server: str = SERVER) -> None:
        self._questions, self._server = ServiceClient(self.name, _PACE, ground), server

    def ask(self, entry: Entry) -> list[Candidate]:
        """Return repositories that claim to belong to the paper."""
        words = search_words(entry.title or "", _LONGEST_QUESTION)
        if not words:
            return []
        query = quote(f"{words} in:name,description,readme", safe="")
        url = f"{self._server}/search/repositories?q={query}&per_page={_MOST_REPOSITORIES}"
        answer = self._questions.answer(url, lambda value: bool(rows_in(value, "items")))
        rows = rows_in(answer, "items", _MOST_REPOSITORIES)
        return best_candidates([candidate for item in rows if (candidate := self._judged(entry, item))])

    def _judged(self, entry: Entry, row: dict[str, Any]) -> Candidate | None:
        address = repository_of(text_in(row, "html_url", 300))
        if not address or row.get("fork") is True:
            return None
        name, description = text_in(row, "name", 100), text_in(row, "description")
        owner = _is_author(entry, text_in(row.get("owner"), "login", 100))
        title = _title_score(entry, name, f"{description} {text_in(row, 'homepage')}", owner)
        began = year_in(row, "created_at")
        confidence = round(
            _SELF_SAID * title * confirmation_weight(1.0 if owner else None, _year_score(entry.year, began)), 3
        )
        why = f"GitHub's search: its name and description agree with the title to {title:.0%}"
        why += ", its owner has an author's name" if owner else ""
        return Candidate(entry.id, address, self.name, f"{why}, started {began or 'at an unknown date'}", confidence)


def _title_score(entry: Entry, name: str, said: str, owner: bool) -> float:
    """Return how much of the title the repository states; all of it if it names the paper's number."""
    if entry.arxiv and entry.arxiv in said:
        return 1.0
    wanted = title_words(entry.title or "")
    head = squeeze_text((entry.title or "").partition(":")[0]) if ":" in (entry.title or "") else ""
    named_after = owner and len(head) >= _SHORTEST_NAME and head == squeeze_text(name)
    share = len(wanted & title_words(f"{name} {said}")) / len(wanted) if wanted else 0.0
    if len(wanted) < _FEW_WORDS and not owner:
        return min(share, 0.5)
    together = squeeze_text(entry.title or "") in squeeze_text(said) or squeeze_text(entry.title or "") == squeeze_text(
        name
    )
    return 1.0 if wanted and together else max(_SCATTERED * share**_SHARPNESS, _NAMED_AFTER if named_after else 0.0)


def _is_author(entry: Entry, login: str) -> bool:
    """Return whether the owner's name contains an author's family name of more than three letters."""
    owner = squeeze_text(login)
    families = {family_name(spelt) for author in entry.authors for spelt in (author, author.translate(_SPELT_OUT))}
    return any(len(family) > _SHORTEST_NAME and family in owner for family in families)


def _year_score(published: int | None, began: int | None) -> float | None:
    if published is None or began is None:
        return None
    return _YEARS.get(began - published, _LATER if began > published else _EARLIER)


_SERVICES: dict[str, Callable[..., Lookup]] = {
    GitHub.name: GitHub,
    OPENALEX.name: partial(CatalogueLookup, OPENALEX),
    SEMANTIC_SCHOLAR.name: partial(CatalogueLookup, SEMANTIC_SCHOLAR),
}
