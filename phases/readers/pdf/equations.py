"""Which blocks are displayed formulas, and their LaTeX: what has no relation, or is prose, is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from phases.readers.pdf.blocks import EQUATION, ITEM, PARAGRAPH, TAG, PdfBlock
from phases.readers.pdf.characters import box_around
from phases.readers.pdf.crosscheck import fold
from phases.readers.pdf.formulas import latex_of
from phases.readers.pdf.lines import Line
from phases.readers.pdf.page import BoundingBox, Character, Page

_RELATION = (
    r"(?:[=<>≤≥∈∼≈→←≠≡∝⊆⊂↦⇒⇔≺⪯⊑]|\\(?:leq?|geq?|in|sim|approx|to|gets|propto|equiv|mapsto|neq?|leftarrow|rightarrow"
    r"|Rightarrow|prec|subset(?:eq)?|sqsubseteq)(?![A-Za-z]))"
)
_BLANK = r"(?:[\s$&\x00-\x1f\ue000-\uf8ff]|\\\\)*"
"""Between signs; letters that no font names count as none."""
_RELATES = re.compile(
    rf"[\w)\]}}|'′∗*!∞⟩…]{_BLANK}(?::{_BLANK}(?==))?{_RELATION}+{_BLANK}(?:[\w(\[{{|^√∑∏∫∂∇∞⟨+−±-]|\\(?!\\))"
)
"""A relation with something of mathematics on either side."""
_GOES_ON = re.compile(rf"{_BLANK}{_RELATION}")
_BRACKETED = re.compile(r"(?<![\w)\]}|])(?<![\w)\]}|] )<[^<>]{1,200}>")
"""A pair of angle brackets, as of a tuple or a tag: it relates nothing."""
_NO_SIGN = re.compile("[¢«»©®™£¥“”]")
"""What stands in code, and in drawings that were read as text."""
_COMMON_FONT = re.compile(r"Times|Arial|Helvetica|Courier|GlyphLess|Hidden")
"""The fonts of recognized text: those that every viewer has."""
_NUMBER = re.compile(r"\(([0-9A-Z.]{1,6}[a-z]?)\)")
_LONG_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}")
_NAMED = re.compile(r"\\(?:mathrm|text)\{([^{}]*)\}")
_MOST_WORDS, _MOST_WORDS_OF_CASES, _MOST_WORDS_RECOGNIZED = 3, 12, 1
_BRACE, _TWO_LINES = frozenset("{\uf8f1\uf8f2\uf8f3\uf8f4⎧⎨⎩⎪"), 17.0
_MOST_MISSING, _TWICE = 0.1, 2
_NEAR = 0.7
_SHORT = 40
_SLACK, _FAR, _BY_BAR = 1.5, 30.0, 0.5


def with_equations(blocks: Sequence[PdfBlock], pages: Mapping[int, Page]) -> list[PdfBlock]:
    """The blocks, where formulas are whole and in LaTeX, and what only looks like one is text."""
    kept: list[PdfBlock] = []
    most = _MOST_WORDS_RECOGNIZED if _is_recognized(pages) else _MOST_WORDS
    for block in _whole_cases(_whole_formulas(blocks), pages):
        if block.kind == EQUATION:
            _set_text(block, pages.get(block.page))
            text = block.text or " ".join(line.text for line in block.lines)
            if kept and kept[-1].kind == EQUATION and _GOES_ON.match(text):
                text = f"x{text}"
            if not _is_equation(text, most):
                block.kind, block.text = PARAGRAPH, ""
        kept.append(block)
    return kept


def _whole_formulas(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """The blocks, where the limits and the parts of fractions are in the formula that they stand by."""
    kept: list[PdfBlock] = []
    for block in blocks:
        last = kept[-1] if kept else None
        if last and EQUATION in (last.kind, block.kind) and _belong_together(last, block):
            kind = EQUATION
            kept[-1] = PdfBlock(kind, last.page, [*last.lines, *block.lines], fresh=last.fresh)
        else:
            kept.append(block)
    return kept


def _whole_cases(blocks: Sequence[PdfBlock], pages: Mapping[int, Page]) -> list[PdfBlock]:
    """The blocks, where the lines beside one tall brace are one formula, be they words."""
    kept: list[PdfBlock] = []
    for block in blocks:
        last = kept[-1] if kept else None
        braces = _braces_of(pages[block.page]) if block.page in pages else []
        if last and EQUATION in (last.kind, block.kind) and any(_are_beside(brace, last, block) for brace in braces):
            kept[-1] = PdfBlock(EQUATION, last.page, [*last.lines, *block.lines], fresh=last.fresh)
        else:
            kept.append(block)
    return kept


def _braces_of(page: Page) -> list[BoundingBox]:
    """The boxes of opening braces that are as high as two lines, also of those that are drawn in pieces."""
    pieces = [one for line in page.glyphs for one in line if one.text in _BRACE]
    found: list[BoundingBox] = []
    for one in sorted(pieces, key=lambda one: (round(one.box.x0), one.box.y0)):
        joins = found and abs(found[-1].x0 - one.box.x0) < 3 and one.box.y0 - found[-1].y1 < 3
        if joins:
            found[-1] = found[-1].around(one.box)
        else:
            found.append(one.box)
    return [box for box in found if box.height > _TWO_LINES]


def _are_beside(brace: BoundingBox, one: PdfBlock, other: PdfBlock) -> bool:
    lines = (*one.lines, *other.lines)
    within = all(brace.y0 - 3 <= line.box.middle <= brace.y1 + 3 and line.box.x1 > brace.x0 for line in lines)
    return one.page == other.page and within


def _belong_together(one: PdfBlock, other: PdfBlock) -> bool:
    kinds = (EQUATION, PARAGRAPH, ITEM)
    if one.kind not in kinds or other.kind not in kinds or one.page != other.page or other.fresh:
        return False
    if any(TAG.search(line.text) for line in one.lines) and any(TAG.search(line.text) for line in other.lines):
        return False
    loose = one if other.kind == EQUATION else other
    if loose.kind != EQUATION and not all(map(_is_scrap, loose.lines)):
        return False
    gap = min(line.box.y0 for line in other.lines) - max(line.box.y1 for line in one.lines)
    size = max(line.size for line in (*one.lines, *other.lines))
    close = gap < (_NEAR * size if loose.kind != EQUATION else 0.1 * size)
    beside = one.lines[-1].box.x0 < other.lines[0].box.x1 and other.lines[0].box.x0 < one.lines[-1].box.x1
    return close and (beside or gap < 0)


def _is_scrap(line: Line) -> bool:
    """A piece of a formula: short, set in, and hardly a word."""
    inside = line.box.x0 > line.column.x0 + line.size and len(line.text) <= _SHORT
    return inside and len(_LONG_WORD.findall(re.sub(r"\$[^$]*\$", " ", line.text))) < 2


def _set_text(block: PdfBlock, page: Page | None) -> None:
    """Sets the formula's LaTeX, if the page's characters hold all of its letters."""
    box = block.lines[0].box
    for line in block.lines:
        box = box.around(line.box)
    room = _widen(box)
    bars = [bar for bar in page.rulings if room.holds(bar)] if page else []
    lines = page.glyphs if page else ()
    inside = [
        one for line in lines if _lies_in(line, room) or (bars and _is_part_of_fraction(line, bars)) for one in line
    ]
    if not inside or not _are_all(inside, block):
        return
    number, rest = _without_number(inside)
    whole = _widen(box_around(inside))
    text = latex_of(rest, [bar for bar in page.rulings if whole.holds(bar)] if page else [])
    block.text = f"{text} ({number})" if number else text


def _widen(box: BoundingBox) -> BoundingBox:
    return BoundingBox(box.x0 - _SLACK, box.y0 - 2 * _SLACK, box.x1 + _SLACK, box.y1 + 2 * _SLACK)


def _lies_in(line: Sequence[Character], room: BoundingBox) -> bool:
    """Whether more of a line is in a room than out of it."""
    if line[0].box.y1 < room.y0 - _FAR or line[0].box.y0 > room.y1 + _FAR:
        return False
    return 2 * sum(room.holds(one.box) for one in line) > len(line)


def _is_part_of_fraction(line: Sequence[Character], bars: Sequence[BoundingBox]) -> bool:
    """Whether a line stands right above or below one of these bars, and is no longer than it."""
    box, size = box_around(line), max(one.size for one in line)
    return any(
        bar.x0 - _SLACK < box.x0
        and box.x1 < bar.x1 + _SLACK
        and min(abs(bar.y0 - box.y1), abs(box.y0 - bar.y1)) < _BY_BAR * size
        for bar in bars
    )


def _are_all(inside: Sequence[Character], block: PdfBlock) -> bool:
    """Whether these are the letters of the block, where the engine may have given a part of it twice."""
    wanted = Counter(fold(" ".join(line.text for line in block.lines)))
    have = Counter(fold("".join(one.text for one in inside)))
    missing = sum(count - have[letter] for letter, count in wanted.items() if count > _TWICE * have[letter])
    return missing <= _MOST_MISSING * max(1, sum(wanted.values()))


def _without_number(characters: Sequence[Character]) -> tuple[str, list[Character]]:
    """The number in parentheses at the right end or, far from the rest, at the left one; and the rest."""
    left = min(one.box.x0 for one in characters)
    first = next(one for one in characters if one.box.x0 == left)
    level = sorted(
        (one for one in characters if abs(one.box.middle - first.box.middle) < one.size), key=lambda one: one.box.x0
    )
    if (begins := _NUMBER.match("".join(one.text for one in level))) and begins.end() < len(level):
        tag, after = level[: begins.end()], level[begins.end()]
        if after.box.x0 - tag[-1].box.x1 > 2 * first.size:
            return begins.group(1), [one for one in characters if one not in tag]
    right = max(one.box.x1 for one in characters)
    for row in sorted({round(one.box.y1) for one in characters if one.box.x1 > right - 3 and one.text == ")"}):
        level = [one for one in characters if abs(one.box.middle - (row - one.box.height / 2)) < one.size]
        level.sort(key=lambda one: one.box.x0)
        text = "".join(one.text for one in level)
        match = re.search(r"\(([0-9A-Z.]{1,6}[a-z]?)\)$", text)
        if not match or not match.start():
            continue
        tag = level[match.start() :]
        if tag[0].box.x0 - level[match.start() - 1].box.x1 > tag[0].size:
            return match.group(1), [one for one in characters if one not in tag]
    return "", list(characters)


def _is_recognized(pages: Mapping[int, Page]) -> bool:
    """Whether the letters may come from a scan: no font of the document is its own."""
    fonts = {one.font for page in pages.values() for line in page.glyphs for one in line}
    return bool(fonts) and all(map(_COMMON_FONT.match, fonts))


def _is_equation(text: str, most: int) -> bool:
    """Whether it says how two things are related, and with no more than so many words."""
    prose = len(_LONG_WORD.findall(_NAMED.sub(r" \1 ", text.replace("$", " "))))
    if _NO_SIGN.search(text) or prose > (_MOST_WORDS_OF_CASES if "{cases}" in text else most):
        return False
    return bool(_RELATES.search(_BRACKETED.sub("x", text)))
