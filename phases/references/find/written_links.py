"""The addresses of repositories that a text prints, each as whole as the link under it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from phases.references.find.links import links_in, repository_key, repository_of
from phases.references.find.places import PaperPlaces
from phases.references.find.text import letters_of

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
    """The addresses that the reader knows of each page, whole as a click would open them."""
    found: dict[int, _PageLinks] = {}
    for row in outline.get("links", ())[:MOST]:
        if repository := repository_of(row["url"]):
            page = found.setdefault(row["page"], _PageLinks({}, {}))
            page.by_key.setdefault(repository_key(repository), row["url"])
            page.by_letters.setdefault(letters_of(repository.removeprefix("https://")), row["url"])
    return found


def _complete_link(url: str, printed: str, links: _PageLinks) -> str | None:
    """The link that the page prints here, though its text lost signs of it: opt for pinns is opt_for_pinns."""
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
