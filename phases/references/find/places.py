"""Map a character of paper.md to its section, page, sentence, footnote or reference list."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from phases.references.find.text import shorten_text
from phases.references.values import Mention

_PAGE = re.compile(r"<!-- page ([0-9]{1,6}) -->")
_NOTE = re.compile(r"^\[\^([^\]\n]{1,12})\]:", re.MULTILINE)
_FENCE = re.compile(r"^```", re.MULTILINE)
_LIST_TITLES = frozenset(
    {
        "references", "reference", "bibliography", "literature", "works", "notes", "literatur", "literaturverzeichnis",
        "quellen", "quellenverzeichnis", "références", "bibliographie", "referencias", "bibliografía", "bibliografia",
        "参考文献", "參考文獻", "참고문헌",
    }
)  # fmt: skip
_ABSTRACTS = frozenset({"abstract", "zusammenfassung", "résumé", "resumen", "摘要", "초록", "概要"})
_REACH = 400
_SENTENCE_END = re.compile(
    r"(?:[.!?]['\"”’)\]]{0,2}(?:[0-9,]{1,8}|(?:\[\^[^\]\s]{1,12}\]){1,4})?\s+(?=[^\Wa-z\d_]|[\"“(\[])"
    r"|[。！？]|\n\s*\n|\n[ \t]*(?=[-*•]\s)|<!--[^\n]{0,40}-->)"
)
_SHORT = re.compile(
    r"(?:\b(?:al|e\.g|i\.e|cf|vs|Fig|Figs|Eq|Eqs|Sec|Tab|Ref|Refs|Dr|Prof|resp|approx|No|Vol|St|bzw|vgl|z\.B|[A-Z]))\.['\"”’)\]]{0,2}\s+$"
)


class PaperPlaces:
    """The outline of one paper, asked by character."""

    def __init__(self, text: str, body_start: int, outline: Mapping[str, Any]) -> None:
        self.text, self.body_start = text, body_start
        self.sections: list[dict[str, Any]] = sorted(outline.get("sections", ()), key=lambda row: int(row["start"]))
        self._starts = [row["start"] for row in self.sections]
        marks = list(_PAGE.finditer(text, body_start))
        self._page_starts = [mark.start() for mark in marks]
        self._pages = [int(mark.group(1)) for mark in marks]
        self._page_at = {page: index for index, page in reversed([*enumerate(self._pages)])}
        notes = list(_NOTE.finditer(text, body_start))
        self._note_starts = [note.start() for note in notes]
        self._notes = [(note.group(1), self._note_end(note.end())) for note in notes]
        self._marks: dict[int, set[str]] = {}
        for note in notes:
            self._marks.setdefault(self.page(note.start()), set()).add(note.group(1))
        self._fences = [match.start() for match in _FENCE.finditer(text, body_start)]
        self._lists = [(row["start"], row["end"]) for row in self.sections if is_list(row)]

    def section(self, start: int) -> dict[str, Any] | None:
        """Return the section that contains a character."""
        index = bisect_right(self._starts, start) - 1
        row = self.sections[index] if index >= 0 else None
        return row if row and start < row["end"] else None

    def page(self, start: int) -> int:
        """Return the page of a character; 0 if the paper has no pages."""
        index = bisect_right(self._page_starts, start) - 1
        return self._pages[index] if index >= 0 else 0

    def is_early(self, start: int) -> bool:
        """Return whether a character is on the first page or in the abstract; without pages, in the first section."""
        section = self.section(start)
        if section is None or str(section["title"]).strip().casefold() in _ABSTRACTS:
            return True
        return self.page(start) <= 1 if len(set(self._pages)) > 1 else section is self.sections[0]

    def in_list(self, start: int) -> bool:
        """Return whether a character is in the reference list."""
        return any(low <= start < high for low, high in self._lists[:8])

    def is_aside(self, start: int) -> bool:
        """Return whether a character is in the reference list or in a code block, and so not prose."""
        return self.in_list(start) or bisect_right(self._fences, start) % 2 == 1

    def footnote(self, start: int) -> str | None:
        """Return the mark of the footnote that contains a character."""
        index = bisect_right(self._note_starts, start) - 1
        return self._notes[index][0] if index >= 0 and start < self._notes[index][1] else None

    def footnotes(self, page: int) -> set[str]:
        """Return the marks of the footnotes of a page."""
        return self._marks.get(page, set())

    def page_span(self, page: int) -> tuple[int, int]:
        """Return the start and end of a page's text; an empty span if there is no such page."""
        index = self._page_at.get(page)
        if index is None:
            return self.body_start, self.body_start
        following = self._page_starts[index + 1] if index + 1 < len(self._page_starts) else len(self.text)
        return self._page_starts[index], following

    def sentence(self, start: int, end: int) -> str:
        """Return the sentence around a span, on one line."""
        begin = self._begin(start)
        high = min(len(self.text), end + _REACH)
        finish = high
        for stop in _SENTENCE_END.finditer(self.text, end, high):
            if not _SHORT.search(self.text, max(begin, stop.start() - 8), stop.end()):
                finish = stop.end()
                break
        return " ".join(_PAGE.sub(" ", self.text[begin:finish]).split())

    def before(self, start: int) -> str:
        """Return the part of the sentence before a place in it, on one line."""
        return " ".join(_PAGE.sub(" ", self.text[self._begin(start) : start]).split())

    def after(self, end: int) -> str:
        """Return the part of the sentence after a place in it, on one line; the place must not be in its last sign."""
        whole, before = self.sentence(end, end), self.before(end)
        return whole[len(before) :].strip()

    def mention(self, where: str, start: int, end: int) -> Mention:
        """Return a mention with its sentence, section and page."""
        section = self.section(start)
        return Mention(
            where, section["id"] if section else None, self.page(start), start, shorten_text(self.sentence(start, end))
        )

    def _begin(self, start: int) -> int:
        """Return the start of the sentence that contains a place."""
        begin = low = max(self.body_start, start - _REACH)
        for stop in _SENTENCE_END.finditer(self.text, low, start):
            if not _SHORT.search(self.text, max(low, stop.start() - 8), stop.end()):
                begin = stop.end()
        return begin

    def _note_end(self, start: int) -> int:
        end = self.text.find("\n\n", start)
        return end if end >= 0 else len(self.text)


def is_list(section: Mapping[str, Any]) -> bool:
    """Return whether a section is the reference list."""
    words = str(section["title"]).casefold().strip(" .:#*").split()
    return (
        bool(words)
        and len(words) <= 4
        and words[0] in _LIST_TITLES
        and (len(words) == 1 or words[-1] in ("cited", "references"))
    )
