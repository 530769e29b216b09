"""Build reference.txt by rules: what a paper refers to, most promising first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.references.find.citations import citations_of
from phases.references.find.entries import entries_of
from phases.references.find.places import PaperPlaces, is_list
from phases.references.find.ranking import Rank, method_sections, ranks_of
from phases.references.find.repositories import add_candidates, repositories_of, row_of
from phases.references.values import Candidate, Entry, Mention
from pipeline.base.logs import logger

_LONGEST_ENTRY = 2500
_MOST_CITATIONS = 50


def build_reference_document(
    text: str,
    body_start: int,
    outline: Mapping[str, Any],
    *,
    kinds: Mapping[str, str],
    allow_own_code: bool,
    candidates: Callable[[Sequence[Entry]], tuple[list[Candidate], list[dict[str, Any]]]] | None = None,
) -> dict[str, Any]:
    """Return reference.txt without a model's opinion. Lookups are asked for references without a repository."""
    # the plan is not asked, so this runs beside planning, which takes minutes with a model (decision 98)
    entries = entries_of(outline["references"])
    citations = citations_of(entries, text, body_start, outline)
    ranks = ranks_of(entries, citations, outline, kinds)
    best_first = sorted(entries, key=lambda entry: -ranks[entry.id].score)
    sources = repositories_of(entries, citations, PaperPlaces(text, body_start, outline), outline)
    linked: dict[str, list[str]] = {}
    for repository in sources.values():
        for name in repository.references:
            linked.setdefault(name, []).append(repository.url)
    unlinked = [entry for entry in best_first if entry.id not in linked]
    looked_up, lookups = candidates(unlinked) if candidates and unlinked else ([], [])
    add_candidates(sources, looked_up)
    methods = method_sections(outline, kinds)
    repositories = [row_of(source, ranks, methods, allow_own_code=allow_own_code) for source in sources.values()]
    logger.info("{} references, {} of them with a repository; {} repositories", len(entries), len(linked), len(sources))
    for row in repositories:
        logger.debug("{}: {}, fetch: {} ({})", row["url"], row["role"], row["fetch"], row["why"])
    return {
        "version": 2,
        "references": [
            {
                **_entry_row(entry, citations.get(entry.id, ()), ranks[entry.id]),
                "repositories": linked.get(entry.id, []),
            }
            for entry in best_first
        ],
        "repositories": sorted(repositories, key=lambda row: (-row["score"], row["url"].casefold())),
        "lookups": lookups,
        "refined_by": None,
        "notes": _missing_notes(entries, outline),
    }


def _entry_row(entry: Entry, mentions: Sequence[Mention], rank: Rank) -> dict[str, Any]:
    return {
        **entry._asdict(),
        "authors": list(entry.authors),
        "cited": len(mentions),
        "citations": [mention._asdict() for mention in mentions[:_MOST_CITATIONS]],
        "score": rank.score,
        "why": rank.why,
    }


def _missing_notes(entries: Sequence[Entry], outline: Mapping[str, Any]) -> list[str]:
    listed = any(is_list(section) for section in outline.get("sections", ()))
    if not entries:
        return ["the reference list could not be split into references" if listed else "the paper has no references"]
    notes = []
    if all(len(entry.raw) > _LONGEST_ENTRY for entry in entries):
        notes.append("the reference list could not be split into references")
    if untitled := [entry.id for entry in entries if not entry.title]:
        shown = ", ".join(untitled[:10]) + (", …" if len(untitled) > 10 else "")
        notes.append(
            f"{len(untitled)} of {len(entries)} references could not be taken apart, they have no title: {shown}"
        )
    if left := len(outline["references"]) - len(entries):
        notes.append(f"{left} references beyond the first {len(entries)} were left out")
    return notes
