"""The year of a reference."""

from __future__ import annotations

import re
from collections.abc import Sequence

YEAR = r"(?:1[7-9]|20)[0-9]{2}"
BEHIND_AUTHORS = re.compile(
    rf"[\s.,:]{{0,3}}[(\[]\s?(?:c\.\s?)?({YEAR})(?:[-–/](?:{YEAR}|[0-9]{{2}}))?([a-z])?(?:\s?,[^()\[\]]{{1,24}})?\s?[)\]]"
    rf"|[\s.,]{{1,3}}(?:{YEAR}\s?[-–]\s?)?({YEAR})([a-z])?\s?[.:](?=\s)"
)
"""A year that follows the authors: (2019), [2019], (2019, May), `. 2019.`, `, 2019.`"""
_ANY = re.compile(rf"(?<![\w./:@#–-])({YEAR})([a-z])?(?![\w@/]|[-–][0-9])")
_IN_PARENTHESES = re.compile(rf"\((?:[^()0-9]{{0,20}}\s)?({YEAR})([a-z])?\)")
_LOOKED_UP = re.compile(
    r"\b(?:accessed|retrieved|visited|abgerufen|zugriff|last checked|original-date)\b.{0,40}", re.IGNORECASE
)
_PAGES = re.compile(r"\b(?:pp?|pages?|S|vol(?:ume)?|no|article)\.?\s?$", re.IGNORECASE)


def year_in(text: str, title: tuple[int, int], skip: Sequence[tuple[int, int]]) -> tuple[int, str] | None:
    """The year that a reference gives away from its authors, with its letter: in parentheses, or else the last one."""
    aside = [title, *skip, *(match.span() for match in _LOOKED_UP.finditer(text))]
    for pattern, which in ((_IN_PARENTHESES, 0), (_ANY, -1)):
        for spans in (aside, [*skip]):
            found = [
                match
                for match in pattern.finditer(text)
                if not _is_inside(match, spans) and not _is_a_page(text, match)
            ]
            if found:
                return int(found[which].group(1)), found[which].group(2) or ""
    return None  # the day on which somebody looked at a page is no year of it


def _is_inside(match: re.Match[str], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= match.start() < end for start, end in spans)


def _is_a_page(text: str, match: re.Match[str]) -> bool:
    return _PAGES.search(text, max(0, match.start() - 10), match.start()) is not None
