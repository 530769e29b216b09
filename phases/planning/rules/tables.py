"""Pipe tables as grids of cells, their heads told from their bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from phases.planning.rules.numbers import NUMBER

_RULE = re.compile(r"\|[-:| ]+\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_MOST_ROWS, _LONGEST_PROSE = 80, 6
CELL_VALUE = re.compile(rf"^[*_$\\textbf{{}} ]*(?:{NUMBER})(?![\w.])")
_COUNTED_HEAD = re.compile(rf"[*_ ]*{NUMBER} [A-Z]?[a-z]{{3,}}")
"""A head that begins with a number: "32 Nodes"."""
METHOD_HEAD = re.compile(r"method|model|optimi[sz]er|algorithm|approach|system|policy|strategy", re.IGNORECASE)
"""Over a column that names methods."""
_MARKS = re.compile(r"[*_$\\{}]|<[^<>]{0,20}>|\\text\w+")

SETTING_NAME = re.compile(
    r"(?:\w+[ -])?(?:learning|dropout|batch|momentum|weight decay|warm|epochs?\b|(?:number|#|no\.?) ?of|num\b|num_|n_"
    r"|(?:max|min)(?:imum)?[ _-](?!max)|layers"
    r"|hidden|heads|steps|iterations|temperature|optimi[sz]er|decay|size|seeds?\b|discount|entropy|clip|gamma"
    r"|buffer|embedding|lr\b|gpus?\b|activation|gradient clip|label smooth|α|β|γ|λ|η|\\(?:alpha|beta|gamma|lambda|eta))",
    re.IGNORECASE,
)
"""How labels of settings begin, in any table."""


class Grid(NamedTuple):
    """A table with its heads told from its body."""

    heads: list[str]
    rows: list[tuple[str, list[str]]]
    """Label and cells."""
    labels: list[str]
    """What stands in the column that names the methods."""


def cells_of(table: str) -> list[list[str]]:
    """The rows of a pipe table, without its rule; empty where it is no grid but prose that fell into columns."""
    rows = [
        [" ".join(cell.replace("\\|", "|").split()) for cell in _CELL.split(line.strip().strip("|"))]
        for line in table.split("\n")[:_MOST_ROWS]
        if not _RULE.match(line.strip())
    ]
    filled = [cell for row in rows for cell in row if cell]
    words = sum(cell.count(" ") + 1 for cell in filled)
    if len(rows) < 2 or not filled or words > _LONGEST_PROSE * len(filled):
        return []
    return [row[::-1] for row in rows] if _begins_with_numbers(rows) else rows


def _begins_with_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table of two columns has its numbers before what they are of."""
    if any(len(row) != 2 for row in rows):
        return False
    first, second = zip(*rows[1:], strict=True)
    return _count_numbers(first) == sum(map(bool, first)) > 1 and _count_numbers(second) == 0


def read_grid(cells: Sequence[Sequence[str]]) -> Grid:
    """The heads of a table joined by column, and its rows by label; a head that spans columns stands over each.

    Where several columns on the left hold words, a row's label is what stands in all of them.
    """
    width = max((len(row) for row in cells), default=0)
    rows = [[*row, *[""] * (width - len(row))] for row in cells]
    first = next(
        (at for at, row in enumerate(rows) if _count_numbers(row[1:]) >= max(1, 0.4 * sum(map(bool, row[1:])))),
        len(rows),
    )
    if first == len(rows) or width < 2:
        return Grid([], [], [])
    first = max(first, 1) if _count_numbers(rows[0][1:]) == 0 or _is_scale(rows) else first
    wide = _count_label_columns(rows[first:])
    heads = [[""] * width]
    for depth, row in enumerate(rows[:first]):
        filled, last = [], ""
        for at, cell in enumerate(row):
            last = cell if cell or depth > 0 or at == 0 else last
            filled.append(cell if cell or depth > 0 else last)
        heads.append(filled)
    joined = [" / ".join(dict.fromkeys(filter(None, (_plain(row[at]) for row in heads)))) for at in range(width)]
    named = next((at for at in range(wide) if METHOD_HEAD.search(joined[at])), wide - 1)
    body = _fill_down(rows[first:], wide) if wide > 1 else rows[first:]
    merged = [[" / ".join(dict.fromkeys(filter(None, row[:wide]))), *row[wide:]] for row in body]
    labelled = list(_labelled_rows(merged))
    labels = [_plain(row[named]) for row in body] if wide > 1 else [label for label, _ in labelled]
    return Grid(joined[wide:], labelled, labels)


def _is_scale(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row numbers the columns: whole numbers that grow, over numbers that are not whole."""
    head = [cell for cell in rows[0][1:] if cell]
    if len(head) < 2 or not all(re.fullmatch(r"[0-9]{1,6}", cell) for cell in head):
        return False
    below = [cell for row in rows[1:6] for cell in row[1:] if cell]
    return [int(cell) for cell in head] == sorted({int(cell) for cell in head}) and sum(
        "." in one for one in below
    ) > len(below) / 2


def _count_label_columns(body: Sequence[Sequence[str]]) -> int:
    """How many columns on the left hold words and no numbers; one at least, three at most."""
    wide = 0
    for column in list(zip(*body, strict=True))[:3]:
        filled = [cell for cell in column if cell]
        if not filled or _count_numbers(filled) or not all(re.search("[A-Za-z]", cell) for cell in filled):
            break
        wide += 1
    return max(1, min(wide, len(body[0]) - 1))


def _fill_down(body: Sequence[Sequence[str]], wide: int) -> list[list[str]]:
    """The rows with each label of a group beside all of its rows; one in the middle of its group goes to the nearest."""
    filled = [list(row) for row in body]
    for at in range(wide - 1):
        named = [place for place, row in enumerate(body) if row[at]]
        for place, row in enumerate(filled):
            if not row[at] and named:
                above = [one for one in named if one < place]
                nearest = min(named, key=lambda one: abs(one - place))
                row[at] = body[nearest if not body[0][at] or not above else above[-1]][at]
    return filled


def _labelled_rows(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    group = ""
    for row in rows:
        label, cells = _plain(row[0]), list(row[1:])
        if _count_numbers(cells) == 0:
            group = label or group
            continue
        if not label and cells and not CELL_VALUE.match(cells[0]):
            label = _plain(cells[0])
            # a label and the first value may have fallen into one cell
            if split := re.match(rf"(.*?[A-Za-z)].*?) ({NUMBER})(?: .*)?$", label):
                label, cells[0] = split.group(1), split.group(2)
        yield f"{group} {label}".strip() if label.startswith("w/") else label or group, cells


def _count_numbers(cells: Sequence[str]) -> int:
    return sum(bool(CELL_VALUE.match(cell)) and not _COUNTED_HEAD.match(cell) for cell in cells)


def _plain(cell: str) -> str:
    return " ".join(_MARKS.sub("", cell).split())
