"""Blocks -> Markdown in the dialect of paper.md."""

from __future__ import annotations

import re

from phases.paper.pdf.blocks import (
    ALGORITHM,
    CAPTION,
    CONTENTS,
    EQUATION,
    FOOTNOTE,
    HEADING,
    ITEM,
    PICTURE,
    REFERENCE,
    Block,
)
from phases.paper.pdf.words import Words

_LABEL = re.compile(r"^((?:[^\W\d_]+\.?)\s*[0-9A-Z][0-9.]*?)\s*[:.|：]?\s+(?=\S)")
_TAG = re.compile(r"\s*\(([0-9A-Z.]{1,6}[a-z]?)\)$")
_MARKER = re.compile(r"^[•◦▪■●‣∙⋄–\-*]\s*")
_ORDERED = re.compile(r"^\(?([0-9]{1,2})[.)]\s+")
_FOOTNOTE = re.compile(r"^([0-9]{1,2}|[*∗†‡§¶])\s?")
_STRUCTURE = re.compile(r"^(?=#{1,6}\s|```|~~~|<!--|>|\|)")
_DEEPEST = 6
_STEP = 10.0
"""So many points of indentation are two blanks."""


def text_of(block: Block, words: Words) -> str:
    """A block as Markdown; a table is drawn by others."""
    text = block.text or words.join([line.text for line in block.lines])
    if block.kind == HEADING:
        return f"{'#' * min(block.level + 1, _DEEPEST)} {text}"
    if block.kind == CAPTION:
        return f"> {_LABEL.sub(lambda match: f'**{match.group(1)}.** ', text, count=1)}"
    if block.kind == PICTURE:
        return f"> In the picture: {text}"
    if block.kind == EQUATION:
        return _equation(text)
    if block.kind == ALGORITHM:
        return _algorithm(block)
    if block.kind == FOOTNOTE:
        return _FOOTNOTE.sub(lambda match: f"[^{match.group(1)}]: ", text, count=1)
    if block.kind in (ITEM, CONTENTS):
        return _item(text)
    return text if block.kind == REFERENCE else escaped(text)


def escaped(text: str) -> str:
    """Prose that would read as structure gets a backslash."""
    return _STRUCTURE.sub(r"\\", text).replace("<!--", r"\<!--")


def _equation(text: str) -> str:
    tag = _TAG.search(text)
    content = " ".join((text[: tag.start()] if tag else text).replace("$", " ").split())
    return f"$$ {content} \\tag{{{tag.group(1)}}} $$" if tag else f"$$ {content} $$"


def _algorithm(block: Block) -> str:
    left = min(line.box.x0 for line in block.lines)
    steps = [f"{'  ' * round((line.box.x0 - left) / _STEP)}{line.text}" for line in block.lines[1:]]
    caption = re.sub(r"^(\S+\s*[0-9]+(?:\.[0-9]+)*)\s*[:.]?\s*", r"\1: ", block.lines[0].text)
    return "\n".join(["```algorithm", caption, *(step.replace("```", "'''") for step in steps), "```"])


def _item(text: str) -> str:
    if _ORDERED.match(text):
        return _ORDERED.sub(r"\1. ", text, count=1)
    return f"- {_MARKER.sub('', text, count=1)}"
