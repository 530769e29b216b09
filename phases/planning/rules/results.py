"""Read the targets of a reproduction: the method's own cells of result tables, and what is run for each table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from phases.planning.rules.captions import (
    caption_of,
    first_sentence,
    is_data_table,
    is_result_table,
    metric_of,
)  # fmt: skip
from phases.planning.rules.cells import CELL_VALUE, UNIT, is_value, plain_cell
from phases.planning.rules.names import letters_of
from phases.planning.rules.numbers import NUMBER, number_of, scaled
from phases.planning.rules.passages import PaperText, Sentence, Table
from phases.planning.rules.sections import MIXED, RESULTS
from phases.planning.rules.tables import Grid, number_same

MOST, _MOST_OF_TABLE, _WORDS, _MOST_WORDS = 150, 60, 10, 18
_OURS = re.compile(r"\bours?\b|\(this (?:work|paper)\)|\bproposed\b", re.IGNORECASE)
_OTHERS = re.compile(
    r"\[[0-9, ]+\]|\bet al\b|\((?:19|20)[0-9]{2}[a-z]?\)|\b(?:19|20)[0-9]{2}\b|\bbaselines?\b", re.IGNORECASE
)
_PAIR = re.compile(rf"({NUMBER}) ?/ ?({NUMBER})(?![\w.])")
_UNIT_SAID = re.compile(r"\(((?:m|µ|μ|n)?s(?:ec(?:onds?)?)?|min(?:utes)?|hours?|h|[KMG]B|%)\)|(%)$")
_NO_WORD = re.compile(r"[^\w*+]+")
_DRAWN = re.compile(
    r"\b(?:throughput|latency|accurac|error|loss|perform|compar|times?|rates?|scores?|results?|effects?|sensitivity|experiment"
    r"|versus|vs)",
    re.IGNORECASE,
)
Row = dict[str, Any]


@dataclass(frozen=True)
class TableUse:
    """A table with its label and caption, and what the plan takes from it."""

    table: Table
    label: str
    caption: str
    rows: tuple[Row, ...] = ()
    is_sure: bool = True
    count: int = 0
    """How many values the table has for the method, of which `rows` may be a part."""

    @property
    def place(self) -> Sentence:
        """The caption as a sentence, for what the table names."""
        return Sentence(self.caption or self.label, self.table.section, self.table.page, self.table.role, "caption")


def read_results(paper: PaperText, own: Sequence[str]) -> list[TableUse]:
    """Return every table of the paper, those of results with rows for the plan, at most `MOST` in all."""
    uses = [_read_table(table, paper, own) for table in paper.tables]
    times, seen = Counter(one.label for one in uses if one.rows), Counter[str]()
    left, made = MOST, []
    for one in sorted(uses, key=lambda use: not use.is_sure):
        rows = list(one.rows)[: min(_MOST_OF_TABLE, left)]
        left -= len(rows)
        if rows and times[one.label] > 1:
            seen[one.label] += 1
            rows = [{**row, "table": f"{one.label}, part {seen[one.label]} of {times[one.label]}"} for row in rows]
        made.append(TableUse(one.table, one.label, one.caption, tuple(rows), one.is_sure, len(one.rows)))
    return sorted(made, key=lambda use: paper.tables.index(use.table))


def experiments_of(uses: Sequence[TableUse], results: Sequence[Row], paper: PaperText) -> list[Row]:
    """Return one experiment for each table with targets, and for each figure of measurements."""
    made: list[tuple[int, Row]] = []
    tables: dict[str, list[Row]] = {}
    for row in results:
        tables.setdefault(row["table"].partition(", part ")[0], []).append(row)
    captions = {one.label: one.caption for one in reversed(uses)}
    for label, rows in tables.items():
        said = _short(plain_cell(first_sentence(captions.get(label, ""))), 40) or f"Compute what {label} reports"
        what = f"{said.rstrip('.')} ({label}, page {rows[0]['page']})"
        made.append((rows[0]["page"], {"what": what, "results": [row["id"] for row in rows]}))
    for row in paper.outline["figures"]:
        said = first_sentence(str(row["text"]))
        if paper.roles.get(row["section"]) in (RESULTS, MIXED) and _DRAWN.search(said):
            what = f"{said} ({row['label']}, page {row['page']}: drawn, no number of it is read)"
            made.append((int(row["page"]), {"what": what}))
    made.sort(key=lambda one: one[0])
    return [{"id": f"X{number}", **row} for number, (_, row) in enumerate(made, 1)]


def describe_tables(uses: Sequence[TableUse], values: Sequence[Row], paper: PaperText) -> list[Row]:
    """Return what the plan makes of each table; of the parts under one label the most useful counts."""
    quotes = {(row["source"]["page"], row["source"]["quote"]) for row in values}
    order = ("results", "settings", "data", "none")
    found: dict[tuple[str, int], Row] = {}
    for one in uses:
        name = one.label or f"unnumbered table on page {one.table.page}"
        used_as, why = _describe(one, quotes)
        row = {"table": name, "page": one.table.page, "used_as": used_as, **({"why": why} if why else {})}
        key = (name, 0 if one.label else one.table.page)
        if key not in found or order.index(used_as) < order.index(found[key]["used_as"]):
            found[key] = row
    for caption in paper.outline["tables"]:
        unread = {
            "table": caption["label"],
            "page": caption["page"],
            "used_as": "none",
            "why": "its cells could not be read",
        }
        found.setdefault((caption["label"], 0), unread)
    return sorted(found.values(), key=lambda row: row["page"])


def _describe(one: TableUse, quotes: set[tuple[int, str]]) -> tuple[str, str]:
    if one.rows:
        return "results", f"{len(one.rows)} of its {one.count} values" if one.count > len(one.rows) else ""
    lines = (" ".join(line.strip("| ").split())[:200] for line in one.table.text.split("\n"))
    if any((one.table.page, line) in quotes for line in lines):
        return "settings", ""
    if is_data_table(one.table, one.caption):
        return "data", ""
    return "none", "no row of the method" if one.table.grid.rows else "words and no numbers"


def is_own(label: str, own: Sequence[str]) -> bool:
    """Return whether a label says that it is this paper's, or has a name of the method."""
    words = f" {_NO_WORD.sub(' ', label.lower())}"
    for name in own:
        plain = _NO_WORD.sub(" ", name.lower()).strip()
        if (len(plain) > 4 and letters_of(name) in letters_of(label)) or (len(plain) > 1 and f" {plain}" in words):
            return True
    return bool(_OURS.search(label))


