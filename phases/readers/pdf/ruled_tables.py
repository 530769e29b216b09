"""Tables between rulings: rows by their base lines, columns by the white that all rows share, heads over several columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from phases.readers.pdf.lines import join_items, rows_of
from phases.readers.pdf.page import BoundingBox, Item, Page, Rows

CAPTION = re.compile(
    r"^(?:table|tab\.|tabelle|表|표)\s*\.?\s*(?:[0-9]|[A-Z]\.?[0-9]|[IVX]{1,6}\b|[A-Z]\b)", re.IGNORECASE
)
_OTHER_FLOAT = re.compile(r"^(?:algorithm|algorithmus|procedure|listing|input|require|data\s*:)\b", re.IGNORECASE)
_FIGURES = re.compile(r"[0-9]")
_SAME_EDGE, _SAME_HEIGHT, _JOINED = 4.0, 1.5, 4.0
_NARROWEST = 60.0
_NEAR_CAPTION = 45.0
_GUTTER = 0.4
"""White of more than this share of the letters' size, in all rows, parts two columns."""
_CLOSE_GUTTER = 2.0
_CROSSING = 0.1
_PROSE_GAP, _PROSE_WIDTH, _PROSE_WORDS = 1.0, 0.7, 8
_MOST_HEAD_ROWS = 4
_FEWEST_ROWS, _FEWEST_COLUMNS, _FILLED = 3, 3, 0.5
_PER_ROW = 0.6


@dataclass(frozen=True, slots=True)
class Region:
    """What stands between rulings of one width. `rules` are its rulings, top to bottom."""

    box: BoundingBox
    rules: tuple[BoundingBox, ...]


def with_ruled_tables(page: Page) -> Page:
    """The page with one item in the place of each table that stands between rulings."""
    items = list(page.items)
    for region in _regions_of(page):
        inside = [item for item in items if item.table is None and region.box.holds(item.box)]
        captioned = any(_is_near(item.box, region.box) and CAPTION.match(item.text) for item in items)
        rows = _build_rows(inside, region, captioned=captioned) if len(inside) > 2 else None
        if rows:
            size = median(item.size for item in inside)
            text = " ".join(item.text for item in inside)
            taken = set(inside)
            at = min(index for index, item in enumerate(items) if item in taken)
            table = Item(text, region.box, size, inside[0].font, False, False, rows)
            items = [
                *(item for item in items[:at] if item not in taken),
                table,
                *(i for i in items[at:] if i not in taken),
            ]
    return replace(page, items=tuple(items))


def _is_near(caption: BoundingBox, table: BoundingBox) -> bool:
    beside = caption.x0 < table.x1 and caption.x1 > table.x0
    return beside and min(abs(caption.y1 - table.y0), abs(caption.y0 - table.y1)) < _NEAR_CAPTION


def _regions_of(page: Page) -> Iterator[Region]:
    """The stretches between rulings that begin and end alike, cut where prose stands between two of them."""
    rules = _joined_rules(page.rulings)
    groups: list[list[BoundingBox]] = []
    for rule in sorted((rule for rule in rules if rule.width >= _NARROWEST), key=lambda rule: rule.y0):
        for group in groups:
            if abs(group[0].x0 - rule.x0) < _SAME_EDGE and abs(group[0].x1 - rule.x1) < _SAME_EDGE:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        for stretch in _cut_at_prose(group, page.items):
            if len(stretch) > 1:
                first, last = stretch[0], stretch[-1]
                box = BoundingBox(first.x0 - _SAME_EDGE, first.y0, first.x1 + _SAME_EDGE, last.y1)
                yield Region(box, tuple(rule for rule in rules if box.y0 - 1 <= rule.y0 <= box.y1 and box.holds(rule)))


