"""What the plan makes of each table of a paper, so that a reviewer sees that none was lost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.passages import PaperText, Table
from phases.planning.rules.table_kinds import caption_of, holds_data

Row = Mapping[str, Any]
RESULTS, SETTINGS, DATA, NONE = "results", "settings", "data", "none"
_ORDER = (RESULTS, SETTINGS, DATA, NONE)
_LONGEST_QUOTE = 200


def use_tables(paper: PaperText, results: Sequence[Row], values: Sequence[Row]) -> list[dict[str, Any]]:
    """A row for each table: its label, its page, what it is used as, and where it is not used, why not.

    Of parts under one label the most useful counts. A caption whose table could not be read is told, too.
    """
    targets = {(str(row["table"]).partition(", part ")[0], row["page"]) for row in results}
    quotes = {str(row["source"]["quote"]) for row in values}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for table in paper.tables:
        label, caption = caption_of(table, paper)
        row = _describe(table, label or f"unnumbered table on page {table.page}", caption, targets, quotes)
        key = (row["table"], 0 if label else table.page)
        if key not in found or _ORDER.index(row["used_as"]) < _ORDER.index(found[key]["used_as"]):
            found[key] = row
    for one in paper.outline["tables"]:
        unread = {"table": one["label"], "page": one["page"], "used_as": NONE, "why": "its cells could not be read"}
        found.setdefault((one["label"], 0), unread)
    return sorted(found.values(), key=lambda row: (row["page"], _number(row["table"])))


def captions_of(paper: PaperText) -> dict[str, str]:
    """The caption of each table by its label."""
    return {label: caption for label, caption in (caption_of(table, paper) for table in paper.tables) if label}


def _describe(
    table: Table, label: str, caption: str, targets: set[tuple[str, int]], quotes: set[str]
) -> dict[str, Any]:
    row = {"table": label, "page": table.page}
    lines = (" ".join(line.strip("| ").split())[:_LONGEST_QUOTE] for line in table.text.split("\n"))
    if (label, table.page) in targets:
        return {**row, "used_as": RESULTS}
    if any(line in quotes for line in lines):
        return {**row, "used_as": SETTINGS}
    if holds_data(caption, table.grid):
        return {**row, "used_as": DATA}
    why = "no row of the method" if table.grid.rows else "words and no numbers"
    return {**row, "used_as": NONE, "why": why}


def _number(label: str) -> int:
    number = re.search("[0-9]+", label)
    return int(number.group()) if number else 0
