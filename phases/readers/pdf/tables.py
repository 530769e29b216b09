"""Find tables, by rules or by the white between cells of successive lines, and reconstruct rows and cells."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from statistics import median

from phases.readers.line_patterns import number_of
from phases.readers.pdf.lines import Line, join_items, rows_of
from phases.readers.pdf.page import BoundingBox, Item, Page, Rows, Word

_FIGURE = re.compile(r"(?:figure|fig\.|abbildung|abb\.)\s*[0-9]+\s*[:.]", re.IGNORECASE)
_TICKS = re.compile(r"(?:[-−]?[0-9.]+ ){2,30}[-−]?[0-9.]+")
"""Numbers along the axis of a figure: a cell never has three."""
_CELL_GAP = 0.8
"""White that separates two cells, as a share of the letter size."""
_WIDE_GAP, _STRETCHED = 1.2, 2.0
_FEWEST_LOOSE_ROWS = 3
_FEWEST_CAPTIONED = 2
_LONGEST_CAPTION = 10
_SHORT = 0.6
_LONGEST_CELL = 60
_LEAST_FIGURES = 0.4
_LEAST_FILLED = 0.5
FLOAT_LABEL = re.compile(
    r"^(?:table|tab\.|tabelle|表|표)\s*\.?\s*(?:[0-9]|[A-Z]\.?[0-9]|[IVX]{1,6}\b|[A-Z]\b)", re.IGNORECASE
)
_OTHER_FLOAT = re.compile(r"^(?:algorithm|algorithmus|procedure|listing|input|require|data\s*:)\b", re.IGNORECASE)
_FIGURES = re.compile(r"[0-9]")
_NUMBER = re.compile(r"[-−+±~<>]?[0-9][0-9.,]*(?:\s*±\s*[0-9.]+)?\s*[%*†]?")
_SAME_EDGE, _SAME_HEIGHT, _JOINED = 4.0, 1.5, 1.5
_NARROWEST = 60.0
_NEAR_CAPTION = 45.0
_GUTTER = 0.4
"""White in all rows that separates two columns, as a share of the letter size."""
_FIGURE_GUTTER = 0.2
"""The same between two columns of numbers."""
_CLOSE_GUTTER = 2.0
_CROSSING, _MOSTLY = 0.1, 0.7
_PROSE_GAP, _PROSE_WIDTH, _PROSE_WORDS = 1.0, 0.7, 8
_MOST_HEAD_ROWS = 4
_FEWEST_ROWS, _FEWEST_COLUMNS, _FILLED = 3, 3, 0.5
_PER_ROW = 0.6
_SHORT_RULE = 0.9
_SPACE, _HEAD_SPACE = 0.15, 0.45
"""White between words of two columns; between column names it is more than a blank."""
_MORE_WHITE, _HALF_WAY, _WORDY = 1.15, 0.8, 14
_FORMULA = re.compile(r"\$[^$]+\$")


@dataclass(frozen=True, slots=True)
class Table:
    """A table made of lines `first` up to `first + count`."""

    first: int
    count: int
    rows: Rows


def tables_of(lines: Sequence[Line], outside: Set[int]) -> list[Table]:
    """Return the tables in reading order. Lines `outside` (contents) are excluded."""
    result = []
    index = 0
    while index < len(lines):
        if ruled := lines[index].items[0].table:
            result.append(Table(index, 1, ruled))
            index += 1
            continue
        end = index if index in outside else _end_of_run(lines, index)
        table = _build_table(lines, index, end) if end - index >= _FEWEST_CAPTIONED else None
        if table:
            result.append(table)
        index = max(end, index + 1)
    return result


def _end_of_run(lines: Sequence[Line], first: int) -> int:
    """Return the line after the last consecutive line with cells; a single line without cells may be between two with cells."""
    end = index = first
    while index < len(lines):
        line = lines[index]
        if line.items[0].table:
            break
        if index > first and (line.fresh or line.gap > 1.8 * line.size or line.page != lines[first].page):
            break
        single = len(cells_of(line)) < 2
        if (
            FLOAT_LABEL.match(line.text)
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
    """Return the items of each cell of a line."""
    cells: list[list[Item]] = [[line.items[0]]]
    if line.bold and len(line.items) == 2 and number_of(line.text):
        # white follows a heading's number, but it is not a row of cells
        return [list(line.items)]
    for item in line.items[1:]:
        if item.box.x0 - cells[-1][-1].box.x1 > _CELL_GAP * min(item.size, line.size):
            cells.append([item])
        else:
            cells[-1].append(item)
    return cells


def _build_table(lines: Sequence[Line], first: int, end: int) -> Table | None:
    """Return the table of these lines; None for prose with mathematics, an author block or a list."""
    run = lines[first:end]
    rows = [cells_of(line) for line in run]
    captioned = _has_caption(lines, first, end)
    texts = [join_items(cell) for row in rows for cell in row]
    wide = sum(_has_wide_gap(row) for row in rows)
    figures = sum(bool(re.search(r"[0-9]", re.sub(r"\$[^$]*\$", "", text))) for text in texts) / len(texts)
    broadest = max(map(len, rows))
    if wide * 2 < len(rows) or sum(len(text) > _LONGEST_CELL for text in texts) * 3 > len(texts):
        return None
    if len(rows) < _FEWEST_LOOSE_ROWS and (not captioned or broadest < 3):
        return None
    if not captioned and (figures < _LEAST_FIGURES or broadest < 3):
        return None
    grid = cells_of_rows([line.items for line in run], 1, run[0].size)
    filled = sum(bool(cell) for row in grid for cell in row) / (len(grid) * len(grid[0]))
    if len(grid[0]) < 2 or (filled < _LEAST_FILLED and not captioned):
        return None
    if not captioned and any(_TICKS.fullmatch(cell) for row in grid for cell in row):
        return None
    return Table(first, end - first, tuple(tuple(row) for row in grid))


def _has_caption(lines: Sequence[Line], first: int, end: int) -> bool:
    if end < len(lines) and FLOAT_LABEL.match(lines[end].text):
        return True
    for index in range(first - 1, max(-1, first - _LONGEST_CAPTION), -1):
        line = lines[index]
        if FLOAT_LABEL.match(line.text):
            return True
        if line.fresh or line.gap > 0.8 * line.size or line.page != lines[first].page:
            return False
    return False


def _has_wide_gap(row: Sequence[Sequence[Item]]) -> bool:
    """Return whether the white between two cells is wide, also relative to that between words: lines may be stretched."""
    within = [right.box.x0 - left.box.x1 for cell in row for left, right in itertools.pairwise(cell)]
    least = _STRETCHED * median(within) if len(within) >= len(row) else 0.0
    gaps = ((right[0].box.x0 - left[-1].box.x1, right[0].size) for left, right in itertools.pairwise(row))
    return any(gap > max(_WIDE_GAP * size, least) for gap, size in gaps)


def table_text(table: Table) -> str:
    """Render a pipe table with its first row as head."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