def _joined_rules(pieces: Sequence[BoundingBox]) -> list[BoundingBox]:
    """Rulings in one piece: many are drawn cell by cell."""
    joined: list[BoundingBox] = []
    for piece in sorted(pieces, key=lambda piece: (round(piece.y0 / _SAME_HEIGHT), piece.x0)):
        last = joined[-1] if joined else None
        if last and abs(last.y0 - piece.y0) < _SAME_HEIGHT and last.x0 - 1 <= piece.x0 <= last.x1 + _JOINED:
            joined[-1] = last.around(piece)
        else:
            joined.append(piece)
    return joined


def _cut_at_prose(rules: Sequence[BoundingBox], items: Sequence[Item]) -> Iterator[list[BoundingBox]]:
    stretch = [rules[0]]
    for above, below in itertools.pairwise(rules):
        box = BoundingBox(above.x0 - _SAME_EDGE, above.y1, above.x1 + _SAME_EDGE, below.y0)
        between = [item for item in items if box.holds(item.box)]
        captioned = any(CAPTION.match(item.text) for item in between)
        if captioned or sum(_is_prose(row, box) for row in rows_of(between)) > 1:
            yield stretch
            stretch = []
        stretch.append(below)
    yield stretch


def _is_prose(row: Sequence[Item], box: BoundingBox) -> bool:
    gaps = [right.box.x0 - left.box.x1 for left, right in itertools.pairwise(row)]
    wide = row[-1].box.x1 - row[0].box.x0 > _PROSE_WIDTH * box.width
    words = sum(len(item.text.split()) for item in row)
    return wide and words >= _PROSE_WORDS and max(gaps, default=0.0) < _PROSE_GAP * row[0].size


def _build_rows(inside: Sequence[Item], region: Region, *, captioned: bool) -> Rows | None:
    """The cells of a table, or None for what is none: an algorithm, prose in a frame, a drawing."""
    rows = rows_of(inside)
    if _OTHER_FLOAT.match(rows[0][0].text) or len(rows) < 2:
        return None
    size = median(item.size for item in inside)
    heads = _count_head_rows(rows, region)
    gutters = _gutters_of(rows, heads, size)
    grid = [_place(row, gutters, region.rules, spread=index < heads) for index, row in enumerate(rows)]
    filled = sum(bool(cell) for cells in grid for cell in cells) / (len(grid) * (len(gutters) + 1))
    if not gutters or (filled < _FILLED and not captioned):
        return None
    if not captioned and (len(rows) < _FEWEST_ROWS or len(gutters) + 1 < _FEWEST_COLUMNS or len(region.rules) < 3):
        return None
    return tuple(map(tuple, _merge_rows(grid, rows, heads, region)))


def _count_head_rows(rows: Sequence[Sequence[Item]], region: Region) -> int:
    """How many rows stand above the second ruling of full width."""
    full = [rule for rule in region.rules if rule.width > region.box.width - 4 * _SAME_EDGE]
    above = sum(row[0].box.middle < full[1].y0 for row in rows) if len(full) > 2 else 1
    return above if 1 <= above <= min(_MOST_HEAD_ROWS, len(rows) - 1) else 1


def _gutters_of(rows: Sequence[Sequence[Item]], heads: int, size: float) -> list[float]:
    """The middles of the white stripes between columns, left to right."""
    counted = [row for index, row in enumerate(rows) if len(row) > 1 and index >= heads - 1]
    counted = counted or [row for row in rows if len(row) > 1]
    if not counted:
        return []
    allowed = int(_CROSSING * len(counted))
    left = int(min(row[0].box.x0 for row in counted))
    right = int(max(row[-1].box.x1 for row in counted)) + 1
    covered = [0] * (right - left + 1)
    for row in counted:
        inked = {x for item in row for x in range(int(item.box.x0) - left, min(int(item.box.x1) + 1, right) - left)}
        for x in inked:
            covered[x] += 1
    gutters: list[float] = []
    for white, stretch in itertools.groupby(range(left, right), key=lambda x: covered[x - left] <= allowed):
        places = list(stretch)
        inner = places[0] > left and places[-1] < right - 1
        if white and inner and len(places) + 1 >= _GUTTER * size:
            gutters.append((places[0] + places[-1] + 1) / 2)
    head = rows[heads - 1]
    return [gutter for gutter in gutters if not _is_one_column(gutter, head, rows[heads:], size)]


