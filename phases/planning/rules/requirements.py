"""What a paper demands, found by rules: each requirement quotes the paper, with section and page. Deterministic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from phases.planning.rules.body import Section, body_of, leading_sections, read_sections
from phases.planning.rules.demands import Demand, demands_in
from phases.readers.markdown import PAGE_MARK
from phases.readers.segments import RELEVANCE

LONGEST_QUOTE = 120
MOST_STATEMENTS = 80
_SHORTEST_QUOTE = 30
_MOST_VALUES = 1000
_STEP = re.compile(
    r"[ \t*]*(?:[0-9]{1,3}[:.)]|for\b|while\b|if\b|else|end\b|input|output|require|ensure|return|initiali[sz]"
    r"|repeat|until|set\b|compute|sample"
    r"|update|procedure|function|train\b|let\b|Eingabe|Ausgabe|输入|输出)|[^\n]{0,200}(?:←|\\leftarrow|:=)",
    re.IGNORECASE,
)
_LONGEST, _MOST_LINES, _MOST_EQUATIONS = 900, 60, 40
_FENCES = ("```", "~~~")
_MARKS = re.compile(r"\*{1,3}|^[ \t]*[0-9]{1,3}[:.)][ \t]*")


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
    # decision 135: whole sentences in the order of the paper, because people read them
    rows = [_build_requirement(f"R{number}", one) for number, one in enumerate(found, 1)]
    return rows or [_missing_requirement(outline)]


def shorten_line(text: str, limit: int = LONGEST_QUOTE) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(PAGE_MARK.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _in_sections(
    text: str, outline: dict[str, Any], sections: Sequence[Section], kinds: Mapping[str, str], *, loosely: bool = False
) -> list[Demand]:
    """All that these sections ask for, once. An introduction has the formulas of a paper that has no others."""
    said = [
        one
        for section in sections
        for one in demands_in(text, section, kinds.get(section["id"], "other"), loosely=loosely)
    ]
    leading = leading_sections(outline["sections"])
    found = [
        *(algorithms_of(text, outline, sections) or algorithms_of(text, outline, leading)),
        *(equations_of(outline, sections) or equations_of(outline, leading)),
        # so many statements are read by a person; of values, which are short, all
        *_most_telling([one for one in said if not one.value], kinds),
        *[one for one in said if one.value][:_MOST_VALUES],
    ]
    return _drop_duplicates(found)


def _most_telling(found: Sequence[Demand], kinds: Mapping[str, str]) -> list[Demand]:
    """As many statements as a person reads, those of the method before those of an appendix, in the paper's order."""

    def weight(index: int) -> float:
        return RELEVANCE[kinds.get(found[index].section["id"], "other")]

    kept = sorted(range(len(found)), key=weight, reverse=True)[:MOST_STATEMENTS]
    return [found[index] for index in sorted(kept)]


def _drop_duplicates(found: Iterable[Demand]) -> list[Demand]:
    return list({(one.kind, one.text.lower()): one for one in reversed([*found])}.values())[::-1]


def _build_requirement(identifier: str, found: Demand) -> dict[str, Any]:
    value = {"name": found.value.name, "value": found.value.value} if found.value else {}
    return {
        "id": identifier,
        "kind": found.kind,
        "text": found.text,
        "source": {
            "section": found.section["number"] or found.section["title"] or None,
            "page": found.page,
            "quote": _quote_line(found.quote) if found.value else _quote_start(found.quote),
        },
        "status": "stated",
        **value,
    }


def _quote_line(words: str) -> str:
    return " ".join(words.split())[:LONGEST_QUOTE].rstrip()


def _quote_start(words: str) -> str:
    """The first words of a passage, enough of them to find it by."""
    line = " ".join(words.split())
    if len(line) <= _SHORTEST_QUOTE:
        return line
    end = line.find(" ", _SHORTEST_QUOTE)
    return line[: end if 0 < end <= LONGEST_QUOTE else LONGEST_QUOTE]


def _missing_requirement(outline: dict[str, Any]) -> dict[str, Any]:
    """The one requirement of a paper in which no rule finds any: it says so."""
    named = shorten_line(outline["title"] or outline["abstract"] or "what was given", 240)
    return {
        "id": "R1",
        "kind": "artifact",
        "text": f"Nothing to build was found by rules in: {named}. Say at the review what is wanted, or plan with a model "
        "(--plan-model).",
        "source": {"section": None, "page": 1, "quote": ""},
        "status": "missing",
    }


def algorithms_of(text: str, outline: Mapping[str, Any], sections: Sequence[Section]) -> list[Demand]:
    """The algorithms of these sections, each with the steps that stand under its caption."""
    return [
        _build_algorithm(text, row, section)
        for section in sections
        for row in outline["algorithms"]
        if row["section"] == section["id"]
    ]


def equations_of(outline: Mapping[str, Any], sections: Sequence[Section]) -> list[Demand]:
    """The numbered equations of these sections."""
    known = {section["id"]: section for section in sections}
    rows = [row for row in outline["equations"] if row["label"] and row["text"] and row["section"] in known]
    return [
        Demand("equation", f"Equation {row['label']}: {row['text']}", row["text"], known[row["section"]], row["page"])
        for row in rows[:_MOST_EQUATIONS]
    ]


def _build_algorithm(text: str, row: Mapping[str, Any], section: Section) -> Demand:
    caption, below = _caption_and_steps(text, row["start"], row["end"])
    steps, length = [], 0
    for step in below:
        length += len(step)
        if length > _LONGEST:
            break
        steps.append(step)
    name = f"{row['label']}: {row['text']}".rstrip(": ")
    said = f"{name}: {'; '.join(steps)}" if steps else name
    return Demand("algorithm", _MARKS.sub("", said), caption, section, row["page"])


def _caption_and_steps(text: str, start: int, end: int) -> tuple[str, Iterator[str]]:
    """The line of the caption, and the steps: all of a fence that is the algorithm's own, else what looks like steps."""
    if text[start:end].lstrip().startswith(_FENCES):
        lines = [line for line in text[start:end].split("\n") if not line.lstrip().startswith(_FENCES)]
        return lines[0] if lines else "", _plain_steps(lines[1 : _MOST_LINES + 1])
    return text[start:end], _plain_steps(_looking_like_steps(text[end : end + 4 * _LONGEST].split("\n")[:_MOST_LINES]))


def _looking_like_steps(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        bare = line.strip()
        if bare.startswith((*_FENCES, "#", "<!--", "|")) or (bare and not _STEP.match(line)):
            return
        yield line


def _plain_steps(lines: Iterable[str]) -> Iterator[str]:
    return (" ".join(_MARKS.sub("", line).split()) for line in lines if line.strip())
