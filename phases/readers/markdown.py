"""Compose paper.md from a reading: front matter, page marks, and texts that belong to the paper."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from phases.readers.reading import Reading
from pipeline.base.formats import Markdown, compose_markdown

_BLANK = "\n"
PAGE_MARK = re.compile(r"^<!-- page ([0-9]+) -->$", re.MULTILINE)
URL = re.compile(
    r"https?://[^\s<>()\[\]{}\"'`|\\\u2010-\u2027\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]+"
)
"""Scripts without spaces continue directly after an address; accented letters may be part of one."""
FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEADING_OR_FENCE = re.compile(
    rf"{FENCED.pattern}|^(?P<marks>#{{1,6}})[ \t]+(?P<name>\S[^\n]*)$", re.MULTILINE | re.DOTALL
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


def paper_document(reading: Reading, source_sha256: str, kind: str) -> Markdown:
    """Return paper.md for a reading with verdict ok or partial. `kind` is the input format: pdf, tex, requirement and so on."""
    pages = [_escape_page_marks(page) for page in reading.pages]
    body = "".join(f"<!-- page {number} -->\n\n{page}\n\n" for number, page in enumerate(pages, 1))
    front = {
        "title": _replace_surrogates(reading.title) if reading.title else None,
        "authors": [_replace_surrogates(author) for author in reading.authors],
        "kind": kind,
        "reader": reading.reader,
        "pages": len(pages),
        "verdict": reading.verdict,
        "source_sha256": source_sha256,
        "characters": len(body),
        "links": [
            {"url": _replace_surrogates(link.url), "page": link.page, "text": _replace_surrogates(link.text)}
            for link in reading.links
        ],
        "hidden_text": [
            {"text": _replace_surrogates(link.text), "page": link.page, "how": link.how} for link in reading.hidden
        ],
        "left_out": [
            {"text": _replace_surrogates(link.text), "page": link.page, "reason": link.reason}
            for link in reading.left_out
        ],
    }
    if reading.recognized_by:
        front["recognized_by"] = reading.recognized_by
    if reading.detail:
        front["missing"] = _replace_surrogates(reading.detail)
    return compose_markdown(front, body)


def add_notes(reading: Reading, notes: Sequence[tuple[str, Reading]]) -> Reading:
    """Append texts that belong to the paper, each under a heading with its name, on pages of its own.

    They get sections and pages like the rest of the paper, and quotes from them are looked up there.
    """
    pages, links, hidden = list(reading.pages), list(reading.links), list(reading.hidden)
    for path, note in notes:
        before, name = len(pages), posixpath.splitext(posixpath.basename(path))[0]
        title = "Addendum" if name.casefold() == "addendum" else f"Addendum: {re.sub(r'[-_]+', ' ', name)}"
        bodies = [lower_headings(page, title, 3) for page in note.pages]
        pages += [f"## {title}\n\n{body}" if not place else body for place, body in enumerate(bodies)]
        links += [replace(link, page=link.page + before) for link in note.links]
        hidden += [replace(link, page=link.page + before) for link in note.hidden]
    return replace(reading, pages=tuple(pages), links=tuple(links), hidden=tuple(hidden))


def lower_headings(page: str, title: str, highest: int) -> str:
    """Return a page whose highest heading has level `highest` or a deeper one, without headings that repeat `title`."""

    def is_title(match: re.Match[str]) -> bool:
        return match["name"].strip().casefold() == title.casefold()

    def lower(match: re.Match[str]) -> str:
        if not match["marks"]:
            return match.group()
        return "" if is_title(match) else f"{'#' * min(len(match['marks']) + deeper, 6)} {match['name']}"

    headings = [match for match in _HEADING_OR_FENCE.finditer(page) if match["marks"] and not is_title(match)]
    deeper = max(0, highest - min((len(match["marks"]) for match in headings), default=highest))
    return _HEADING_OR_FENCE.sub(lower, page).strip("\n")


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _escape_page_marks(page: str) -> str:
    """Remove control characters, and change page marks of the author's own."""
    # spans of pages are read from page marks, so ours must be the only ones
    return re.sub(r"<!--(\s*page\b)", r"<! --\1", _CONTROL.sub("", _replace_surrogates(page))).strip(_BLANK)
