"""A notebook that walks through a paper: each section, what it demands, the code that meets it, the checks, the tables.

Jupyter's format 4.5 is written by hand: it is a dictionary of cells, and the library for it would bring eight others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

_MARKS = re.compile(r"([\\`*_\[\]<>&#|!~])")


class Walk(NamedTuple):
    """All that the notebook shows."""

    name: str
    """Of the task: the code is written to a directory NAME-code."""
    title: str
    summary: str
    sections: Sequence[Mapping[str, Any]]
    """Of outline.json."""
    rows: Sequence[Mapping[str, Any]]
    """Each requirement: id, text, status, source, places."""
    files: Mapping[str, str]
    commands: Sequence[str]
    """The checks of the code."""
    cells: Sequence[Mapping[str, Any]]
    """Of results.json; empty where no experiment was run."""


def render_notebook(walk: Walk) -> dict[str, Any]:
    """The notebook, as JSON has it. It holds the code itself: running its cells writes the files and checks them."""
    cells = [
        {"id": f"c{number}", "metadata": {}, "source": text, **_KINDS[kind]}
        for number, (kind, text) in enumerate(_walk_through(walk))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "cells": cells,
    }


_KINDS: dict[str, dict[str, Any]] = {
    "markdown": {"cell_type": "markdown"},
    "code": {"cell_type": "code", "execution_count": None, "outputs": []},
}


def _walk_through(walk: Walk) -> Iterator[tuple[str, str]]:
    yield "markdown", f"# {_escape(walk.title)}\n\n{_escape(walk.summary)}"
    yield "code", _render_setup(walk)
    untold = dict(walk.files)
    for heading, rows in _rows_by_section(walk):
        told = "\n".join(_render_row(row) for row in rows)
        yield "markdown", f"## {heading}\n\n{told}"
        for path in dict.fromkeys(place.partition(":")[0] for row in rows for place in row["places"]):
            if untold.get(path, "").strip():
                yield "code", f"%%writefile {quote(path)}\n{untold.pop(path)}"
    rest = {path: text for path, text in untold.items() if text.strip()}
    if rest:
        yield "markdown", "## The other files"
        yield from (("code", f"%%writefile {quote(path)}\n{text}") for path, text in rest.items())
    if walk.commands:
        yield "markdown", "## The checks\n\nAs they were run when the code was judged."
        yield "code", "\n".join(["%%bash", "set -e", *walk.commands])
    if walk.cells:
        yield "markdown", f"## The paper's tables\n\n{_render_cells(walk.cells)}"


def _render_setup(walk: Walk) -> str:
    """The cell that makes the directories, and the files with nothing in them, which no other cell can write."""
    directories = sorted({path.rpartition("/")[0] for path in walk.files} - {""})
    empty = sorted(path for path, text in walk.files.items() if not text.strip())
    place = f"{walk.name}-code"
    return "\n".join(
        [
            "# All files are written below this directory.",
            "import os",
            "import pathlib",
            "",
            f"if pathlib.Path.cwd().name != {place!r}:",
            f"    os.makedirs({place!r}, exist_ok=True)",
            f"    os.chdir({place!r})",
            f"for name in {directories!r}:",
            "    os.makedirs(name, exist_ok=True)",
            f"for name in {empty!r}:",
            "    pathlib.Path(name).touch()",
        ]
    )


def _rows_by_section(walk: Walk) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The requirements of each section, in the order of the paper; what names no section of it comes last."""
    titles = {str(section["number"]): str(section["title"]) for section in walk.sections if section["number"]}
    order = list(titles)
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in walk.rows:
        found.setdefault(str(row["source"]["section"] or ""), []).append(row)
    for name in sorted(found, key=lambda name: order.index(name) if name in order else len(order)):
        title = f"{name} {titles[name]}" if name in titles else name or "What the paper demands elsewhere"
        yield _escape(title), found[name]


def _render_row(row: Mapping[str, Any]) -> str:
    where = ", ".join(f"`{place.replace('`', '')}`" for place in row["places"][:3]) or "nowhere in the code"
    page = f"page {row['source']['page']}" if row["source"]["page"] else "no page"
    return f"- **{_escape(row['id'])}** ({page}, **{_escape(row['status'])}**): {_escape(row['text'])}  \n  {where}"


def _render_cells(cells: Sequence[Mapping[str, Any]]) -> str:
    head = "| table | row | column | paper | here | verdict |\n|---|---|---|---|---|---|\n"
    names = ("table", "row", "column", "paper", "ours", "verdict")
    lines = (" | ".join(_escape("–" if cell[name] is None else cell[name]) for name in names) for cell in cells)
    return head + "\n".join(f"| {line} |" for line in lines)


def _escape(text: object) -> str:
    """Text of a paper or a model, as Markdown that shows it and does nothing else. Formulas stay formulas."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split())).replace("\\<", "&lt;").replace("\\&", "&amp;")