@dataclass(frozen=True, slots=True)
class Region:
    """The space between rules of one width. `rules` are these, top to bottom."""

    box: BoundingBox
    rules: tuple[BoundingBox, ...]


def with_ruled_tables(page: Page) -> Page:
    """Replace each table between rules by one item."""
    items = list(page.items)
    for found in _regions_of(page):
        region = _with_head_above(found, items)
        inside = [item for item in items if item.table is None and region.box.holds(item.box)]
        captioned = any(_is_near(item.box, region.box) and FLOAT_LABEL.match(item.text) for item in items)
        rows = _build_rows(inside, region, captioned=captioned) if len(inside) > 2 else None
        if rows:
            size = median(item.size for item in inside)
            text = " ".join(item.text for item in inside)
            taken = set(inside)
            at = min(index for index, item in enumerate(items) if item in taken)
            table = Item(text, region.box, size, inside[0].font, False, False, table=rows)
            items = [
                *(item for item in items[:at] if item not in taken),
                table,
                *(i for i in items[at:] if i not in taken),
            ]
    return replace(page, items=tuple(items))


def _with_head_above(region: Region, items: Sequence[Item]) -> Region:
    """Extend a region by the column names, if they are above the upper of two rules."""
    if sum(rule.width > region.box.width - 4 * _SAME_EDGE for rule in region.rules) > 2:
        return region
    box = region.box
    room = replace(box, y0=box.y0 - _NEAR_CAPTION, y1=box.y0)
    for row in reversed(rows_of([item for item in items if item.table is None and room.holds(item.box)])):
        top, bottom = min(item.box.y0 for item in row), max(item.box.y1 for item in row)
        near = box.y0 - bottom < row[0].size
        if len(row) < 2 or not near or FLOAT_LABEL.match(row[0].text) or _is_prose(row, box):
            break
        box = replace(box, y0=top)
    return replace(region, box=box)


