"""A page that shows a paper beside what the reader made of it. Everything in it is escaped, and it loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType

from phases.pages import style
from phases.pages.markup import in_html, in_picture, page_start, render_frame
from phases.readers.markdown import PAGE_MARK
from phases.readers.reading import Hidden
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
    """The page, as HTML. `pictures` are those of its pages by number, `floats` those of figures and tables by label."""
    front = paper.front
    title = in_html(front["title"] or "untitled")
    marks = [*PAGE_MARK.finditer(paper.text, paper.body_start), None]
    pages = (
        _render_page(int(mark.group(1)), paper.text[mark.end() : after.start() if after else None], pictures, floats)
        for mark, after in pairwise(marks)
        if mark
    )
    hidden = "".join(f"<li>{_render_hidden(Hidden(**row))}</li>" for row in front["hidden_text"])
    body = (
        f"<header><h1>{title}</h1><p>{in_html(', '.join(front['authors']))}</p>"
        f"<p class=note>{in_html(front['reader'])}: {front['pages']} pages, {front['characters']:,} characters, "
        f"verdict {front['verdict']}</p>"
        + (f"<p class=hidden>Text that the pages do not show:</p><ul class=hidden>{hidden}</ul>" if hidden else "")
        + f"</header>{''.join(pages)}"
    )
    return render_frame(PAGE_START, title, style.PREVIEW, (), body)


def _render_hidden(row: Hidden) -> str:
    return f"page {row.page}, {row.how.replace('_', ' ')}: {in_html(row.text)}"


def _render_page(number: int, text: str, pictures: Mapping[int, bytes], floats: Mapping[str, bytes]) -> str:
    left = (
        in_picture(pictures[number], f"page {number}") if number in pictures else f"<div class=none>page {number}</div>"
    )
    return f"<section class=page><div>{left}</div><div class=text>{_render_blocks(text, floats)}</div></section>\n"


def _render_blocks(text: str, floats: Mapping[str, bytes]) -> str:
    """The lines of a page as HTML; lines of one kind, one below the other, are one block."""
    shown: list[str] = []
    for kind, group in groupby(_lines_with_kinds(text), key=lambda row: row[0]):
        lines = [line for _, line in group]
        if kind[0] == "fence":
            shown.append(f"<pre>{in_html(chr(10).join(lines))}</pre>")
        elif kind[0] == "table":
            shown.append(_render_table(lines))
        elif kind[0] == "text":
            shown.append(f"<p>{in_html(chr(10).join(lines))}</p>")
        else:
            shown += [_render_float(line, floats) + _render_line(kind[0], line) for line in lines]
    return "\n".join(shown)


def _lines_with_kinds(text: str) -> Iterator[tuple[tuple[str, int], str]]:
    """Each line with its kind, and a number that tells one block from the next of that kind; the lines of fences are left out."""
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


def _render_float(line: str, floats: Mapping[str, bytes]) -> str:
    """The picture that a caption is of, where there is one."""
    caption = _CAPTION.match(line)
    picture = floats.get(caption[1]) if caption else None
    return in_picture(picture, caption[1]) if caption and picture else ""


def _render_line(kind: str, line: str) -> str:
    if kind == "heading":
        marks, _, words = line.partition(" ")
        return f"<h{len(marks)}>{in_html(words)}</h{len(marks)}>"
    if kind == "equation":
        return f"<div class=equation>{in_html(line)}</div>"
    tag, attribute = {"quote": ("blockquote", ""), "item": ("li", ""), "note": ("p", " class=note")}[kind]
    caption = _CAPTION.match(line)
    if caption:
        return f"<{tag}><b>{in_html(caption[1])}.</b>{in_html(line[caption.end() :])}</{tag}>"
    words = line if kind == "note" else line[2:]
    return f"<{tag}{attribute}>{in_html(words)}</{tag}>"


def _render_table(lines: Sequence[str]) -> str:
    rows = [_CELL.split(line.strip().removeprefix("|").removesuffix("|")) for line in lines if not _RULE.match(line)]
    cells = ("".join(f"<td>{in_html(cell.strip())}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
