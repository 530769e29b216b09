"""Reads the sections of a paper for what they ask a builder for: whole sentences, and the values that they give."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from phases.planning.rules.blocks import CAPTION, EQUATION, ITEM, NOTE, PROSE, TABLE, TextBlock, blocks_of
from phases.planning.rules.cues import asks_for_code, kind_of_statement
from phases.planning.rules.sentences import is_open, is_whole, leans_on, sentences_of, without_marks
from phases.planning.rules.values import NUMBER, Value, number_of, symbol_of, values_in
from phases.readers.outline import pages_of

_MOST_SENTENCES, _LONGEST_TEXT, _LONGEST_SENTENCE = 3, 600, 1200
_LONGEST_BLOCK = 20_000
_LONGEST_CAPTION = 400
_METHOD = ("method", "algorithm")
_LEADERS = re.compile(r"(?:\.[ ]?){5}|[…·_]{4}")
"""Between a heading and its page, in a table of contents."""
_RULE = re.compile(r"\|[-:| ]+\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_SETTINGS = re.compile(
    r"hyper-?\s?param|(?:parameter|training|optimi[sz]er|model|architecture)"
    r" (?:settings?|choices?|values?|configurations?|details?)"
    r"|parameters? (?:used|of)\b|Hyperparameter|Einstellung|超参数|参数设置",
    re.IGNORECASE,
)
_RESULTS = re.compile(
    r"\bresults?\b|accurac|perplexit|\bscores?\b|\bperformance|\bBLEU|\bF1\b|\berrors?\b|\bcomparison|\bcompared\b|ablation|\b(?:low|high)est\b|attain|achiev"
    r"|variations|\btest set\b|\bErgebnis|\bVergleich|结果|准确率|比较",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"(?:learning|dropout|batch|momentum|weight|warm|epochs|layers|hidden|heads|steps|iterations|temperature"
    r"|optimi[sz]er|decay|size|seed"
    r"|α|β|γ|λ|\\(?:alpha|beta|gamma|lambda))",
    re.IGNORECASE,
)
_LONGEST_LABEL, _MOST_ROWS = 40, 60
_LONGEST_PROSE = 6
_MARKS = re.compile(r"[*_$\\{}]|<[^<>]{0,20}>")


@dataclass(frozen=True)
class Demand:
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

    def takes(self, block: TextBlock) -> bool:
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


def demands_in(text: str, section: dict[str, Any], kind: str, *, loosely: bool = False) -> Iterator[Demand]:
    """What one section asks for, in its order; `kind` is the section's. `loosely`: what there is counts like what is done."""
    caption, paragraph = "", _Paragraph()
    loosely = loosely or kind in _METHOD
    for page, part in pages_of(text, section):
        for block in blocks_of(part):
            if block.kind == TABLE:
                yield from _demands_of_table(block, caption, section, page)
            elif block.kind == CAPTION:
                caption = block.text
            elif block.kind in (PROSE, ITEM, NOTE, EQUATION):
                if not paragraph.takes(block):
                    yield from _demands_of_paragraph(paragraph, section, kind, loosely)
                    paragraph = _Paragraph(block.kind)
                paragraph.parts.append((page, block.text))
    yield from _demands_of_paragraph(paragraph, section, kind, loosely)


def _demands_of_paragraph(paragraph: _Paragraph, section: dict[str, Any], kind: str, loosely: bool) -> Iterator[Demand]:
    contents = any(_LEADERS.search(text) for _, text in paragraph.parts)
    sentences = [] if paragraph.kind == EQUATION or contents else list(paragraph.sentences())
    listed = paragraph.kind == ITEM
    for row in _group_sentences(
        sentences, [_demand_kind(one.text, kind, loosely=loosely, listed=listed) for one in sentences]
    ):
        said = without_marks(" ".join(one.text for one in row))
        page, quote = row[0].pieces[0]
        yield Demand(kind_of_statement(said, kind), said, quote, section, page)
    for one in sentences:
        for value in values_in(one.text) if asks_for_code(one.text, loosely=True) else ():
            for page in [page for page, piece in one.pieces if value.quote in piece][:1]:
                yield Demand("hyperparameter", f"{value.name} = {value.value}", value.quote, section, page, value)


