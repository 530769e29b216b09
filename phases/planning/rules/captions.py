"""Find the caption of a table, and tell tables of results from tables of settings and of data."""

from __future__ import annotations

import re
from functools import lru_cache

from phases.planning.rules.cells import CELL_VALUE, is_measured
from phases.planning.rules.passages import PaperText, Table
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.tables import METHOD_HEAD, SETTING_NAME, Grid

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
    said, measured = caption[:160], _looks_measured(grid)
    if is_settings_table(table, caption) or (_DATA_TABLE.search(said[:80]) and not measured):
        return False
    if not label:
        return table.role in (RESULTS, MIXED) and measured
    words = f"{said} {grid.corner} {' '.join(grid.heads)}"
    is_of_methods = table.role == MIXED and METHOD_HEAD.search(grid.corner)
    return bool(
        measured or table.role == RESULTS or is_of_methods or METRIC.search(words) or _RESULT_TABLE.search(said)
    )


def is_settings_table(table: Table, caption: str) -> bool:
    """Return whether the cells were chosen: the caption says so, or most labels are settings and the numbers are round."""
    grid, said = table.grid, caption[:160]
    if METRIC.search(" ".join(grid.heads)) or (_looks_measured(grid) and not SETTINGS_TABLE.search(said[:60])):
        return False
    if _DATA_TABLE.search(said[:80]) and not SETTINGS_TABLE.search(said):
        return False
    labels = [label for label, _ in grid.rows] or [row[0] for row in table.cells]
    named = sum(bool(SETTING_NAME.match(label)) for label in labels)
    says_results = _RESULT_TABLE.search(said) and _looks_measured(grid)
    is_headed = any(re.match(r"values?$|setting", head, re.IGNORECASE) for head in grid.heads)
    return bool((SETTINGS_TABLE.search(said) and not says_results) or 2 * named > len(labels) > 0 or is_headed)


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
