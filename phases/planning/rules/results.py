"""What a paper reports for its own method in its tables: the targets of a reproduction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.rules.numbers import NUMBER, number_of
from phases.planning.rules.passages import PaperText, Table
from phases.planning.rules.sections import MIXED, RESULTS
from phases.planning.rules.tables import CELL_VALUE, METHOD_HEAD, Grid, cells_of, read_grid

MOST = 120
_MOST_OF_TABLE, _MOST_UNSURE = 48, 40
_SETTINGS = re.compile(
    r"hyper-?\s?param|(?:parameter|training|optimi[sz]er|architecture) (?:settings?|choices?|values?"
    r"|configurations?|details?)|parameters? (?:used|of)\b|\bnotation|statistics|\bsymbols|search space|\bgrid"
    r"|\btypes of\b|\bexamples? of\b|超参数|参数设置",
    re.IGNORECASE,
)
_GIVEN = re.compile(r"\b(?:weights?|coefficients?|costs? in)\b(?! decay)", re.IGNORECASE)
"""Over a column of numbers that are given and not measured."""
_TUNED = re.compile(r"\b(?:after|with|without|by) hyper-?parameter (?:tuning|search|optimi[sz]ation)", re.IGNORECASE)
_RESULTS = re.compile(
    r"\bresults?\b|accurac|perplexit|\bscores?\b|\bperformance|\bBLEU|\bF1\b|\berrors?\b|\bcompar|ablation"
    r"|attain|achiev|variations|\btest set\b|\brates?\b|\bloss\b|\btimes?\b|\bsuccess|evaluat|\baverage"
    r"|throughput|latency|experiments?\b|结果|准确率|比较|Ergebnis",
    re.IGNORECASE,
)
_HEAD_ROW = re.compile(r"(?:time )?(?:steps?|epochs?|iterations?)$|#\.? ?of\b|number of\b", re.IGNORECASE)
"""A row that numbers the columns."""
_NEAR, _HEAD = 900, 200
_OURS = re.compile(r"\b(?:ours?|proposed|this (?:work|paper)|full (?:method|model)|our method)\b", re.IGNORECASE)
METRIC = re.compile(
    r"accuracy|\bacc\b|precision|recall|\bF1\b|BLEU|ROUGE|perplexity|\bPPL\b|\bloss\b|\berror\b|\brate\b"
    r"|\btime\b|\bscore\b|\bAUC\b|\bMSE\b|\bRMSE\b|\bMAE\b|L2RE|\bsteps\b|reward|return|fidelity|coverage"
    r"|throughput|latency|success|overhead|memory",
    re.IGNORECASE,
)


def expected_results(paper: PaperText, own: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows for the plan, without ids; and the tables where no row or column is known as the method's own.

    `own`: what the method is called.
    """
    rows: list[dict[str, Any]] = []
    unsure: list[str] = []
    for table in paper.tables:
        label, caption = caption_of(table, paper)
        if not _is_result_table(table, label, caption):
            continue
        grid = read_grid(cells_of(table.text))
        if not grid.rows:
            continue
        found, is_sure = _own_cells(grid, own)
        if not is_sure and label:
            unsure.append(label)
        made = (
            _row((_part_name(one[0], own), *one[1:]), label, caption, table)
            for one in found[: _MOST_OF_TABLE if is_sure else _MOST_UNSURE]
        )
        rows += [row for row in made if row]
    return rows[:MOST], unsure


def caption_of(table: Table, paper: PaperText) -> tuple[str, str]:
    """Label and words of the caption next to a table: the nearest, on the side where the paper has its captions."""
    start = paper.text.find(table.text.split("\n")[0], table.section["start"])
    if start < 0:
        return "", table.caption
    above, below = _captions_near(paper, start, start + len(table.text))
    sides = [
        _captions_near(paper, at, at + len(one.text)) for one in paper.tables if (at := paper.text.find(one.text)) >= 0
    ]
    is_below = sum(bool(under) - bool(over) for over, under in sides) > 0
    near = (below or above) if is_below else (above or below)
    return min(near)[1:] if near else ("", table.caption)


def _captions_near(
    paper: PaperText, start: int, end: int
) -> tuple[list[tuple[int, str, str]], list[tuple[int, str, str]]]:
    """The captions of tables close above and close below a place: how far, label, words."""
    rows = [row for row in paper.outline["tables"] if min(abs(start - row["end"]), abs(row["start"] - end)) < _NEAR]
    above = [(start - row["end"], row["label"], row["text"]) for row in rows if row["end"] <= start]
    return above, [(row["start"] - end, row["label"], row["text"]) for row in rows if row["start"] >= end]


