"""Read the targets of a reproduction: the method's own cells of result tables, and what is run for each table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from phases.planning.rules.names import letters_of
from phases.planning.rules.numbers import NUMBER, number_of, scaled
from phases.planning.rules.passages import PaperText, Sentence, Table, sentences_of
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP
from phases.planning.rules.tables import (
    CELL_VALUE,
    METHOD_HEAD,
    SETTING_NAME,
    UNIT,
    Grid,
    is_measured,
    is_value,
    number_same,
    plain_cell,
)  # fmt: skip

METRIC = re.compile(
    r"(?:root )?mean[- ](?:squared?|absolute) error|accurac(?:y|ies)|\bacc\b|precision|recall|\bF1\b|BLEU|ROUGE|perplexity"
    r"|\bPPL\b|\bloss\b|\berror(?: rate)?\b"
    r"|\b(?:success |win-?)?rate\b|\b(?:run)?time\b|\bscore\b|\bAUC\b|\bMSE\b|\bRMSE\b|\bMAE\b|L2RE|reward|\breturns?\b"
    r"|coverage|throughput|latency|overhead|memory|(?-i:\b(?:EM|MAP|N?DCG|[PR]@[0-9]+|FID|NLL|WER|CER|EER|mAP|PSNR|SSIM|IoU|R2"
    r"|FLOPs?)\b)",
    re.IGNORECASE,
)
"""Names of measures that many fields share."""
SETTINGS_TABLE = re.compile(
    r"hyper-?\s?param|\b(?:parameter|training|optimi[sz]er|model|architecture|experiment\w*|default) (?:settings?|choices?"
    r"|values?|configurations?)|\b(?:parameters?|settings?|configurations?) (?:used|of|for)\b|search space|\bnotation"
    r"|^parameters?\b|Einstellung|超参数|参数",
    re.IGNORECASE,
)
_DATA_TABLE = re.compile(
    r"statistics|characteristics|\bexamples? of\b|\bsamples? of\b|\b(?:list|overview|summary|description) of\b|^(?:the )?data "
    r"?sets?\b",
    re.IGNORECASE,
)
_RESULT_TABLE = re.compile(
    r"\bresults?\b|\bcompar|ablation|performance|evaluat|\beffect of|\baverage|\bbest\b|\bbold|结果|比较|Ergebnis|résultat",
    re.IGNORECASE,
)
_LETTERS = {"P": "precision", "R": "recall", "F": "F1", "Acc": "accuracy", "Acc.": "accuracy"}
_MEASURED_HEAD = re.compile(r"^(?!↑|↓).*(?:[↑↓]|%|\((?:min|s|sec|ms|hours?|MB|GB)\))$")
"""A head with an arrow or a unit names a measure."""
_BRACKET = re.compile(r" ?\([^()]*\)")
_NEAR, _ASKED = 900, 40
_LABEL = re.compile(
    r"[>*_ ]*((?:Table|TABLE|Tab\.|Tabelle|Tableau|表) ?(?:[A-Z]?\.?[0-9]+(?:\.[0-9]+)?|[IVX]{1,5}))[.:*_ ]+(.*)",
    re.DOTALL,
)
_Caption = tuple[int, str, str]
"""Distance, label and words."""
_TORN = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def caption_of(table: Table, paper: PaperText) -> tuple[str, str]:
    """Return label and words of the nearest caption, on the side where the paper has its captions."""
    start = _place_of(table, paper)
    near: list[_Caption] = []
    if start >= 0:
        above, below = _captions_near(paper, start, start + len(table.text))
        near = (below or above) if _are_below(paper) else (above or below)
    if near:
        return min(near)[1:]
    read = _LABEL.match(table.caption)
    return (read.group(1), read.group(2)) if read else ("", table.caption)


def first_sentence(caption: str) -> str:
    """Return the first sentence of a caption."""
    return next(iter(sentences_of(caption)), "")


def is_result_table(table: Table, label: str, caption: str) -> bool:
    """Return whether the cells were measured: by caption and place, and by digits that nobody would choose."""
    grid = table.grid
    if not grid.rows or _is_drawing(grid) or (len(grid.rows) > 1 and len({name for name, _ in grid.rows}) == 1):
        return False
    intro, measured = caption[:160], _looks_measured(grid)
    if is_settings_table(table, caption) or (_DATA_TABLE.search(intro[:80]) and not measured):
        return False
    if not label:
        return table.role in (RESULTS, MIXED) and measured
    words = f"{intro} {grid.corner} {' '.join(grid.heads)}"
    is_of_methods = table.role == MIXED and METHOD_HEAD.search(grid.corner)
    return bool(
        measured or table.role == RESULTS or is_of_methods or METRIC.search(words) or _RESULT_TABLE.search(intro)
    )


def is_settings_table(table: Table, caption: str) -> bool:
    """Return whether the cells were chosen: the caption says so, or most labels are settings and the numbers are round."""
    grid, intro = table.grid, caption[:160]
    if METRIC.search(" ".join(grid.heads)) or (_looks_measured(grid) and not SETTINGS_TABLE.search(intro[:60])):
        return False
    if _DATA_TABLE.search(intro[:80]) and not SETTINGS_TABLE.search(intro):
        return False
    labels = [label for label, _ in grid.rows] or [row[0] for row in table.cells]
    named = sum(bool(SETTING_NAME.match(label)) for label in labels)
    says_results = _RESULT_TABLE.search(intro) and _looks_measured(grid)
    is_headed = any(re.match(r"values?$|setting", head, re.IGNORECASE) for head in grid.heads)
    return bool((SETTINGS_TABLE.search(intro) and not says_results) or 2 * named > len(labels) > 0 or is_headed)


def is_data_table(table: Table, caption: str) -> bool:
    """Return whether a table describes what goes in: data sets, their sizes, examples."""
    is_set_up = table.role in (SETUP, BUILD) and table.grid.corner.lower().startswith("data")
    return is_set_up or bool(_DATA_TABLE.search(caption[:100]))


def metric_of(column: str, row: str) -> str:
    """Return the measure of a cell: named by its column, else by its row."""
    heads = [part for part in column.split(" / ") if "=" not in _BRACKET.sub("", part)]
    leaf = heads[-1] if heads else ""
    if leaf in _LETTERS:
        return _LETTERS[leaf]
    if _MEASURED_HEAD.search(leaf):
        return re.sub(" ?[↑↓]", "", _BRACKET.sub("", leaf)).strip()
    found = METRIC.search(" / ".join(heads)) or METRIC.search(row)
    return found.group(0) if found else ""


def _place_of(table: Table, paper: PaperText) -> int:
    start = table.section["start"]
    place = paper.text.find(table.text, start)
    return place if place >= 0 else paper.text.find(table.text.split("\n")[0], start)


@lru_cache(1)
def _are_below(paper: PaperText) -> bool:
    places = [(one, _place_of(one, paper)) for one in paper.tables[:_ASKED]]
    sides = [_captions_near(paper, at, at + len(one.text)) for one, at in places if at >= 0]
    return sum(bool(under) - bool(over) for over, under in sides) > 0


def _captions_near(paper: PaperText, start: int, end: int) -> tuple[list[_Caption], list[_Caption]]:
    rows = [row for row in paper.outline["tables"] if min(abs(start - row["end"]), abs(row["start"] - end)) < _NEAR]
    above = [(start - row["end"], row["label"], row["text"]) for row in rows if row["end"] <= start]
    return above, [(row["start"] - end, row["label"], row["text"]) for row in rows if row["start"] >= end]


def _is_drawing(grid: Grid) -> bool:
    """Return whether the numbers are the marks of a drawing's axes: they have no names, or ran together."""
    cells = list(filter(None, (*grid.heads, *(cell for _, row in grid.rows for cell in row))))
    torn = sum(bool(_TORN.search(cell)) for cell in cells)
    named = sum(bool(re.search(r"[^\W\d_]{2}", label)) for label, _ in grid.rows)
    is_headed = 2 * sum(map(bool, grid.heads)) > len(grid.heads)
    return 5 * torn > len(cells) or any(map(_TORN.search, grid.heads)) or not (is_headed or 2 * named > len(grid.rows))


def _looks_measured(grid: Grid) -> bool:
    """Return whether most numbers have two digits and a fraction, or a deviation, and few are the same."""
    values = [cell for _, row in grid.rows for cell in row if CELL_VALUE.match(cell)]
    return len(values) > 3 and 2 * min(sum(map(is_measured, values)), len(set(values))) >= len(values)


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
        """Return the caption as a sentence, the source of names from the table."""
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
    """Yield each cell under its head; several values in one cell each under its part of the head, or numbered."""
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
