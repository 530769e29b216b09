"""What a table is of: results that were measured, settings that were chosen, or neither; and its caption."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from phases.planning.rules.cells import CELL_VALUE, is_measured
from phases.planning.rules.passages import PaperText, Table
from phases.planning.rules.sections import MIXED, RESULTS
from phases.planning.rules.tables import METHOD_HEAD, SETTING_NAME, Grid

SETTINGS_TABLE = re.compile(
    r"hyper-?\s?param|(?:parameter|training|optimi[sz]er|model|architecture|experiment\w*) (?:settings?"
    r"|choices?|values?|configurations?|details?)|parameters? (?:used|of|for)\b|search space"
    r"|settings? (?:of|for)|Einstellung|超参数|参数设置",
    re.IGNORECASE,
)
"""In the caption, or the heads, of a table of what was chosen."""
_NOTATION = re.compile(r"\bnotation|\bsymbols|\bgrid\b", re.IGNORECASE)
_TUNED = re.compile(r"\b(?:after|with|without|by) hyper-?parameter (?:tuning|search|optimi[sz]ation)", re.IGNORECASE)
_GIVEN = re.compile(r"\b(?:weights?|coefficients?|costs? in)\b(?! decay)|^(?:description|meaning)$", re.IGNORECASE)
"""Over a column of numbers that are given and not measured."""
_VALUE = re.compile(r"values?$", re.IGNORECASE)
_DATA = re.compile(
    r"statistics|characteristics|\btypes of\b|(?<!against )(?<!adversarial )\bexamples? of\b|\bsamples? of\b"
    r"|\b(?:original|raw|typical|same|molten|tidied|normali[sz]ed)\b.{0,40}\bdata|\bfirst \w+ rows"
    r"|\b(?:list|set|overview|summary|description) of (?:\w+ ){0,3}(?:data ?sets?|tasks|concepts|classes|benchmarks)\b"
    r"|^(?:the |two |three )?data ?sets?\b|\b(?:priors?|noise parameters|activity costs)\b",
    re.IGNORECASE,
)
"""A caption of what went in: data sets, their sizes, examples of them."""
_COUNTED = re.compile(
    r"(?:#|num|number of|no\.)|\b(?:rows?|instances|samples|classes|features|domain|year)\b", re.IGNORECASE
)
RESULT_WORDS = re.compile(
    r"\bresults?\b|accurac|perplexit|\bscores?\b|\bperformance|\bBLEU|\bF1\b|\berrors?\b|\bcompar|ablation"
    r"|attain|achiev|variations|\btest set\b|\brates?\b|\bloss\b|\btimes?\b|\bsuccess|evaluat|\baverage|\bimpact of"
    r"|\beffect of|throughput|latency|experiments?\b|\bbest\b|\bbold|\bmedian|deviation|utili[sz]ation|overhead"
    r"|结果|准确率|比较|Ergebnis",
    re.IGNORECASE,
)
METRIC = re.compile(
    r"accuracy|\bacc\b|precision|recall|\bF1\b|BLEU|ROUGE|perplexity|\bPPL\b|\bloss\b|\berror(?: rate)?\b"
    r"|\b(?:success |win-?)?rate\b"
    r"|\btime\b|\bscore\b|\bAUC\b|\bMSE\b|\bRMSE\b|\bMAE\b|L2RE|\bsteps\b|reward|\breturns?\b|fidelity|coverage"
    r"|throughput|latency|success|overhead|memory|(?-i:\b(?:EM|FID|NLL|WER|CER|EER|mAP|PSNR|SSIM|IoU|R2|FLOPs?)\b)",
    re.IGNORECASE,
)
_NO_METRIC = re.compile(
    r"learning rates?|standard errors?|(?:[0-9]+|sampl\w+|training|different) (?:\S+ )?steps|returns? ", re.IGNORECASE
)
_LETTERS = {"P": "precision", "R": "recall", "F": "F1", "Acc": "accuracy", "Acc.": "accuracy"}
_MEASURED_HEAD = re.compile(r"^(?!↑|↓).*(?:[↑↓]|%|\((?:min|s|sec|ms|hours?|MB|GB)\))$")
"""A head that says which way is better, or in what it is measured, is a metric's name."""
_BRACKET = re.compile(r" ?\([^()]*\)")
_NEAR, _ASKED = 900, 40
"""How far a caption is from its table; and how many tables say on which side captions are."""
_CAPTION_LABEL = re.compile(
    r"[>*_ ]*((?:Table|TABLE|Tab\.|Tabelle|表) ?(?:[A-Z]?\.?[0-9]+(?:\.[0-9]+)?|[IVX]{1,5}))[.:*_ ]+(.*)", re.DOTALL
)
_TORN = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_FEWEST_MEASURED = 0.5


