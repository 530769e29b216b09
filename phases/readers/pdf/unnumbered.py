"""Styles of headings that have no number: lines by themselves, set apart in type, each with text of the body below it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from phases.readers.line_patterns import number_of, without_number
from phases.readers.pdf.lines import Line

LARGER = 0.4
_MOST_LINES = 4
_LONGEST = 90
_FEWEST_LETTERS = 4
_ENOUGH = 0.7
"""So many of the lines in a style head something, or it is no style of headings."""
_NARROW = 0.5
_SAME_SIZE = 1.0
_FEWEST_ALONE = 2
_WHITE_ABOVE, _WHITE_BELOW, _PART = 0.9, 0.4, 0.95
_PARTED_ABOVE, _PARTED_BELOW, _PROSE, _SHORT = 1.0, 0.4, 0.8, 0.98
_FLOAT = re.compile(r"(?:fig(?:ure|\.)|tab(?:le|\.))\s*[0-9IVX]", re.IGNORECASE)
_CAPITAL = re.compile(r"[0-9]{1,2}[A-Z]")
"""Three dimensions and the like: 3D is a word."""
Style = tuple[str, float, bool]


@dataclass(frozen=True, slots=True)
class BodyStyle:
    """How most of the text is set."""

    font: str
    size: float
    alone: bool = False
    """Hardly a word is set otherwise: recognized text of a scan, or typewriting. Then type tells nothing."""


def style_of(line: Line) -> Style:
    """Font, size and whether it is bold."""
    return line.font, line.size, line.bold


def font_family(font: str) -> str:
    """The name of a font without what its weights and sizes are called."""
    return re.sub(r"[-,0-9~].*$|(?i:bold|regular|roman|italic|medi|light)", "", font)


def reads_like_a_title(text: str) -> bool:
    """Words that begin with a capital letter and are no sentence."""
    letters = sum(character.isalpha() for character in text)
    begins = _CAPITAL.match(text) or (text[:1].isalpha() and not text[:1].islower())
    return letters >= _FEWEST_LETTERS and bool(begins) and not text.endswith((".", ",", ";", ":", "-"))


def unnumbered_levels(
    lines: Sequence[Line], candidates: Collection[int], body: BodyStyle, numbered: Mapping[Style, Sequence[int]]
) -> dict[Style, int]:
    """Style -> level, of the styles whose lines are headings. `numbered` are the depths of numbered ones, by style."""
    own = {
        index for index in candidates if _may_be_one(lines[index], body, numbered) or _is_set_off(lines, index, body)
    }
    styles = {style_of(lines[index]) for index in own}
    groups: dict[Style, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if style_of(line) in styles and not number_of(line.text):
            groups[style_of(line)].append(index)
    kept = [style for style, group in groups.items() if _head_text(lines, group, own, body, bool(numbered))]
    return {style: _level_of(style, kept, numbered) for style in kept}


def _may_be_one(line: Line, body: BodyStyle, numbered: Mapping[Style, Sequence[int]]) -> bool:
    if number_of(line.text) or not reads_like_a_title(line.text):
        return False
    if len(line.text) > _LONGEST or line.size < body.size - LARGER:
        return False
    if not numbered:
        return line.bold or line.size > body.size + LARGER
    families = {(font_family(font), bold) for font, _, bold in numbered}
    return (font_family(line.font), line.bold) in families and (line.bold or line.size > body.size + LARGER)


def _is_set_off(lines: Sequence[Line], index: int, body: BodyStyle) -> bool:
    """A title in a font of its own, neither bold nor large, with much more white above it than a paragraph has."""
    line = lines[index]
    below = lines[index + 1] if index + 1 < len(lines) else None
    alone = below is not None and not below.fresh and below.gap > _WHITE_BELOW * line.size
    short = line.box.width < _PART * line.column.width and len(line.text) <= _LONGEST
    own = line.font != body.font and abs(line.size - body.size) <= _SAME_SIZE and not number_of(line.text)
    return own and short and alone and line.gap > _WHITE_ABOVE * line.size and reads_like_a_title(line.text)


def count_parted(lines: Sequence[Line], index: int) -> int:
    """How many lines a title has from here on, by the white above and below it alone: one, two, or 0 where none is.

    It is flush left, and prose comes behind it. For text of which type tells nothing.
    """
    goes_on = index + 1 < len(lines) and _goes_on(lines[index], lines[index + 1])
    return next((count for count in (1, 2)[: 1 + goes_on] if _is_parted(lines, index, index + count)), 0)


def _is_parted(lines: Sequence[Line], index: int, end: int) -> bool:
    if end + 1 >= len(lines) or lines[end].fresh or lines[end + 1].fresh:
        return False
    line, title, (after, second) = lines[index], lines[index:end], lines[end : end + 2]
    below = after.gap - second.gap
    above = float("inf") if line.fresh else line.gap - second.gap
    apart = above > max(_PARTED_ABOVE * line.size, below) and below > _PARTED_BELOW * line.size
    flush = abs(line.box.x0 - line.column.x0) < line.size and title[-1].box.width < _SHORT * line.column.width
    prose = after.text[:1].isupper() and min(after.box.width, second.box.width) > _PROSE * line.column.width
    text = without_number("".join(part.text.removesuffix("-") for part in title))
    return apart and flush and prose and reads_like_a_title(text)


def _head_text(
    lines: Sequence[Line], group: Sequence[int], own: Collection[int], body: BodyStyle, counted: bool
) -> bool:
    """Whether the lines of a style head something; one alone is enough where it is larger than the text."""
    firsts = [index for index in group if not (index - 1 in group and _goes_on(lines[index - 1], lines[index]))]
    firsts = [index for index in firsts if not _FLOAT.match(lines[index].text)]
    heads = [index for index in firsts if index in own and _has_body_below(lines, index, own, body)]
    larger = lines[group[0]].size > body.size + LARGER
    return len(heads) >= _ENOUGH * len(firsts) and len(heads) >= (1 if larger and counted else _FEWEST_ALONE)


def _goes_on(before: Line, line: Line) -> bool:
    return line.page == before.page and not line.fresh and line.gap < 0.6 * line.size


def _has_body_below(lines: Sequence[Line], index: int, own: Collection[int], body: BodyStyle) -> bool:
    """Whether behind the lines of this style comes text as the body is set, or another heading."""
    style = style_of(lines[index])
    for place, line in enumerate(lines[index + 1 : index + 1 + _MOST_LINES], index + 1):
        if style_of(line) != style:
            if place in own and line.size <= lines[index].size:
                return True
            text = abs(line.size - body.size) < _SAME_SIZE and not line.bold
            wide = line.box.width > _NARROW * line.column.width
            return (text and wide) or (line.bold and number_of(line.text) is not None)
    return False


def _level_of(style: Style, kept: Sequence[Style], numbered: Mapping[Style, Sequence[int]]) -> int:
    """One deeper than what is set larger; the same as numbered ones of the same size."""
    _, size, _ = style
    same = [min(depths) for (_, other, _), depths in numbered.items() if abs(other - size) <= LARGER]
    if same:
        return min(same)
    above = [max(depths) for (_, other, _), depths in numbered.items() if other > size]
    if numbered:
        return max(above, default=0) + 1
    return 1 + len({round(other, 1) for _, other, _ in kept if other > size + LARGER})
