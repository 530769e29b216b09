"""What a paper demands, found by rules: each requirement quotes the paper, with section and page. Deterministic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from phases.planning.rules.algorithms import algorithms_of, equations_of
from phases.planning.rules.body import Section, body_of, leading_sections, read_sections
from phases.planning.rules.notes import Found, notes_in
from phases.readers.markdown import PAGE_MARK
from phases.readers.segments import RELEVANCE

LONGEST_QUOTE = 120
MOST_STATEMENTS = 80
_SHORTEST_QUOTE = 30
_MOST_VALUES = 1000


def requirements_of(
    text: str, outline: dict[str, Any], segments: list[dict[str, Any]], body_start: int
) -> list[dict[str, Any]]:
    """The requirements in the order of the paper: algorithms, equations, what its body says, and the values.

    Where the body asks for nothing, what leads to it is read, too, and at last the text before the first heading.
    """
    kinds = {segment["section"]: segment["kind"] for segment in segments if segment["section"]}
    sections = outline["sections"]
    headless = {"id": None, "number": None, "title": None, "page": 1, "start": body_start}
    headless["end"] = sections[0]["start"] if sections else len(text)
    found = (
        _in_sections(text, outline, body_of(sections, kinds), kinds)
        or _in_sections(text, outline, read_sections(sections), kinds, loosely=True)
        or _in_sections(text, outline, [headless], kinds, loosely=True)
    )
    rows = [_requirement(f"R{number}", one) for number, one in enumerate(found, 1)]
    return rows or [_nothing(outline)]


def shorten(text: str, limit: int = LONGEST_QUOTE) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(PAGE_MARK.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _in_sections(
    text: str, outline: dict[str, Any], sections: Sequence[Section], kinds: Mapping[str, str], *, loosely: bool = False
) -> list[Found]:
    """All that these sections ask for, once. An introduction has the formulas of a paper that has no others."""
    said = [
        one
        for section in sections
        for one in notes_in(text, section, kinds.get(section["id"], "other"), loosely=loosely)
    ]
    leading = leading_sections(outline["sections"])
    found = [
        *(algorithms_of(text, outline, sections) or algorithms_of(text, outline, leading)),
        *(equations_of(outline, sections) or equations_of(outline, leading)),
        *_most_telling([one for one in said if not one.value], kinds),
        *[one for one in said if one.value][:_MOST_VALUES],
    ]
    return _distinct(found)


def _most_telling(found: Sequence[Found], kinds: Mapping[str, str]) -> list[Found]:
    """As many statements as a person reads, those of the method before those of an appendix, in the paper's order."""

    def weight(index: int) -> float:
        return RELEVANCE[kinds.get(found[index].section["id"], "other")]

    kept = sorted(range(len(found)), key=weight, reverse=True)[:MOST_STATEMENTS]
    return [found[index] for index in sorted(kept)]


def _distinct(found: Iterable[Found]) -> list[Found]:
    return list({(one.kind, one.text.lower()): one for one in reversed([*found])}.values())[::-1]


def _requirement(identifier: str, found: Found) -> dict[str, Any]:
    value = {"name": found.value.name, "value": found.value.value} if found.value else {}
    return {
        "id": identifier,
        "kind": found.kind,
        "text": found.text,
        "source": {
            "section": found.section["number"] or found.section["title"] or None,
            "page": found.page,
            "quote": _line(found.quote) if found.value else _quote(found.quote),
        },
        "status": "stated",
        **value,
    }


def _line(words: str) -> str:
    return " ".join(words.split())[:LONGEST_QUOTE].rstrip()


def _quote(words: str) -> str:
    """The first words of a passage, enough of them to find it by."""
    line = " ".join(words.split())
    if len(line) <= _SHORTEST_QUOTE:
        return line
    end = line.find(" ", _SHORTEST_QUOTE)
    return line[: end if 0 < end <= LONGEST_QUOTE else LONGEST_QUOTE]


def _nothing(outline: dict[str, Any]) -> dict[str, Any]:
    """The one requirement of a paper in which no rule finds any: it says so."""
    named = shorten(outline["title"] or outline["abstract"] or "what was given", 240)
    return {
        "id": "R1",
        "kind": "artifact",
        "text": f"Nothing to build was found by rules in: {named}. Say at the review what is wanted, or plan with a model "
        "(--plan-model).",
        "source": {"section": None, "page": 1, "quote": ""},
        "status": "missing",
    }
