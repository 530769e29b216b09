"""Reads an algorithm or a numbered equation of a paper, with its steps, from where the outline says it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from phases.planning.rules.body import Section
from phases.planning.rules.notes import Found

_STEP = re.compile(
    r"[ \t*]*(?:[0-9]{1,3}[:.)]|for\b|while\b|if\b|else|end\b|input|output|require|ensure|return|initiali[sz]"
    r"|repeat|until|set\b|compute|sample"
    r"|update|procedure|function|train\b|let\b|Eingabe|Ausgabe|输入|输出)|[^\n]{0,200}(?:←|\\leftarrow|:=)",
    re.IGNORECASE,
)
_LONGEST, _MOST_LINES, _MOST_EQUATIONS = 900, 60, 40
_FENCES = ("```", "~~~")
_MARKS = re.compile(r"\*{1,3}|^[ \t]*[0-9]{1,3}[:.)][ \t]*")


def algorithms_of(text: str, outline: Mapping[str, Any], sections: Sequence[Section]) -> list[Found]:
    """The algorithms of these sections, each with the steps that stand under its caption."""
    return [
        _algorithm(text, row, section)
        for section in sections
        for row in outline["algorithms"]
        if row["section"] == section["id"]
    ]


def equations_of(outline: Mapping[str, Any], sections: Sequence[Section]) -> list[Found]:
    """The numbered equations of these sections."""
    known = {section["id"]: section for section in sections}
    rows = [row for row in outline["equations"] if row["label"] and row["text"] and row["section"] in known]
    return [
        Found("equation", f"Equation {row['label']}: {row['text']}", row["text"], known[row["section"]], row["page"])
        for row in rows[:_MOST_EQUATIONS]
    ]


def _algorithm(text: str, row: Mapping[str, Any], section: Section) -> Found:
    caption, below = _parts(text, row["start"], row["end"])
    steps, length = [], 0
    for step in below:
        length += len(step)
        if length > _LONGEST:
            break
        steps.append(step)
    name = f"{row['label']}: {row['text']}".rstrip(": ")
    said = f"{name}: {'; '.join(steps)}" if steps else name
    return Found("algorithm", _MARKS.sub("", said), caption, section, row["page"])


def _parts(text: str, start: int, end: int) -> tuple[str, Iterator[str]]:
    """The line of the caption, and the steps: all of a fence that is the algorithm's own, else what looks like steps."""
    if text[start:end].lstrip().startswith(_FENCES):
        lines = [line for line in text[start:end].split("\n") if not line.lstrip().startswith(_FENCES)]
        return lines[0] if lines else "", _plain(lines[1 : _MOST_LINES + 1])
    return text[start:end], _plain(_looking_like_steps(text[end : end + 4 * _LONGEST].split("\n")[:_MOST_LINES]))


def _looking_like_steps(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        bare = line.strip()
        if bare.startswith((*_FENCES, "#", "<!--", "|")) or (bare and not _STEP.match(line)):
            return
        yield line


def _plain(lines: Iterable[str]) -> Iterator[str]:
    return (" ".join(_MARKS.sub("", line).split()) for line in lines if line.strip())