def _is_near(caption: BoundingBox, table: BoundingBox) -> bool:
    beside = caption.x0 < table.x1 and caption.x1 > table.x0
    return beside and min(abs(caption.y1 - table.y0), abs(caption.y0 - table.y1)) < _NEAR_CAPTION


def _regions_of(page: Page) -> Iterator[Region]:
    """Yield the regions between rules of equal extent, split where prose is between two of them."""
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
        captioned = any(FLOAT_LABEL.match(item.text) for item in between)
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
    """Return the cells of a table; None for an algorithm, prose in a frame or a drawing."""
    rows = rows_of(inside)
    if _OTHER_FLOAT.match(rows[0][0].text) or len(rows) < 2:
        return None
    size = median(item.size for item in inside)
    heads = _count_head_rows(rows, region)
    grid = cells_of_rows(rows, heads, size, region.rules)
    columns = len(grid[0])
    filled = sum(bool(cell) for cells in grid for cell in cells) / (len(grid) * columns)
    if columns < 2 or (filled < _FILLED and not captioned):
        return None
    if not captioned and (len(rows) < _FEWEST_ROWS or columns < _FEWEST_COLUMNS or len(region.rules) < 3):
        return None
    return tuple(map(tuple, _merge_rows(grid, rows, heads, region)))


def cells_of_rows(
    rows: Sequence[Sequence[Item]], heads: int, size: float, rules: Sequence[BoundingBox] = ()
) -> list[list[str]]:
    """Return the cells of each row, of which the first `heads` name the columns."""
    gutters = _gutters_of(rows, heads, size)
    return [_place(row, gutters, rules, head=index < heads) for index, row in enumerate(rows)]


def _count_head_rows(rows: Sequence[Sequence[Item]], region: Region) -> int:
    full = [rule for rule in region.rules if rule.width > region.box.width - 4 * _SAME_EDGE]
    under = full[1] if len(full) > 2 else full[0] if full else region.box
    above = sum(row[0].box.middle < under.y0 for row in rows)
    return above if 1 <= above <= min(_MOST_HEAD_ROWS, len(rows) - 1) else 1


def _gutters_of(rows: Sequence[Sequence[Item]], heads: int, size: float) -> list[float]:
    # word by word, because the engine merges numbers that are close
    words = [[word for item in row for word in item.words or ((item.text, item.box.x0, item.box.x1),)] for row in rows]
    counted = [row for row in words[heads:] if len(row) > 1] or [row for row in words if len(row) > 1]
    if not counted:
        return []
    left, right = min(row[0][1] for row in counted), max(row[-1][2] for row in counted)
    # a name for several rows is between them, in a column of its own
    beyond = [item.box for row in rows for item in row if item.box.x1 < left - _GUTTER * size]
    left, right = int(min([left, *(box.x0 for box in beyond)])), int(right) + 1
    covered = Counter(x for row in counted for x in _ink_of([row]))
    # column names may be closer than the columns, and a name may be between two rows
    others = [_ink_of([row for row in words if row not in counted]), _ink_of(words[heads - 1 : heads])]
    allowed = int(_CROSSING * len(counted))
    gutters: list[float] = []
    for white, stretch in itertools.groupby(range(left, right), key=lambda x: covered[x] <= allowed):
        places = list(stretch)
        gutter = _widest_white(places, others) if white else None
        inner = (places[0] > left or beyond) and places[-1] < right - 1
        if gutter is None or not inner:
            continue
        beside = _beside(places, counted)
        figures = sum(bool(_NUMBER.fullmatch(one[0]) and _NUMBER.fullmatch(other[0])) for one, other in beside)
        numeric = len(beside) > 1 and figures >= _MOSTLY * len(counted)
        within = sum(any(item.box.x0 < places[0] and item.box.x1 > places[-1] for item in row) for row in rows[heads:])
        if len(places) + 1 < (_FIGURE_GUTTER if numeric else _GUTTER) * size:
            continue
        if within > allowed and not numeric and 2 * len(beside) < max(_FEWEST_ROWS, len(counted)):
            continue
        if numeric or not _is_one_column(gutter, rows[heads - 1], beside, size):
            gutters.append(gutter)
    return gutters


def _widest_white(places: Sequence[int], others: Sequence[set[int]]) -> float | None:
    """Return the middle of the widest part of a stripe without ink in other rows, of which the last count most."""
    for number in range(len(others) + 1):
        inked = set().union(*others[number:])
        runs = [list(run) for free, run in itertools.groupby(places, key=lambda x: x not in inked) if free]
        if runs:
            widest = max(runs, key=len)
            return (widest[0] + widest[-1] + 1) / 2
    return None


