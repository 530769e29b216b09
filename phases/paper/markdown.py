"""The paper as one Markdown document with page marks, from whichever kind it came."""

from __future__ import annotations

import re

from phases.paper.headings import mark_headings
from phases.paper.reading import Reading
from pipeline.formats import Markdown, compose_markdown

_BLANK = "\n"
PAGE_MARK = re.compile(r"^<!-- page ([0-9]+) -->$", re.MULTILINE)


def paper_document(reading: Reading, source_sha256: str) -> Markdown:
    """paper.md from a reading whose verdict is ok."""
    pages = [page if reading.exact else _tidy(page) for page in mark_headings(reading)]
    marked = (f"<!-- page {number} -->\n\n{_unmarked(page).strip(_BLANK)}\n\n" for number, page in enumerate(pages, 1))
    body = "".join(marked)
    front = {
        "title": reading.title or _first_heading(body),
        "authors": list(reading.authors),
        "reader": reading.reader,
        "pages": len(pages),
        "verdict": reading.verdict,
        "source_sha256": source_sha256,
        "characters": len(body),
    }
    return compose_markdown(front, body)


def read_text(data: bytes, *, markdown: bool) -> Reading:
    """The reading of a Markdown or plain-text file: one page, as it stands."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    if markdown:
        text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    return Reading("ok", "markdown 1" if markdown else "text 1", (text,), exact=True)


def _unmarked(text: str) -> str:
    """A page mark in the source is the author's text, not ours."""
    return re.sub(r"<!--(\s*page\b)", r"<! --\1", text)


def _tidy(page: str) -> str:
    lines = [line.rstrip() for line in page.split("\n") if not re.fullmatch(r"\s*-{3,}\s*", line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _first_heading(body: str) -> str | None:
    match = re.search(r"^# +(.+)$", body, re.MULTILINE)
    return match.group(1).strip() if match else None
