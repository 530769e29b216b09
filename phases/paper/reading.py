"""What a reader makes of a paper, and the verdict on its text, before anything is paid for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from shlex import quote

OK, NO_TEXT, GARBLED, ENCRYPTED, BROKEN = "ok", "no_text", "garbled_text", "encrypted", "broken"
CURES = {
    NO_TEXT: "has no text layer, it is a scan; make one with: ocrmypdf --force-ocr {name} {ocr}",
    GARBLED: "has a text layer of wrong letters; make a new one with: ocrmypdf --force-ocr {name} {ocr}",
    ENCRYPTED: "is encrypted; take the password off with: qpdf --decrypt --password=… {name} {open}",
    BROKEN: "cannot be read as a PDF ({detail}); download it again",
}


@dataclass(frozen=True)
class TocEntry:
    """One line of the PDF's own outline. `level` counts from 0, `page` from 1."""

    title: str
    level: int
    page: int


@dataclass(frozen=True)
class Reading:
    """A paper as Markdown, a text a page, and what is known beside it."""

    verdict: str
    reader: str
    """Engine and version: it decides what the text looks like."""
    pages: tuple[str, ...] = ()
    title: str | None = None
    authors: tuple[str, ...] = ()
    toc: tuple[TocEntry, ...] = ()
    detail: str = ""
    exact: bool = False
    """The headings are the author's own marks (Markdown), not a guess."""


def cure(reading: Reading, name: str) -> str:
    """What is wrong with a paper whose verdict is not ok, and what to type."""
    made = {word: quote(f"{word}-{os.path.basename(name)}") for word in ("ocr", "open")}
    return CURES[reading.verdict].format(name=quote(name), detail=reading.detail or "no detail", **made)
