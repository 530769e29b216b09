"""Collect the repositories that a paper links: their mentions, their role for the paper, their score."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from phases.references.find.links import is_discussion_page, links_in, repository_key, repository_of
from phases.references.find.own_code import Linked, own_reason, says_builds_on
from phases.references.find.places import PaperPlaces, is_list
from phases.references.find.ranking import Rank
from phases.references.find.text import letters_of, shorten_text
from phases.references.values import BASIS, CITED, FOUND, MENTIONED, OWN, Candidate, Entry, Mention

_BASE = {OWN: 0.9, BASIS: 0.7, CITED: 0.35, MENTIONED: 0.25, FOUND: 0.1}
"""Base score of each role."""
_MOST_MENTIONS = 50
_NOTE = re.compile(r"^\[\^[^\]]{1,12}\]:\s?")


@dataclass
class LinkedRepository:
    """One repository while the paper is read."""

    url: str
    references: list[str] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    own: str | None = None
    candidate: Candidate | None = None
    files: bool = False
    """True if an address leads to its files, and not only to a discussion."""


def repositories_of(
    entries: Sequence[Entry],
    citations: Mapping[str, Sequence[Mention]],
    places: PaperPlaces,
    outline: Mapping[str, Any],
) -> dict[str, LinkedRepository]:
    """Return all repositories that the paper links, by key: from references, text, footnotes and hidden links."""
    found: dict[str, LinkedRepository] = {}
    cited, beside = Cited(citations), []
    for url, start in written_addresses(places, outline):
        anchor = _add_written(found, url, start, places, outline)
        repository = found.get(repository_key(repository_of(url) or ""))
        name = cited.before(anchor, places) if anchor else None
        if repository and name:
            beside.append((repository, name))
    for repository, name in beside:
        if not repository.own and name not in repository.references:  # our code, based on theirs [1], is at …
            repository.references.append(name)
    spelled = {letters_of(key): key for key in found}
    for row in outline.get("links", ())[:MOST]:
        _add_annotation(found, row, outline, spelled)
    for entry in entries:
        for url in entry.repositories:
            _add_reference(found, url, entry, places)
    return found


def add_candidates(found: dict[str, LinkedRepository], candidates: Sequence[Candidate]) -> None:
    """Add the results of lookups."""
    for candidate in candidates:
        repository = _repository_for(found, candidate.url)
        if repository is None:
            continue
        repository.files = True
        if candidate.reference not in repository.references:
            repository.references.append(candidate.reference)
        if repository.candidate is None or repository.candidate.confidence < candidate.confidence:
            repository.candidate = candidate
        repository.mentions.append(Mention(candidate.service, None, 0, 0, shorten_text(candidate.why)))


def row_of(
    repository: LinkedRepository, ranks: Mapping[str, Rank], methods: Mapping[str, str], *, allow_own_code: bool
) -> dict[str, Any]:
    """Return the row of reference.txt for a repository."""
    role, reason = _role_of(repository, ranks)
    best = max((ranks[name].score for name in repository.references if name in ranks), default=0.0)
    in_method = any(mention.section in methods for mention in repository.mentions)
    score = _BASE[role] + (0.1 if role == OWN else 0.3 * best) + 0.05 * in_method
    if role == FOUND and repository.candidate:
        score = 0.6 * repository.candidate.confidence * (0.4 + 0.6 * best)
    if role == MENTIONED and not repository.files:
        # an issue is where people talk about the paper, and no code that it stands on (decision 110)
        score, reason = 0.05, f"{reason}; not fetched: what is linked is a discussion in it"
    left_out = role == OWN and not allow_own_code
    if left_out:
        reason += "; left out, because the task is to write this code (--allow-own-code fetches it)"
    return {
        "url": repository.url,
        "role": role,
        "fetch": not left_out and repository.files,
        "references": list(repository.references),
        "mentions": [mention._asdict() for mention in repository.mentions[:_MOST_MENTIONS]],
        "score": round(min(1.0, max(0.0, score)), 3),
        "why": reason,
    }


def _role_of(repository: LinkedRepository, ranks: Mapping[str, Rank]) -> tuple[str, str]:
    if repository.own:
        return OWN, repository.own
    quotes = [mention.quote for mention in repository.mentions if mention.where in ("text", "footnote", "annotation")]
    quotes += [builds for name in repository.references if name in ranks and (builds := ranks[name].builds)]
    if quote := next((quote for quote in quotes if says_builds_on(quote)), None):
        return BASIS, f'the paper builds on it: "{shorten_text(quote, 160)}"'
    if any(mention.where == "reference" for mention in repository.mentions):
        cited = next((ranks[name].why for name in repository.references if name in ranks), "")
        return CITED, f"linked in a reference{f' ({shorten_text(cited, 160)})' if cited else ''}"
    if repository.candidate and not repository.mentions[1:]:
        return FOUND, f"{repository.candidate.service}: {shorten_text(repository.candidate.why, 200)}"
    mention = repository.mentions[0]
    quote = f': "{shorten_text(mention.quote, 160)}"' if mention.quote else ""
    return MENTIONED, f"linked in the paper ({mention.where}, page {mention.page}){quote}"


def _add_written(
    found: dict[str, LinkedRepository], url: str, start: int, places: PaperPlaces, outline: Mapping[str, Any]
) -> int:
    """Add a printed address; return its place in the prose, that of a footnote's mark for a footnote, or 0."""
    repository = _repository_for(found, url)
    if repository is None:
        return 0
    mark = places.footnote(start)
    where = "reference" if places.in_list(start) else "footnote" if mark else "text"
    mention, carried = places.mention(where, start, start + 1), NoteCarrier()
    sentence, before, after = mention.quote, places.before(start), ""
    if where == "footnote" and mark:
        note = places.text.rfind("\n", 0, start) + 1
        before = _NOTE.sub("", " ".join(places.text[max(note, start - 300) : start].split()))
        carried = find_carrier(places, mark, start)
        if carried.sentence:
            mention = mention._replace(quote=shorten_text(f"{carried.sentence} {before}".strip()))
        sentence = f"{before} {url}"
        if carried.sentence and not before.strip(" :,.("):
            sentence, before = f"{carried.sentence} {url}", places.before(carried.start)
    else:
        after = re.sub(r"^[!-~]+", "", places.after(start + 1)).strip()  # behind the address itself
    repository.mentions.append(mention)
    early = places.is_early(carried.start or start)
    if where != "reference" and not is_discussion_page(url):
        linked = Linked(repository.url, mention.page, sentence, before, early=early, after=after)
        repository.own = repository.own or own_reason(linked, outline)
    repository.files = repository.files or not is_discussion_page(url)
    return {"text": start, "footnote": carried.start, "reference": 0}[where]