def _demand_kind(sentence: str, kind: str, *, loosely: bool, listed: bool) -> str:
    """The kind of demand that a sentence is; empty where it is none. An item of a list needs no full stop."""
    fits = len(sentence) <= _LONGEST_SENTENCE and (listed or is_whole(sentence))
    return kind_of_statement(sentence, kind) if fits and asks_for_code(sentence, loosely=loosely) else ""


def _group_sentences(sentences: Sequence[_Sentence], kinds: Sequence[str]) -> Iterator[list[_Sentence]]:
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


def _demands_of_table(block: TextBlock, caption: str, section: dict[str, Any], page: int) -> Iterator[Demand]:
    lines = block.text.split("\n")
    for value in settings_in(cells_of(block.text), caption[:_LONGEST_CAPTION]):
        quote = next((line for line in lines if value.quote in line), lines[0])
        yield Demand("hyperparameter", f"{value.name} = {value.value}", quote, section, page, value)


def cells_of(table: str) -> list[list[str]]:
    """The rows of a pipe table, without its rule; empty where it is no grid but prose that fell into columns."""
    rows = [
        [" ".join(cell.replace("\\|", "|").split()) for cell in _CELL.split(line.strip().strip("|"))]
        for line in table.split("\n")[:_MOST_ROWS]
        if not _RULE.match(line.strip())
    ]
    filled = [cell for row in rows for cell in row if cell]
    words = sum(cell.count(" ") + 1 for cell in filled)
    return rows if len(rows) > 1 and filled and words <= _LONGEST_PROSE * len(filled) else []


def settings_in(rows: Sequence[Sequence[str]], caption: str) -> Iterator[Value]:
    """What a table of settings sets, each named after its row and column. What is no such table sets nothing."""
    if not rows or _RESULTS.search(caption):
        return
    is_named = bool(_SETTINGS.search(caption) or _SETTINGS.search(rows[0][0]))
    # a table may have a run in each row: turned, it has a setting in each
    if 2 * sum(map(_is_setting, rows[0][1:])) > len(rows[0][1:]):
        rows = [
            list(column) for column in zip(*_pad_rows(rows), strict=True)
        ]  # a run a row: turned, it is a setting a row
    head = rows[0]
    body = rows if number_of(head[-1]) is not None else rows[1:]
    known = sum(_is_setting(row[0]) and any(_number_in_cell(cell) is not None for cell in row[1:]) for row in body)
    if not known or (not is_named and 2 * known <= len(body)):
        return
    for row in body:
        label = _MARKS.sub("", row[0]).strip()
        if 0 < len(label) <= _LONGEST_LABEL:
            yield from _row_values(label, row[1:], head[1:])


def _is_setting(label: str) -> bool:
    """By its name; one with a number in it is a variant that was measured."""
    return bool(_KNOWN.match(_MARKS.sub("", label).strip())) and not re.search(r"[0-9]", label)


def _row_values(label: str, cells: Sequence[str], heads: Sequence[str]) -> Iterator[Value]:
    found = [
        (cell, heads[at] if at < len(heads) else "")
        for at, cell in enumerate(cells)
        if _number_in_cell(cell) is not None
    ]
    same = len({cell for cell, _ in found}) == 1
    for cell, head in found[:1] if same else found:
        value, which = _number_in_cell(cell), "" if same or number_of(head) is not None else _MARKS.sub("", head)
        name = symbol_of(f"{label} {which}")
        if name and value is not None:
            yield Value(name, value, cell)


def _number_in_cell(cell: str) -> int | float | None:
    plain = cell.strip("$* ")
    return number_of(plain) if re.fullmatch(NUMBER, plain) else None


def _pad_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    width = max(map(len, rows))
    return [[*row, *[""] * (width - len(row))] for row in rows]
