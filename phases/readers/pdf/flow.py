"""Puts the flow of the text right: paragraphs that a column or a page cut, pictures' words, an abstract without a heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from phases.readers.headings import ABSTRACT, plain_title
from phases.readers.pdf.blocks import (
    CAPTION,
    EQUATION,
    FOOTNOTE,
    HEADING,
    ITEM,
    PARAGRAPH,
    PICTURE,
    TABLE,
    PdfBlock,
    goes_on,
    is_figure_caption,
)
from phases.readers.pdf.headings import BodyStyle
from phases.readers.pdf.lines import Line

_ABSTRACT = re.compile(rf"^(?:{'|'.join(ABSTRACT)})\s*[.:—–-]+\s*(?=\S)", re.IGNORECASE)
_WORDS_OF_PROSE = 5
_ASIDE = (CAPTION, FOOTNOTE, TABLE, PICTURE)


def in_flow(blocks: Sequence[PdfBlock], body: BodyStyle) -> list[PdfBlock]:
    """The blocks as a reader takes them in."""
    return list(_with_abstract(_join_paragraphs(_with_pictures(blocks, body))))


def _with_pictures(blocks: Sequence[PdfBlock], body: BodyStyle) -> list[PdfBlock]:
    """The words of a picture, told apart from the text by the caption below them, stand behind the caption."""
    kept: list[PdfBlock] = []
    for block in blocks:
        kept.append(block)
        if not is_figure_caption(block):
            continue
        words: list[Line] = []
        while len(kept) > 1 and kept[-2].page == block.page and _is_label(kept[-2], body):
            words = [*kept.pop(-2).lines, *words]
        if words:
            kept.append(PdfBlock(PICTURE, block.page, words))
    return kept


def _is_label(block: PdfBlock, body: BodyStyle) -> bool:
    """Hardly a sentence: a paragraph has two lines of words, or is set as the text is."""
    if block.kind not in (PARAGRAPH, ITEM, EQUATION, FOOTNOTE):
        return False
    counts = [len(re.findall(r"[^\W\d_]{3,}", line.text)) for line in block.lines]
    as_text = all(line.font == body.font and abs(line.size - body.size) < 0.3 for line in block.lines)
    prose = sum(count >= _WORDS_OF_PROSE for count in counts)
    if block.kind == FOOTNOTE and max(counts) >= _WORDS_OF_PROSE:
        return False
    if len(block.lines) == 1 and not re.search(r"[.!?:;,]$", block.lines[0].text):
        return max(counts) < 2 * _WORDS_OF_PROSE
    return prose < 2 and not (as_text and max(counts) >= _WORDS_OF_PROSE // 2)


def _join_paragraphs(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """Paragraphs whole again: what a float, a column or a page came between is one block, where it began."""
    kept: list[PdfBlock] = []
    last: PdfBlock | None = None
    crossed = False
    for block in blocks:
        crossed = crossed or block.fresh or block.kind in _ASIDE
        continued = (
            last is not None
            and block.kind == PARAGRAPH
            and crossed
            and abs(block.lines[0].size - last.lines[-1].size) < 0.6
            and goes_on(last.lines[-1].text, block.lines[0].text)
        )
        if continued and last is not None:
            last.lines.extend(block.lines)
            crossed = False
            continue
        kept.append(block)
        if block.kind in (PARAGRAPH, ITEM):
            last, crossed = block, False
        elif block.kind not in _ASIDE:
            last = None
    return kept


def _with_abstract(blocks: Sequence[PdfBlock]) -> Iterator[PdfBlock]:
    """An abstract that begins with its name, in the same line, gets a heading."""
    named = any(block.kind == HEADING and plain_title(block.text) in ABSTRACT for block in blocks)
    for block in blocks:
        match = _ABSTRACT.match(block.lines[0].text) if block.kind == PARAGRAPH and not named else None
        if match and block.page <= 2:
            named = True
            yield PdfBlock(HEADING, block.page, text=match.group().rstrip(" .:—–-"), level=1)
            block.lines[0] = replace(block.lines[0], text=block.lines[0].text[match.end() :])
        yield block
