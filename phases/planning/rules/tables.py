"""Pipe tables as grids of cells."""

from __future__ import annotations

import re

_RULE = re.compile(r"\|[-:| ]+\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_MOST_ROWS, _LONGEST_PROSE = 80, 6


def cells_of(table: str) -> list[list[str]]:
    """The rows of a pipe table, without its rule; empty where it is no grid but prose that fell into columns."""
    rows = [
        [" ".join(cell.replace("\\|", "|").split()) for cell in _CELL.split(line.strip().strip("|"))]
        for line in table.split("\n")[:_MOST_ROWS]
        if not _RULE.match(line.strip())
    ]
    filled = [cell for row in rows for cell in row if cell]
    words = sum(cell.count(" ") + 1 for cell in filled)
    return rows if len(rows) > 1 and filled and words <= _LONGEST_PROSE * len(filled) else []
