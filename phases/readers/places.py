"""Where in paper.md something stands: on which page, in which section, inside a fence or not."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from phases.readers.markdown import PAGE_MARK

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


class Places:
    """Character position -> page, section and fence. Sections are known once `know` was told of them."""

    def __init__(self, text: str, body_start: int) -> None:
        marks = list(PAGE_MARK.finditer(text, body_start))
        self._page_starts = [mark.start() for mark in marks]
        self._pages = [int(mark.group(1)) for mark in marks]
        self._fences = list(_fences(text, body_start))
        self._fence_starts = [start for start, _ in self._fences]
        self._section_starts: list[int] = []
        self._section_ids: list[str] = []

    def know(self, sections: list[dict[str, Any]]) -> None:
        """Takes in the sections of outline.json, in their order."""
        self._section_starts = [section["start"] for section in sections]
        self._section_ids = [section["id"] for section in sections]

    def page(self, position: int) -> int:
        """The page, from 1; 0 before the first."""
        index = bisect_right(self._page_starts, position) - 1
        return self._pages[index] if index >= 0 else 0

    def section(self, position: int) -> str | None:
        """The id of the section."""
        index = bisect_right(self._section_starts, position) - 1
        return self._section_ids[index] if index >= 0 else None

    def fence(self, position: int) -> tuple[int, int] | None:
        """Start and end of the fenced block around a position."""
        index = bisect_right(self._fence_starts, position) - 1
        return self._fences[index] if index >= 0 and position < self._fences[index][1] else None


def _fences(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where code stands: from a fence to one of the same sign that is as long, or to the end."""
    opened, begin, position = "", 0, start
    for line in text[start:].split("\n"):
        match = _FENCE.match(line)
        if match and not opened:
            opened, begin = match.group(1), position
        elif match and match.group(1).startswith(opened) and not match.group(2).strip():
            yield begin, position + len(line)
            opened = ""
        position += len(line) + 1
    if opened:
        yield begin, len(text)
