"""The graph of steps as a drawing, in SVG: the main branch from left to right, what stands in below it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from phases.pages.markup import in_html
from phases.pages.supervisor.rows import plain
from phases.pages.supervisor.steps import MARKS, Fallback, Step, retries, shown_steps
from phases.supervision.graph import TaskGraph
from pipeline.base.text_escaping import escaped

_BOX, _TALL, _GAP, _BELOW, _PAD = 168, 78, 34, 34, 8
_LINE_WIDTH, _MOST_LINES = 23, 2


def graph_drawing(graph: TaskGraph) -> str:
    """The graph, in a frame that scrolls where it is wide."""
    main, unbound = shown_steps(graph)
    columns = [[*shown.fallbacks] for shown in main] + ([[*unbound]] if unbound else [])
    deepest = max(sum(len(fallback.steps) for fallback in column) for column in columns)
    width = 2 * _PAD + len(columns) * (_BOX + _GAP) - _GAP
    height = 2 * _PAD + _TALL + deepest * (_TALL + _BELOW)
    parts: list[str] = []
    middle = _PAD + _TALL // 2
    for number, shown in enumerate(main):
        left = _PAD + number * (_BOX + _GAP)
        if number:
            parts.append(_edge(f"M{left - _GAP} {middle}H{left - 2}", (left - 2, middle)))
        parts.append(_box(shown.step, left, _PAD))
    for number, column in enumerate(columns):
        bound = number < len(main)
        parts += _below(column, _PAD + number * (_BOX + _GAP), bound=bound)
    return (
        '<div class="wide" tabindex="0" role="group" aria-label="The graph; scrolls sideways">'
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="The graph of steps, {graph.progress} % done">{"".join(parts)}</svg></div>'
    )


def _below(fallbacks: list[Fallback], left: int, *, bound: bool) -> Iterator[str]:
    """Fallbacks of one step, one under the other, each hanging on a dashed line."""
    top, centre = _PAD + _TALL + _BELOW, left + _BOX // 2
    for number, fallback in enumerate(fallbacks):
        for place, step in enumerate(fallback.steps):
            if place:
                yield _edge(f"M{centre} {top - _BELOW}V{top - 2}", (centre, top - 2), down=True)
            elif bound:
                yield _hanging(number, left, top)
            yield _box(step, left, top)
            if not place and fallback.condition:
                words = _fitted(plain(fallback.condition), _LINE_WIDTH)[0]
                x = left + _BOX // 2 + 6 if not number else left + 4
                yield f'<text class="soft" x="{x}" y="{top - 8}">{in_html(words)}</text>'
            top += _TALL + _BELOW


def _hanging(number: int, left: int, top: int) -> str:
    """From a step down to the first of a fallback; a further fallback is reached round those above it."""
    bottom, centre, middle = _PAD + _TALL, left + _BOX // 2, top + _TALL // 2
    if not number:
        return _edge(f"M{centre} {bottom}V{top - 2}", (centre, top - 2), down=True, kind="fallback")
    side = max(left - 4 - 5 * number, left - _GAP + 6)
    path = f"M{left + 10} {bottom}V{bottom + 4 + min(4 * number, 20)}H{side}V{middle}H{left - 2}"
    return _edge(path, (left - 2, middle), kind="fallback")


def _edge(path: str, point: tuple[int, int], *, down: bool = False, kind: str = "") -> str:
    """A line with a tip at its end; the tip itself is never dashed."""
    tip = "l-4-6m4 6l4-6" if down else "l-6-4m6 4l-6 4"
    x, y = point
    return f'<path class="edge {kind}" d="{path}"/><path class="edge" d="M{x} {y}{tip}"/>'


def _box(step: Step, left: int, top: int) -> str:
    """One step: its mark and type, its title in two lines at most, its state, and how often it was tried again."""
    node = step.node
    corner = 18 if node.type == "fallback" else 5
    tried = retries(node)
    told = ", ".join(part for part in (node.title, str(node.type), step.state, tried, node.error or "") if part)
    title = "".join(
        f'<text x="{left + 10}" y="{top + 39 + 14 * number}">{in_html(line)}</text>'
        for number, line in enumerate(_fitted(node.title, _LINE_WIDTH, _MOST_LINES))
    )
    return (
        f'<g><title>{in_html(told)}</title><rect class="box {step.state}" x="{left}" y="{top}" width="{_BOX}" height="{_TALL}" '
        f'rx="{corner}"/><text class="mark {step.state}" x="{left + 10}" y="{top + 20}">{MARKS[step.state]}</text>'
        f'<text class="soft" x="{left + 28}" y="{top + 19}">{in_html(str(node.type))}</text>'
        f'<text class="soft" x="{left + _BOX - 8}" y="{top + 19}" text-anchor="end">{in_html(node.id[:14])}</text>'
        f'{title}<text class="{step.state}" x="{left + 10}" y="{top + 71}">{step.state}</text>'
        f'<text class="soft" x="{left + _BOX - 8}" y="{top + 71}" text-anchor="end">{tried}</text></g>'
    )


def _fitted(text: str, width: int, most: int = 1) -> list[str]:
    """The text in so many lines of that width at most; what has no room is left out, and a sign says so."""
    lines, line = [], ""
    for word in escaped(" ".join(text.split())).split(" "):
        longer = f"{line} {word}" if line else word
        if line and _width(longer) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    kept = lines[:most]
    if len(lines) > most:
        kept[-1] += "…"
    return [_cut(line, width) for line in kept]


def _cut(line: str, width: int) -> str:
    if _width(line) <= width:
        return line
    while _width(line) > width - 1:
        line = line[:-1]
    return f"{line.rstrip()}…"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
