"""The requirements in a text of plain words, sentence by sentence, where there is no paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phases.planning.rules.blocks import ITEM, NOTE, PROSE, blocks_of
from phases.planning.rules.cues import kind_of_statement
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.values import values_in

_MOST = 5000
_LONGEST_TEXT, _LONGEST_QUOTE = 2000, 120
_FEWEST_LETTERS = 3


def requirements_of_text(body: str) -> list[dict[str, Any]]:
    """The requirements in the words of a body of text: one for each sentence or list item, and one for each value."""
    rows = list(_build_rows(body))[:_MOST]
    return [{"id": f"R{number}", **row} for number, row in enumerate(rows, 1)]


def _build_rows(body: str) -> Iterator[dict[str, Any]]:
    for block in blocks_of(body):
        for sentence in sentences_of(block.text) if block.kind in (PROSE, ITEM, NOTE) else [block.text]:
            line = " ".join(sentence.split())[:_LONGEST_TEXT]
            if sum(map(str.isalpha, line)) < _FEWEST_LETTERS:
                continue
            kind = kind_of_statement(line, "other")
            yield _build_row("artifact" if kind == "model" else kind, line, line)
            for value in values_in(line):
                row = _build_row("hyperparameter", f"{value.name} = {value.value}", value.quote)
                yield {**row, "name": value.name, "value": value.value}


def _build_row(kind: str, text: str, quote: str) -> dict[str, Any]:
    source = {"section": None, "page": 1, "quote": " ".join(quote.split())[:_LONGEST_QUOTE].rstrip()}
    return {"kind": kind, "text": text[:_LONGEST_TEXT], "source": source, "status": "stated"}
