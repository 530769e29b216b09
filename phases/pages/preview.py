"""A page that shows a paper next to its extracted text. Everything is escaped, and the page loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Any

from phases.pages.render import embed_picture, page_start, render_file
from phases.readers.markdown import PAGE_MARK
from pipeline.base.formats import Markdown

PAGE_START = page_start("read")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_STARTS = (
    ("heading", re.compile(r"#{1,6} ")),
    ("table", re.compile(r"\|")),
    ("equation", re.compile(r"\$\$")),
    ("quote", re.compile(r"> ")),
    ("item", re.compile(r"- ")),
    ("note", re.compile(r"\[\^")),
)
_CAPTION = re.compile(r"> \*\*(.{1,40}?)[.:]?\*\*")
_RULE = re.compile(r"\|[-:| ]+\|?\s*$")
_CELL = re.compile(r"(?<!\\)\|")


def render_preview(
    paper: Markdown, pictures: Mapping[int, bytes], floats: Mapping[str, bytes] = MappingProxyType({})
) -> str:
    """Return the page, as HTML. `pictures`: page number -> picture; `floats`: label of a figure or table -> picture."""
    marks = [*PAGE_MARK.finditer(paper.text, paper.body_start), None]
    pages = [
        {
            "number": number,
            "picture": embed_picture(pictures[number]) if number in pictures else "",
            "blocks": list(_cut_blocks(paper.text[mark.end() : after.start() if after else None], floats)),
        }
        for mark, after in pairwise(marks)
        if mark
        for number in [int(mark.group(1))]
    ]
    front = paper.front
    return render_file(PAGE_START, front["title"], "preview_file.html", {"front": front, "pages": pages})


def _cut_blocks(text: str, floats: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    for kind, group in groupby(_lines_with_kinds(text), key=lambda row: row[0]):
        lines = [line for _, line in group]
        if kind[0] in ("fence", "text"):
            yield {"kind": kind[0], "text": "\n".join(lines)}
        elif kind[0] == "table":
            cut = (line.strip().removeprefix("|").removesuffix("|") for line in lines if not _RULE.match(line))
            yield {"kind": "table", "rows": [[cell.strip() for cell in _CELL.split(line)] for line in cut]}
        else:
            yield from (_describe_line(kind[0], line, floats) for line in lines)


def _lines_with_kinds(text: str) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield each line with its kind, and a number that separates blocks of one kind; fence lines are left out."""
    fence, block = "", 0
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence and match and match.group(1).startswith(fence) and not match.group(2).strip():
            fence, block = "", block + 1
        elif fence:
            yield ("fence", block), line
        elif match:
            fence, block = match.group(1), block + 1
            if match.group(2).strip() not in ("", "algorithm"):
                yield ("fence", block), match.group(2).strip()
        elif not line.strip():
            block += 1
        else:
            yield (next((kind for kind, start in _STARTS if start.match(line)), "text"), block), line


def _describe_line(kind: str, line: str, floats: Mapping[str, bytes]) -> dict[str, Any]:
    if kind == "heading":
        marks, _, words = line.partition(" ")
        return {"kind": kind, "level": len(marks), "text": words}
    caption = _CAPTION.match(line) if kind in ("quote", "item") else None
    picture = floats.get(caption[1]) if caption else None
    words = line[caption.end() :] if caption else line[2:] if kind in ("quote", "item") else line
    return {
        "kind": kind,
        "text": words,
        "caption": caption[1] if caption else "",
        "picture": embed_picture(picture) if picture else "",
    }