def _is_one_column(gutter: float, head: Sequence[Item], body: Sequence[Sequence[Item]], size: float) -> bool:
    """Whether the last row of the head has one name over what is close on both sides: "0 .. 19" is one cell."""
    over = any(item.box.x0 < gutter - 2 and item.box.x1 > gutter + 2 for item in head)
    gaps = [
        right.box.x0 - left.box.x1
        for row in body
        for left, right in itertools.pairwise(row)
        if left.box.x1 <= gutter + 1 and right.box.x0 >= gutter - 1
    ]
    return over and bool(gaps) and min(gaps) < _CLOSE_GUTTER * size


def _place(row: Sequence[Item], gutters: Sequence[float], rules: Sequence[BoundingBox], *, spread: bool) -> list[str]:
    """The cells of a row; the name over several columns stands over each of them."""
    edges = [float("-inf"), *gutters, float("inf")]
    cells: list[list[Item]] = [[] for _ in range(len(gutters) + 1)]
    for item in row:
        box = _spread_over(item, rules) if spread else item.box
        over = [
            index
            for index, (start, end) in enumerate(itertools.pairwise(edges))
            if min(end, box.x1) - max(start, box.x0) > min(4.0, box.width / 3)
        ]
        for index in over if spread else over[:1]:
            cells[index].append(item)
    return [join_items(cell) if cell else "" for cell in cells]


def _spread_over(item: Item, rules: Sequence[BoundingBox]) -> BoundingBox:
    """A name's box, as wide as the short ruling right below it."""
    for rule in rules:
        if (
            0 <= rule.y0 - item.box.y1 + 3 < item.box.height
            and rule.x0 - 2 <= item.box.x0
            and item.box.x1 <= rule.x1 + 2
        ):
            return item.box.around(rule) if rule.width < 20 * item.size + item.box.width else item.box
    return item.box


def _merge_rows(
    grid: Sequence[list[str]], rows: Sequence[Sequence[Item]], heads: int, region: Region
) -> Iterator[list[str]]:
    """The rows of the table: what is broken over lines is one cell again."""
    merged: list[list[str]] = []
    bounds = [rule.y0 for rule in region.rules if rule.width > region.box.width / 2]
    by_rules = len(bounds) - 1 >= _PER_ROW * len(rows)
    for index, (cells, row) in enumerate(zip(grid, rows, strict=True)):
        before = merged[-1] if merged else None
        parted = any(rows[index - 1][0].box.middle < bound < row[0].box.middle for bound in bounds) if index else True
        same_row = by_rules and not parted
        if before is not None and (same_row or _goes_on(cells, before, index, heads, grid)):
            merged[-1] = [f"{above} {below}".strip() for above, below in zip(before, cells, strict=True)]
        else:
            merged.append(list(cells))
    yield from merged


def _goes_on(cells: Sequence[str], before: Sequence[str], index: int, heads: int, grid: Sequence[list[str]]) -> bool:
    """Whether a line goes on with the cells of the one above: in a head of wrapped names, or where words alone go on."""
    if index < heads:
        above = grid[index - 1]
        spreading = any(one and one == other for one, other in itertools.pairwise(above))
        return not spreading and all(up or not down for up, down in zip(before, cells, strict=True))
    filled = [(cell, above) for cell, above in zip(cells, before, strict=True) if cell]
    words = all(above and not _FIGURES.search(cell) for cell, above in filled)
    return index > heads and not cells[0] and words and 2 * len(filled) < len(cells)
