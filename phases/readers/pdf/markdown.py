"""Blocks -> Markdown in the dialect of paper.md."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from phases.readers.pdf.blocks import (
    ALGORITHM,
    CAPTION,
    CODE,
    CONTENTS,
    EQUATION,
    FOOTNOTE,
    HEADING,
    ITEM,
    PICTURE,
    REFERENCE,
    PdfBlock,
)
from phases.readers.pdf.lines import Line
from phases.readers.pdf.listings import is_set_in_typewriter, split_number
from phases.readers.pdf.words import Words

_LABEL = re.compile(r"^((?:[^\W\d_]+\.?)\s*(?:[IVX]{1,6}|[0-9A-Z][0-9.]*?))\s*[:.|：]?\s+(?=\S)")
_TAG = re.compile(r"\s*\(([0-9A-Z.]{1,6}[a-z]?)\)$")
_MARKER = re.compile(r"^[•◦▪■●‣∙⋄–\-*]\s*")
_ORDERED = re.compile(r"^\(?([0-9]{1,2})[.)]\s+")
_FOOTNOTE = re.compile(r"^([0-9]{1,2}|[*∗†‡§¶])\s?")
_STRUCTURE = re.compile(r"^(?=#{1,6}\s|```|~~~|<!--|>|\|)")
_DEEPEST = 6
_STEP = 10.0
"""So many points of indentation are two blanks, where the lines do not say how far they are set in."""
_LEAST_STEP, _MOST_STEP = 0.7, 4.0
_DEEPEST_STEP = 12
_LEANING = 0.1
"""Of a step: places half a step on, more or less, are all of the step before."""


def text_of(block: PdfBlock, words: Words) -> str:
    """A block as Markdown; a table is drawn by others."""
    text = block.text or words.join([line.text for line in block.lines])
    if block.kind == HEADING:
        return f"{'#' * min(block.level + 1, _DEEPEST)} {text}"
    if block.kind == CAPTION:
        return f"> {_LABEL.sub(lambda match: f'**{match.group(1)}.** ', text, count=1)}"
    if block.kind == PICTURE:
        return f"> In the picture: {text}"
    if block.kind == EQUATION:
        return _render_equation(block)
    if block.kind == ALGORITHM:
        return _render_algorithm(block)
    if block.kind == CODE and len(block.lines) > 1:
        return "\n".join(["```", *_indent_lines(block.lines), "```"])
    if block.kind == FOOTNOTE:
        return _FOOTNOTE.sub(lambda match: f"[^{match.group(1)}]: ", text, count=1)
    if block.kind in (ITEM, CONTENTS):
        return _render_item(text)
    return text if block.kind == REFERENCE else escape_prose(text)


def escape_prose(text: str) -> str:
    """Prose that would read as structure gets a backslash."""
    return _STRUCTURE.sub(r"\\", text).replace("<!--", r"\<!--")


def _render_equation(block: PdfBlock) -> str:
    """The lines of a formula as one; its number goes to the end, wherever on the page it stands."""
    pieces, number = [], ""
    for text in [block.text] if block.text else [line.text for line in block.lines]:
        tag = _TAG.search(text)
        number = tag.group(1) if tag else number
        pieces.append(text[: tag.start()] if tag else text)
    content = " ".join(" ".join(pieces).replace("$", " ").split())
    return f"$$ {content} \\tag{{{number}}} $$" if number else f"$$ {content} $$"


def _render_algorithm(block: PdfBlock) -> str:
    caption = re.sub(r"^(\S+\s*[0-9]+(?:\.[0-9]+)*)\s*[:.]?\s*", r"\1: ", block.lines[0].text)
    return "\n".join(["```algorithm", caption, *_indent_lines(block.lines[1:]), "```"])


def _indent_lines(lines: Sequence[Line]) -> list[str]:
    """The lines with the indentation that they have on the page, behind their numbers where they have any."""
    steps = [split_number(line) for line in lines]
    numbered = sum(bool(number) for number, _, _ in steps) * 2 > len(lines)
    if not numbered:
        steps = [("", line.box.x0, line.text) for line in lines]
    widest = max((len(number) for number, _, _ in steps), default=0)
    found = [None if at is None else at - edge for (_, at, _), edge in zip(steps, _edges_of(lines), strict=True)]
    # what it takes and gives may have no numbers, and stand as far left as these
    left = min(
        (at for (number, _, _), at in zip(steps, found, strict=True) if at is not None and (number or not numbered)),
        default=0.0,
    )
    # a formula that the engine gives with the number before it stands as far left as any step does
    places = [left if at is None else at for at in found]
    letters = [
        (line.box.x1 - at) / len(text)
        for line, (_, at, text) in zip(lines, steps, strict=True)
        if text and at is not None and is_set_in_typewriter(line)
    ]
    # two letters in typewriter type are two blanks, else how far a line is mostly set in
    step = 2 * median(letters) if len(letters) * 2 > len(lines) else _step_of(lines, places)
    return [
        f"{number.ljust(widest + 1) if numbered else ''}"
        f"{'  ' * min(round(max(place - left, 0) / step - _LEANING), _DEEPEST_STEP)}{text}".replace(
            "```", "'''"
        ).rstrip()
        for (number, _, text), place in zip(steps, places, strict=True)
    ]


def _edges_of(lines: Sequence[Line]) -> Iterator[float]:
    """For each line the left edge of the column that it is in: a listing may go on in the next one."""
    edge, before = 0.0, None
    for line in lines:
        if before is None or line.page != before.page or line.box.y0 < before.box.y0 - line.size:
            edge = line.column.x0
        yield edge
        before = line


def _step_of(lines: Sequence[Line], places: Sequence[float]) -> float:
    """How far a line is mostly set in, in points."""
    deeper = [
        after - before
        for (before, after), line in zip(itertools.pairwise(places), lines, strict=False)
        if _LEAST_STEP * line.size < after - before < _MOST_STEP * line.size
    ]
    if not deeper:
        return _STEP
    [(usual, _)] = Counter(map(round, deeper)).most_common(1)
    return median(step for step in deeper if round(step) == usual)


def _render_item(text: str) -> str:
    if _ORDERED.match(text):
        return _ORDERED.sub(r"\1. ", text, count=1)
    return f"- {_MARKER.sub('', text, count=1)}"