def caption_of(table: Table, paper: PaperText) -> tuple[str, str]:
    """Label and words of the caption next to a table: the nearest, on the side where the paper has its captions."""
    start = _place_of(table, paper)
    near: list[tuple[int, str, str]] = []
    if start >= 0:
        above, below = _captions_near(paper, start, start + len(table.text))
        near = (below or above) if _captions_are_below(paper) else (above or below)
    if near:
        return min(near)[1:]
    read = _CAPTION_LABEL.match(table.caption)
    return (read.group(1), read.group(2)) if read else ("", table.caption)


def is_result_table(table: Table, caption: str, grid: Grid, *, has_number: bool) -> bool:
    """Whether the cells of a table were measured, by its caption, its heads and how its numbers look.

    False where it holds settings or data, or where it is a picture that was read as a table. One without a number of its
    own must stand among results and look so.
    """
    said = _TUNED.sub("", caption)
    are_same = len({label for label, _ in grid.rows}) == 1 < len(grid.rows)  # rows of data, which nothing tells apart
    if not grid.rows or are_same or _is_picture(grid) or _NOTATION.search(said[:160]):
        return False
    if SETTINGS_TABLE.search(said[:160]) and not (RESULT_WORDS.search(said[:60]) and _looks_measured(grid)):
        return False
    is_pair = _VALUE.match(grid.heads[0]) and not METRIC.search(grid.corner)
    if is_pair or any(map(_GIVEN.search, grid.heads)) or _holds_settings(grid) or _holds_counts(grid):
        return False
    if _is_of_data(said):
        return False
    if not has_number:
        return table.role in (RESULTS, MIXED) and _looks_measured(grid)
    words = f"{said} {grid.corner} {' '.join(grid.heads)}"
    is_of_methods = table.role == MIXED and METHOD_HEAD.search(grid.corner)
    return bool(table.role == RESULTS or is_of_methods or RESULT_WORDS.search(words) or _looks_measured(grid))


def holds_data(caption: str, grid: Grid) -> bool:
    """Whether a table tells of what goes in: data sets, their sizes, examples of them."""
    return _is_of_data(caption) or bool(grid.rows and (_holds_counts(grid) or any(map(_GIVEN.search, grid.heads))))


def _is_of_data(caption: str) -> bool:
    said = caption[:100]
    return bool(_DATA.search(said)) and not (METRIC.search(said) or RESULT_WORDS.search(said))


def _place_of(table: Table, paper: PaperText) -> int:
    # by all of it: many tables of a paper begin with the same heads
    start = table.section["start"]
    place = paper.text.find(table.text, start)
    return place if place >= 0 else paper.text.find(table.text.split("\n")[0], start)


@lru_cache(1)
def _captions_are_below(paper: PaperText) -> bool:
    """Whether most tables of a paper have their captions below: asked for with each table, and counted once."""
    places = [(one, _place_of(one, paper)) for one in paper.tables[:_ASKED]]
    sides = [_captions_near(paper, at, at + len(one.text)) for one, at in places if at >= 0]
    return sum(bool(under) - bool(over) for over, under in sides) > 0


