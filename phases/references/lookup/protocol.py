"""What a lookup is: an entry in, the repositories that a service has for it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from phases.references.values import Candidate, Entry
from pipeline.base.errors import PipelineError

LEAST_CONFIDENCE = 0.6
"""What is less sure than this is not given at all."""
MOST_CANDIDATES = 3
"""So many for one entry, from one service."""
Canonical = Callable[[str], str | None]
"""The one spelling of a repository's address; None for what is no repository."""


class NoAnswer(PipelineError):
    """A service that gave no answer; the text says why, in words for a person."""


class Lookup(Protocol):
    """A service that is asked."""

    name: str
    """As in the setting, and in the document."""

    def ask(self, entry: Entry) -> list[Candidate]:
        """The likeliest first, and none below LEAST_CONFIDENCE. Raises NoAnswer."""
        ...


def best(candidates: list[Candidate]) -> list[Candidate]:
    """The likeliest candidates that are sure enough, each repository once."""
    first: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: (-candidate.confidence, candidate.url)):
        if candidate.confidence >= LEAST_CONFIDENCE:
            first.setdefault(candidate.url, candidate)
    return list(first.values())[:MOST_CANDIDATES]
