"""What a paper reports for its own method, in its tables and in its sentences: the targets of a reproduction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from phases.planning.rules.cells import CELL_VALUE, UNIT, is_value, plain_cell
from phases.planning.rules.numbers import NUMBER, number_of, scaled
from phases.planning.rules.passages import PaperText, Table
from phases.planning.rules.sentence_results import UNITS, results_of_sentences
from phases.planning.rules.table_kinds import caption_of, first_sentence, is_result_table, metric_of, metric_of_caption
from phases.planning.rules.tables import SETTING_NAME, Grid, number_same

MOST = 150
_MOST_OF_TABLE, _LEAST_OF_TABLE = 60, 6
_WORDS, _MOST_WORDS, _LONGEST_CELL = 10, 19, 80
"""Of a label; of column, condition and metric together: more is not read at a glance."""
_HEAD_ROW = re.compile(r"(?:time )?(?:steps?|epochs?|iterations?)$|#\.? ?of\b|number of\b", re.IGNORECASE)
"""A row that numbers the columns."""
_OURS = re.compile(r"\b(?:ours?|proposed|this (?:work|paper)|full (?:method|model)|our method)\b", re.IGNORECASE)
_OTHERS = re.compile(
    r"\[[0-9, ]+\]|\[[a-z]+[0-9]{4}\w*\]|et al|\b(?:19|20)[0-9]{2}[a-z]?\)|\bpaper\b|\brandom\b|\boracle\b|\bhuman\b"
    r"|ground truth|\bGT\b|\bmajority\b"
    # what is added to a baseline is the method's
    r"|^(?!.*(?:\+|\bwith\b|\band\b|w/)).*(?:\b(?:baselines?|vanilla|original)\b|\bpre-?trained\b)",
    re.IGNORECASE,
)
"""In the label of what others made, or of what every paper compares with."""
_DERIVED = re.compile(
    r"^(?:Δ|change|difference|improv\w*\.?|(?:relative |absolute )?(?:gain|reduction)|p-?values?|rank(?:ing)?(?! correlation))\b",
    re.IGNORECASE,
)
"""Over what is counted from other cells."""
_CHOSEN = re.compile(
    r"(?:temperature|learning rate|lr|batch size|dropout|momentum|weight decay|seeds?|warm-?up.*|(?:hyper-?)?parameters?)$",
    re.IGNORECASE,
)
"""Over what no method is measured by."""
_PAIR = re.compile(rf"({NUMBER}) ?/ ?({NUMBER})(?![\w.])")
_VALUES_WITH_UNITS = re.compile(rf"{NUMBER} (?:{UNIT})(?!\S)")
_SEVERAL_WITH_UNITS = re.compile(rf"(?:{NUMBER} (?:{UNIT}) )+{NUMBER} (?:{UNIT})")
_COUNTED = re.compile(r" \([0-9]+ of [0-9]+\)$")
_UNIT_OF_CAPTION = re.compile(
    rf"[(\[](?:all |given )?(?:in )?({UNIT}|seconds|milliseconds|minutes|hours|percent)[)\]]", re.IGNORECASE
)
_UNIT_SAID = re.compile(rf"[(\[](?:in )?({UNIT})[)\]]|(?<![0-9])(%)")
"""The unit in a head; the percent sign of "Steps to 99% accuracy" is none."""
_STEPS = re.compile(rf"(?:{SETTING_NAME.pattern}|#|threads|percentile|bits)|\W?\w{{1,2}}$", re.IGNORECASE)
"""In the corner over the labels, where it says what the numbers beside it are: "# of threads" before 36, 72, 144."""
_WEAK_END = re.compile(
    r"(?:[,;:(]|,? ?\S+ ?=|\b(?:a|an|the|of|on|in|for|with|by|to|and|or|at|over|across|using|from|vs\.?|our))$",
    re.IGNORECASE,
)


_NO_LETTER, _NO_WORD = re.compile(r"[^\w*+]|_"), re.compile(r"[\W_]+")
_KEPT = 4096
"""How many labels are kept in letters and words: each is asked for with every cell beside it."""


class _Cell(NamedTuple):
    row: str
    column: str
    shown: str


@dataclass(frozen=True)
class _Read:
    """A table of results with the cells that are the method's own, or may be."""

    table: Table
    label: str
    caption: str
    metric: str
    """The one that the caption says all cells are measured by; empty where it says none, or several."""
    cells: tuple[_Cell, ...]
    is_sure: bool
    unit: str = ""
    """The one that the caption says all cells have."""


class Targets(NamedTuple):
    """What the paper reports of its method."""

    rows: list[dict[str, Any]]
    """Rows for the plan, without ids."""
    unsure: list[str]
    """The tables where no row or column is known as the method's own."""
    shortened: dict[str, str]
    """What is taken of a table that is too long to be taken whole."""