def _read_table(table: Table, paper: PaperText, own: Sequence[str]) -> TableUse:
    label, caption = caption_of(table, paper)
    if not is_result_table(table, label, caption):
        return TableUse(table, label, caption)
    name = label or f"unnumbered table on page {table.page}"
    cells, is_sure = _own_cells(table.grid, caption, own)
    title = plain_cell(first_sentence(caption)).rstrip(". ")
    rows: dict[tuple[object, ...], Row] = {}
    for row_name, column, shown in cells:
        value, unit = _value_of(shown)
        if value is None or not re.search(r"[^\W\d_]", row_name + column):
            continue
        head, said = _short(column, _WORDS), _UNIT_SAID.search(column)
        metric = metric_of(head, row_name)
        room = max(_MOST_WORDS - len(f"{head} {metric}".split()), 3)
        row: Row = {"table": name, "row": _short(row_name, _WORDS), "column": head, "condition": _short(title, room)}
        row |= {"metric": metric, "value": value, "unit": unit or (said[1] or said[2] if said else "")}
        rows.setdefault((row["row"], head, value), {**row, "page": table.page})
    return TableUse(table, name, caption, tuple(rows.values()), is_sure)


def _own_cells(grid: Grid, caption: str, own: Sequence[str]) -> tuple[list[tuple[str, str, str]], bool]:
    """Return row, column and cell of the method's own rows, else its own columns, else of all that is not known as another's."""
    labels = number_same([label for label, _ in grid.rows])
    is_scale = grid.corner and all(re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", head) for head in grid.heads)
    cells = [
        (label, f"{grid.corner}={head}" if is_scale else head, cell)
        for label, (_, row) in zip(labels, grid.rows, strict=True)
        for head, cell in _split_cells(grid, row)
        if is_value(cell) and (label or not any(labels))
    ]
    for names in (own[:2], own):  # a name of the title says more than the names of parts
        mine = [cell for cell in cells if is_own(cell[0], names)]
        if mine and len({cell[0] for cell in mine}) < len({cell[0] for cell in cells}):
            return mine, True
        columns = [cell for cell in cells if is_own(cell[1], names)]
        if columns and len({cell[1] for cell in columns}) < len({cell[1] for cell in cells}):
            return columns, True
    left = [cell for cell in cells if not (_OTHERS.search(cell[0]) or _OTHERS.search(cell[1]))] or cells
    return left, is_own(first_sentence(caption), own) or bool(own and all(is_own(label, own) for label in labels))


def _split_cells(grid: Grid, row: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each cell under its head; several values of one cell each under its part of the head, or numbered."""
    heads: list[str] = []
    cells: list[str] = []
    for place, (printed, cell) in enumerate(zip(grid.heads, row, strict=False)):
        head = printed or f"column {place + 2}"
        pair, values, names = _PAIR.match(cell), cell.split(), head.split()
        if pair:
            values, names = (
                list(pair.groups()),
                [f"{head} ({name.strip()})" for name in head.split(" / ")[-1].split("/")],
            )
        elif not 1 < len(values) < 6 or not all(map(CELL_VALUE.fullmatch, values)):
            values, names = [cell], [head]
        numbered = [f"{head} ({at} of {len(values)})" for at in range(1, len(values) + 1)]
        heads += names if len(names) == len(values) else numbered
        cells += values
    yield from zip(number_same(heads), cells, strict=True)


def _value_of(cell: str) -> tuple[int | float | None, str]:
    """Return the number of a cell and its unit; thousands and millions are counted out."""
    number = re.search(NUMBER, cell)
    value = number_of(number.group(0)) if number else None
    if number is None or value is None:
        return None, ""
    unit = re.match(rf" ?({UNIT})(?![\w])", cell[number.end() :])
    if unit and unit.group(1) in ("K", "M", "B", "k"):
        return scaled(value, unit.group(1)), ""
    return value, unit.group(1) if unit else "%" if "%" in cell else ""


def _short(text: str, words: int) -> str:
    return " ".join(text.split()[:words])
