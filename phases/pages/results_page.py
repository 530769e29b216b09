"""A page with the paper's figures beside ours, as tables and drawings. It is escaped, and loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from phases.pages import style
from phases.pages.markup import in_html, page_start, render_frame

PAGE_START = page_start("results")
_ROW, _LEFT, _WIDTH, _SCALE = 20, 260, 760, 440
_COLOURS = {"reproduced": "#1a7f37", "near": "#9a6700", "differs": "#b3261e", "suspect": "#b3261e"}


def render_page(title: str, results: Mapping[str, Any]) -> str:
    """The page, as HTML."""
    shown = in_html(title or "untitled")
    tables = [(name, list(cells)) for name, cells in groupby(results["cells"], key=lambda cell: cell["table"])]
    body = (
        f'<header><h1>{shown}</h1><p class="counts">{in_html(results["sentence"])}</p></header>\n<main>'
        + "".join(_render_table(name, cells) for name, cells in tables)
        + _render_experiments(results)
        + "</main>"
    )
    return render_frame(PAGE_START, shown, style.RESULTS, (), body)


def _render_table(name: str, cells: Sequence[Mapping[str, Any]]) -> str:
    rows = "".join(
        f"<tr><th scope=row>{in_html(cell['id'])}<td>{in_html(cell['row'])}<td>{in_html(cell['column'])}"
        f"<td class=n>{_figure(cell['paper'], cell['spread'])}<td class=n>{_figure(cell['ours'], cell['our_spread'])}"
        f"<td class=n>{_figure(cell['difference'])}<td class=n>{_figure(cell['tolerance'])}"
        f'<td><span class="badge {in_html(cell["verdict"].split()[0])}">{in_html(cell["verdict"])}</span>'
        f"<td>{in_html(cell['why'] or cell['known_from'])}</tr>\n"
        for cell in cells
    )
    columns = [(column, list(own)) for column, own in groupby(sorted(cells, key=_column), key=_column)]
    drawings = "".join(_draw_column(column, own) for column, own in columns)
    return (
        f"<section class=pane><h2>{in_html(name)}</h2>{drawings}"
        "<table><thead><tr><th scope=col>Id<th scope=col>Row<th scope=col>Column<th scope=col>Paper<th scope=col>Ours"
        f"<th scope=col>Difference<th scope=col>Tolerance<th scope=col>Verdict<th scope=col>Why</thead>"
        f"<tbody>{rows}</tbody></table>"
        "</section>\n"
    )


def _column(cell: Mapping[str, Any]) -> str:
    return str(cell["column"])


def _draw_column(column: str, cells: Sequence[Mapping[str, Any]]) -> str:
    """The paper's figures with their tolerance, and ours, on one scale; nothing where nothing came out."""
    there = [cell for cell in cells if cell["paper"] is not None and cell["ours"] is not None]
    if not there:
        return ""
    ends = [cell["paper"] + sign * cell["tolerance"] for cell in there for sign in (-1, 1)] + [c["ours"] for c in there]
    low, high = min(ends), max(ends)
    room = (high - low) or 1.0

    def at(value: float) -> float:
        return float(_LEFT + _SCALE * (value - low) / room)

    height = _ROW * (len(there) + 2)
    lines = "".join(_draw_cell(cell, at, _ROW * (number + 1) + 10) for number, cell in enumerate(there))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{in_html(column)}: the paper beside ours">'
        f'<text x="0" y="14" class="head">{in_html(column)}</text>{lines}'
        f'<text x="{_LEFT}" y="{height - 4}">{low:.4g}</text>'
        f'<text x="{_LEFT + _SCALE}" y="{height - 4}" text-anchor="end">{high:.4g}</text></svg>\n'
    )


def _draw_cell(cell: Mapping[str, Any], at: Callable[[float], float], y: int) -> str:
    left, right = at(cell["paper"] - cell["tolerance"]), at(cell["paper"] + cell["tolerance"])
    colour = _COLOURS.get(cell["verdict"], "#555")
    return (
        f"<g><title>{in_html(cell['row'])}: paper {cell['paper']:.5g}, ours {cell['ours']:.5g}</title>"
        f'<text x="0" y="{y + 4}">{in_html(cell["row"][:40])}</text>'
        f'<rect x="{left:.1f}" y="{y - 5}" width="{max(right - left, 1):.1f}" height="10" fill="#d5dcea"/>'
        f'<path d="M{at(cell["paper"]):.1f} {y - 6}v12" stroke="#14427a" stroke-width="2"/>'
        f'<circle cx="{at(cell["ours"]):.1f}" cy="{y}" r="4" fill="{colour}"/></g>'
    )


def _render_experiments(results: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th scope=row>{in_html(row['name'])}<td><code>{in_html(row['command'])}</code><td>{in_html(row['status'])}"
        f"<td class=n>{row['seconds']:.0f} s<td>{in_html(row['why'] or row['log'])}</tr>"
        for row in results["experiments"]
    )
    attempts = "".join(
        f"<p>Attempt {row['number']}: the agent was told of {row['told']} cells, and changed "
        f"{in_html(', '.join(row['changed']) or 'nothing')} ({in_html(row['changes'])}). Before it: {in_html(row['before'])}.</p>"
        for row in results.get("attempts", ())
    )
    faults = "".join(f"<p class=note>{in_html(fault)}</p>" for fault in results["faults"])
    return (
        "<section class=pane><h2>Experiments</h2><p class=note>Bar: the paper's figure and its tolerance; dot: ours.</p>"
        f"{faults}{attempts}<table><tbody>{rows}</tbody></table></section>"
    )


def _figure(value: float | None, spread: float | None = None) -> str:
    if value is None:
        return "–"
    return f"{value:.5g}" if spread is None else f"{value:.5g} ± {spread:.3g}"