def expected_results(paper: PaperText, own: Sequence[str]) -> Targets:
    """The results of tables, then those of sentences.

    `own`: what the method is called. Where there are more than MOST, tables with the method's own
    rows come before those where it is not known.
    """
    titled = _names_of_title(paper.outline["title"] or "", own)
    own = [*titled, *own]
    read = _name_parts(list(filter(None, (_read_table(table, paper, (titled, own)) for table in paper.tables))))
    made: list[list[dict[str, Any]]] = []
    before: dict[float, list[dict[str, Any]]] = {}
    for one in read:
        rows = _without_repeats(filter(None, (_row(cell, one) for cell in one.cells)), before)
        made.append(_with_condition(rows, one.caption))
        for row in made[-1]:
            before.setdefault(row["value"], []).append(row)
    most = _share_room([len(rows) for rows in made], [one.is_sure for one in read])
    chosen = [_choose(rows, room) for rows, room in zip(made, most, strict=True)]
    unsure = [one.label for one, rows in zip(read, chosen, strict=True) if rows and not one.is_sure]
    rows = [row for rows in chosen for row in rows]
    kept, whole = _count_by_table(chosen), _count_by_table(made)
    shortened = {name: f"{kept[name]} of its {count} values" for name, count in whole.items() if 0 < kept[name] < count}
    return Targets([*rows, *results_of_sentences(paper, own, set(before))[: MOST - len(rows)]], unsure, shortened)


def _count_by_table(tables: Sequence[Sequence[Mapping[str, Any]]]) -> Counter[str]:
    return Counter(str(row["table"]).partition(", part ")[0] for rows in tables for row in rows)


def _name_parts(read: Sequence[_Read]) -> list[_Read]:
    """The tables, with those under one label told apart: Table 8, part 2 of 6."""
    times, seen, named = Counter(one.label for one in read), Counter[str](), []
    for one in read:
        seen[one.label] += 1
        several = times[one.label]
        part = f"{one.label}, part {seen[one.label]} of {several}"
        named.append(replace(one, label=part) if several > 1 else one)
    return named


def _share_room(sizes: Sequence[int], sure: Sequence[bool]) -> list[int]:
    """How many rows each table gives, first the sure ones, in their order: the first are whole, and each has some."""
    share = MOST // max(1, len(sizes))
    rooms = [min(size, _LEAST_OF_TABLE, share) for size in sizes]
    most = max(_MOST_OF_TABLE, share)
    for place in sorted(range(len(sizes)), key=lambda at: not sure[at]):
        rooms[place] += min(min(sizes[place], most) - rooms[place], MOST - sum(rooms))
    return rooms


