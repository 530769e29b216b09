"""Render a paper's code as a notebook: install, files, imports, one example for each section, checks, tables.

Jupyter's format 4.5 is written by hand: it is a dictionary of cells, and the library for it has eight dependencies.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

from phases.evidence import inside
from phases.sandbox.box import Box
from phases.sandbox.commands import run_command
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.files import read_bytes, write_durable

_MARKS = re.compile(r"([\\`*_\[\]<>&#|!~])")
_DRIVER, _CELLS, _OUTPUTS = "driver.py", "cells.json", "outputs.json"
_MOST_ROWS = 12


class Walk(NamedTuple):
    """The content of a notebook."""

    name: str
    """The task: the code is written to a directory NAME-code."""
    title: str
    summary: str
    sections: Sequence[Mapping[str, Any]]
    """The sections of outline.json."""
    rows: Sequence[Mapping[str, Any]]
    """Each requirement: id, text, status, source, places, tests."""
    files: Mapping[str, str]
    """In writing order."""
    packages: Sequence[str]
    commands: Sequence[str]
    """The checks of the code."""
    cells: Sequence[Mapping[str, Any]]
    """The cells of results.json; empty without an experiment."""


def render_notebook(walk: Walk, run: Callable[[Sequence[str]], tuple[Sequence[str], str]]) -> dict[str, Any]:
    """Return the notebook, as a JSON value. It contains the code: running its cells writes the files and checks them.

    Args:
        run: Runs the code cells; returns what each printed, and why the first failing one did.
    """
    made = list(_walk_through(walk))
    outputs, fault = run([text for kind, text in made if kind == "code"])
    if fault:
        made[0] = (
            "markdown",
            f"{made[0][1]}\n\n**Not all cells ran when this notebook was made:** {escape_markdown(fault)}",
        )
    left, cells, count = iter(outputs), list[dict[str, Any]](), 0
    for number, (kind, text) in enumerate(made):
        cell: dict[str, Any] = {"id": f"c{number}", "cell_type": kind, "metadata": {}, "source": text}
        if kind == "code":
            shown = next(left, None)
            count += shown is not None
            stream = [{"output_type": "stream", "name": "stdout", "text": shown}] if shown else []
            cell |= {"execution_count": count if shown is not None else None, "outputs": stream}
            if text.startswith("%%writefile "):
                cell["metadata"] = {"jupyter": {"source_hidden": True}}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def run_cells(sources: Sequence[str], box: Box) -> tuple[Sequence[str], str]:
    """Return what the cells printed in a sandbox, in an empty directory, and why the first failing one did.

    `box` says how they are isolated; its workspace is not touched.
    """
    with tempfile.TemporaryDirectory() as folder:
        driver = os.path.join(os.path.dirname(inside.__file__), "notebook_cells.py")
        write_durable(os.path.join(folder, _DRIVER), read_bytes(driver))
        write_durable(os.path.join(folder, _CELLS), json.dumps(list(sources)).encode())
        ended = run_command(box._replace(workspace=folder), f"python {_DRIVER}", seconds=box.limits.seconds)
        try:
            made = json.loads(Workspace(folder).read_bytes(_OUTPUTS))
            return [str(text) for text in made["outputs"]], str(made["fault"])
        except (WorkspaceError, ValueError, KeyError, TypeError):
            return (), ended.limit or ended.output.strip()[-300:] or "the run left no outputs"


def _walk_through(walk: Walk) -> Iterator[tuple[str, str]]:
    yield "markdown", f"# {escape_markdown(walk.title)}\n\n{escape_markdown(walk.summary)}"
    if walk.packages:
        yield "markdown", "## Install"
        yield "code", f"%pip install -q {' '.join(map(quote, walk.packages))}"
    yield "markdown", "## The code\n\nIts files, in an order in which each uses only those above it."
    yield "code", _render_setup(walk)
    yield from (("code", f"%%writefile {quote(path)}\n{text}") for path, text in walk.files.items() if text.strip())
    yield "markdown", "## Import it"
    yield "code", _render_imports(walk)
    rarity, used = Counter(test for row in walk.rows for test in row["tests"]), set[str]()
    for heading, rows in _rows_by_section(walk):
        items = [_render_row(row) for row in rows[:_MOST_ROWS]]
        more = [f"- and {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
        yield "markdown", "\n".join([f"## {heading}", "", *items, *more])
        stems = [
            place.partition(":")[0].rpartition("/")[2].removesuffix(".py") for row in rows for place in row["places"]
        ]
        # a test of another module, or of many requirements, says little about this section
        if tests := [test for row in rows for test in row["tests"] if test not in used]:
            used.add(
                test := min(
                    tests, key=lambda test: (not any(stem in test.partition("::")[0] for stem in stems), rarity[test])
                )
            )
            yield "code", f"example({test!r})"
    if walk.commands:
        yield "markdown", "## The checks\n\nAs they were run when the code was judged."
        yield "code", "\n".join(["%%bash", "set -e", *walk.commands])
    if walk.cells:
        yield "markdown", f"## The paper's tables\n\n{_render_cells(walk.cells)}"


def _render_setup(walk: Walk) -> str:
    """Return the cell that creates the directories, and the empty files, which no other cell can write."""
    directories = sorted({path.rpartition("/")[0] for path in walk.files} - {""})
    empty = sorted(path for path, text in walk.files.items() if not text.strip())
    place = f"{walk.name}-code"
    lines = [
        "# All files are written below this directory.",
        "import os, pathlib, sys",
        "",
        f"if pathlib.Path.cwd().name != {place!r}:",
        f"    os.makedirs({place!r}, exist_ok=True)",
        f"    os.chdir({place!r})",
        f"for name in {directories!r}:",
        "    os.makedirs(name, exist_ok=True)",
        f"for name in {empty!r}:",
        "    pathlib.Path(name).touch()",
        "sys.path[:0] = [os.getcwd(), os.path.abspath('src')]",
    ]
    return "\n".join(lines)


_EXAMPLE = '''

def example(test):
    """Show a test as an example of the code that it uses, and run it."""
    path, *names = test.split("::")
    node = ast.parse(text := pathlib.Path(path).read_text())
    for name in names:
        node = next(inner for inner in node.body if getattr(inner, "name", "") == name.partition("[")[0])
    print(textwrap.dedent(" " * node.col_offset + ast.get_source_segment(text, node)), end="\\n\\n")
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", test], capture_output=True, text=True)
    print(ended.stdout.strip().splitlines()[-1])
    assert ended.returncode == 0, ended.stdout'''


def _render_imports(walk: Walk) -> str:
    """Return the cell that imports the modules with requirements, and defines how an example is shown."""
    places = dict.fromkeys(place.partition(":")[0] for row in walk.rows for place in row["places"])
    modules = [path.removeprefix("src/").removesuffix(".py").replace("/", ".") for path in walk.files if path in places]
    names = [name.removesuffix(".__init__") for name in modules if not name.endswith("__main__")]
    imports = [f"import {name}" for name in names if all(map(str.isidentifier, name.split("."))) and name != "setup"]
    return "\n".join(["import ast, pathlib, subprocess, sys, textwrap", "", *imports, _EXAMPLE])


def order_files(files: Mapping[str, str], first: Sequence[str]) -> dict[str, str]:
    """Return the text files of the code: those of `first` in that order, then the others by name."""
    order = [*(path for path in first if path in files), *sorted(files)]
    return {path: files[path] for path in dict.fromkeys(order)}


def _rows_by_section(walk: Walk) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Yield the requirements of each section, in the order of the paper; those without a section last."""
    titles = {str(section["number"]): str(section["title"]) for section in walk.sections if section["number"]}
    order = list(titles)
    by_section: dict[str, list[Mapping[str, Any]]] = {}
    for row in walk.rows:
        by_section.setdefault(str(row["source"]["section"] or ""), []).append(row)
    for name in sorted(by_section, key=lambda name: order.index(name) if name in order else len(order)):
        title = f"{name} {titles[name]}" if name in titles else name or "What has no section"
        yield escape_markdown(title), by_section[name]


def _render_row(row: Mapping[str, Any]) -> str:
    where = ", ".join(f"`{place.replace('`', '')}`" for place in row["places"][:3]) or "nowhere in the code"
    page = f"page {row['source']['page']}, " if row["source"]["page"] else ""
    name, status, text = (escape_markdown(row[key]) for key in ("id", "status", "text"))
    return f"- **{name}** ({page}{status}): {text}  \n  {where}"


def _render_cells(cells: Sequence[Mapping[str, Any]]) -> str:
    head = "| table | row | column | paper | here | verdict |\n|---|---|---|---|---|---|\n"
    names = ("table", "row", "column", "paper", "ours", "verdict")
    lines = (" | ".join(escape_markdown("–" if cell[name] is None else cell[name]) for name in names) for cell in cells)
    return head + "\n".join(f"| {line} |" for line in lines)


def escape_markdown(text: object) -> str:
    """Return untrusted text as Markdown that only shows it. Formulas stay formulas."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split())).replace("\\<", "&lt;").replace("\\&", "&amp;")
