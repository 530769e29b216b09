"""Reads a table for what it asks of a builder: the runs that its rows and columns span, and the values that it sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from phases.paper.planning.values import NUMBER, Value, number_of, symbol_of

_RULE = re.compile(r"\|[-:| ]+\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_SETTINGS = re.compile(
    r"hyper-?param|parameter (?:setting|choice|value)|settings?\b|configuration|Einstellung|超参数", re.IGNORECASE
)
_KNOWN = re.compile(
    r"(?:learning|dropout|batch|momentum|weight|warm|epochs|layers|hidden|heads|steps|iterations|temperature"
    r"|optimi[sz]er|decay|size|seed"
    r"|α|β|γ|λ|\\(?:alpha|beta|gamma|lambda))",
    re.IGNORECASE,
)
_LONGEST_LABEL, _MOST_LABELS, _MOST_ROWS = 40, 14, 60
_LONGEST_PROSE = 6
_MARKS = re.compile(r"[*_$\\{}]|<[^<>]{0,20}>")


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


def grid_of(rows: Sequence[Sequence[str]]) -> str:
    """What is compared with what: the labels of the rows and those of the columns."""
    across = _labels(rows[0])
    down = [
        label for label in _labels([row[0] for row in rows[1:]]) if not label.isdigit()
    ]  # those are counted, not named
    return "; ".join(
        [*([f"rows: {', '.join(down)}"] if down else []), *([f"columns: {', '.join(across)}"] if across else [])]
    )


def settings_in(rows: Sequence[Sequence[str]], about: str) -> Iterator[tuple[str, Value]]:
    """What a table of settings sets, each with the column it is for; `about` is its caption and the heading over it."""
    head = rows[0]
    told = bool(_SETTINGS.search(about) or _SETTINGS.search(head[0]))
    if told and sum(bool(_KNOWN.match(cell)) for cell in head[1:]) * 2 > len(head[1:]):
        rows = [list(column) for column in zip(*_even(rows), strict=True)]  # a run a row: turned, it is a setting a row
        head = rows[0]
    for row in rows if number_of(head[-1]) is not None else rows[1:]:
        label = _MARKS.sub("", row[0]).strip()
        if not 0 < len(label) <= _LONGEST_LABEL or not (told or _KNOWN.match(label)):
            continue
        yield from _row_values(label, row[1:], head[1:])


def _row_values(label: str, cells: Sequence[str], heads: Sequence[str]) -> Iterator[tuple[str, Value]]:
    found = [(cell, heads[at] if at < len(heads) else "") for at, cell in enumerate(cells) if _number(cell) is not None]
    same = len({cell for cell, _ in found}) == 1
    for cell, head in found[:1] if same else found:
        value, which = _number(cell), "" if same or number_of(head) is not None else _MARKS.sub("", head)
        name = symbol_of(f"{label} {which}")
        if name and value is not None:
            yield which, Value(name, value, cell)


def _number(cell: str) -> int | float | None:
    plain = cell.strip("$* ")
    return number_of(plain) if re.fullmatch(NUMBER, plain) else None


def _labels(cells: Sequence[str]) -> list[str]:
    plain = [" ".join(_MARKS.sub("", cell).split()) for cell in cells]
    kept = [cell for cell in plain if len(cell) <= _LONGEST_LABEL and re.search(r"[^\W\d_]{2}|^[0-9]+$", cell)]
    return list(dict.fromkeys(kept))[:_MOST_LABELS]


def _even(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    width = max(map(len, rows))
    return [[*row, *[""] * (width - len(row))] for row in rows]
