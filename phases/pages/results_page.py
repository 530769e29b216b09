"""Show the paper's figures next to ours, as tables and drawings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from phases.pages.render import Shape, page_start, render_file

PAGE_START = page_start("results")
_ROW, _LEFT, _WIDTH, _SCALE = 20, 180, 700, 390
_LABEL = 26
Cell = Mapping[str, Any]


def render_page(title: str, results: Mapping[str, Any], curves: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the page, as HTML; `curves` come from draw_curves."""
    shown = {"title": title or "untitled", **describe_results(results), "curves": curves}
    return render_file(PAGE_START, title, "results_file.html", shown)


def describe_results(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of results.json, each with a drawing of each column that has a result."""
    tables = []
    for name, group in groupby(results["cells"], key=lambda cell: cell["table"]):
        cells = list(group)
        columns = groupby(sorted(cells, key=_column), key=_column)
        plots = [plot for column, own in columns if (plot := _draw_column(column, list(own)))]
        tables.append({"name": name, "cells": cells, "plots": plots})
    return {"results": results, "tables": tables}


def _column(cell: Cell) -> str:
    return str(cell["column"])


def _draw_column(column: str, cells: Sequence[Cell]) -> dict[str, Any] | None:
    there = [cell for cell in cells if cell["paper"] is not None and cell["ours"] is not None]
    if not there:
        return None
    ends = [cell["paper"] + sign * cell["tolerance"] for cell in there for sign in (-1, 1)] + [c["ours"] for c in there]
    low, high = min(ends), max(ends)
    room = (high - low) or 1.0

    def at(value: float) -> float:
        return float(_LEFT + _SCALE * (value - low) / room)

    height = _ROW * (len(there) + 1) + 4
    shapes = [_draw_cell(cell, at, _ROW * number + 10) for number, cell in enumerate(there)]
    shapes += [
        Shape("text", {"class": "small", "x": _LEFT, "y": height - 6}, f"{low:.4g}"),
        Shape("text", {"class": "small", "x": _LEFT + _SCALE, "y": height - 6, "text-anchor": "end"}, f"{high:.4g}"),
    ]
    return {"column": column, "width": _WIDTH, "height": height, "shapes": shapes}


def _draw_cell(cell: Cell, at: Callable[[float], float], y: int) -> Shape:
    left, right = at(cell["paper"] - cell["tolerance"]), at(cell["paper"] + cell["tolerance"])
    band = {"class": "band", "x": f"{left:.1f}", "y": y - 5, "width": f"{max(right - left, 1):.1f}", "height": 10}
    verdict = cell["verdict"].replace(" ", "-")
    inside = [
        Shape("text", {"x": 0, "y": y + 4}, _shorten_label(cell["row"])),
        Shape("rect", band),
        Shape("path", {"class": "theirs", "d": f"M{at(cell['paper']):.1f} {y - 6}v12"}),
        Shape("circle", {"class": f"ours {verdict}", "cx": f"{at(cell['ours']):.1f}", "cy": y, "r": 4}),
        Shape("text", {"x": _LEFT + _SCALE + 12, "y": y + 4}, f"{cell['paper']:.5g} · {cell['ours']:.5g}"),
    ]
    title = f"{cell['row']}: paper {cell['paper']:.5g}, ours {cell['ours']:.5g}"
    return Shape("g", {}, title=title, inside=inside)


def _shorten_label(text: str) -> str:
    """Return a label shortened in the middle: labels may differ only in their last words."""
    return text if len(text) <= _LABEL else f"{text[: _LABEL // 2 - 1]}…{text[-_LABEL // 2 :]}"


_CURVE_WIDTH, _CURVE_HEIGHT, _EDGE = 480, 120, 16
_MOST_CURVES, _MOST_POINTS, _FEWEST = 24, 400, 3
_STEPS = ("epoch", "step", "iteration", "iter", "round")


def find_steps(names: Iterable[str]) -> str | None:
    """Return the column along which the others are curves; None without one."""
    return next((name for name in names if str(name).casefold() in _STEPS), None)


def draw_curves(name: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each number that the rows of a file hold along their epochs or steps; `name` is the file's."""
    along = find_steps(rows[0]) if rows else None
    steps = [_number(row.get(along)) for row in rows] if along else []
    if len(steps) < _FEWEST or any(a is None or b is None or a >= b for a, b in pairwise(steps)):
        return []
    columns = [key for key in rows[0] if key != along and _number(rows[0][key]) is not None]
    curves = [(key, [value for row in rows if (value := _number(row.get(key))) is not None]) for key in columns]
    return [_draw_curve(f"{name}: {key}", values) for key, values in curves[:_MOST_CURVES] if len(values) >= _FEWEST]


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _draw_curve(name: str, found: Sequence[float]) -> dict[str, Any]:
    values = found[:: max(1, len(found) // _MOST_POINTS)]
    low, high = min(values), max(values)
    room, across = (high - low) or 1.0, _CURVE_WIDTH - 2 * _EDGE
    points = [
        f"{_EDGE + across * place / (len(values) - 1):.1f} {_EDGE + (_CURVE_HEIGHT - 2 * _EDGE) * (high - value) / room:.1f}"
        for place, value in enumerate(values)
    ]
    shapes = [
        Shape("path", {"class": "curve", "d": f"M{'L'.join(points)}"}),
        Shape("text", {"class": "small", "x": 0, "y": 11}, f"{high:.4g}"),
        Shape("text", {"class": "small", "x": 0, "y": _CURVE_HEIGHT - 2}, f"{low:.4g}"),
    ]
    ends = {"first": f"{found[0]:.4g}", "last": f"{found[-1]:.4g}", "low": f"{low:.4g}", "high": f"{high:.4g}"}
    return {"name": name, "width": _CURVE_WIDTH, "height": _CURVE_HEIGHT, "shapes": shapes, **ends}
