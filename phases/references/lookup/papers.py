"""Turns a service's records of papers into candidates: of a paper that agrees, the repositories that its record names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from phases.references.lookup.agreement import Record, agreement
from phases.references.lookup.answers import repositories_in
from phases.references.lookup.protocol import Canonical, best
from phases.references.values import Candidate, Entry


class Paper(NamedTuple):
    """One record, and the texts of it that may name code: what they are, and what they say."""

    record: Record
    texts: tuple[tuple[str, str], ...]


def candidates_of(entry: Entry, papers: Sequence[Paper], service: str, canonical: Canonical) -> list[Candidate]:
    """The repositories that the records of this very paper name."""
    found = []
    for paper in papers:
        agrees = agreement(entry, paper.record)
        for what, text in paper.texts:
            for address in repositories_in(text, canonical):
                why = f"{service}: the {what} of {paper.record.title!r} names it; {agrees.why}"
                found.append(Candidate(entry.id, address, service, why, agrees.confidence))
    return best(found)
