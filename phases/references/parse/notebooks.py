"""The code of a Jupyter notebook as one source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_MAGIC = re.compile(r"[%!?].*|[\w.\[\]'\" ,]*=[ \t]*[%!]\S.*|[\w.]+\?{1,2}")
"""Of a line without the blanks around it: beside them, a pattern that takes blanks too would try every way to share them."""
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_MAGICS = frozenset(("time", "timeit", "capture", "prun", "memit"))
_LANGUAGES = {"python": "python", "python3": "python", "ipython": "python", "r": "r", "ir": "r", "julia": "julia"}


class Source(NamedTuple):
    """What a notebook holds."""

    language: str
    text: str
    """The code cells joined, an empty line between two: lines are counted over this text, not over the JSON."""
    fault: str = ""


def notebook_source(data: bytes) -> Source:
    """The code of a notebook of format 3 or 4; lines of magic (`%matplotlib`, `!pip`) are blanked, the rest keeps its lines."""
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Source("python", "", f"the notebook is not JSON: {str(error)[:200]}")
    if not isinstance(notebook, dict):
        return Source("python", "", "the notebook is no JSON object")
    cells = list(_cells(notebook))
    language = _language(notebook)
    if not cells and not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        return Source(language, "", "the notebook has no list of cells")
    return Source(language, "\n\n".join(_code(cell) if language == "python" else cell for cell in cells))


def _cells(notebook: dict[str, Any]) -> Iterator[str]:
    """The sources of the code cells, in their order."""
    sheets = notebook.get("worksheets") if "cells" not in notebook else [notebook]
    for sheet in sheets if isinstance(sheets, list) else []:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        for cell in cells if isinstance(cells, list) else []:
            if isinstance(cell, dict) and cell.get("cell_type") == "code":
                source = cell.get("source", cell.get("input", ""))
                parts = source if isinstance(source, list) else [source]
                text = "".join(part for part in parts if isinstance(part, str))
                # A surrogate that JSON smuggled in cannot be encoded again.
                yield text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def _code(cell: str) -> str:
    found = _CELL_MAGIC.match(cell)
    if found and found[1] not in _PYTHON_MAGICS:
        return "\n" * cell.count("\n")
    return "\n".join("" if _MAGIC.fullmatch(line.strip(" \t")) else line for line in cell.split("\n"))


def _language(notebook: dict[str, Any]) -> str:
    about = notebook.get("metadata")
    about = about if isinstance(about, dict) else {}
    kernel, language = about.get("kernelspec"), about.get("language_info")
    kernel = kernel if isinstance(kernel, dict) else {}
    language = language if isinstance(language, dict) else {}
    for said in (language.get("name"), kernel.get("language"), kernel.get("name")):
        if isinstance(said, str) and (known := _LANGUAGES.get(re.split(r"[-\d]", said.lower())[0])):
            return known
    return "python"
