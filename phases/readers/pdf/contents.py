"""Lines of a table of contents: they repeat the headings, and are none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from phases.readers.pdf.lines import Line

_LEADERS = re.compile(r"(?:\. ?){4,300} ?[0-9ivxlc]{1,4}$")
_FEWEST = 4
_WIDEST_HOLE = 2


def contents_of(lines: Sequence[Line]) -> set[int]:
    """The indexes of lines that name a section and the page that it is on, many of them together."""
    found = [index for index, line in enumerate(lines) if _is_entry(line)]
    groups: list[list[int]] = []
    for index in found:
        if groups and index - groups[-1][-1] <= _WIDEST_HOLE and lines[index].page == lines[groups[-1][-1]].page:
            groups[-1].append(index)
        else:
            groups.append([index])
    kept = [group for group in groups if len(group) >= _FEWEST]
    return {index for group in kept for index in range(group[0], group[-1] + 1)}


def _is_entry(line: Line) -> bool:
    if _LEADERS.search(line.text):
        return True
    if len(line.items) < 2 or not re.fullmatch(r"[0-9]{1,4}", line.items[-1].text):
        return False
    white = line.items[-1].box.x0 - line.items[-2].box.x1
    lettered = sum(character.isalpha() for character in line.text) >= 2
    return white > line.size and lettered and line.column.x1 - line.box.x1 < 3
