"""Render pages of a PDF with marked places, and locate quotes, figures and tables on them.

Places are in points (1/72 inch) from the top left of the page as displayed. A worker process does the work
(`reader_subprocess`), because the file is hostile; its answers are validated here.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phases.readers.reader_subprocess import SECONDS, RunWorker, run_worker

Box = tuple[float, float, float, float]
"""Left, top, right and bottom edge of a place on a page."""
DOTS_PER_INCH = 80
_MOST_PAGES = 60
_MOST_FLOATS = 100
_MOST_QUOTES, _LONGEST_QUOTE = 1000, 2000
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class View:
    """A page to render, counted from 1, or a part of it."""

    page: int
    marks: tuple[Box, ...] = ()
    """Places to tint yellow."""
    part: Box | None = None
    """The part of the page to render; None for the whole page."""


@dataclass(frozen=True)
class Picture:
    """A rendered view."""

    png: bytes
    box: Box
    """The part of the page it shows: (0, 0, width, height) for a whole page."""


@dataclass(frozen=True)
class QuotePlace:
    """Location of a quote, or of its part on one page: a box per line."""

    page: int
    boxes: tuple[Box, ...]


def draw_views(
    path: str,
    views: Sequence[View],
    password: str | None = None,
    *,
    dots_per_inch: int = DOTS_PER_INCH,
    run: RunWorker = run_worker,
) -> list[Picture | None]:
    """Render the views of a PDF, in order; None for a missing page or one that cannot be rendered.

    Never raises for what is in the file. An enormous page is rendered at a lower resolution.
    """
    rows = [{"page": view.page, "marks": view.marks, "part": view.part} for view in views]
    job = {"password": password, "views": rows, "dots_per_inch": dots_per_inch}
    drawn: list[Picture | None] = [None] * len(views)
    for index, row in _ask_worker("draw", path, job, run):
        if 0 <= index < len(views):
            drawn[index] = _picture_in(row)
    return drawn


def draw_pages(path: str, password: str | None, *, run: RunWorker = run_worker) -> dict[int, bytes]:
    """Render the first pages of a PDF as PNG, by page number; pages that cannot be rendered are omitted."""
    views = [View(number) for number in range(1, _MOST_PAGES + 1)]
    pictures = draw_views(path, views, password, run=run)
    return {view.page: picture.png for view, picture in zip(views, pictures, strict=True) if picture}


def draw_floats(
    path: str,
    outline: Mapping[str, Any],
    password: str | None = None,
    *,
    dots_per_inch: int = DOTS_PER_INCH,
    run: RunWorker = run_worker,
) -> dict[str, Picture]:
    """Render the figures and tables of a PDF by label ("Table 2"); those not found are omitted.

    `outline` is outline.json, whose captions are looked up on the pages.
    """
    known = {
        row["label"]: (kind, row)
        for kind in ("figure", "table")
        for row in reversed(outline[f"{kind}s"])
        if row["page"]
    }
    rows = [known[label] for label in sorted(known)][:_MOST_FLOATS]
    if not rows:
        return {}
    captions = [
        {"page": row["page"], "kind": kind, "text": f"{row['label']} {row['text']}"[:_LONGEST_QUOTE]}
        for kind, row in rows
    ]
    result = {
        rows[index][1]["label"]: View(rows[index][1]["page"], part=box)
        for index, row in _ask_worker("find-floats", path, {"password": password, "captions": captions}, run)
        if 0 <= index < len(rows) and (box := _box_in(row.get("box")))
    }
    drawn = draw_views(path, list(result.values()), password, dots_per_inch=dots_per_inch, run=run) if result else []
    return {name: picture for name, picture in zip(result, drawn, strict=True) if picture}


def find_quotes(
    path: str, quotes: Sequence[tuple[int, str]], password: str | None = None, *, run: RunWorker = run_worker
) -> list[tuple[QuotePlace, ...]]:
    """Locate quotes in a PDF, in order; empty if not found.

    A quote is its expected page and its words as in paper.md. It is searched on that page and its neighbours by letters and
    digits alone, and some words may differ; a quote across a page break has two places.
    """
    rows = [{"page": page, "text": text[:_LONGEST_QUOTE]} for page, text in quotes[:_MOST_QUOTES]]
    places: list[tuple[QuotePlace, ...]] = [()] * len(quotes)
    for index, row in _ask_worker("find-quotes", path, {"password": password, "quotes": rows}, run):
        if 0 <= index < len(rows):
            places[index] = _places_in(row)
    return places


def _ask_worker(job: str, path: str, task: dict[str, Any], run: RunWorker) -> Iterator[tuple[int, dict[str, Any]]]:
    output = run([job, path], json.dumps(task).encode(), SECONDS).output
    for line in output.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            # a line cut off when the worker was killed
            return
        if isinstance(row, dict) and isinstance(row.get("index"), int):
            yield row["index"], row


def _picture_in(row: dict[str, Any]) -> Picture | None:
    box = _box_in(row.get("box"))
    try:
        png = base64.b64decode(str(row.get("png")), validate=True)
    except (binascii.Error, ValueError):
        return None
    return Picture(png, box) if box and png.startswith(_PNG) else None


def _places_in(row: dict[str, Any]) -> tuple[QuotePlace, ...]:
    result = []
    for place in _list_in(row, "places"):
        boxes = [_box_in(box) for box in _list_in(place, "boxes")]
        page = place.get("page") if boxes else None
        if isinstance(page, int) and boxes and all(boxes):
            result.append(QuotePlace(page, tuple(box for box in boxes if box)))
    return tuple(result)


def _list_in(row: Any, key: str) -> list[Any]:
    found = row.get(key) if isinstance(row, dict) else None
    return found if isinstance(found, list) else []


def _box_in(edges: Any) -> Box | None:
    if not isinstance(edges, list) or len(edges) != 4 or not all(isinstance(edge, (int, float)) for edge in edges):
        return None
    x0, y0, x1, y1 = map(float, edges)
    return (x0, y0, x1, y1) if all(map(math.isfinite, (x0, y0, x1, y1))) else None
