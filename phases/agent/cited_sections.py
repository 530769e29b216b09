"""The sections of the paper that requirements cite, whole: a quote of twenty words holds no algorithm and no table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.llm.model import tokens_of

_HEADING = re.compile(r"#{1,6} +(\S.*)")
_FENCE = "```"
_FRONT = "---"


class Section(NamedTuple):
    title: str
    first: int
    """The number of its heading's line in paper.md; the first line is 1."""
    last: int
    text: str


def split_paper(paper: str) -> list[Section]:
    """Every section of paper.md, each up to the next heading. What stands before the first one is none."""
    lines = paper.splitlines()
    starts = [(number, title) for number, title in _headings(lines)]
    ends = [*(number - 1 for number, _ in starts[1:]), len(lines)] if starts else []
    return [
        Section(title, first, last, "\n".join(lines[first - 1 : last]).strip())
        for (first, title), last in zip(starts, ends, strict=True)
    ]


def cited_sections(
    sections: Sequence[Section], requirements: Iterable[Mapping[str, Any]], room: int
) -> tuple[list[Section], list[Section]]:
    """The sections that these cite, in the paper's order: those that fit into so many tokens, and those that do not."""
    names = [str((row.get("source") or {}).get("section") or "") for row in requirements]
    counted = [(sum(_is_named(section.title, name) for name in names), section) for section in sections]
    # Those that most requirements cite first; a long one that does not fit keeps no short one out.
    wanted = sorted((row for row in counted if row[0]), key=lambda row: -row[0])
    shown: list[Section] = []
    for _, section in wanted:
        if (size := tokens_of(section.text)) <= room:
            room -= size
            shown.append(section)
    left_out = [section for _, section in wanted if section not in shown]
    return sorted(shown, key=lambda one: one.first), sorted(left_out, key=lambda one: one.first)


def _is_named(title: str, name: str) -> bool:
    """Whether a citation means this section: by its number (3.2, A), or by its title."""
    name, title = name.strip().rstrip(".").lower(), title.lower()
    number, _, rest = title.partition(" ")
    return bool(name) and name in (title, number.rstrip("."), rest.strip(), f"appendix {number.rstrip('.')}")


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    inside, front = False, bool(lines) and lines[0] == _FRONT
    for number, line in enumerate(lines, 1):
        if front:
            front = number == 1 or line != _FRONT
        elif line.startswith(_FENCE):
            inside = not inside
        elif not inside and (found := _HEADING.fullmatch(line.rstrip())):
            yield number, found[1]
