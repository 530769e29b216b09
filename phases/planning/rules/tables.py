"""Reads a table for the values that it sets; one of results sets none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from phases.planning.rules.values import NUMBER, Value, number_of, symbol_of

_RULE = re.compile(r"\|[-:| ]+\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_SETTINGS = re.compile(
    r"hyper-?\s?param|(?:parameter|training|optimi[sz]er|model|architecture)"
    r" (?:settings?|choices?|values?|configurations?|details?)"
    r"|parameters? (?:used|of)\b|Hyperparameter|Einstellung|超参数|参数设置",
    re.IGNORECASE,
)
_RESULTS = re.compile(
    r"\bresults?\b|accurac|perplexit|\bscores?\b|\bperformance|\bBLEU|\bF1\b|\berrors?\b|\bcomparison|\bcompared\b|ablation|\b(?:low|high)est\b|attain|achiev"
    r"|variations|\btest set\b|\bErgebnis|\bVergleich|结果|准确率|比较",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"(?:learning|dropout|batch|momentum|weight|warm|epochs|layers|hidden|heads|steps|iterations|temperature"
    r"|optimi[sz]er|decay|size|seed"
    r"|α|β|γ|λ|\\(?:alpha|beta|gamma|lambda))",
    re.IGNORECASE,
)
_LONGEST_LABEL, _MOST_ROWS = 40, 60
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


def settings_in(rows: Sequence[Sequence[str]], caption: str) -> Iterator[Value]:
    """What a table of settings sets, each named after its row and column. What is no such table sets nothing."""
    if not rows or _RESULTS.search(caption):
        return
    told = bool(_SETTINGS.search(caption) or _SETTINGS.search(rows[0][0]))
    if 2 * sum(map(_is_setting, rows[0][1:])) > len(rows[0][1:]):
        rows = [list(column) for column in zip(*_even(rows), strict=True)]  # a run a row: turned, it is a setting a row
    head = rows[0]
    body = rows if number_of(head[-1]) is not None else rows[1:]
    known = sum(_is_setting(row[0]) and any(_number(cell) is not None for cell in row[1:]) for row in body)
    if not known or (not told and 2 * known <= len(body)):
        return
    for row in body:
        label = _MARKS.sub("", row[0]).strip()
        if 0 < len(label) <= _LONGEST_LABEL:
            yield from _row_values(label, row[1:], head[1:])


def _is_setting(label: str) -> bool:
    """By its name; one with a number in it is a variant that was measured."""
    return bool(_KNOWN.match(_MARKS.sub("", label).strip())) and not re.search(r"[0-9]", label)


def _row_values(label: str, cells: Sequence[str], heads: Sequence[str]) -> Iterator[Value]:
    found = [(cell, heads[at] if at < len(heads) else "") for at, cell in enumerate(cells) if _number(cell) is not None]
    same = len({cell for cell, _ in found}) == 1
    for cell, head in found[:1] if same else found:
        value, which = _number(cell), "" if same or number_of(head) is not None else _MARKS.sub("", head)
        name = symbol_of(f"{label} {which}")
        if name and value is not None:
            yield Value(name, value, cell)


def _number(cell: str) -> int | float | None:
    plain = cell.strip("$* ")
    return number_of(plain) if re.fullmatch(NUMBER, plain) else None


def _even(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    width = max(map(len, rows))
    return [[*row, *[""] * (width - len(row))] for row in rows]
