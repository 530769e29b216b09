"""Which repository is the paper's own: only where the paper says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from phases.reference.find.authors import surname
from phases.reference.find.phrases import says_available, says_others, says_ours
from phases.reference.find.wording import cut, letters


class Linked(NamedTuple):
    """A repository's address where the paper gives it, with the words around it."""

    repository: str
    page: int
    sentence: str
    """The sentence, or the footnote, that holds the address."""
    before: str
    """The part of it before the address."""
    early: bool
    """On the first page, in the abstract, or in a footnote of either."""


def own_reason(linked: Linked, outline: Mapping[str, Any]) -> str | None:
    """Why the repository is the paper's own, in words for a person; None where nothing says so."""
    said = f'"{cut(linked.sentence, 160)}"'
    owner, name = linked.repository.split("/")[-2:]
    author = _author(owner, outline)
    if says_ours(linked.before) and not _others_before(linked):
        return f"the paper calls it its own: {said}"
    others = says_others(linked.sentence)
    available = says_available(linked.before)
    if available and _names_the_paper(linked.before, outline) and not _others_before(linked):
        return f"it is said to hold the code of what the title names: {said}"
    if available and not others:
        if linked.early:
            return f"the paper's first page says where its code is: {said}"
        if author:
            return f"its owner bears the name of the author {author}: {said}"
    if linked.early and not others and _in_title(name, outline):
        return f"the first page links it, and it bears the name in the paper's title: {said}"
    return None


def _others_before(linked: Linked) -> bool:
    """Whether what stands before the address speaks of others' code: our code builds on theirs (address)."""
    return re.search(
        r"\b(?:based|built)\s(?:up)?on\b|\bbuilds?\s(?:up)?on\b|\badapt\w+\sfrom\b|\bforked\sfrom\b", linked.before
    ) is not None or (re.search(r"\b(?:et al|official|original|their)\b", linked.before) is not None)


def _author(owner: str, outline: Mapping[str, Any]) -> str | None:
    """The author whose surname the owner's name holds."""
    key = letters(owner)
    for author in outline.get("authors", ())[:60]:
        last = surname(author)
        if len(last) >= 4 and last in key:
            return str(author)
    return None


def _names_the_paper(before: str, outline: Mapping[str, Any]) -> bool:
    """`The source code of RICE can be found in`: whether what has the code is a name in the title."""
    named = re.search(r"\b(?:code|implementation|repository)\s(?:of|for)\s(?:the\s)?([A-Z][\w+*-]{1,40})", before)
    return named is not None and _in_title(named.group(1), outline)


def _in_title(name: str, outline: Mapping[str, Any]) -> bool:
    words = {letters(word) for word in re.findall(r"[\w+*-]+", str(outline.get("title") or "")[:500])}
    return len(letters(name)) >= 4 and letters(name) in words
