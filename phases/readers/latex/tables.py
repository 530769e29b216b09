"""Tables: a grid of cells becomes a pipe table."""

from __future__ import annotations

import re

from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import DEEPEST_CAPTURE, Act, Walk, escape_structure, one_line

_ARGUMENTS = {"tabular": 1, "tabular*": 2, "tabularx": 2, "tabulary": 2, "longtable": 1, "tabu": 1, "tblr": 1, "longtblr": 1,
              "NiceTabular": 1, "supertabular": 1, "xltabular": 2, "NiceTabular*": 2, "longtabu": 1, "tabularx*": 2}  # fmt: skip
_MEASURE = re.compile(r"[-+ \d.]{0,20}(?:pt|em|ex|in|cm|mm|bp|sp)? ?\Z")
_LARGEST_GRID = 200_000
_WIDEST_SPAN = 50


def _on_table(walk: Walk, name: str) -> None:
    for _ in range(_ARGUMENTS[name]):
        walk.skip(0)
        walk.raw()
    if walk.captures >= DEEPEST_CAPTURE:
        walk.push(name)
        return
    rows: list[list[str]] = [[]]

    def close(cell: str) -> None:
        walk.grids -= 1
        rows[-1].append(cell)
        _set_table(walk, rows)

    frame = walk.push(name, close)
    frame.grid = rows
    walk.grids += 1
    walk.grab()


def _on_cell(walk: Walk, lexeme: str) -> None:
    frame = walk.frames[-1] if walk.frames else None
    if frame is None or frame.grid is None:
        walk.out.append(" ")
        return
    frame.grid[-1] += ["".join(walk.out), *[""] * (frame.span - 1)]
    frame.span = 1
    walk.out = []


def _line_end(walk: Walk, lexeme: str) -> None:
    if walk.at < len(walk.tokens) and walk.tokens[walk.at].startswith("*"):
        walk.tokens[walk.at] = walk.tokens[walk.at][1:] or " "
    at = walk.at
    option = walk.option()
    if option is not None and not _MEASURE.match("".join(option)) and not option[0].startswith("\\"):
        walk.at = at
    frame = walk.frames[-1] if walk.frames else None
    if frame and frame.grid is not None:
        _on_cell(walk, lexeme)
        frame.grid.append([])
    elif walk.flow.kind == "algorithm" and not walk.captures:
        walk.flush()
    else:
        walk.out.append(" ")


def _on_multicolumn(walk: Walk, lexeme: str) -> None:
    """\\multicolumn{2}{c}{text}: the text stands in the first of its columns."""
    count = plain_of(walk.raw())
    walk.raw()
    frame = walk.frames[-1] if walk.frames else None
    if frame and frame.grid is not None and count.isdecimal() and count.isascii():
        frame.span = min(max(1, int(count[:4])), _WIDEST_SPAN)


def _on_makecell(walk: Walk, lexeme: str) -> None:
    """\\makecell[l]{one \\\\ two}: its lines are one cell."""
    walk.skip(0)


def _on_rule(walk: Walk, lexeme: str) -> None:
    """\\cmidrule(lr){2-3}, \\midrule[1pt]: lines that are drawn."""
    text = walk.tokens[walk.at] if walk.at < len(walk.tokens) else ""
    if lexeme == "\\cmidrule" and walk.option() is None and text.lstrip().startswith("(") and ")" in text:
        walk.tokens[walk.at] = text.partition(")")[2] or " "
    walk.skip(0)
    if lexeme in ("\\cmidrule", "\\cline", "\\cdashline", "\\Xhline"):
        walk.raw()
    if lexeme == "\\specialrule":
        for _ in range(3):
            walk.raw()


def _set_table(walk: Walk, rows: list[list[str]]) -> None:
    cells = [[one_line(cell) for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    width = max(map(len, cells), default=0)
    if walk.captures:
        walk.out.append(" " + "; ".join(", ".join(filter(None, row)) for row in cells) + " ")
    elif width == 1:
        for row in cells:
            walk.block("text", escape_structure(row[0]))
    elif cells:
        while width > 1 and not any(row[width - 1] for row in cells if len(row) == width):
            cells, width = [row[: width - 1] for row in cells], width - 1
        pad = width if width * len(cells) <= _LARGEST_GRID else 0
        lines = [_table_line([*row, *[""] * (pad - len(row))]) for row in cells]
        walk.block("table", "\n".join([lines[0], "|" + "---|" * width, *lines[1:]]))


def _table_line(row: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


TABLES: dict[str, Act] = {
    **dict.fromkeys(("\\makecell", "\\shortstack", "\\thead", "\\specialcell"), _on_makecell),
    **dict.fromkeys(("\\cmidrule", "\\cline", "\\cdashline", "\\hdashline", "\\Xhline", "\\specialrule"), _on_rule),
    **dict.fromkeys(("\\toprule", "\\midrule", "\\bottomrule", "\\addlinespace", "\\hline"), _on_rule),
    "&": _on_cell,
    "\\\\": _line_end,
    "\\tabularnewline": _line_end,
    "\\multicolumn": _on_multicolumn,
}
TABLE_ENVIRONMENTS: dict[str, Act] = dict.fromkeys(_ARGUMENTS, _on_table)
