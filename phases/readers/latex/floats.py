"""Read figures, tables and algorithms with their captions, apart from the text, and the cells of tables."""

from __future__ import annotations

import re

from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import (
    DEEPEST_CAPTURE,
    Act,
    Anchor,
    Block,
    BlockFlow,
    Walk,
    escape_structure,
    fence_code,
    one_line,
)

_KINDS = {
    "figure": "figure", "wrapfigure": "figure", "SCfigure": "figure", "sidewaysfigure": "figure", "teaserfigure": "figure",
    "floatingfigure": "figure", "marginfigure": "figure", "table": "table", "wraptable": "table", "SCtable": "table",
    "sidewaystable": "table", "margintable": "table", "listing": "listing", "algorithm": "algorithm",
    "algorithm2e": "algorithm", "program": "listing", "promptbox": "listing",
}  # fmt: skip
_MEASURED = {"wrapfigure": 2, "wraptable": 2, "floatingfigure": 1}
_DEEPEST = 3
"""Nesting depth of floats."""
_PARTS = ("subfigure", "subtable", "subfloat", "subcaptionblock")
_ARGUMENTS = {"tabular": 1, "tabular*": 2, "tabularx": 2, "tabulary": 2, "longtable": 1, "tabu": 1, "tblr": 1, "longtblr": 1,
              "NiceTabular": 1, "supertabular": 1, "xltabular": 2, "NiceTabular*": 2, "longtabu": 1, "tabularx*": 2}  # fmt: skip
_MEASURE = re.compile(r"[-+ \d.]{0,20}(?:pt|em|ex|in|cm|mm|bp|sp)? ?\Z")
_LARGEST_GRID = 200_000
_WIDEST_SPAN = 50


def _on_float(walk: Walk, name: str) -> None:
    base = name.rstrip("*")
    walk.skip(_MEASURED.get(base, 0))
    # floats nest only in broken papers, and each level copies its blocks
    if walk.floats < _DEEPEST:
        _stand_apart(walk, name, _KINDS[base])
    else:
        walk.push(name)


def _stand_apart(walk: Walk, name: str, counter: str) -> None:
    flow = BlockFlow("algorithm" if counter in ("algorithm", "steps") else "text", counter)

    def close(_: str) -> None:
        walk.floats -= 1
        blocks = _step_blocks(flow) if flow.kind == "algorithm" else _captions_first(flow.blocks)
        if "".join(walk.flow.words).strip() or walk.captures:
            walk.flow.pending += blocks
        else:
            walk.flow.blocks += blocks

    walk.push(name, close)
    walk.floats += 1
    walk.flow, walk.out, walk.captures = flow, flow.words, 0


def _on_algorithmic(walk: Walk, name: str) -> None:
    walk.option()
    if walk.flow.kind == "algorithm" or walk.floats >= _DEEPEST:
        walk.push(name)
    else:
        _stand_apart(walk, name, "steps")


def _step_blocks(flow: BlockFlow) -> list[Block]:
    lines = [*flow.captions, *(text for _, text in flow.blocks)]
    return [("code", fence_code("\n".join(lines), "algorithm"))] if lines else []


def _captions_first(blocks: list[Block]) -> list[Block]:
    """Move each caption above its float, wherever the source has it."""
    captions = [index for index, (kind, _) in enumerate(blocks) if kind == "caption"]
    if len(captions) == 1:
        order = {"caption": 0, "part": 1}
        return sorted(blocks, key=lambda block: order.get(block[0], 2))
    if not captions or captions[0] == 0:
        return blocks
    ordered: list[Block] = []
    group: list[Block] = []
    for block in blocks:
        if block[0] == "caption":
            ordered += [block, *group]
            group = []
        else:
            group.append(block)
    return ordered + group


def _on_part(walk: Walk, name: str) -> None:
    walk.skip(0)
    walk.raw()
    walk.push(name)


def _on_caption(walk: Walk, lexeme: str) -> None:
    walk.skip(0)
    _set_caption(walk, "table" if walk.grids and not walk.flow.counter else walk.flow.counter or "figure", lexeme)


def _set_caption(walk: Walk, counter: str, lexeme: str) -> None:
    if any(walk.open[part] for part in _PARTS):
        _caption_part(walk, bracket=False)
        return
    number = "" if lexeme.endswith("*") else walk.known.counters.step(counter)
    walk.anchor = Anchor(counter, number) if number else walk.anchor
    flow = walk.flow
    flow.parts = 0

    def close(text: str) -> None:
        words = one_line(text)
        label = f"{counter.capitalize()} {number}"
        if flow.kind == "algorithm":
            flow.captions.append(f"{label}: {words}" if number else words)
        else:
            flow.blocks.append(("caption", f"> **{label}.** {words}".rstrip() if number else f"> {words}"))

    walk.capture(close)


def _caption_part(walk: Walk, *, bracket: bool) -> None:
    flow = walk.flow
    flow.parts += 1
    letter = chr(ord("a") + (flow.parts - 1) % 26)
    counter = flow.counter or "figure"
    before = walk.known.counters.values.get(counter, 0)
    above = any(kind == "caption" for kind, _ in flow.blocks)
    walk.anchor = Anchor(counter, f"{before if above else before + 1}{letter}")

    def close(text: str) -> None:
        words = one_line(text)
        flow.blocks += [("part", f"> ({letter}) {words}")] if words else []

    walk.capture(close, bracket=bracket)


def _part_command(walk: Walk, lexeme: str) -> None:
    if walk.follows("["):
        _caption_part(walk, bracket=True)


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
    count = plain_of(walk.raw())
    walk.raw()
    frame = walk.frames[-1] if walk.frames else None
    if frame and frame.grid is not None and count.isdecimal() and count.isascii():
        frame.span = min(max(1, int(count[:4])), _WIDEST_SPAN)


def _on_rule(walk: Walk, lexeme: str) -> None:
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


FLOATS: dict[str, Act] = {
    **dict.fromkeys(("\\subfigure", "\\subfloat", "\\subtable"), _part_command),
    **dict.fromkeys(("\\caption", "\\tabcaption", "\\figcaption"), _on_caption),
    **dict.fromkeys(("\\subcaption", "\\subcaptionbox"), lambda walk, _: _caption_part(walk, bracket=False)),
    "\\captionof": lambda walk, lexeme: _set_caption(walk, _KINDS.get(walk.word(), "figure"), lexeme),
}
FLOAT_ENVIRONMENTS: dict[str, Act] = {
    **{name + star: _on_float for name in _KINDS for star in ("", "*")},
    **dict.fromkeys(("subfigure", "subtable", "subcaptionblock", "subfigure*"), _on_part),
    **dict.fromkeys(("algorithmic", "algorithmicx", "algpseudocode", "pseudocode"), _on_algorithmic),
}
TABLES: dict[str, Act] = {
    **dict.fromkeys(("\\makecell", "\\shortstack", "\\thead", "\\specialcell"), lambda walk, _: walk.skip(0)),
    **dict.fromkeys(("\\cmidrule", "\\cline", "\\cdashline", "\\hdashline", "\\Xhline", "\\specialrule"), _on_rule),
    **dict.fromkeys(("\\toprule", "\\midrule", "\\bottomrule", "\\addlinespace", "\\hline"), _on_rule),
    "&": _on_cell,
    "\\\\": _line_end,
    "\\tabularnewline": _line_end,
    "\\multicolumn": _on_multicolumn,
}
TABLE_ENVIRONMENTS: dict[str, Act] = dict.fromkeys(_ARGUMENTS, _on_table)
