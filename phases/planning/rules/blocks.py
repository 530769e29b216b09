"""Cuts the text of a section into blocks, so that each is read as what it is: prose, table, caption, equation, listing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from phases.readers.line_patterns import as_latex, find_bare_formulas

PROSE, ITEM, NOTE, TABLE, FENCE, CAPTION, EQUATION = (
    "prose", "item", "note", "table", "fence", "caption", "equation",
)  # fmt: skip
_FENCE_LINE = re.compile(r" {0,3}(?:```|~~~)")
_LABELLED = (
    r"(?:Table|TABLE|Tabelle|Tableau|表|Figure|FIGURE|Fig\.|Abbildung|图|図|Algorithm|ALGORITHM|Algorithmus|算法)"
)
_CAPTION_LINE = re.compile(
    rf"[>*_ ]*{_LABELLED}[ ]?(?:(?:[A-Z]\.?)?[0-9]+(?:\.[0-9]+)?|[IVX]{{1,5}})(?:[.:|*_]|$| (?![a-z(\[,])(?!.{{0,60}}? "
    rf"(?:shows?|zeigt) ))"
)
"""A label with its mark, or a label and a capital: "Table 2 shows the results." is a sentence."""
_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,2}[.)])[ \t]+(?=\S)")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,9}\]:[ \t]*")
# of quotations only captions are read: what stands in a picture asks for nothing
_SKIPPED = ("#", "<!--", ">")


@dataclass(frozen=True)
class TextBlock:
    """A stretch of lines of one kind, as they stand in the paper; what is no table and no listing is one line."""

    kind: str
    text: str


def blocks_of(text: str) -> Iterator[TextBlock]:
    """The blocks of a text in its order. Headings and comments are in none."""
    lines: list[str] = []
    kind = ""
    for line, found in _lines_with_kinds(text):
        if (
            lines
            and (found != kind or found in ("", ITEM, NOTE, CAPTION))
            and not (found == PROSE and kind in (ITEM, NOTE, CAPTION))
        ):
            yield _build_block(kind, lines)
            lines = []
        if found:
            kind = kind if lines else found
            lines.append(line)
    if lines:
        yield _build_block(kind, lines)


def _lines_with_kinds(text: str) -> Iterator[tuple[str, str]]:
    """Each line with the kind of block it belongs to; empty where none goes on."""
    fenced = formula = False
    lines = text.split("\n")
    bare_formulas = {place for ends in find_bare_formulas(lines).items() for place in ends}
    for place, line in enumerate(lines):
        bare = line.strip()
        if _FENCE_LINE.match(line):
            yield "", ""
            fenced = not fenced
        elif fenced:
            yield line, FENCE
        elif bare.startswith("|") and not formula:
            yield bare, TABLE
        elif _CAPTION_LINE.match(bare):
            yield bare, CAPTION
        elif not bare or bare.startswith(_SKIPPED):
            # an empty line ends a formula whose closing signs are missing
            formula = False
            yield "", ""
        elif _FOOTNOTE.match(bare):
            yield _FOOTNOTE.sub("", bare), NOTE
        elif formula or bare.startswith("$$"):
            formula ^= bare.count("$$") % 2 == 1
            yield bare, EQUATION
        elif place in bare_formulas:
            yield as_latex(bare), EQUATION
        else:
            yield line, ITEM if _ITEM.match(line) else PROSE


def _build_block(kind: str, lines: list[str]) -> TextBlock:
    if kind in (TABLE, FENCE):
        return TextBlock(kind, "\n".join(lines))
    text = " ".join(" ".join(lines).split())
    return TextBlock(kind, _ITEM.sub("", text, count=1) if kind == ITEM else text)