def _add_annotation(
    found: dict[str, LinkedRepository], row: Mapping[str, Any], outline: Mapping[str, Any], spelled: Mapping[str, str]
) -> None:
    url = repository_of(row["url"])
    if url is None or (
        repository_key(url) in found
        and any(mention.page == row["page"] for mention in found[repository_key(url)].mentions)
    ):
        return
    if spelled.get(letters_of(url), repository_key(url)) != repository_key(url):
        return  # the text spells the same address with other signs
    repository = _repository_for(found, row["url"])
    if repository is None:
        return
    words = shorten_text(row["text"])
    repository.mentions.append(Mention("annotation", None, row["page"], 0, words))
    linked = Linked(repository.url, row["page"], words, words.partition("http")[0], early=row["page"] == 1)
    if not is_discussion_page(row["url"]):
        repository.own = repository.own or own_reason(linked, outline)
    repository.files = repository.files or not is_discussion_page(row["url"])


def _add_reference(found: dict[str, LinkedRepository], url: str, entry: Entry, places: PaperPlaces) -> None:
    repository = _repository_for(found, url)
    if repository is None:
        return
    repository.files = True
    if entry.id not in repository.references:
        repository.references.append(entry.id)
    if not any(mention.where == "reference" for mention in repository.mentions):
        section = next((candidate for candidate in places.sections if is_list(candidate)), None)
        page = section["page"] if section else 0
        repository.mentions.append(
            Mention("reference", section["id"] if section else None, page, 0, shorten_text(entry.raw))
        )


def _repository_for(found: dict[str, LinkedRepository], url: str) -> LinkedRepository | None:
    canonical = repository_of(url)
    if canonical is None or (repository_key(canonical) not in found and len(found) >= MOST):
        return None
    return found.setdefault(repository_key(canonical), LinkedRepository(canonical))


MOST = 1000
"""Addresses, and links, that are looked at."""
_LONGEST = 300


