"""Cuts the text of a section into blocks, so that each is read as what it is: prose, table, caption, equation, listing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PROSE, TABLE, FENCE, CAPTION, EQUATION = "prose", "table", "fence", "caption", "equation"
_FENCE_LINE = re.compile(r" {0,3}(?:```|~~~)")
_CAPTION_LINE = re.compile(
    r"[>*_ ]*(?:Table|TABLE|Tabelle|表|Figure|FIGURE|Fig\.|Abbildung|图)[ ]?(?:[A-Z]\.?)?[0-9]+[.:|*_ ]"
)
_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,2}[.)])[ \t]+(?=\S)")
_NOTE = re.compile(r"\[\^[^\]\s]{1,9}\]:[ \t]*")
_SKIPPED = ("#", "<!--", ">")  # of quotations only captions are read: what stands in a picture asks for nothing


@dataclass(frozen=True)
class Block:
    """A stretch of lines of one kind, as they stand in the paper; prose and captions are one line."""

    kind: str
    text: str


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a text in its order. Headings and comments are in none; a footnote is prose."""
    lines: list[str] = []
    kind = ""
    for line, found in _kinds(text):
        if (
            lines
            and (found != kind or found in ("", "item", CAPTION))
            and not (found == PROSE and kind in ("item", CAPTION))
        ):
            yield _block(kind, lines)
            lines = []
        if found:
            kind = kind if lines else found
            lines.append(line)
    if lines:
        yield _block(kind, lines)


def _kinds(text: str) -> Iterator[tuple[str, str]]:
    """Each line with the kind of block it belongs to; empty where none goes on."""
    fenced = False
    for line in text.split("\n"):
        bare = line.strip()
        if _FENCE_LINE.match(line):
            yield "", ""
            fenced = not fenced
        elif fenced:
            yield line, FENCE
        elif bare.startswith("|"):
            yield bare, TABLE
        elif _CAPTION_LINE.match(bare):
            yield bare, CAPTION
        elif not bare or bare.startswith(_SKIPPED):
            yield "", ""
        elif _NOTE.match(bare):
            yield _NOTE.sub("", bare), "item"
        elif bare.startswith("$$"):
            yield bare, EQUATION
        else:
            yield line, "item" if _ITEM.match(line) else PROSE


def _block(kind: str, lines: list[str]) -> Block:
    if kind in (TABLE, FENCE):
        return Block(kind, "\n".join(lines))
    text = " ".join(" ".join(lines).split())
    return Block(PROSE, _ITEM.sub("", text, count=1)) if kind == "item" else Block(kind, text)
