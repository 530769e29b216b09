"""The title of a PDF: what its properties say and the first page prints, else the largest type above the abstract."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from phases.readers.line_patterns import ABSTRACT, plain_title
from phases.readers.pdf.lines import Line, has_holes
from phases.readers.pdf.ruled_tables import CAPTION
from phases.readers.pdf.unnumbered import style_of
from phases.readers.pdf.words import Words

_MARKS = re.compile(r"(?:[\s,]|\$\^\{?[*∗†‡§¶⋆★,\d]+\}?\$|\$\^\{\\(?:ast|star|dagger)\}\$|[*∗†‡§¶⋆★])+$")
_LETTERED = re.compile(r"(?<=[a-z])[a-z]\)$")
_FEWEST_LETTERS = 8
_FEWEST_CJK = 4
_FEWEST_ALIKE, _MOST_ALIKE = 24, 0.93
"""A title of so many letters is the same where this share of them is."""
_LONGEST = 300
_MOST_LINES = 8
_ADDRESS = re.compile(r"\b10\.[0-9]{4,}/|\bdoi\b|https?:|www\.|\.(?:pdf|dvi|docx?|tex|indd)$", re.IGNORECASE)
_INTRODUCTION = ("introduction", "einleitung", "einführung")
_CODE = re.compile(r"\S*[0-9]\S*")
"""One word with a figure in it: the number of a paper or a report."""
_PERIODICAL = re.compile(
    r"journal homepage|contents lists available|sciencedirect|\bissn\b|\bvol(?:ume|\.)\s*[0-9]|\bno\.\s*[0-9]+,",
    re.IGNORECASE,
)
_SHORT_NAME, _NEAR = 5, 3
_CLOSE, _SPREAD = 1.1, 1.5
"""White between the lines of a title, as shares of their size: what it may be, and where font and size are the same."""
_HOLE, _RECOGNIZED_HOLE = 1.6, 3.2
_ALIKE, _RECOGNIZED = 0.6, 0.15
"""So far the sizes of a title's lines may differ: in points, and as a share where a program recognized the letters."""


def title_of(lines: Sequence[Line], said: str | None, words: Words) -> tuple[str | None, range]:
    """The title and the lines of the first page that it fills; without one, None and no lines."""
    first = [line for line in lines if line.page == lines[0].page] if lines else []
    if said and not _ADDRESS.search(said) and (place := _place_of(first, said)):
        printed = words.join([first[index].text for index in place])
        return (printed if plain_title(printed) == plain_title(said) else said), place
    place = _largest_lines(first)
    text = words.join([first[index].text for index in place])
    return (_without_marks(text), place) if text and len(text) <= _LONGEST else (None, range(0))


def _without_marks(title: str) -> str:
    """A title without the marks of its footnotes; AIP's are small letters with a parenthesis."""
    title = _MARKS.sub("", title)
    return title if "(" in title else _LETTERED.sub("", title)


def _place_of(lines: Sequence[Line], said: str) -> range | None:
    """The lines that say it, if there are any; a letter or two may be recognized as others."""
    wanted = plain_title(said)
    if len(wanted) < _FEWEST_CJK:
        return None
    alike = SequenceMatcher(None, "", wanted, autojunk=False)
    for start in range(len(lines)):
        given = ""
        for end in range(start, min(start + _MOST_LINES, len(lines))):
            given += plain_title(lines[end].text)
            if given == wanted or (given.startswith(wanted) and len(given) < len(wanted) + 4):
                return range(start, end + 1)
            if len(given) > len(wanted) + 4:
                break
            alike.set_seq1(given)
            if len(wanted) >= _FEWEST_ALIKE and len(given) > len(wanted) - 4 and alike.ratio() > _MOST_ALIKE:
                return range(start, end + 1)
    return None


def _largest_lines(lines: Sequence[Line]) -> range:
    """The lines above the abstract or the introduction that are set in the largest type, if they are words."""
    ends = (*ABSTRACT, *_INTRODUCTION)
    until = next((index for index, line in enumerate(lines) if plain_title(line.text) in ends), len(lines))
    above = list(lines[: until or len(lines)])
    sizes = sorted({line.size for line in above}, reverse=True)
    for size in sizes:
        runs = [run for run in _runs_of(above, size) if _is_telling(above, run)]
        if runs:
            first = min(runs, key=lambda run: above[run[0]].box.y0)
            coded = len(first) > 1 and _CODE.fullmatch(above[first[0]].text)
            return range(first.start + 1, first.stop) if coded else first
    return range(0)


def _runs_of(lines: Sequence[Line], size: float) -> list[range]:
    runs: list[range] = []
    slack = _RECOGNIZED * size if len({line.font for line in lines}) == 1 else _ALIKE
    for index, line in enumerate(lines):
        large = line.size > size - slack and line.size > 0
        spread = _SPREAD if style_of(line) == style_of(lines[index - 1]) else _CLOSE
        near = (
            runs
            and runs[-1].stop == index
            and line.gap < spread * size
            and line.bold_start == lines[index - 1].bold_start
        )
        if large and near:
            runs[-1] = range(runs[-1].start, index + 1)
        elif large:
            runs.append(range(index, index + 1))
    return [run for run in runs if len(run) <= _MOST_LINES]


def _is_telling(lines: Sequence[Line], run: range) -> bool:
    text = " ".join(lines[index].text for index in run)
    # words of large type that a program recognized stand far apart
    hole = _HOLE if len({line.font for line in lines}) > 1 else _RECOGNIZED_HOLE
    if CAPTION.match(lines[run[0]].text) or (
        len(run) > 1 and sum(has_holes(lines[index], widest=hole) for index in run) * 2 > len(run)
    ):
        return False
    if (
        _ADDRESS.search(text)
        or _CODE.fullmatch(text)
        or (len(text.split()) <= _SHORT_NAME and _is_masthead(lines, run))
    ):
        return False
    letters = [character for character in text if character.isalpha()]
    wide = sum(ord(character) > 0x2E80 for character in letters)
    spaced = sum(len(word) == 1 for word in text.split()) > len(text.split()) / 2 and not wide
    return (len(letters) >= _FEWEST_LETTERS or wide >= _FEWEST_CJK) and not spaced


def _is_masthead(lines: Sequence[Line], run: range) -> bool:
    """Whether a short name stands by what tells of a periodical: it is the name of that."""
    around = [*lines[max(0, run.start - _NEAR) : run.start], *lines[run.stop : run.stop + _NEAR]]
    return any(_PERIODICAL.search(line.text) for line in around)
