"""What a paper demands, found by rules: each requirement quotes the paper, with section and page. Deterministic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from phases.paper.markdown import PAGE_MARK
from phases.paper.outline import own_text
from phases.paper.planning.algorithms import algorithms_of, equations_of
from phases.paper.planning.artifacts import artifacts_of
from phases.paper.planning.choice import Note, chosen
from phases.paper.planning.notes import MOST_NOTES, Found, notes_in, planned_sections
from phases.paper.planning.rivals import rivals_in
from phases.paper.planning.terms import terms_of, weights_of

LONGEST_QUOTE = 120
_SHORTEST_QUOTE = 30
_MOST_VALUES = 1000


def requirements_of(text: str, outline: dict[str, Any], segments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requirements, the most telling ones first."""
    kinds = {segment["section"]: segment["kind"] for segment in segments if segment["section"]}
    found = _found(text, outline, kinds)
    weights = weights_of(
        terms_of(own_text(text, section)) for section in outline["sections"] if kinds.get(section["id"]) != "references"
    )
    relevance = {segment["section"]: segment["relevance"] for segment in segments}
    order = chosen([_note(one, relevance.get(one.section.get("id"), 1.0)) for one in found], weights)
    taken = {index for row in order for index in row}
    # Algorithms, equations and values are in every plan, also where all of their words are said already.
    rest = [[index] for index, one in enumerate(found) if not one.joins and index not in taken]
    rows = [
        _requirement(f"R{number}", found[row[0]], [found[index] for index in sorted(row)])
        for number, row in enumerate([*order, *rest], 1)
    ]
    return rows or [_whole(outline)]


def shorten(text: str, limit: int = LONGEST_QUOTE) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(PAGE_MARK.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _found(text: str, outline: dict[str, Any], kinds: dict[str, str]) -> list[Found]:
    """All that the paper asks for, once. Where no section is one of method or experiment, all of them are read."""
    everywhere = {section["id"]: section for section in outline["sections"]}
    planned = planned_sections(outline["sections"], kinds)
    found = [*artifacts_of(text, outline), *algorithms_of(text, outline, everywhere)]
    found += equations_of(outline, {section["id"]: section for section in planned})
    for section in planned:
        found += notes_in(text, section, kinds.get(section["id"], "other"))
    others = [section for section in outline["sections"] if kinds.get(section["id"]) == "related"]
    found += rivals_in(text, others, found)
    distinct = list(_distinct(found))
    values = [one for one in distinct if one.value][:_MOST_VALUES]
    return [one for one in distinct if not one.value][:MOST_NOTES] + values


def _distinct(found: Iterable[Found]) -> Iterator[Found]:
    """Each demand once; the rest of a sentence goes where its beginning goes."""
    seen: set[tuple[str, str]] = set()
    kept = False
    for one in found:
        if not one.follows:
            kept = (one.kind, one.text.lower()) not in seen
            seen.add((one.kind, one.text.lower()))
        if kept and one.text.strip():
            yield one


def _note(one: Found, relevance: float) -> Note:
    group = (one.section["id"], one.kind in ("model", "loss")) if one.joins else None
    return Note(one.text, tuple(dict.fromkeys(terms_of(one.text))), group, one.firmness * relevance, one.follows)


def _requirement(identifier: str, first: Found, row: list[Found]) -> dict[str, Any]:
    """A requirement of what the paper says first in weight, with what else is said beside it, in the paper's order."""
    value = {"name": first.value.name, "value": first.value.value} if first.value else {}
    return {
        "id": identifier,
        "kind": first.kind,
        "text": _joined(row),
        "source": {
            "section": first.section.get("number") or first.section.get("title") or None,
            "page": first.page,
            "quote": _quote(first.quote),
        },
        "status": "stated",
        **value,
    }


def _joined(row: list[Found]) -> str:
    """The notes of a requirement as one text; what is the rest of a sentence stays in it."""
    parts = [
        ", " + one.text if one.follows else "; " + (one.text[:1].upper() + one.text[1:] if one.joins else one.text)
        for one in row
    ]
    return "".join(parts)[2:]


def _quote(words: str) -> str:
    """The first words of a passage, enough of them to find it by."""
    line = " ".join(words.split())
    if len(line) <= _SHORTEST_QUOTE:
        return line
    end = line.find(" ", _SHORTEST_QUOTE)
    return line[: end if 0 < end <= LONGEST_QUOTE else LONGEST_QUOTE]


def _whole(outline: dict[str, Any]) -> dict[str, Any]:
    """The one requirement of a paper in which no rule finds any."""
    text = shorten(outline["title"] or outline["abstract"] or "what the paper describes", 240)
    source = {"section": None, "page": 1, "quote": shorten(outline["abstract"] or "")}
    return {"id": "R1", "kind": "artifact", "text": text, "source": source, "status": "stated"}
