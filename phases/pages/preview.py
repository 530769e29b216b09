"""A page that shows a paper beside what the reader made of it. Everything in it is escaped, and it loads nothing."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby, pairwise

from phases.readers.markdown import PAGE_MARK
from phases.readers.reading import Hidden
from pipeline.base.formats import Markdown

_STYLE = """
body { font: 15px/1.5 Georgia, serif; margin: 0; background: #eceae6; color: #222; }
header { padding: 1rem 2rem; background: #fff; border-bottom: 1px solid #ccc; }
.page { display: grid; grid-template-columns: minmax(20rem, 44vw) 1fr; gap: 1.5rem; padding: 1rem 2rem; }
.page img, .page .none { width: 100%; border: 1px solid #bbb; background: #fff; position: sticky; top: 1rem; }
.text { background: #fff; padding: 1rem 1.5rem; border: 1px solid #ddd; overflow-x: auto; min-width: 0; }
h1, h2, h3, h4, h5, h6 { font-family: Helvetica, Arial, sans-serif; color: #14427a; margin: 1em 0 .3em; line-height: 1.2; }
blockquote { margin: .8em 0; padding-left: .8em; border-left: 3px solid #c9a227; color: #555; font-size: 90%; }
pre, .equation { background: #f4f4f8; padding: .5em .8em; overflow-x: auto; font: 13px/1.4 monospace; }
table { border-collapse: collapse; font-size: 85%; } td, th { border: 1px solid #ccc; padding: .15em .5em; text-align: left; }
.note { font-size: 85%; color: #666; } .hidden { color: #a00; }
@media (max-width: 60rem) { .page { grid-template-columns: 1fr; } }
"""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_STARTS = (
    ("heading", re.compile(r"#{1,6} ")),
    ("table", re.compile(r"\|")),
    ("equation", re.compile(r"\$\$")),
    ("quote", re.compile(r"> ")),
    ("item", re.compile(r"- ")),
    ("note", re.compile(r"\[\^")),
)
_RULE = re.compile(r"\|[-:| ]+\|?\s*$")
_CELL = re.compile(r"(?<!\\)\|")


def render_preview(paper: Markdown, pictures: Mapping[int, bytes]) -> str:
    """The page, as HTML."""
    front = paper.front
    title = escape(front["title"] or "untitled")
    hidden = "".join(f"<li>{_render_hidden(Hidden(**row))}</li>" for row in front["hidden_text"])
    marks = [*PAGE_MARK.finditer(paper.text, paper.body_start), None]
    pages = [
        _render_page(int(mark.group(1)), paper.text[mark.end() : after.start() if after else None], pictures)
        for mark, after in pairwise(marks)
        if mark
    ]
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>"
        f"<header><h1>{title}</h1><p>{escape(', '.join(front['authors']))}</p>"
        f"<p class=note>{escape(front['reader'])}: {front['pages']} pages, {front['characters']:,} characters, "
        f"verdict {front['verdict']}</p>"
        + (f"<p class=hidden>Text that the pages do not show:</p><ul class=hidden>{hidden}</ul>" if hidden else "")
        + f"</header>{''.join(pages)}</body></html>\n"
    )


def _render_hidden(row: Hidden) -> str:
    return f"page {row.page}, {row.how.replace('_', ' ')}: {escape(row.text)}"


def _render_page(number: int, text: str, pictures: Mapping[int, bytes]) -> str:
    if number in pictures:
        picture = base64.b64encode(pictures[number]).decode("ascii")
        left = f'<img alt="page {number}" src="data:image/png;base64,{picture}">'
    else:
        left = f"<div class=none>page {number}</div>"
    return f"<section class=page><div>{left}</div><div class=text>{_render_blocks(text)}</div></section>\n"


def _render_blocks(text: str) -> str:
    """The lines of a page as HTML; lines of one kind, one below the other, are one block."""
    shown: list[str] = []
    for kind, group in groupby(_lines_with_kinds(text), key=lambda row: row[0]):
        lines = [line for _, line in group]
        if kind[0] == "fence":
            shown.append(f"<pre>{escape(chr(10).join(lines))}</pre>")
        elif kind[0] == "table":
            shown.append(_render_table(lines))
        elif kind[0] == "text":
            shown.append(f"<p>{escape(chr(10).join(lines))}</p>")
        else:
            shown += [_render_line(kind[0], line) for line in lines]
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


def _render_line(kind: str, line: str) -> str:
    if kind == "heading":
        marks, _, words = line.partition(" ")
        return f"<h{len(marks)}>{escape(words)}</h{len(marks)}>"
    if kind == "equation":
        return f"<div class=equation>{escape(line)}</div>"
    tag, attribute = {"quote": ("blockquote", ""), "item": ("li", ""), "note": ("p", " class=note")}[kind]
    words = line if kind == "note" else line[2:]
    return f"<{tag}{attribute}>{escape(words)}</{tag}>"


def _render_table(lines: Sequence[str]) -> str:
    rows = [_CELL.split(line.strip().removeprefix("|").removesuffix("|")) for line in lines if not _RULE.match(line)]
    cells = ("".join(f"<td>{escape(cell.strip())}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
