"""Asks GitHub for repositories whose name and description say that they belong to a paper.

The search (GET /search/repositories, without a key: 10 questions a minute, at most 256 characters) gives html_url, name,
owner.login, description, homepage, created_at and fork. It also finds words in a README, but does not show the README: what is
believed is what name, description and homepage say, and as a repository says that of itself, never quite.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from phases.references.find.links import repository_of
from phases.references.lookup.agreement import confirmation_weight, family_name, search_words, squeeze_text, title_words
from phases.references.lookup.client import ClientSettings, RateLimit, ServiceClient
from phases.references.lookup.service import best_candidates, rows_in, text_in, year_in
from phases.references.values import Candidate, Entry

SERVER = "https://api.github.com"
_PACE = RateLimit(most=10, seconds=60)
_LONGEST_QUESTION = 200
_MOST_REPOSITORIES = 10
_SELF_SAID = 0.9
_NAMED_AFTER = 0.8
"""Of a title that agrees: its head is the repository's name, and an author is its owner."""
_SCATTERED = 0.75
"""Of a title whose words are all there, but not together."""
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
        """Repositories that say they belong to the paper."""
        words = search_words(entry.title or "", _LONGEST_QUESTION)
        if not words:
            return []
        query = quote(f"{words} in:name,description,readme", safe="")
        url = f"{self._server}/search/repositories?q={query}&per_page={_MOST_REPOSITORIES}"
        answer = self._questions.answer(url, lambda value: bool(rows_in(value, "items")))
        rows = rows_in(answer, "items", _MOST_REPOSITORIES)
        return best_candidates([candidate for row in rows if (candidate := self._judged(entry, row))])

    def _judged(self, entry: Entry, row: dict[str, Any]) -> Candidate | None:
        address = repository_of(text_in(row, "html_url", 300))
        if not address or row.get("fork") is True:
            return None
        name, said = text_in(row, "name", 100), text_in(row, "description")
        owner = _is_author(entry, text_in(row.get("owner"), "login", 100))
        title = _title_score(entry, name, f"{said} {text_in(row, 'homepage')}", owner)
        began = year_in(row, "created_at")
        confidence = round(
            _SELF_SAID * title * confirmation_weight(1.0 if owner else None, _year_score(entry.year, began)), 3
        )
        why = f"GitHub's search: its name and description agree with the title to {title:.0%}"
        why += ", its owner has an author's name" if owner else ""
        return Candidate(entry.id, address, self.name, f"{why}, started {began or 'nobody knows when'}", confidence)


def _title_score(entry: Entry, name: str, said: str, owner: bool) -> float:
    """How much of the title the repository says: all of it where it names the paper's number."""
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
    """Whether the owner's name has an author's family name in it; short ones are in too many words."""
    owner = squeeze_text(login)
    families = {family_name(spelt) for author in entry.authors for spelt in (author, author.translate(_SPELT_OUT))}
    return any(len(family) > _SHORTEST_NAME and family in owner for family in families)


def _year_score(published: int | None, began: int | None) -> float | None:
    if published is None or began is None:
        return None
    return _YEARS.get(began - published, _LATER if began > published else _EARLIER)
