"""Blocks -> Markdown in the dialect of paper.md."""

from __future__ import annotations

import re

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
from phases.readers.pdf.words import Words

_LABEL = re.compile(r"^((?:[^\W\d_]+\.?)\s*(?:[IVX]{1,6}|[0-9A-Z][0-9.]*?))\s*[:.|：]?\s+(?=\S)")
_TAG = re.compile(r"\s*\(([0-9A-Z.]{1,6}[a-z]?)\)$")
_MARKER = re.compile(r"^[•◦▪■●‣∙⋄–\-*]\s*")
_ORDERED = re.compile(r"^\(?([0-9]{1,2})[.)]\s+")
_FOOTNOTE = re.compile(r"^([0-9]{1,2}|[*∗†‡§¶])\s?")
_STRUCTURE = re.compile(r"^(?=#{1,6}\s|```|~~~|<!--|>|\|)")
_DEEPEST = 6
_STEP, _LETTER = 10.0, 10.5
"""So many points of indentation are two blanks: in an algorithm, and in code, whose letters are as wide as each other."""
_DEEPEST_STEP = 12


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
        return "\n".join(["```", *_indent_lines(block, _LETTER), "```"])
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
    return "\n".join(["```algorithm", caption, *_indent_lines(block, _STEP)[1:], "```"])


def _indent_lines(block: PdfBlock, step: float) -> list[str]:
    """The lines with the indentation that they have on the page, `step` points for two blanks."""
    left = min(line.box.x0 for line in block.lines)
    return [
        f"{'  ' * min(round((line.box.x0 - left) / step), _DEEPEST_STEP)}{line.text}".replace("```", "'''")
        for line in block.lines
    ]


def _render_item(text: str) -> str:
    if _ORDERED.match(text):
        return _ORDERED.sub(r"\1. ", text, count=1)
    return f"- {_MARKER.sub('', text, count=1)}"
