"""The tables of a page: which of them hold values, which equations, and which only set the page out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from phases.readers.html.math import math_tex
from phases.readers.html.tree import Element, text_of, walk_elements

_EQUATIONS = {"ltx_equation", "ltx_equationgroup", "ltx_eqn_table"}
_ROWS, _CELLS = {"ltx_tr", "ltx_eqn_row"}, {"ltx_td", "ltx_th"}
_MOST_COLUMNS, _MOST_ROWS_SPANNED, _LONGEST_CELL = 60, 500, 1500
_NUMBER = re.compile(r"\s*\(([A-Z]?[0-9.]{1,8}[a-z]?)\)\s*")


def is_equation(element: Element) -> bool:
    """Whether an element is a display equation, or a group of them, with all that it holds."""
    if not _EQUATIONS.isdisjoint(element.classes):
        return True
    if element.tag != "table" or element.holds:
        return False
    rows = list(_row_elements(element))
    cells = _cell_elements(rows[0]) if len(rows) == 1 else []
    formulas = [one for cell in cells for one in walk_elements(cell) if one.tag == "math"]
    return len(cells) > 1 and len(formulas) == 1 and bool(_NUMBER.fullmatch(text_of(cells[-1])))


def equations_of(element: Element) -> Iterator[tuple[str, str]]:
    """The equations of an element with their numbers. Rows without a number of their own go with the one before."""
    lines: list[str] = []
    number = ""
    for row in list(_row_elements(element)) or [element]:
        tex = " ".join(filter(None, (math_tex(one) for one in walk_elements(row) if one.tag == "math")))
        own = _equation_number(row)
        if lines and own and number:
            yield _join_lines(lines), number
            lines, number = [], ""
        lines += [tex] if tex else []
        number = own or number
    if lines:
        yield _join_lines(lines), number


def is_table(element: Element) -> bool:
    """Whether a table holds values, and is not there to set out the page."""
    if "ltx_tabular" in element.classes:
        return True
    if element.holds or element.attributes.get("role") == "presentation":
        return False
    captioned = any(isinstance(child, Element) and child.tag == "caption" for child in element.children)
    rows = list(_row_elements(element))
    widest = max((len(_cell_elements(row)) for row in rows), default=0)
    longest = max((len(text_of(cell)) for row in rows for cell in _cell_elements(row)), default=0)
    return captioned or (widest > 1 and longest <= _LONGEST_CELL) or (len(rows) > 1 and longest <= 200)


def rows_of(element: Element, inline: Callable[[Element], str]) -> list[list[str]]:
    """The cells of a table. A cell that spans several stands in the first of them; the others are left blank."""
    rows: list[list[str]] = []
    spanned: dict[int, int] = {}
    for row in _row_elements(element):
        texts: list[str] = []
        for cell in _cell_elements(row):
            _fill_spans(texts, spanned)
            wide = _span_of(cell, "colspan", _MOST_COLUMNS)
            down = _span_of(cell, "rowspan", _MOST_ROWS_SPANNED)
            if len(texts) >= _MOST_COLUMNS:
                texts[-1] = f"{texts[-1]} {inline(cell)}"
                continue
            if down > 1:
                spanned |= dict.fromkeys(range(len(texts), min(len(texts) + wide, _MOST_COLUMNS)), down)
            texts += [inline(cell), *[""] * (min(wide, _MOST_COLUMNS - len(texts)) - 1)]
        _fill_spans(texts, spanned)
        spanned = {column: left - 1 for column, left in spanned.items() if left > 1}
        if any(texts):
            rows.append(texts)
    return rows


def _fill_spans(texts: list[str], spanned: dict[int, int]) -> None:
    while spanned.get(len(texts), 0) and len(texts) < _MOST_COLUMNS:
        texts.append("")


def _row_elements(element: Element) -> Iterator[Element]:
    """The rows of a table, not those of tables within it."""
    waiting = [element]
    while waiting:
        one = waiting.pop()
        if one is not element and (one.tag == "tr" or not _ROWS.isdisjoint(one.classes)):
            yield one
        elif one is element or one.tag in ("tbody", "thead", "tfoot") or one.tag in ("span", "div"):
            waiting.extend(child for child in reversed(one.children) if isinstance(child, Element))


def _cell_elements(row: Element) -> list[Element]:
    cells = (child for child in row.children if isinstance(child, Element))
    return [cell for cell in cells if cell.tag in ("td", "th") or not _CELLS.isdisjoint(cell.classes)]


def _span_of(cell: Element, name: str, most: int) -> int:
    value = cell.attributes.get(name, "1").strip()
    return max(1, min(int(value), most)) if re.fullmatch("[0-9]{1,6}", value) else 1


def _equation_number(row: Element) -> str:
    for one in walk_elements(row):
        if "ltx_tag_equation" in one.classes or "ltx_tag_equationgroup" in one.classes:
            return text_of(one).strip()
    cells = _cell_elements(row)
    match = _NUMBER.fullmatch(text_of(cells[-1])) if cells else None
    return match.group(1) if match else ""


def _join_lines(lines: list[str]) -> str:
    return lines[0] if len(lines) == 1 else "\\begin{aligned} " + " \\\\ ".join(lines) + " \\end{aligned}"
