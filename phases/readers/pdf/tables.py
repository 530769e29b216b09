"""Tables, by the white between their cells: rows of print that stand in the same columns, one below the other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from statistics import median

from phases.readers.line_patterns import number_of
from phases.readers.pdf.lines import Line, join_items
from phases.readers.pdf.page import Item, Rows
from phases.readers.pdf.ruled_tables import CAPTION, cells_of_rows

_FIGURE = re.compile(r"(?:figure|fig\.|abbildung|abb\.)\s*[0-9]+\s*[:.]", re.IGNORECASE)
_TICKS = re.compile(r"(?:[-−]?[0-9.]+ ){2,30}[-−]?[0-9.]+")
"""Numbers along the axis of a figure: no cell holds three."""
_CELL_GAP = 0.8
"""White of more than this share of the letters' size parts two cells."""
_WIDE_GAP, _STRETCHED = 1.2, 2.0
_FEWEST_ROWS = 3
_FEWEST_CAPTIONED = 2
_LONGEST_CAPTION = 10
_SHORT = 0.6
_LONGEST_CELL = 60
_FIGURES = 0.4
_FILLED = 0.5


@dataclass(frozen=True, slots=True)
class Table:
    """Lines `first` up to `first + count` are a table with these rows of cells."""

    first: int
    count: int
    rows: Rows


def tables_of(lines: Sequence[Line], outside: Set[int]) -> list[Table]:
    """The tables, in reading order. Lines `outside` (contents) are in none."""
    found = []
    index = 0
    while index < len(lines):
        if ruled := lines[index].items[0].table:
            found.append(Table(index, 1, ruled))
            index += 1
            continue
        end = index if index in outside else _end_of_run(lines, index)
        table = _build_table(lines, index, end) if end - index >= _FEWEST_CAPTIONED else None
        if table:
            found.append(table)
        index = max(end, index + 1)
    return found


def _end_of_run(lines: Sequence[Line], first: int) -> int:
    """Behind the last of the lines from here on that have cells; one without between two with cells is one of them."""
    end = index = first
    while index < len(lines):
        line = lines[index]
        if line.items[0].table:
            break
        if index > first and (line.fresh or line.gap > 1.8 * line.size or line.page != lines[first].page):
            break
        single = len(cells_of(line)) < 2
        if (
            CAPTION.match(line.text)
            or _FIGURE.match(line.text)
            or (single and (index > end or line.box.width > _SHORT * line.column.width))
        ):
            break
        if not single:
            end = index + 1
        elif index == first:
            return first
        index += 1
    return end


def cells_of(line: Line) -> list[list[Item]]:
    """The items of each cell of a line."""
    cells: list[list[Item]] = [[line.items[0]]]
    if line.bold and len(line.items) == 2 and number_of(line.text):
        # a heading has white behind its number, and is no row of cells
        return [list(line.items)]
    for item in line.items[1:]:
        if item.box.x0 - cells[-1][-1].box.x1 > _CELL_GAP * min(item.size, line.size):
            cells.append([item])
        else:
            cells[-1].append(item)
    return cells


def _build_table(lines: Sequence[Line], first: int, end: int) -> Table | None:
    """The table that these lines are, or None where they are prose with mathematics, an author block, a list."""
    run = lines[first:end]
    rows = [cells_of(line) for line in run]
    captioned = _has_caption(lines, first, end)
    texts = [join_items(cell) for row in rows for cell in row]
    wide = sum(_has_wide_gap(row) for row in rows)
    figures = sum(bool(re.search(r"[0-9]", re.sub(r"\$[^$]*\$", "", text))) for text in texts) / len(texts)
    broadest = max(map(len, rows))
    if wide * 2 < len(rows) or sum(len(text) > _LONGEST_CELL for text in texts) * 3 > len(texts):
        return None
    if len(rows) < _FEWEST_ROWS and (not captioned or broadest < 3):
        return None
    if not captioned and (figures < _FIGURES or broadest < 3):
        return None
    grid = cells_of_rows([line.items for line in run], 1, run[0].size)
    filled = sum(bool(cell) for row in grid for cell in row) / (len(grid) * len(grid[0]))
    if len(grid[0]) < 2 or (filled < _FILLED and not captioned):
        return None
    if not captioned and any(_TICKS.fullmatch(cell) for row in grid for cell in row):
        return None
    return Table(first, end - first, tuple(tuple(row) for row in grid))


def _has_caption(lines: Sequence[Line], first: int, end: int) -> bool:
    """Whether a table's caption ends right above or begins right below."""
    if end < len(lines) and CAPTION.match(lines[end].text):
        return True
    for index in range(first - 1, max(-1, first - _LONGEST_CAPTION), -1):
        line = lines[index]
        if CAPTION.match(line.text):
            return True
        if line.fresh or line.gap > 0.8 * line.size or line.page != lines[first].page:
            return False
    return False


def _has_wide_gap(row: Sequence[Sequence[Item]]) -> bool:
    """Whether the white between two cells is wide, also beside that between the words of this row: a line may be stretched."""
    within = [right.box.x0 - left.box.x1 for cell in row for left, right in itertools.pairwise(cell)]
    least = _STRETCHED * median(within) if len(within) >= len(row) else 0.0
    gaps = ((right[0].box.x0 - left[-1].box.x1, right[0].size) for left, right in itertools.pairwise(row))
    return any(gap > max(_WIDE_GAP * size, least) for gap, size in gaps)


def table_text(table: Table) -> str:
    """A pipe table; its first row is the head."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
