"""A page that shows a paper beside what the reader made of it. Everything in it is escaped, and it loads nothing."""

from __future__ import annotations

import base64
import itertools
import os
import re
import tempfile
from collections.abc import Mapping
from html import escape

from phases.paper.apart import run_apart
from phases.paper.markdown import PAGE_MARK
from phases.paper.reading import Hidden
from pipeline.formats import Markdown

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
_BLOCK = re.compile(r"\n{2,}")


def pictures_of(path: str, password: str | None) -> dict[int, bytes]:
    """The pages of a PDF as PNG, by their numbers; those that cannot be drawn are left out."""
    with tempfile.TemporaryDirectory() as folder:
        run_apart("phases.paper.pdf.pictures", [path, folder], (password or "").encode())
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                found[int(name.removesuffix(".png"))] = file.read()
        return found


def preview_of(paper: Markdown, pictures: Mapping[int, bytes]) -> str:
    """The page, as HTML."""
    front = paper.front
    title = escape(front["title"] or "untitled")
    hidden = "".join(f"<li>{_hidden(Hidden(**row))}</li>" for row in front["hidden_text"])
    marks = [*PAGE_MARK.finditer(paper.text, paper.body_start), None]
    pages = [
        _page(int(mark.group(1)), paper.text[mark.end() : after.start() if after else None], pictures)
        for mark, after in itertools.pairwise(marks)
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


def _hidden(row: Hidden) -> str:
    return f"page {row.page}, {row.how.replace('_', ' ')}: {escape(row.text)}"


def _page(number: int, text: str, pictures: Mapping[int, bytes]) -> str:
    if number in pictures:
        picture = base64.b64encode(pictures[number]).decode("ascii")
        left = f'<img alt="page {number}" src="data:image/png;base64,{picture}">'
    else:
        left = f"<div class=none>page {number}</div>"
    return f"<section class=page><div>{left}</div><div class=text>{_blocks(text)}</div></section>\n"


def _blocks(text: str) -> str:
    shown: list[str] = []
    fence: list[str] | None = None
    for block in _BLOCK.split(text.strip("\n")):
        if fence is not None:
            fence.append(block)
        elif block.startswith("```"):
            fence = [block]
        else:
            shown.append(_block(block))
        if fence is not None and fence[-1].rstrip().endswith("```") and fence[-1] != "```":
            inside = "\n\n".join(fence).split("\n")[1:-1]
            shown.append(f"<pre>{escape(chr(10).join(inside))}</pre>")
            fence = None
    return "\n".join([*shown, *(f"<pre>{escape(piece)}</pre>" for piece in fence or ())])


def _block(block: str) -> str:
    heading = re.match(r"(#{1,6}) +(.*)", block)
    if heading:
        level = len(heading.group(1))
        return f"<h{level}>{escape(heading.group(2))}</h{level}>"
    if block.startswith("|"):
        return _table(block)
    if block.startswith("$$"):
        return f"<div class=equation>{escape(block)}</div>"
    for mark, tag in (("> ", "blockquote"), ("- ", "li"), ("[^", "p class=note")):
        if block.startswith(mark):
            return f"<{tag}>{escape(block.removeprefix(mark) if tag != 'p class=note' else block)}</{tag.split()[0]}>"
    return f"<p>{escape(block)}</p>"


def _table(block: str) -> str:
    rows = [
        re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in block.split("\n") if not line.startswith("|---")
    ]
    cells = ("".join(f"<td>{escape(cell.strip())}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