def _is_result_table(table: Table, label: str, caption: str) -> bool:
    if not label or _SETTINGS.search(_TUNED.sub("", caption[:160])):
        return False
    # a table floats to where there is room: the section it stands in says little
    head = table.text[:_HEAD]
    if _GIVEN.search(head.split("\n")[0]):
        return False
    is_of_methods = table.role == MIXED and METHOD_HEAD.search(head.lstrip("| *").split("|")[0])
    return table.role == RESULTS or bool(is_of_methods or _RESULTS.search(f"{caption} {head}"))


def _own_cells(grid: Grid, own: Sequence[str]) -> tuple[list[tuple[str, str, str]], bool]:
    """(row, column, cell) of the method's own rows, else of its own columns, else of all."""
    cells = [(label, head, cell) for label, row in grid.rows for head, cell in _split_cells(grid.heads, row)]
    cells = [one for one in cells if CELL_VALUE.match(one[2]) and not _HEAD_ROW.match(one[0])]
    columns = [one for one in cells if _is_own(one[1], own)]
    named = [one for one in columns if _OURS.search(one[1]) and _is_own(one[1].replace("ours", ""), own)]
    rows = [one for one in cells if _is_own(one[0], own)]
    if rows and len({one[0] for one in rows}) < len({one[0] for one in cells}):
        return rows, True
    if columns:
        return named or columns, True
    return (rows or cells), bool(rows)


def _part_name(label: str, own: Sequence[str]) -> str:
    """A label with the blank that a text layer lost after the method's name: "TABLEFORMERBASE" is TABLEFORMER BASE."""
    for name in own:
        if len(name) > 3 and label.lower().startswith(name.lower()) and label[len(name) : len(name) + 1].isalpha():
            return f"{label[: len(name)]} {label[len(name) :]}"
    return label


def _split_cells(heads: Sequence[str], row: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each cell under its head; where several values fell into one cell, and as many words into its head, they part."""
    for head, cell in zip(heads, row, strict=False):
        values = cell.split()
        above, _, names = head.rpartition(" / ")
        parts = names.split()
        if len(values) > 1 and len(values) == len(parts) and all(CELL_VALUE.match(value) for value in values):
            yield from ((f"{above} / {part}".strip(" /"), value) for part, value in zip(parts, values, strict=True))
        elif len(values) > 1 and all(CELL_VALUE.fullmatch(value) for value in values):
            # which of the head's words belongs to which value is lost
            yield from ((f"{head} ({place} of {len(values)})", value) for place, value in enumerate(values, 1))
        else:
            yield head, cell


def _is_own(label: str, own: Sequence[str]) -> bool:
    if _OURS.search(label):
        return True
    return any(len(name) > 1 and _letters(name) in _letters(label) for name in own)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9*+]", "", text.lower())


def _row(one: tuple[str, str, str], label: str, caption: str, table: Table) -> dict[str, Any]:
    """The row of a plan; nothing where the cell holds no number."""
    row, column, cell = one
    shown = CELL_VALUE.match(cell)
    number = re.search(NUMBER, shown.group(0)) if shown else None
    value = number_of(number.group(0)) if number else None
    if value is None or not label or not re.search(r"[^\W\d_]", row + column):
        return {}
    metric = METRIC.search(column) or METRIC.search(caption)
    return {
        "table": label,
        "row": _short(row, 10),
        "column": _short(column, 10),
        "condition": _short(re.split(r"(?<=[.!?])\s", caption)[0], 14),
        "metric": metric.group(0) if metric else "",
        "value": value,
        "unit": "%" if "%" in cell else "",
        "page": table.page,
    }


def _short(text: str, words: int) -> str:
    return " ".join(text.split()[:words])


def experiments_of(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One experiment a table: what to run, in a full and in a quick size."""
    tables = list(dict.fromkeys(str(row["table"]) for row in results if row["table"]))
    return [
        {
            "id": f"X{number}",
            "what": f"Compute what {table} reports: {next(str(row['condition']) for row in results if row['table'] == table)}",
            "results": [str(row["id"]) for row in results if row["table"] == table],
            "quick": (
                "One seed, the smallest data set that the paper names, and a tenth of the steps: only the order of"
                " the rows is looked at."
            ),
            "full": "All seeds, data sets and steps that the values name; each result is compared with its row.",
        }
        for number, table in enumerate(tables, 1)
    ]
