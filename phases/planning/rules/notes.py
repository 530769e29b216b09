"""Reads the sections of a paper for what they ask a builder for: whole sentences, and the values that they give."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from phases.planning.rules.blocks import CAPTION, EQUATION, ITEM, NOTE, PROSE, TABLE, Block, blocks_of
from phases.planning.rules.cues import asks_for_code, kind_of_statement
from phases.planning.rules.sentences import is_open, is_whole, leans_on, sentences_of, without_marks
from phases.planning.rules.tables import cells_of, settings_in
from phases.planning.rules.values import Value, values_in
from phases.readers.outline import pages_of

_MOST_SENTENCES, _LONGEST_TEXT, _LONGEST_SENTENCE = 3, 600, 1200
_LONGEST_BLOCK = 20_000
_LONGEST_CAPTION = 400
_METHOD = ("method", "algorithm")
_LEADERS = re.compile(r"(?:\.[ ]?){5}|[…·_]{4}")
"""Between a heading and its page, in a table of contents."""


@dataclass(frozen=True)
class Found:
    """A demand and where it stands."""

    kind: str
    text: str
    quote: str
    section: dict[str, Any]
    page: int
    value: Value | None = None


@dataclass
class _Paragraph:
    """Text that belongs together: a page, a picture or a formula may stand in its middle."""

    kind: str = PROSE
    parts: list[tuple[int, str]] = field(default_factory=list)
    """Each with its page."""

    def takes(self, block: Block) -> bool:
        """Whether a block goes on where this stopped in the middle of a sentence."""
        if not self.parts or block.kind == NOTE or not is_open(self.parts[-1][1]):
            return False
        return block.kind == EQUATION or block.text[:1].islower()

    def sentences(self) -> Iterator[_Sentence]:
        """Its sentences, each with the pieces of it that a page or a formula divides."""
        whole, at = " ".join(text for _, text in self.parts)[:_LONGEST_BLOCK], 0
        for sentence in filter(None, sentences_of(whole)):
            at = whole.index(sentence, at)
            pieces, begin = [], 0
            for page, text in self.parts:
                piece = text[max(at - begin, 0) : max(at + len(sentence) - begin, 0)]
                pieces += [(page, piece)] if piece.strip() else []
                begin += len(text) + 1
            yield _Sentence(sentence, pieces)


@dataclass(frozen=True)
class _Sentence:
    text: str
    pieces: list[tuple[int, str]]


def notes_in(text: str, section: dict[str, Any], kind: str, *, loosely: bool = False) -> Iterator[Found]:
    """What one section asks for, in its order; `kind` is the section's. `loosely`: what there is counts like what is done."""
    caption, paragraph = "", _Paragraph()
    loosely = loosely or kind in _METHOD
    for page, part in pages_of(text, section):
        for block in blocks_of(part):
            if block.kind == TABLE:
                yield from _of_table(block, caption, section, page)
            elif block.kind == CAPTION:
                caption = block.text
            elif block.kind in (PROSE, ITEM, NOTE, EQUATION):
                if not paragraph.takes(block):
                    yield from _of_paragraph(paragraph, section, kind, loosely)
                    paragraph = _Paragraph(block.kind)
                paragraph.parts.append((page, block.text))
    yield from _of_paragraph(paragraph, section, kind, loosely)


def _of_paragraph(paragraph: _Paragraph, section: dict[str, Any], kind: str, loosely: bool) -> Iterator[Found]:
    contents = any(_LEADERS.search(text) for _, text in paragraph.parts)
    sentences = [] if paragraph.kind == EQUATION or contents else list(paragraph.sentences())
    listed = paragraph.kind == ITEM
    for row in _rows(sentences, [_asks(one.text, kind, loosely=loosely, listed=listed) for one in sentences]):
        said = without_marks(" ".join(one.text for one in row))
        page, quote = row[0].pieces[0]
        yield Found(kind_of_statement(said, kind), said, quote, section, page)
    for one in sentences:
        for value in values_in(one.text) if asks_for_code(one.text, loosely=True) else ():
            for page in [page for page, piece in one.pieces if value.quote in piece][:1]:
                yield Found("hyperparameter", f"{value.name} = {value.value}", value.quote, section, page, value)


def _asks(sentence: str, kind: str, *, loosely: bool, listed: bool) -> str:
    """The kind of demand that a sentence is; empty where it is none. An item of a list needs no full stop."""
    fits = len(sentence) <= _LONGEST_SENTENCE and (listed or is_whole(sentence))
    return kind_of_statement(sentence, kind) if fits and asks_for_code(sentence, loosely=loosely) else ""


def _rows(sentences: Sequence[_Sentence], kinds: Sequence[str]) -> Iterator[list[_Sentence]]:
    """The sentences that ask for something, up to three that follow each other in a row.

    One that begins with "This" or "Then" stays with the sentence before it, also where that asks for nothing.
    """
    row: list[_Sentence] = []
    for at, (one, kind) in enumerate(zip(sentences, kinds, strict=True)):
        leans = leans_on(one.text)
        length = sum(len(other.text) for other in row) + len(one.text)
        joins = bool(row) and (leans or kind == kinds[at - 1])
        if row and not (kind and joins and len(row) < _MOST_SENTENCES and length <= _LONGEST_TEXT):
            yield row
            row = []
        elif kind and not row and leans and at and is_whole(sentences[at - 1].text):
            row = [sentences[at - 1]]
        row = [*row, one] if kind else []
    if row:
        yield row


def _of_table(block: Block, caption: str, section: dict[str, Any], page: int) -> Iterator[Found]:
    lines = block.text.split("\n")
    for value in settings_in(cells_of(block.text), caption[:_LONGEST_CAPTION]):
        quote = next((line for line in lines if value.quote in line), lines[0])
        yield Found("hyperparameter", f"{value.name} = {value.value}", quote, section, page, value)
