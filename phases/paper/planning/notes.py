"""Reads the sections of a paper for notes: each thing that they ask a builder for, with the words that ask for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from phases.paper.outline import pages_of
from phases.paper.planning.blocks import CAPTION, PROSE, TABLE, Block, blocks_of
from phases.paper.planning.cues import FIRM, NONE, firmness_of, is_built, kind_of_statement
from phases.paper.planning.sentences import clauses_of, sentences_of, statement_of
from phases.paper.planning.tables import cells_of, grid_of, settings_in
from phases.paper.planning.values import Value, values_in

UNPLANNED = frozenset({"references", "front", "related", "conclusion"})
MOST_NOTES = 2_000
_MOTIVATING = ("abstract", "introduction")  # what they say of neither a deed nor the paper's own, is motivation
_OWN = re.compile(r"\b(?:we|our|ours)\b|\bwir\b|\bunser|我们|本文", re.IGNORECASE)
_TOLD_AS_BACKGROUND = re.compile(r"preliminar|background|problem|notation|setting", re.IGNORECASE)
_LABEL = re.compile(r"[>*_ ]*([^\W\d_]+\.? ?[A-Z]?\.?[0-9]+)[.:|*_ ]+")
_CITED = ("dataset", "baseline")
_SHORTEST = 15
_LONGEST_BLOCK = 20_000
_LONGEST_CAPTION = 400


@dataclass(frozen=True)
class Found:
    """A demand and where it stands. `joins` says that it may share a requirement with others of its section."""

    kind: str
    text: str
    quote: str
    section: dict[str, Any]
    page: int
    joins: bool = False
    follows: bool = False
    """It is the rest of the sentence that the one before it began."""
    firmness: float = FIRM
    value: Value | None = None


def planned_sections(sections: list[dict[str, Any]], kinds: dict[str, str]) -> list[dict[str, Any]]:
    """The sections that may ask for code; what is under a heading that does not, does not either."""
    planned, barred = [], 99
    for section in sections:
        if section["level"] <= barred:
            barred = 99
        if barred == 99 and not is_built(section["title"]):
            barred = section["level"]
        kind = kinds.get(section["id"], "other")
        background = kind == "related" and _TOLD_AS_BACKGROUND.search(section["title"])
        if barred == 99 and (kind not in UNPLANNED or background):
            planned.append(section)
    return planned


def notes_in(text: str, section: dict[str, Any], kind: str) -> Iterator[Found]:
    """The notes of one section, in its order; `kind` is the section's."""
    caption = ""
    for page, part in pages_of(text, section):
        for block in blocks_of(part):
            if block.kind == TABLE:
                yield from _of_table(block, caption, section, page)
            elif block.kind in (PROSE, CAPTION):
                yield from _of_prose(block, section, page, kind)
                caption = block.text if block.kind == CAPTION else caption


def _of_prose(block: Block, section: dict[str, Any], page: int, kind: str) -> Iterator[Found]:
    label = _LABEL.match(block.text) if block.kind == CAPTION else None
    text = block.text[label.end() :] if label else block.text
    for sentence in sentences_of(text[:_LONGEST_BLOCK]):
        firmness = firmness_of(sentence)
        if firmness == NONE or (firmness < FIRM and kind in _MOTIVATING and not _OWN.search(sentence)):
            continue
        kept = False
        for clause, leans in clauses_of(sentence):
            found = kind_of_statement(clause, kind)
            statement = statement_of(clause, cited=found in _CITED)
            if len(statement) >= _SHORTEST and (kept or not leans):
                yield Found(found, statement, clause, section, page, True, leans, firmness)
                kept = True
        for value in values_in(sentence):
            yield Found("hyperparameter", f"{value.name} = {value.value}", value.quote, section, page, value=value)


def _of_table(block: Block, caption: str, section: dict[str, Any], page: int) -> Iterator[Found]:
    rows = cells_of(block.text)
    if not rows or not caption:
        return
    grid = grid_of(rows)
    lines = block.text.split("\n")
    if grid:
        label = _LABEL.match(caption)
        yield Found(
            "experiment", f"{label.group(1) if label else 'Table'}, {grid}", lines[0], section, page, joins=True
        )
    for _, value in settings_in(rows, f"{caption[:_LONGEST_CAPTION]} {section['title']}"):
        quote = next((line for line in lines if value.quote in line), lines[0])
        yield Found("hyperparameter", f"{value.name} = {value.value}", quote, section, page, value=value)
