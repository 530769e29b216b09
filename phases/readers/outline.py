"""The structure of paper.md: sections, abstract, references, links, and where everything else stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from phases.readers.anchors import anchors_of
from phases.readers.bibliography import references_of
from phases.readers.headings import ABSTRACT, REFERENCES, number_of, plain, without_number
from phases.readers.markdown import PAGE_MARK, URL
from phases.readers.places import Places
from pipeline.base.formats import Markdown

_HEADING = re.compile(r"^(#{1,6}) +(\S.*)$", re.MULTILINE)
_MOST_LINKS = 1000
_LONGEST_ABSTRACT = 5000


def outline_of(paper: Markdown) -> dict[str, Any]:
    """outline.json of paper.md. Spans count characters from the first one of its whole text.

    A section's span is its own text, from its heading to the next heading: sections never overlap.
    """
    text, body_start, title = paper.text, paper.body_start, paper.front["title"]
    places = Places(text, body_start)
    sections = _sections(text, body_start, places, title)
    places.know(sections)
    block = "\n\n".join(own_text(text, section) for section in sections if plain(section["title"]) in REFERENCES)
    return {
        "version": 1,
        "title": title,
        "authors": list(paper.front["authors"]),
        "abstract": _abstract(text, sections),
        "sections": sections,
        "references": references_of(PAGE_MARK.sub("", block)),
        "links": _links(text, body_start, paper.front["links"], places),
        **anchors_of(text, body_start, places),
        "hidden_text": [dict(row) for row in paper.front["hidden_text"]],
    }


def own_text(text: str, section: dict[str, Any]) -> str:
    """A section's text without its heading line."""
    return text[section["start"] : section["end"]].partition("\n")[2]


def pages_of(text: str, section: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """A section's text without its heading, page by page: (page, text)."""
    page, block = section["page"], own_text(text, section)
    position = 0
    for mark in PAGE_MARK.finditer(block):
        yield page, block[position : mark.start()]
        page, position = int(mark.group(1)), mark.end()
    yield page, block[position:]


def _sections(text: str, body_start: int, places: Places, title: str | None) -> list[dict[str, Any]]:
    found = [
        (match, name)
        for match in _HEADING.finditer(text, body_start)
        if not places.fence(match.start()) and plain(name := _unclosed(match.group(2)))
    ]
    if found and title and plain(found[0][1]) == plain(title):
        found = found[1:]  # the paper's own title is no section
    ends = [*(match.start() for match, _ in found[1:]), len(text)][: len(found)]
    numbered = _numbered([name for _, name in found])
    return [
        {
            "id": f"S{index}",
            "number": number,
            "title": name,
            "level": max(1, len(match.group(1)) - 1),
            "page": places.page(match.start()),
            "start": match.start(),
            "end": end,
        }
        for index, ((match, _), end, (number, name)) in enumerate(zip(found, ends, numbered, strict=True), 1)
    ]


def _unclosed(heading: str) -> str:
    """A heading without the marks that may close it; those of C# are its own."""
    bare = heading.rstrip().rstrip("#")
    return bare.rstrip() if bare.endswith(" ") else heading.rstrip()


def _numbered(headings: list[str]) -> list[tuple[str | None, str]]:
    """Number and title of each heading. A lone letter is a number behind the references, or where it has subsections."""
    known = [number_of(text) or "" for text in headings]
    divided = {number.partition(".")[0] for number in known if "." in number}
    rows: list[tuple[str | None, str]] = []
    behind = False
    for text, number in zip(headings, known, strict=True):
        letter = re.match(r"([A-Z])\s+(?=\S)", text)
        last = (rows[-1][0] or "") if rows else ""
        goes_on = letter is not None and last[:1] == chr(ord(letter.group(1)) - 1)
        if not number and letter and (behind or goes_on or letter.group(1) in divided):
            rows.append((letter.group(1), text[letter.end() :].strip()))
        else:
            rows.append((number or None, without_number(text)))
        behind = behind or plain(text) in REFERENCES
    return rows


def _abstract(text: str, sections: list[dict[str, Any]]) -> str | None:
    for section in sections:
        if plain(section["title"]) in ABSTRACT:
            return " ".join(PAGE_MARK.sub("", own_text(text, section)).split())[:_LONGEST_ABSTRACT] or None
    return None


def _links(text: str, body_start: int, known: list[dict[str, Any]], places: Places) -> list[dict[str, Any]]:
    """What the reader knows as links, and the addresses that are written out; a line's end may have cut one short."""
    seen: dict[str, dict[str, Any]] = {}
    for row in known[:_MOST_LINKS]:
        seen.setdefault(row["url"], dict(row))
    whole = sorted(seen)
    for match in URL.finditer(text, body_start):
        url = match.group().rstrip(".,;:!?*_")
        if len(seen) >= _MOST_LINKS:
            break
        if url not in seen and not any(other.startswith(url) for other in whole):
            around = " ".join(text[max(body_start, match.start() - 60) : match.start()].split())
            seen[url] = {"url": url, "page": places.page(match.start()), "text": around}
    return list(seen.values())
