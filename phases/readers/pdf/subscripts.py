"""Formulas of one word that the engine gives as letters: aj is a_j where the j is smaller and lower than the a, hp, pi is
⟨p, p⟩ where h and i are of a font that has only signs, and 219 is 2^19 where the 19 is smaller and higher than the 2."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from phases.readers.math_symbols import tex_of
from phases.readers.pdf.characters import PageText, TextLine, box_around
from phases.readers.pdf.crosscheck import script_of
from phases.readers.pdf.page import BoundingBox, Character, Item
from phases.readers.pdf.symbols import mend_symbol

_WORD = re.compile(r"(?<!\w)(?:[^\W\d_]\w{1,5}|[hfkj]\w{1,30}|\w{1,30}[igkj]|i)(?!\w)")
"""Short ones, and those with what may be the code of a bracket at an end."""
_POWER = re.compile(r"(?<![\w.,])(?:(?:2|10)[−-]?[0-9]{1,3}|[0-9]{2,5}(?= ?[=×]))(?![\w.,]?[0-9])(?!\w)")
"""Digits that may be a power. Behind other numbers a raised digit is the mark of a footnote, but for "32² = 1024"."""
_BRACKETS = frozenset("⟨⟩‖{}|")
_CLOSING = ("i", "ii")
"""Behind a prime, which is a line of its own for PDFium, brackets are a word."""
_FORMULA = re.compile(r"(\$[^$]*\$)")
_SMALLER = 0.85
_LONGEST_BASE = 2
_FARTHEST = 0.6
"""White before the rest of an index, at most, in sizes of its base."""


def with_subscripts(items: Sequence[Item], text: PageText) -> list[Item]:
    """The items of a page, where these words are formulas between dollar signs."""
    kept = list(items)
    for word, told, box in _words_with_subscripts(text):
        for place, item in enumerate(kept):
            if item.box.holds(box) and (
                changed := _put_in(item.text, word, told, _share(box, item.box.x0, item.box.x1))
            ):
                words = [
                    (_put_in(one, word, told, _share(box, x0, x1)) or one if x0 <= box.centre <= x1 else one, x0, x1)
                    for one, x0, x1 in item.words
                ]
                kept[place] = replace(item, text=changed, words=tuple(words))
                break
    return kept


def _share(box: BoundingBox, x0: float, x1: float) -> float:
    return (box.x0 - x0) / max(x1 - x0, 1.0)


def _words_with_subscripts(text: PageText) -> Iterator[tuple[str, str, BoundingBox]]:
    for line in text.lines():
        for match in (*_WORD.finditer(line.text), *_POWER.finditer(line.text)):
            first, last = line.start + match.start(), line.start + match.end() - 1
            if match.group() not in _CLOSING and text.are_drawn_together(first, last):
                continue  # in one font and size
            behind = len(line.text) - len(line.text[match.end() :].lstrip()) + 1
            found = text.characters(TextLine(line.text[match.start() : behind], first))
            word, after = found[: len(match.group())], found[len(match.group()) :]
            if len(word) == len(match.group()) and (told := _write(word, after)) != match.group():
                yield match.group(), told, box_around(word)


def _write(word: Sequence[Character], after: Sequence[Character]) -> str:
    """The word with its brackets, and with its formula between dollar signs."""
    if word[0].text.isdigit():
        return _write_power(word)
    signs = [mend_symbol(one) for one in word]
    start = _count_brackets(signs)
    end = _count_brackets(signs[start:][::-1])
    inner = signs[start : len(signs) - end]
    formula = _formula_of(inner, after) if len(inner) > 1 else ""
    middle = f"${formula}$" if formula else "".join(one.text for one in word[start : len(word) - end])
    return "".join([*(one.text for one in signs[:start]), middle, *(one.text for one in signs[len(signs) - end :])])


def _write_power(digits: Sequence[Character]) -> str:
    size, base = digits[0].size, digits[0].box.y1
    marks = ["^" if one.text in "−-" and one.size <= _SMALLER * size else script_of(one, size, base) for one in digits]
    height = marks.count("")
    below, above = ("".join(one.text for one in part) for part in (digits[:height], digits[height:]))
    raised = not any(marks[:height]) and set(marks[height:]) == {"^"}
    return f"${below}^{{{above.replace('−', '-')}}}$" if raised else below + above


def _count_brackets(signs: Sequence[Character]) -> int:
    return next((count for count, one in enumerate(signs) if one.text not in _BRACKETS), len(signs))


def _formula_of(word: Sequence[Character], after: Sequence[Character]) -> str:
    """Its LaTeX; empty for a word in small capitals, with the mark of a footnote, or whose index goes on behind it."""
    size, base = word[0].size, word[0].box.y1
    if any(one.size < _SMALLER * size and one.box.x0 - word[-1].box.x1 < _FARTHEST * size for one in after):
        return ""
    runs = [
        (mark, "".join(one.text for one in run)) for mark, run in groupby(word, lambda one: _mark_of(one, size, base))
    ]
    bases = [run for mark, run in runs if not mark]
    if len(bases) == len(runs) or not all(base.isalpha() and len(base) <= _LONGEST_BASE for base in bases):
        return ""
    if any(mark == "^" and run.isdigit() for mark, run in runs):
        return ""
    parts = [(mark, "".join(map(tex_of, run)).strip()) for mark, run in runs]
    return "".join(f"{mark}{{{part}}}" if mark in ("_", "^") else part for mark, part in parts)


def _mark_of(one: Character, size: float, base: float) -> str:
    return "'" if one.text == "′" else script_of(one, size, base)


def _put_in(text: str, word: str, told: str, share: float) -> str:
    """The text with this for the word that begins nearest to this share of it; empty where no word outside a formula
    is this one."""
    parts = _FORMULA.split(text)
    # a prime is a 0 in the item, and may stand between a bracket and its formula
    before = "(?<=0)" if word in _CLOSING else r"(?<!\w)"
    behind = r"(?![^\W0])" if told[0] == "⟨" and word not in _CLOSING else r"(?!\w)"
    starts = [0, *accumulate(map(len, parts))]
    places = [
        (abs(starts[number] + match.start() - share * len(text)), number, match.start())
        for number in range(0, len(parts), 2)
        for match in re.finditer(f"{before}{re.escape(word)}{behind}", parts[number])
    ]
    if not places:
        return ""
    _, number, at = min(places)
    tail = parts[number][at + len(word) :]
    if number and not at and told.startswith("$"):  # formulas that touch are one
        parts[number - 1], told = parts[number - 1][:-1], f" {told[1:]}"
    if number + 1 < len(parts) and not tail and told.endswith("$"):
        told, parts[number + 1] = f"{told[:-1]} ", parts[number + 1][1:]
    parts[number] = parts[number][:at] + told + tail
    return "".join(parts)