def _choose(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The rows of a table; of too many, F1 without its parts, and then some labels evenly from the first to the last."""
    if len(rows) > most and any(row["metric"] == "F1" for row in rows):
        rows = [row for row in rows if row["metric"] not in ("precision", "recall")]
    labels = list(dict.fromkeys(row["row"] for row in rows))
    for count in range(len(labels), 1, -1):  # a sweep is known by its ends
        kept = {labels[round(at * (len(labels) - 1) / (count - 1))] for at in range(count)}
        chosen = [row for row in rows if row["row"] in kept]
        if len(chosen) <= most:
            return chosen
    return list(rows[:most])


def _read_table(table: Table, paper: PaperText, names: tuple[Sequence[str], Sequence[str]]) -> _Read | None:
    """The table, if it is one of results. `names` of the method: those of the title, and all of them."""
    grid = table.grid
    if not grid.rows:
        return None
    label, caption = caption_of(table, paper)
    if not is_result_table(table, caption, grid, has_number=bool(label)):
        return None
    label = label or f"unnumbered table on page {table.page}"
    cells, is_sure = _own_cells(grid, caption, names)
    unit = _UNIT_OF_CAPTION.search(caption)
    is_one = unit and not any(metric_of(head, "", "") for head in grid.heads)
    said = UNITS.get(unit.group(1).lower(), unit.group(1)) if unit and is_one else ""
    return _Read(table, label, caption, metric_of_caption(caption, grid.heads), tuple(cells), is_sure, said)


def _own_cells(grid: Grid, caption: str, names: tuple[Sequence[str], Sequence[str]]) -> tuple[list[_Cell], bool]:
    """The method's own rows, else its own columns, else all that is not known as another's or counted from others."""
    own = names[1]
    steps = f"{grid.corner}=" if _STEPS.match(grid.corner) and all(map(_is_step, grid.heads)) else ""
    has_labels = any(label for label, _ in grid.rows)
    cells = [
        _Cell(_part_name(label, own), f"{steps}{head}", cell)
        for label, (_, row) in zip(_name_rows(grid), grid.rows, strict=True)
        if label or not has_labels  # a number beside no label, where the others have some, is debris
        for head, cell in _split_cells(grid, row)
        if is_value(cell) and ("=" in label or not _HEAD_ROW.match(label))
        if not _CHOSEN.match(head.rpartition(" / ")[2])
    ]
    # a name of the title, or "ours", says more than the other names that the paper uses of its parts
    labels = {label for one in cells for label in (one.row, one.column)}
    for called in names:
        mine = {label for label in labels if _is_own(label, called)}
        rows = [one for one in cells if one.row in mine]
        if rows and len({one.row for one in rows}) < len({one.row for one in cells}):
            return [one for one in rows if not _DERIVED.match(one.column)], True
        columns = [one for one in cells if one.column in mine]
        named = [one for one in columns if _OURS.search(one.column) and _is_own(_OURS.sub("", one.column), called)]
        if columns:
            return [one for one in named or columns if not _DERIVED.match(one.row)], True
    left = [one for one in cells if not _is_other(one.row)] or cells
    left = [one for one in left if not _is_other(one.column)] or left
    return left, bool(rows) or (_is_own(first_sentence(caption), own) and len(left) == len(cells))


def _name_rows(grid: Grid) -> list[str]:
    """The labels, each of one row: what is added to several is told with what it is added to, others by number."""
    times, named, base = Counter(label for label, _ in grid.rows), list[str](), ""
    for label, _ in grid.rows:
        is_added = label.startswith("+ ") and times[label] > 1
        base = base if is_added else label
        named.append(f"{base} {label}".strip() if is_added else label)
    return number_same(named)


def _is_step(head: str) -> bool:
    return bool(re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", head))


def _names_of_title(title: str, own: Sequence[str]) -> list[str]:
    """What a title calls the method: what stands before its colon, else the first of the method's names that is in it."""
    head, colon, _ = title.partition(":")
    if colon and len(head.split()) < 3:
        return [head.strip()]
    words = f" {_words(title)} "
    return [name for name in own if _words(name) and f" {_words(name)} " in words][:1]


def _is_own(label: str, own: Sequence[str]) -> bool:
    """Whether a label says that it is this paper's, or has the method's name; a short name stands at a word's beginning."""
    if _OURS.search(label):
        return True
    letters, words = _letters(label), f" {_words(label)}"
    for name in own:
        if len(name) > 4 and _letters(name):
            if _letters(name) in letters:
                return True
        elif len(name) > 1 and _words(name) and f" {_words(name)}" in words:
            return True
    return False


def _is_other(label: str) -> bool:
    printed = re.sub(r"^[^=()]*=", "", label)  # "Random seed=5" is a number
    return bool(_OTHERS.search(printed) or _DERIVED.match(printed))


@lru_cache(_KEPT)
def _letters(text: str) -> str:
    """Letters of any script, digits, and the signs that tell names apart: R2D2* is not R2D2."""
    return _NO_LETTER.sub("", text.lower())


@lru_cache(_KEPT)
def _words(text: str) -> str:
    return _NO_WORD.sub(" ", text.lower()).strip()


def _part_name(label: str, own: Sequence[str]) -> str:
    """A label with the blank that a text layer lost after the method's name: "TABLEFORMERBASE" is TABLEFORMER BASE."""
    for name in own:
        if len(name) > 3 and label.lower().startswith(name.lower()) and label[len(name) : len(name) + 1].isalpha():
            return f"{label[: len(name)]} {label[len(name) :]}"
    return label


def _split_cells(grid: Grid, row: Sequence[str]) -> list[tuple[str, str]]:
    """Each cell under its head; where several values stand in one cell, each under its part of the head."""
    found: list[tuple[str, str]] = []
    leaves, unnamed = {head.rpartition(" / ")[2] for head in grid.heads}, grid.heads.count("")
    for place, (printed, cell) in enumerate(zip(grid.heads, row, strict=False)):
        nth = grid.heads[: place + 1].count("")
        head = printed or (f"unnamed column ({nth} of {unnamed})" if unnamed > 1 else "")
        above, _, leaf = head.rpartition(" / ")
        has_units = len(cell) <= _LONGEST_CELL and _SEVERAL_WITH_UNITS.fullmatch(cell)
        values = _VALUES_WITH_UNITS.findall(cell) if has_units else cell.split()
        if pair := _PAIR.match(cell):
            named = next((said for said in (leaf, head, grid.corner) if re.fullmatch(r"[^/]+\w ?/ ?\w[^/]*", said)), "")
            names = [f"{head} ({part.strip()})" for part in named.split("/")]
            values = list(pair.groups())
        elif len(values) > 1 and all(CELL_VALUE.fullmatch(value) for value in values):
            names = [f"{above} / {name}".strip(" /") for name in _part_head(leaf.split(), len(values), leaves)]
        else:
            found.append((head, cell))
            continue
        if len(names) != len(values):  # which of the head's words belongs to which value is lost
            names = [f"{head} ({place} of {len(values)})" for place in range(1, len(values) + 1)]
        found += zip(names, values, strict=True)
    # a part of one head may be called as another head is
    return list(zip(number_same([head for head, _ in found]), (cell for _, cell in found), strict=True))


def _part_head(words: Sequence[str], parts: int, known: set[str]) -> list[str]:
    """Heads that ran together, parted so that most of them are heads of other columns too; none where that is not known."""
    if len(words) == parts:
        return list(words)
    size = len(words) // parts
    if size * parts == len(words) and len({words[at] for at in range(size - 1, len(words), size)}) == 1:
        return [" ".join(words[at : at + size]) for at in range(0, len(words), size)]  # "write time read time"
    best: tuple[int, list[str]] = (0, [])
    for ends in combinations(range(1, min(len(words), 12)), parts - 1):
        heads = [" ".join(words[start:end]) for start, end in zip((0, *ends), (*ends, len(words)), strict=True)]
        best = max(best, (sum(head in known for head in heads), heads))
    return best[1] if best[0] else []


def _row(one: _Cell, read: _Read) -> dict[str, Any]:
    """The row of a plan; nothing where the cell holds no number, or nothing says of what it is."""
    value, unit = _value_of(one.shown)
    if value is None or not re.search(r"[^\W\d_]", one.row + one.column):
        return {}
    column = _short(re.sub(r"^([A-Z]) ([A-Z])$", r"\1\2", one.column), _WORDS)
    metric = metric_of(column, one.row, read.metric)
    said = _UNIT_SAID.search(column)
    return {
        "table": read.label,
        "row": _short(one.row, _WORDS),
        "column": column,
        "condition": "",
        "metric": metric,
        "value": value,
        "unit": unit or (said.group(1) or said.group(2) if said else read.unit),
        "page": read.table.page,
    }


def _with_condition(rows: Sequence[dict[str, Any]], caption: str) -> list[dict[str, Any]]:
    """The rows of a table under the words of its caption: the same ones for all, so that they are read once."""
    longest = max((len(f"{row['column']} {row['metric']}".split()) for row in rows), default=0)
    return [{**row, "condition": shorten_caption(caption, _MOST_WORDS - longest)} for row in rows]


def _value_of(cell: str) -> tuple[int | float | None, str]:
    """The number of a cell and its unit; thousands and millions are counted out."""
    number = re.search(NUMBER, cell)
    value = number_of(number.group(0)) if number else None
    if number is None or value is None:
        return None, ""
    unit = re.match(rf" ?({UNIT})(?![\w])", cell[number.end() :])
    if unit and unit.group(1) in ("K", "M", "B", "k"):
        return scaled(value, unit.group(1)), ""
    return value, unit.group(1) if unit else "%" if "%" in cell else ""


def _without_repeats(
    rows: Iterable[dict[str, Any]], before: Mapping[float, Sequence[Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """The rows without those that say what a row before them says already, or one of an earlier table: `before`, by value."""
    kept: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in rows:
        if not any(_is_repeat(row, one) for one in before.get(row["value"], ())):
            # the number that tells columns of one head apart is not the paper's
            kept.setdefault((row["row"], _COUNTED.sub("", row["column"]), row["value"]), row)
    return list(kept.values())


def _is_repeat(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a later table prints a number again, to three digits, for what is called the same."""
    return len(str(row["value"]).strip("-0.").replace(".", "")) > 2 and all(
        _is_part(str(row[key]), str(other[key])) for key in ("row", "column")
    )


def _is_part(one: str, other: str) -> bool:
    words, others = set(_words(one).split()), set(_words(other).split())
    return one == other or bool(words and others and (words <= others or others <= words))


def _short(text: str, words: int) -> str:
    return " ".join(text.split()[:words])


def shorten_caption(caption: str, words: int) -> str:
    """The first sentence of a caption, cut where a phrase ends, to at most so many words."""
    said = plain_cell(first_sentence(caption)).rstrip(". ")
    if len(said.split()) <= words:
        return said
    said = _short(said, words)
    said = said[: said.rindex("(")].rstrip() if said.count("(") > said.count(")") else said
    while (shorter := _WEAK_END.sub("", said).rstrip()) != said:
        said = shorter
    return said