def _ink_of(rows: Sequence[Sequence[Word]]) -> set[int]:
    return {x for row in rows for _, start, end in row for x in range(int(start), int(end) + 1)}


def _beside(places: Sequence[int], rows: Sequence[Sequence[Word]]) -> list[tuple[Word, Word]]:
    middle = (places[0] + places[-1]) / 2
    return [
        (left, right)
        for row in rows
        for left, right in itertools.pairwise(row)
        if left[2] <= middle + 1 and right[1] >= middle - 1
    ]


def _is_one_column(gutter: float, head: Sequence[Item], beside: Sequence[tuple[Word, Word]], size: float) -> bool:
    """Return whether the last head row has one name over close cells on both sides: "0 .. 19" is one cell."""
    over = any(item.box.x0 < gutter - 2 and item.box.x1 > gutter + 2 for item in head)
    return over and any(right[1] - left[2] < _CLOSE_GUTTER * size for left, right in beside)


def _place(row: Sequence[Item], gutters: Sequence[float], rules: Sequence[BoundingBox], *, head: bool) -> list[str]:
    cells: list[list[Item]] = [[] for _ in range(len(gutters) + 1)]
    shares = _shares_of(row, gutters, rules) if head else {}
    for item in row:
        box = shares.get(item) or (_spread_over(item, rules) if head else item.box)
        over = _columns_under(box, gutters)
        pieces = [] if box is not item.box else _split_at(item, gutters, widest=_HEAD_SPACE if head else _SPACE)
        if len(over) > 1 and len(pieces) > 1:
            for piece in pieces:
                cells[_columns_under(piece.box, gutters)[0]].append(piece)
            continue
        for index in over if head else over[:1]:
            cells[index].append(item)
    return [join_items(cell) if cell else "" for cell in cells]


def _columns_under(box: BoundingBox, gutters: Sequence[float]) -> list[int]:
    edges = [float("-inf"), *gutters, float("inf")]
    least = min(4.0, box.width / 3)
    over = [
        index
        for index, (start, end) in enumerate(itertools.pairwise(edges))
        if min(end, box.x1) - max(start, box.x0) > least
    ]
    return over or [sum(gutter < box.centre for gutter in gutters)]


def _split_at(item: Item, gutters: Sequence[float], *, widest: float) -> list[Item]:
    crossed = [gutter for gutter in gutters if item.box.x0 + 1 < gutter < item.box.x1 - 1]
    formulas = _FORMULA.findall(item.text)
    if len(formulas) == len(crossed) + 1 and " ".join(formulas) == item.text:
        edges = [item.box.x0, *crossed, item.box.x1]
        boxes = (BoundingBox(start, item.box.y0, end, item.box.y1) for start, end in itertools.pairwise(edges))
        return [replace(item, text=text, box=box) for text, box in zip(formulas, boxes, strict=True)]
    if len(item.words) == len(crossed) + 1 and _fit_between(item.words, crossed):
        widest = 0.0
    pieces: list[list[Word]] = [[]]
    for word in item.words:
        before = pieces[-1][-1] if pieces[-1] else None
        middle = (before[2] + word[1]) / 2 if before else 0.0
        near = min((abs(gutter - middle) for gutter in crossed), default=item.size)
        if before and near < item.size and word[1] - before[2] >= widest * item.size:
            pieces.append([])
        pieces[-1].append(word)
    return [
        replace(item, text=" ".join(word[0] for word in piece), box=replace(item.box, x0=piece[0][1], x1=piece[-1][2]))
        for piece in pieces
        if piece
    ]


def _fit_between(words: Sequence[Word], gutters: Sequence[float]) -> bool:
    edges = [float("-inf"), *gutters, float("inf")]
    middles = [(start + end) / 2 for _, start, end in words]
    return all(start < middle < end for middle, (start, end) in zip(middles, itertools.pairwise(edges), strict=True))


def _spread_over(item: Item, rules: Sequence[BoundingBox]) -> BoundingBox:
    """Return a name's box, widened to the rule directly below it unless that is a rule of the whole table."""
    widest = max((rule.width for rule in rules), default=0.0)
    for rule in rules:
        below = -3 <= rule.y0 - item.box.y1 < item.box.height
        within = rule.x0 - 2 <= item.box.x0 and item.box.x1 <= rule.x1 + 2
        if below and within and rule.width < _SHORT_RULE * widest:
            return item.box.around(rule)
    return item.box


