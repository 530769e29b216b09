"""Values shared by finding, looking up and ranking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

OWN, BASIS, CITED, MENTIONED, FOUND = "own", "basis", "cited", "mentioned", "found"
"""Role of a repository: the paper's own code; code that it builds on; linked in a reference or elsewhere; found by a lookup."""


NO_NETWORK, BLACKLISTED = "no_network", "blacklist"
"""The cause where the host of a repository could not be found or reached."""
_LASTING = ("bitbucket.org", "codeberg.org", "github.com", "gitlab.com", "huggingface.co")
"""Hosts that always exist: if one of them is not found, the network is missing."""


class Entry(NamedTuple):
    """One reference, taken apart. What is not known is None or empty; `raw` is the reference as the paper prints it."""

    id: str
    raw: str
    title: str | None = None
    authors: tuple[str, ...] = ()
    """As the reference spells them, in its order."""
    year: int | None = None
    venue: str | None = None
    doi: str | None = None
    """Without https://doi.org/, in lower case."""
    arxiv: str | None = None
    """Without version."""
    url: str | None = None
    repositories: tuple[str, ...] = ()
    """Canonical addresses of repositories that the reference links."""


class Mention(NamedTuple):
    """One place where the paper names a reference or a repository."""

    where: str
    """text, footnote, annotation (a link without visible address), reference, or the name of a lookup."""
    section: str | None
    """The id of the section in outline.json."""
    page: int
    start: int
    """Character of paper.md; 0 if it is not in the text."""
    quote: str
    """The sentence around it, on one line, at most 300 characters."""


class Candidate(NamedTuple):
    """A repository that a lookup suggests for a reference."""

    reference: str
    """The id of the entry."""
    url: str
    service: str
    why: str
    """The matching record and its agreement, in words."""
    confidence: float
    """0 to 1, computed from how well title, authors and year agree."""


def count_fetched(code_base: Mapping[str, Any]) -> str:
    """Return a summary of code_base.json: how many repositories were fetched, and a reason that all others share."""
    had, refused = len(code_base["repositories"]), code_base["refused"]
    if not had + len(refused):
        return ""
    forbidden = sum(row.get("cause") == BLACKLISTED for row in refused)
    reason = f" ({forbidden} on your blacklist)" if forbidden else ""
    if refused and all(row.get("cause") == NO_NETWORK for row in refused):
        hosts = {row["url"].split("/")[2] for row in refused}
        reason = " (no network)" if len(hosts) > 1 or hosts & {*_LASTING} else " (no such host)"
    return f"{had} of {had + len(refused)} fetched{reason}"
