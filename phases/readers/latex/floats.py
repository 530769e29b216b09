"""Figures, tables and their captions, which stand apart from the text."""

from __future__ import annotations

from phases.readers.latex.counters import Anchor
from phases.readers.latex.state import Block, BlockFlow
from phases.readers.latex.walk import Act, Walk, fence_code, one_line

_KINDS = {
    "figure": "figure", "wrapfigure": "figure", "SCfigure": "figure", "sidewaysfigure": "figure", "teaserfigure": "figure",
    "floatingfigure": "figure", "marginfigure": "figure", "table": "table", "wraptable": "table", "SCtable": "table",
    "sidewaystable": "table", "margintable": "table", "listing": "listing", "algorithm": "algorithm",
    "algorithm2e": "algorithm", "program": "listing", "promptbox": "listing",
}  # fmt: skip
_MEASURED = {"wrapfigure": 2, "wraptable": 2, "floatingfigure": 1}
_DEEPEST = 3
"""How many floats may stand in one another."""
_PARTS = ("subfigure", "subtable", "subfloat", "subcaptionblock")


def _on_float(walk: Walk, name: str) -> None:
    base = name.rstrip("*")
    walk.skip(_MEASURED.get(base, 0))
    if walk.floats < _DEEPEST:
        _stand_apart(walk, name, _KINDS[base])
    else:
        walk.push(name)


def _stand_apart(walk: Walk, name: str, counter: str) -> None:
    """Opens a flow of its own; when it ends, its blocks wait for the end of the paragraph around it."""
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
    """The steps of an algorithm, within a float that counts it or alone."""
    walk.option()
    if walk.flow.kind == "algorithm" or walk.floats >= _DEEPEST:
        walk.push(name)
    else:
        _stand_apart(walk, name, "steps")


def _step_blocks(flow: BlockFlow) -> list[Block]:
    lines = [*flow.captions, *(text for _, text in flow.blocks)]
    return [("code", fence_code("\n".join(lines), "algorithm"))] if lines else []


def _captions_first(blocks: list[Block]) -> list[Block]:
    """Each caption above what it belongs to, wherever the source has it."""
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
    """A part of a float, with a caption that bears a letter."""
    walk.skip(0)
    walk.raw()
    walk.push(name)


def _on_caption(walk: Walk, lexeme: str) -> None:
    walk.skip(0)
    _set_caption(walk, "table" if walk.grids and not walk.flow.counter else walk.flow.counter or "figure", lexeme)


def _caption_of(walk: Walk, lexeme: str) -> None:
    _set_caption(walk, _KINDS.get(walk.word(), "figure"), lexeme)


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
    """\\subfloat[caption]{…}: what it holds is an ordinary group."""
    if walk.follows("["):
        _caption_part(walk, bracket=True)


def _on_subcaption(walk: Walk, lexeme: str) -> None:
    _caption_part(walk, bracket=False)


FLOATS: dict[str, Act] = {
    **dict.fromkeys(("\\subfigure", "\\subfloat", "\\subtable"), _part_command),
    **dict.fromkeys(("\\caption", "\\tabcaption", "\\figcaption"), _on_caption),
    **dict.fromkeys(("\\subcaption", "\\subcaptionbox"), _on_subcaption),
    "\\captionof": _caption_of,
}
FLOAT_ENVIRONMENTS: dict[str, Act] = {
    **{name + star: _on_float for name in _KINDS for star in ("", "*")},
    **dict.fromkeys(("subfigure", "subtable", "subcaptionblock", "subfigure*"), _on_part),
    **dict.fromkeys(("algorithmic", "algorithmicx", "algpseudocode", "pseudocode"), _on_algorithmic),
}
