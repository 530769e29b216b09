"""Every place in a paper's text at which a reference is cited, found in one pass over the text for each way of citing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.references.find.cited_names import citations_by_name
from phases.references.find.cited_numbers import citations_by_label, raised_citations
from phases.references.find.entries import label_of
from phases.references.find.places import PaperPlaces
from phases.references.values import Entry, Mention

_MOST_PLACES = 20_000
_MOST_EACH = 200
"""Mentions of one reference that are kept."""


def citations_of(
    entries: Sequence[Entry], text: str, body_start: int, outline: Mapping[str, Any]
) -> dict[str, tuple[Mention, ...]]:
    """Where each reference is cited: by id, in the order of the text. Only what is cited is there."""
    places = PaperPlaces(text, body_start, outline)
    spans: set[tuple[int, int]] = set()
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for name, start, end in _find_citations(entries, places):
        if len(spans) >= _MOST_PLACES:
            break
        spans.add((start, end))
        spots = found.setdefault(name, {})
        if len(spots) < _MOST_EACH:
            spots.setdefault(start, (start, end))
    cache: dict[tuple[int, int], Mention] = {}
    for spots in found.values():
        for span in spots.values():
            if span not in cache:
                where = "footnote" if places.footnote(span[0]) else "text"
                cache[span] = places.mention(where, *span)
    return {
        entry.id: tuple(cache[span] for _, span in sorted(found[entry.id].items()))
        for entry in entries
        if entry.id in found
    }


def _find_citations(entries: Sequence[Entry], places: PaperPlaces) -> Iterator[tuple[str, int, int]]:
    """A list is cited by its labels or, where it prints none, by names; a list without both is counted."""
    by_name = list(citations_by_name(entries, places))
    has_labels = sum(label_of(entry.raw) is not None for entry in entries) * 2 > len(entries)
    if has_labels or len({name for name, _, _ in by_name}) * 3 < len(entries):
        by_label = list(citations_by_label(entries, places))
        yield from by_label
        yield from raised_citations(entries, places, {name for name, _, _ in by_label})
    yield from by_name