def _shares_of(row: Sequence[Item], gutters: Sequence[float], rules: Sequence[BoundingBox]) -> dict[Item, BoundingBox]:
    shares: dict[Item, BoundingBox] = {}
    for spread, names in itertools.groupby(row, lambda item: replace(_spread_over(item, rules), y0=0.0, y1=0.0)):
        over, named = _columns_under(spread, gutters), list(names)
        if len(named) > 1 and len(over) > len(named) and len(over) % len(named) == 0:
            each = len(over) // len(named)
            edges = [spread.x0, *gutters[over[0] : over[-1]], spread.x1]
            for place, name in enumerate(named):
                shares[name] = replace(name.box, x0=edges[place * each], x1=edges[(place + 1) * each])
    return shares


def _merge_rows(
    grid: Sequence[list[str]], rows: Sequence[Sequence[Item]], heads: int, region: Region
) -> Iterator[list[str]]:
    merged: list[list[str]] = []
    bounds = [rule.y0 for rule in region.rules if rule.width > region.box.width / 2]
    by_rules = len(bounds) - 1 >= _PER_ROW * len(rows)
    middles = [row[0].box.middle for row in rows]
    wordy = _is_wordy(grid[heads:])
    for index, cells in enumerate(grid):
        before = merged[-1] if merged else None
        parted = any(middles[index - 1] < bound < middles[index] for bound in bounds) if index else True
        same_row = (by_rules or wordy) and not parted and (by_rules or _is_close(middles, index, heads))
        figures = before is not None and any(map(_are_figures, before, cells))
        if (
            before is not None
            and not figures
            and (same_row or _is_label(cells, before, middles, index) or _goes_on(cells, before, index, heads, grid))
        ):
            merged[-1] = [_join_cells(above, below) for above, below in zip(before, cells, strict=True)]
        else:
            merged.append(list(cells))
    yield from merged


def _join_cells(above: str, below: str) -> str:
    if above.endswith("-") and below[:1].islower():
        return above[:-1] + below
    return f"{above} {below}".strip()


def _are_figures(above: str, below: str) -> bool:
    return bool(_NUMBER.fullmatch(above) and _NUMBER.fullmatch(below))


def _is_wordy(grid: Sequence[Sequence[str]]) -> bool:
    cells = [cell for row in grid for cell in row if cell]
    figures = sum(bool(_FIGURES.search(cell)) for cell in cells)
    return bool(cells) and figures < len(cells) / 3 and sum(map(len, cells)) > _WORDY * len(cells)


def _is_close(middles: Sequence[float], index: int, heads: int) -> bool:
    """Return whether a line is as close to the previous one as lines of one cell, where more white separates rows."""
    steps = [after - before for before, after in itertools.pairwise(middles[heads:])]
    least = min((step for step in steps if step > 1), default=0.0)
    parted = any(step > _MORE_WHITE * least for step in steps)
    return index > heads and parted and middles[index] - middles[index - 1] <= _MORE_WHITE * least


def _is_label(cells: Sequence[str], before: Sequence[str], middles: Sequence[float], index: int) -> bool:
    """Return whether a row is a single cell halfway between two rows, which labels both: it joins the upper one."""
    filled = [place for place, cell in enumerate(cells) if cell]
    if len(filled) != 1 or before[filled[0]] or not 0 < index < len(middles) - 1:
        return False
    steps = sorted(after - before for before, after in itertools.pairwise(middles))
    usual = steps[-1 - len(steps) // 4]
    return max(middles[index] - middles[index - 1], middles[index + 1] - middles[index]) < _HALF_WAY * usual


def _goes_on(cells: Sequence[str], before: Sequence[str], index: int, heads: int, grid: Sequence[list[str]]) -> bool:
    """Return whether a line continues the cells above: in a head of wrapped names, or where only words continue."""
    if index < heads:
        above = grid[index - 1]
        spreading = any(one and one == other for one, other in itertools.pairwise(above))
        return not spreading and all(up or not down for up, down in zip(before, cells, strict=True))
    filled = [(cell, above) for cell, above in zip(cells, before, strict=True) if cell]
    words = all(above and not _FIGURES.search(cell) for cell, above in filled)
    return index > heads and not cells[0] and words and 2 * len(filled) < len(cells)