class _PageLinks(NamedTuple):
    """The links of one page, by the key of their repository and by their letters."""

    by_key: dict[str, str]
    by_letters: dict[str, str]


def written_addresses(places: PaperPlaces, outline: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Written addresses with their places; one that the text spells short is read as the link under it."""
    known = _links_by_page(outline)
    for index, (url, at) in enumerate(links_in(places.text[places.body_start :])):
        if index >= MOST:
            return
        start = places.body_start + at
        links = known.get(places.page(start))
        yield (links and _complete_link(url, places.text[start : start + _LONGEST], links)) or url, start


def _links_by_page(outline: Mapping[str, Any]) -> dict[int, _PageLinks]:
    """Return the link targets that the reader knows of each page."""
    pages: dict[int, _PageLinks] = {}
    for row in outline.get("links", ())[:MOST]:
        if repository := repository_of(row["url"]):
            page = pages.setdefault(row["page"], _PageLinks({}, {}))
            page.by_key.setdefault(repository_key(repository), row["url"])
            page.by_letters.setdefault(letters_of(repository.removeprefix("https://")), row["url"])
    return pages


def _complete_link(url: str, printed: str, links: _PageLinks) -> str | None:
    """Return the page's link that a printed address stands for if the text lost signs of it: opt for pinns is opt_for_pinns."""
    short = repository_of(url) or ""
    least = len(letters_of(short.removeprefix("https://")))
    bare = letters_of(printed).removeprefix("https").removeprefix("http").removeprefix("www")
    for end in range(len(bare), least - 1, -1):
        link = links.by_letters.get(bare[:end])
        if link and repository_key(repository_of(link) or "") != repository_key(short):
            return link
    key = repository_key(short)
    if key in links.by_key:
        return None
    for digits in (1, 2):
        if key[-digits:].isdecimal() and key[:-digits] in links.by_key:
            return links.by_key[key[:-digits]]  # a footnote's mark stands right behind the address
    return None


_OF_CODE = re.compile(r"\b(?:code|implement|release|available|repositor|software)", re.IGNORECASE)
_REACH = 10_000
"""Characters around a footnote in which its mark is looked for."""
_NEAR = 160
"""Maximum number of characters between a citation and the address that it belongs to."""
_MOST = 8


class NoteCarrier(NamedTuple):
    """The sentence with a footnote's mark, and the mark's place; empty if there is none."""

    sentence: str = ""
    start: int = 0


class Cited:
    """Every citation of a paper, by place."""

    def __init__(self, citations: Mapping[str, Iterable[Mention]]) -> None:
        self._places = sorted(
            (mention.start, name)
            for name, mentions in citations.items()
            for mention in mentions
            if mention.where != "reference" and mention.start
        )

    def before(self, at: int, places: PaperPlaces) -> str | None:
        """Return the last reference cited before a place, in the same sentence and close to it."""
        index = bisect_left(self._places, (at, "")) - 1
        if index < 0:
            return None
        start, name = self._places[index]
        near = at - start <= _NEAR and places.sentence(start, start + 1) == places.sentence(at - 1, at)
        return name if near else None


def find_carrier(places: PaperPlaces, mark: str, note: int) -> NoteCarrier:
    """Looked for on the page of the note, and on the one before, where a long note began; one that speaks of code comes first."""
    own = re.escape(mark)
    pattern = re.compile(
        rf"\[\^{own}\](?!:)"  # spelled as a mark it can be nothing else; a raised figure must stand behind a word or a year
        rf"|(?<=[^\W\d_][^\W\d_][.,)’ʼ']){own}(?!\w)|(?<=[0-9]{{4}}\)){own}(?![\w:])|(?<=[^\W\d_][^\W\d_]){own}(?![\w:])"
    )
    page = places.page(note)
    for low, high in (places.page_span(page), places.page_span(page - 1)):
        carrying = [
            NoteCarrier(places.sentence(match.start(), match.end()), match.start())
            for match in islice(pattern.finditer(places.text, max(low, note - _REACH), min(high, note + _REACH)), _MOST)
            if places.footnote(match.start()) is None
        ]
        if of_code := [carrier for carrier in carrying if _OF_CODE.search(carrier.sentence)]:
            return of_code[0]
        if carrying and low <= note < high:
            return carrying[0]
    return NoteCarrier()
