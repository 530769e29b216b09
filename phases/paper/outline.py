"""The structure of paper.md: sections, references, links, and anchors of algorithms, equations, tables and figures."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from phases.paper.headings import number_of, plain, without_number
from phases.paper.markdown import PAGE_MARK

_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_URL = re.compile(r"https?://[^\s<>()\[\]{}\"'`|]+")
_REFERENCES = ("references", "bibliography", "literatur", "literaturverzeichnis", "参考文献", "참고문헌")
_REFERENCE_START = re.compile(r"^\s*(?:[-*]\s+)?(?:\[[^\]]{1,12}\]|[0-9]{1,3}\.)\s+", re.MULTILINE)
_CAPTION = r"^[ \t>*_|]*({word}\.?[ \t]+(?:[0-9]+|[A-Z]\.?[0-9]+))(?:[ \t]*[:.|*_]+[ \t*_]*|{loose})(.*)$"
_EQUATION = re.compile(
    r"\$\$(.+?)\$\$|^(?=.*[=≤≥<>∑∏∫])(.{3,300}?)\s+(\([0-9]{1,3}[a-z]?\))[ \t]*$", re.MULTILINE | re.DOTALL
)
_LONGEST_CAPTION = 400


def outline_of(text: str, body_start: int, title: str | None, authors: list[str]) -> dict[str, Any]:
    """outline.json of the whole text of paper.md. Spans count characters from its first one.

    A section's span is its own text, from its heading to the next heading: sections never overlap.
    """
    places = _Places(text)
    sections = _sections(text, body_start, places, title)
    places.know(sections)
    return {
        "version": 1,
        "title": title,
        "authors": authors,
        "abstract": _abstract(text, sections),
        "sections": sections,
        "references": _references(text, sections),
        "links": _links(text, places),
        "algorithms": _captions(text, places, "Algorithm|Algorithmus|算法", "A", loose=r"[ \t]+(?=[^\sa-z])"),
        "equations": _equations(text, places, body_start),
        "tables": _captions(text, places, "Table|Tabelle|TABLE|表", "T"),
        "figures": _captions(text, places, "Figure|Fig|Abbildung|FIGURE|图", "F"),
    }


class _Places:
    """Character position -> page and section."""

    def __init__(self, text: str) -> None:
        marks = list(PAGE_MARK.finditer(text))
        self._starts = [mark.start() for mark in marks]
        self._pages = [int(mark.group(1)) for mark in marks]
        self._section_starts: list[int] = []
        self._section_ids: list[str] = []

    def know(self, sections: list[dict[str, Any]]) -> None:
        self._section_starts = [section["start"] for section in sections]
        self._section_ids = [section["id"] for section in sections]

    def page(self, position: int) -> int:
        index = bisect_right(self._starts, position) - 1
        return self._pages[index] if index >= 0 else 0

    def section(self, position: int) -> str | None:
        index = bisect_right(self._section_starts, position) - 1
        return self._section_ids[index] if index >= 0 else None


def _sections(text: str, body_start: int, places: _Places, title: str | None) -> list[dict[str, Any]]:
    fences = list(_fences(text, body_start))
    found = [
        match
        for match in _HEADING.finditer(text, body_start)
        if not any(start <= match.start() < end for start, end in fences) and plain(match.group(2))
    ]
    if found and title and plain(found[0].group(2)) == plain(title):
        found = found[1:]  # the paper's own title is no section
    ends = [*(match.start() for match in found[1:]), len(text)][: len(found)]
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
        for index, (match, end, (number, name)) in enumerate(zip(found, ends, _numbered(found), strict=True), 1)
    ]


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


def _numbered(headings: list[re.Match[str]]) -> list[tuple[str | None, str]]:
    """Number and title of each heading. A lone letter is a number behind the references, or where it has subsections."""
    texts = [match.group(2) for match in headings]
    known = [number_of(text) or "" for text in texts]
    rows: list[tuple[str | None, str]] = []
    behind = False
    for text, number in zip(texts, known, strict=True):
        letter = re.match(r"([A-Z])\s+(?=\S)", text)
        is_number = letter and (behind or any(other.startswith(f"{letter.group(1)}.") for other in known))
        if not number and letter and is_number:
            rows.append((letter.group(1), text[letter.end() :].strip()))
        else:
            rows.append((number or None, without_number(text)))
        behind = behind or plain(text) in _REFERENCES
    return rows


def _abstract(text: str, sections: list[dict[str, Any]]) -> str | None:
    for section in sections:
        if plain(section["title"]) in ("abstract", "zusammenfassung", "초록"):
            return " ".join(PAGE_MARK.sub("", own_text(text, section)).split())[:5000] or None
    return None


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


def _references(text: str, sections: list[dict[str, Any]]) -> list[dict[str, str]]:
    block = "\n".join(own_text(text, section) for section in sections if plain(section["title"]) in _REFERENCES)
    lines = (line for line in PAGE_MARK.sub("", block).split("\n") if not line.lstrip().startswith("|"))
    block = "\n".join(lines)
    starts = _counted_starts(block) or [match.start() for match in _REFERENCE_START.finditer(block)]
    if len(starts) >= 3:
        raws = [block[start:end] for start, end in zip(starts, [*starts[1:], len(block)], strict=True)]
    else:
        raws = re.split(r"\n\s*\n", block)
    cleaned = [" ".join(raw.lstrip(" -*").split()) for raw in raws]
    kept = [raw for raw in cleaned if re.search(r"\b(1[89]|20)[0-9]{2}\b", raw) or len(raw) > 40]
    return [{"id": f"B{index}", "raw": raw} for index, raw in enumerate(kept, 1)]


def _counted_starts(block: str) -> list[int]:
    """Where [1], [2], [3] … begin, also within a line; nothing where the list is not counted so."""
    starts: list[int] = []
    for match in re.finditer(r"(?:^|(?<=\s))(?:[-*][ \t]+)?\[([0-9]{1,4})\]", block):
        if int(match.group(1)) == len(starts) + 1:
            starts.append(match.start())
    return starts if len(starts) >= 3 else []


def _links(text: str, places: _Places) -> list[dict[str, Any]]:
    seen: dict[str, dict[str, Any]] = {}
    for match in _URL.finditer(text):
        url = match.group().rstrip(".,;:!?")
        around = " ".join(text[max(0, match.start() - 60) : match.start()].split())
        seen.setdefault(url, {"url": url, "page": places.page(match.start()), "text": around})
    return list(seen.values())


def _captions(text: str, places: _Places, words: str, letter: str, loose: str = r"[ \t]*$") -> list[dict[str, Any]]:
    """What stands under or over a float. `loose` is what may stand between label and text where no mark does."""
    found: dict[str, dict[str, Any]] = {}
    for match in re.finditer(_CAPTION.format(word=f"(?:{words})", loose=loose), text, re.MULTILINE):
        label = " ".join(match.group(1).split())
        caption = " ".join(match.group(2).replace("|", " ").split()).strip("* _")[:_LONGEST_CAPTION]
        found.setdefault(label.lower(), _anchor(f"{letter}{len(found) + 1}", label, caption, match, places))
    return list(found.values())


def _equations(text: str, places: _Places, body_start: int) -> list[dict[str, Any]]:
    anchors: list[dict[str, Any]] = []
    for match in _EQUATION.finditer(text, body_start):
        content = " ".join((match.group(1) or match.group(2)).split())
        anchors.append(_anchor(f"E{len(anchors) + 1}", match.group(3) or "", content[:_LONGEST_CAPTION], match, places))
    return anchors


def _anchor(identifier: str, label: str, text: str, match: re.Match[str], places: _Places) -> dict[str, Any]:
    return {
        "id": identifier,
        "label": label,
        "text": text,
        "page": places.page(match.start()),
        "section": places.section(match.start()),
        "start": match.start(),
        "end": match.end(),
    }
