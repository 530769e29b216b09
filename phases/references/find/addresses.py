"""The addresses of repositories that a text prints, each as whole as the link under it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from phases.references.find.links import links_in, repository_of, same
from phases.references.find.places import Places
from phases.references.find.wording import letters

MOST = 1000
"""Addresses, and links, that are looked at."""
_LONGEST = 300


class _Known(NamedTuple):
    """The links of one page, by the key of their repository and by their letters."""

    by_key: dict[str, str]
    by_letters: dict[str, str]


def written(places: Places, outline: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Written addresses with their places; one that the text spells short is read as the link under it."""
    known = _links(outline)
    for index, (url, at) in enumerate(links_in(places.text[places.body_start :])):
        if index >= MOST:
            return
        start = places.body_start + at
        links = known.get(places.page(start))
        yield (links and _whole(url, places.text[start : start + _LONGEST], links)) or url, start


def _links(outline: Mapping[str, Any]) -> dict[int, _Known]:
    """The addresses that the reader knows of each page, whole as a click would open them."""
    found: dict[int, _Known] = {}
    for row in outline.get("links", ())[:MOST]:
        if repository := repository_of(row["url"]):
            page = found.setdefault(row["page"], _Known({}, {}))
            page.by_key.setdefault(same(repository), row["url"])
            page.by_letters.setdefault(letters(repository.removeprefix("https://")), row["url"])
    return found


def _whole(url: str, printed: str, links: _Known) -> str | None:
    """The link that the page prints here, though its text lost signs of it: opt for pinns is opt_for_pinns."""
    short = repository_of(url) or ""
    least = len(letters(short.removeprefix("https://")))
    bare = letters(printed).removeprefix("https").removeprefix("http").removeprefix("www")
    for end in range(len(bare), least - 1, -1):
        link = links.by_letters.get(bare[:end])
        if link and same(repository_of(link) or "") != same(short):
            return link
    key = same(short)
    if key in links.by_key:
        return None
    for digits in (1, 2):
        if key[-digits:].isdecimal() and key[:-digits] in links.by_key:
            return links.by_key[key[:-digits]]  # a footnote's mark stands right behind the address
    return None
