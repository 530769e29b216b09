"""What the plan makes of each table of a paper, so that a reviewer sees that none was lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.rules.passages import PaperText, Table
from phases.planning.rules.sections import BUILD, SETUP
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.table_kinds import caption_of, holds_data

Row = Mapping[str, Any]
RESULTS, SETTINGS, DATA, NONE = "results", "settings", "data", "none"
_ORDER = (RESULTS, SETTINGS, DATA, NONE)
_LONGEST_QUOTE = 200
_MOST_HEADS, _FEWEST_DEFINED, _LONGEST_NAME = 2, 3, 4
"""Rows of heads above definitions, rows of these, and words of what is defined."""
_CAPTION_WITHIN = re.compile(r"(?<=[\w)] )(Table [0-9]{1,2})[.:] (?=[A-Z])")
"""The caption of another table that stands in the same line."""
_POINTS_TO = re.compile(r"\bTable ([0-9]{1,2})\b(?![.\w-]*[0-9A-Z])(?! (?:of|in|from|by)\b)")


def use_tables(
    paper: PaperText,
    results: Sequence[Row],
    values: Sequence[Row],
    shortened: Mapping[str, str],
    requirements: Sequence[Row] = (),
) -> list[dict[str, Any]]:
    """A row for each table: its label, its page, what it is used as, and where it is not used, or not whole, why.

    Of parts under one label the most useful counts. A caption whose table could not be read is told, too.
    """
    targets = {(str(row["table"]).partition(", part ")[0], row["page"]) for row in results}
    quotes = {str(row["source"]["quote"]) for row in values}
    told = {str(row["text"]): str(row["id"]) for row in requirements}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for table in paper.tables:
        label, caption = caption_of(table, paper)
        row = _describe(table, label or f"unnumbered table on page {table.page}", caption, targets, quotes, told)
        key = (row["table"], 0 if label else table.page)
        if key not in found or _ORDER.index(row["used_as"]) < _ORDER.index(found[key]["used_as"]):
            is_part = row["used_as"] == RESULTS and row["table"] in shortened
            found[key] = {**row, "why": shortened[row["table"]]} if is_part else row
    for one in paper.outline["tables"]:
        unread = {"table": one["label"], "page": one["page"], "used_as": NONE, "why": "its cells could not be read"}
        for label in (one["label"], *_CAPTION_WITHIN.findall(str(one["text"]))):
            found.setdefault((label, 0), {**unread, "table": label})
    for label, page in _tables_pointed_to(paper, {label for label, _ in found}):
        found[label, 0] = {"table": label, "page": page, "used_as": NONE, "why": "not found in what was read"}
    return sorted(found.values(), key=lambda row: (row["page"], _number(row["table"])))


def find_definitions(paper: PaperText) -> Iterator[tuple[Table, list[str]]]:
    """The tables of what is built that say in words what their names stand for: the caption, then each name with its words."""
    for table in paper.tables:
        if table.role not in (BUILD, SETUP) or table.grid.rows or any(len(row) != 2 for row in table.cells):
            continue
        rows = [(name, words) for name, words in table.cells if name and words]
        rows = rows[1:] if rows and " " not in rows[0][1] else rows  # "class", "represents"
        names = [name for name, _ in rows]
        is_filled = len(rows) >= len(table.cells) - _MOST_HEADS and len(set(names)) == len(rows) >= _FEWEST_DEFINED
        label, caption = caption_of(table, paper)
        if label and caption and is_filled and all(map(_is_defined, rows)) and not holds_data(caption, table.grid):
            yield table, [_head_of(caption), *(f"{name}: {words};" for name, words in rows)]


def _head_of(caption: str) -> str:
    """The first sentence of a caption as it stands above the definitions; empty where there is none."""
    title = next(sentences_of(caption), "")
    return title if not title or title[-1] in ".:" else f"{title}:"


def _is_defined(row: tuple[str, str]) -> bool:
    name, words = row
    return len(name.split()) <= _LONGEST_NAME and " " in words and not re.match(r"[\W\d]*$", words)


def _tables_pointed_to(paper: PaperText, known: set[str]) -> Iterator[tuple[str, int]]:
    """The tables that sentences point to, below the highest number that has been read, and that are not known."""
    highest = max(map(_number, known), default=0)
    told = set[str]()
    for sentence in paper.sentences:
        for number in _POINTS_TO.findall(sentence.text):
            if f"Table {number}" not in known | told and 0 < int(number) < highest:
                told.add(f"Table {number}")
                yield f"Table {number}", sentence.page


def captions_of(paper: PaperText) -> dict[str, str]:
    """The caption of each table by its label."""
    return {label: caption for label, caption in (caption_of(table, paper) for table in paper.tables) if label}


def _describe(
    table: Table, label: str, caption: str, targets: set[tuple[str, int]], quotes: set[str], told: Mapping[str, str]
) -> dict[str, Any]:
    row = {"table": label, "page": table.page}
    lines = (" ".join(line.strip("| ").split())[:_LONGEST_QUOTE] for line in table.text.split("\n"))
    if (label, table.page) in targets:
        return {**row, "used_as": RESULTS}
    if any(line in quotes for line in lines):
        return {**row, "used_as": SETTINGS}
    if holds_data(caption, table.grid):
        return {**row, "used_as": DATA}
    head = _head_of(caption)
    if teller := next((name for text, name in told.items() if head and text.startswith(head)), ""):
        return {**row, "used_as": NONE, "why": f"words, told in {teller}"}
    why = "no row of the method" if table.grid.rows else "words and no numbers"
    return {**row, "used_as": NONE, "why": why}


def _number(label: str) -> int:
    number = re.search("[0-9]+", label)
    return int(number.group()) if number else 0