def _captions_near(
    paper: PaperText, start: int, end: int
) -> tuple[list[tuple[int, str, str]], list[tuple[int, str, str]]]:
    """The captions of tables close above and close below a place: how far, label, words."""
    rows = [row for row in paper.outline["tables"] if min(abs(start - row["end"]), abs(row["start"] - end)) < _NEAR]
    above = [(start - row["end"], row["label"], row["text"]) for row in rows if row["end"] <= start]
    return above, [(row["start"] - end, row["label"], row["text"]) for row in rows if row["start"] >= end]


def _is_picture(grid: Grid) -> bool:
    """Whether the numbers are the marks of a picture's axes: nothing says what they are, or they ran together."""
    cells = list(filter(None, (*grid.heads, *(cell for _, row in grid.rows for cell in row))))
    torn = sum(bool(_TORN.search(cell)) for cell in cells)
    named = sum(bool(re.search(r"[^\W\d_]{2}", label)) for label, _ in grid.rows)
    is_headed = 2 * sum(map(bool, grid.heads)) > len(grid.heads)
    is_named = named == len(grid.rows) > 1 or (2 * named > len(grid.rows) > 2)
    is_torn = 5 * torn > len(cells) or any(map(_TORN.search, grid.heads))
    return is_torn or not (is_headed or is_named)


def _holds_settings(grid: Grid) -> bool:
    """Whether most rows, or the heads of most columns, are called as settings are."""
    labels = [label for label, _ in grid.rows]
    named = sum(bool(SETTING_NAME.match(label)) and not re.search("[0-9]", label) for label in labels)
    return 2 * named > len(labels) and not (METRIC.search(" ".join(grid.heads)) or _looks_measured(grid))


def _holds_counts(grid: Grid) -> bool:
    """Whether the heads say that things were counted: rows, classes, instances of data sets."""
    if len(grid.heads) < 2 or _looks_measured(grid):
        return False
    return 2 * sum(bool(_COUNTED.search(head)) for head in grid.heads) > len(grid.heads)


def _looks_measured(grid: Grid) -> bool:
    """Whether most numbers have two digits with a fraction, or a deviation, and few are the same: chosen ones are round."""
    values = [cell for _, row in grid.rows for cell in row if CELL_VALUE.match(cell)]
    measured = sum(map(is_measured, values))
    return len(values) > 3 and min(measured, len(set(values))) >= _FEWEST_MEASURED * len(values)


def metric_of(column: str, row: str, said: str) -> str:
    """The metric that a cell is measured by: as its column names it, else what its caption `said`, else its row.

    A part of a head that gives a value, "error bound=0.1", says where it was measured, and not by what.
    """
    heads = [part for part in column.split(" / ") if "=" not in _BRACKET.sub("", part)]
    leaf = heads[-1] if heads else ""
    if leaf in _LETTERS or _MEASURED_HEAD.search(leaf):
        return _LETTERS.get(leaf, re.sub(" ?[↑↓]", "", _BRACKET.sub("", leaf)).strip())
    found = METRIC.search(" / ".join(heads))
    if found or said:
        return found.group(0) if found else said
    named = METRIC.search(row)
    return named.group(0) if named and named.end() >= len(re.sub(r" ?\(.*", "", row)) else ""


def metric_of_caption(caption: str, heads: Sequence[str]) -> str:
    """The metric of a whole table: the only one that its caption names, where no column names one of its own."""
    first = _NO_METRIC.sub(" ", first_sentence(caption))
    said = first if METRIC.search(first) else _NO_METRIC.sub(" ", caption)
    found = dict.fromkeys(match.group(0).lower() for match in METRIC.finditer(said))
    if len(found) != 1 or any(map(METRIC.search, heads)):
        return ""
    return next(match.group(0) for match in METRIC.finditer(said))


def first_sentence(caption: str) -> str:
    """What a caption says first."""
    return re.split(r"(?<=[.!?])(?:\*\*)?\s", caption)[0]
