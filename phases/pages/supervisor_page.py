"""A page that draws how an agent was supervised. It is escaped, runs nothing, and loads nothing."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from phases.pages.render import Shape, page_start, render_file
from phases.pages.supervisor_events import (
    INTERVENTIONS,
    LaneMark,
    Lanes,
    Span,
    TimelineRow,
    build_lanes,
    plain_words,
    timeline_rows,
)
from phases.pages.supervisor_story import lane_of, last_assertion, lines_of_acts, texts_told
from phases.pages.supervisor_text import (
    budget_lines,
    detail_of,
    headline_of,
    rounds_of,
    snapshot_lines,
    steps_after_stop,
)
from phases.pages.supervisor_view import MARKS, DrawnFallback, DrawnStep, View, retry_text, steps_of
from phases.supervision.graph import TaskGraph
from pipeline.base.text_escaping import escape_text

PAGE_START = page_start("supervisor")
MOST_ROWS = 3000
_SPANS = ("free", "forced", "takeover", "handoff_pending", "cooldown")
_MARKS = (
    ("signal", "signal", "signal"),
    ("hint", "hint", "hint"),
    ("block", "block", "call kept back"),
    ("takeover", "led", "takeover"),
    ("handoff", "back", "handback"),
    ("stop", "stop", "stop"),
)


def render_page(view: View) -> str:
    """The page, as HTML."""
    title = f"Supervision of {view.task}"
    values = {"title": title, **describe_supervision(view)}
    return render_file(PAGE_START, title, "supervision_file.html", values, ("rounds", "graph", "events"))


def describe_supervision(view: View) -> dict[str, Any]:
    """What the template shows."""
    rows = timeline_rows(view.events)
    graph, report, lanes = view.graph, view.report, build_lanes(view)
    return {
        "headline": headline_of(view),
        "detail": detail_of(view),
        "steps": steps_after_stop(view),
        "take_over_asked": view.take_over_asked,
        "warning": str(report["warning"]) if report and report["warning"] else "",
        "damage": view.damage[:20],
        "lanes": draw_lanes(lanes),
        "legend": _list_legend(lanes),
        "acts": list(lines_of_acts(view.acts))[:MOST_ROWS],
        "lane": lane_of(view.acts)[:MOST_ROWS],
        "told": texts_told(view.lines),
        "assertion": last_assertion(view.lines),
        "graph": graph and {"facts": graph, "goal": graph.goal[:300], **draw_graph(graph)},
        "marks": MARKS,
        "snapshots": snapshot_lines(view),
        "budgets": budget_lines(report["budgets"], view.config, view.mode) if report else (),
        "events": [_describe_event(row) for row in rows[:MOST_ROWS]],
        "more": max(0, len(rows) - MOST_ROWS),
    }


def _list_legend(lanes: Lanes) -> list[tuple[Shape, str]]:
    """What is in the drawing, and nothing else."""
    values = {span.value for span in (*lanes.modes, *lanes.phases)}
    shapes = {*lanes.interventions, *(["signal"] if lanes.signals else []), *(["stop"] if lanes.stop else [])}
    rows = [(legend_swatch("span", name), plain_words(name)) for name in _SPANS if name in values]
    return [*rows, *((legend_swatch(shape, kind), word) for shape, kind, word in _MARKS if shape in shapes)]


def _describe_event(row: TimelineRow) -> dict[str, Any]:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(row.ts // 1000))
    return {
        "rounds": rounds_of(row),
        "turn": row.first,
        "at": at,
        "kind": row.kind,
        "times": row.times,
        "text": row.text,
    }


_WIDTH, _WIDEST = 980, 30_000
_STEP_AT_LEAST, _STEP_AT_MOST = 5.0, 64.0
_ROW, _BAR, _TOP, _PAD = 22, 16, 24, 12
_MARKED_TEXT = 42
_TICK_DISTANCE = 46
_NICE = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000)
_CLASS = {"hint": "hint", "block": "block", "takeover": "led", "handoff": "back"}
_NAMES = {"hint": "hints", "block": "calls kept back", "takeover": "takeover", "handoff": "handback"}


class _Scale(NamedTuple):
    first: int
    last: int
    step: float

    def left(self, turn: int) -> float:
        """Where the room of a round begins."""
        return _PAD + (turn - self.first) * self.step

    def middle(self, turn: int) -> float:
        return self.left(turn) + self.step / 2

    @property
    def width(self) -> float:
        return self.left(self.last + 1) + _PAD


def draw_lanes(lanes: Lanes) -> dict[str, Any]:
    """The names of the lanes, and the lanes beside them, as shapes."""
    scale = _scale_of(lanes)
    rows = [*lanes.signals, *(name for name in INTERVENTIONS if name in lanes.interventions)]
    height = _TOP + (2 + len(rows)) * _ROW + (_ROW if lanes.stop else 0) + 8
    names = ["L1 mode", "L2 phase", *(plain_words(name) if name in lanes.signals else _NAMES[name] for name in rows)]
    return {
        "names": list(_draw_names(names, lanes)),
        "shapes": list(_draw_rows(lanes, scale, height)),
        "width": f"{scale.width:.0f}",
        "height": height,
        "first": lanes.first,
        "last": lanes.last,
    }


def legend_swatch(shape: str, kind: str) -> Shape:
    """A small drawing for the legend: a span of a lane, or a mark."""
    if shape == "span":
        return Shape("rect", {"class": f"span {kind}", "width": 16, "height": 12, "x": 1, "y": 2})
    return _draw_shape(shape, kind, 9, 8)


def _scale_of(lanes: Lanes) -> _Scale:
    rounds = lanes.last - lanes.first + 1
    step = min(_STEP_AT_MOST, max(_STEP_AT_LEAST, (_WIDTH - 2 * _PAD) / rounds))
    return _Scale(lanes.first, lanes.last, min(step, _WIDEST / rounds))


def _draw_names(names: Iterable[str], lanes: Lanes) -> Iterator[Shape]:
    yield Shape("text", {"class": "soft", "x": 0, "y": 14}, "round")
    for number, name in enumerate([*names, *(["stop"] if lanes.stop else [])]):
        yield Shape("text", {"class": "lane" if number < 2 else None, "x": 0, "y": _TOP + number * _ROW + 13}, name)


def _draw_rows(lanes: Lanes, scale: _Scale, height: int) -> Iterator[Shape]:
    yield from _draw_axis(scale, height)
    yield from _draw_spans(lanes.modes, scale, _TOP)
    yield from _draw_spans(lanes.phases, scale, _TOP + _ROW)
    top = _TOP + 2 * _ROW
    for marks in lanes.signals.values():
        yield from _draw_marks(marks, scale, top, ("signal", "signal"))
        top += _ROW
    for name in INTERVENTIONS:
        if name in lanes.interventions:
            yield from _draw_marks(lanes.interventions[name], scale, top, (name, _CLASS[name]))
            top += _ROW
    if lanes.stop:
        yield _draw_stop(lanes.stop, scale, top)


def _draw_axis(scale: _Scale, height: int) -> Iterator[Shape]:
    """Round numbers as far apart as they can be read, with a line each."""
    apart = next((nice for nice in _NICE if nice * scale.step >= _TICK_DISTANCE), _NICE[-1])
    if scale.step >= _TICK_DISTANCE / 2:
        apart = 1  # one or two digits have room enough
    at = [turn for turn in range(scale.first, scale.last + 1) if turn % apart == 0 or turn == scale.first]
    if len(at) > 1 and (at[1] - at[0]) * scale.step < _TICK_DISTANCE / 2 < apart * scale.step:
        del at[0]
    for turn in at:
        x = scale.middle(turn)
        yield _draw_line("grid", x, height - 4)
        yield Shape("text", {"class": "soft", "x": f"{x:.1f}", "y": 14, "text-anchor": "middle"}, str(turn))


def _draw_line(kind: str, x: float, bottom: float) -> Shape:
    return Shape("line", {"class": kind, "x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": _TOP - 4, "y2": bottom})


def _draw_spans(spans: Iterable[Span], scale: _Scale, top: float) -> Iterator[Shape]:
    for span in spans:
        left, width = scale.left(span.first), scale.left(span.last + 1) - scale.left(span.first)
        rounds = f"round {span.first}" if span.first == span.last else f"rounds {span.first} to {span.last}"
        word = plain_words(span.value)
        place = {"x": f"{left:.1f}", "y": top + 1, "width": f"{width:.1f}", "height": _BAR}
        inside = [Shape("rect", {"class": f"span {span.value}", **place})]
        if width > 12 + 7 * len(word):
            inside.append(Shape("text", {"x": f"{left + 5:.1f}", "y": top + 13}, word))
        yield Shape("g", {}, title=f"{word}, {rounds}", inside=inside)


def _draw_marks(marks: Iterable[LaneMark], scale: _Scale, top: float, look: tuple[str, str]) -> Iterator[Shape]:
    for mark in marks:
        times = f", {mark.times} times" if mark.times > 1 else ""
        inside = [_draw_shape(*look, scale.middle(mark.round), top + 9)]
        yield Shape("g", {}, title=f"round {mark.round}{times}: {mark.text}", inside=inside)


def _draw_shape(name: str, kind: str, x: float, y: float) -> Shape:
    """Each kind of mark has a shape of its own: it is told without its colour."""
    if name == "block":
        return Shape("rect", {"class": kind, "x": f"{x - 4.5:.1f}", "y": f"{y - 4.5:.1f}", "width": 9, "height": 9})
    if name == "hint":
        return Shape("circle", {"class": kind, "cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": 4.5})
    if name == "stop":
        return Shape("path", {"class": kind, "d": f"M{x - 5:.1f} {y - 5:.1f}l10 10m0-10l-10 10"})
    outline = {"takeover": "m0-6l6 11h-12z", "handoff": "m0 6l6-11h-12z", "signal": "m0-6l4.5 6l-4.5 6l-4.5-6z"}[name]
    return Shape("path", {"class": kind, "d": f"M{x:.1f} {y:.1f}{outline}"})


def _draw_stop(stop: LaneMark, scale: _Scale, top: float) -> Shape:
    x = scale.middle(stop.round)
    text = escape_text(stop.text)
    text = text if len(text) <= _MARKED_TEXT else text[: _MARKED_TEXT - 1] + "…"
    is_left = x > scale.width / 2
    place = {"x": f"{x - 10 if is_left else x + 10:.1f}", "text-anchor": "end" if is_left else None}
    inside = [
        _draw_line("stop stop-line", x, top + 4),
        _draw_shape("stop", "stop", x, top + 9),
        Shape("text", {**place, "y": top + 13}, text),
    ]
    return Shape("g", {}, title=f"round {stop.round}: stopped, {stop.text}", inside=inside)


_BOX, _TALL, _GAP, _BELOW, _MARGIN = 168, 78, 34, 34, 8
_LINE_WIDTH, _MOST_LINES = 23, 2


def draw_graph(graph: TaskGraph) -> dict[str, Any]:
    """The graph as shapes."""
    main, unbound = steps_of(graph)
    columns = [[*shown.fallbacks] for shown in main] + ([[*unbound]] if unbound else [])
    deepest = max(sum(len(fallback.steps) for fallback in column) for column in columns)
    width = 2 * _MARGIN + len(columns) * (_BOX + _GAP) - _GAP
    height = 2 * _MARGIN + _TALL + deepest * (_TALL + _BELOW)
    parts: list[Shape] = []
    middle = _MARGIN + _TALL // 2
    for number, shown in enumerate(main):
        left = _MARGIN + number * (_BOX + _GAP)
        if number:
            parts += _draw_edge(f"M{left - _GAP} {middle}H{left - 2}", (left - 2, middle))
        parts.append(_draw_box(shown.step, left, _MARGIN))
    for number, column in enumerate(columns):
        bound = number < len(main)
        parts += _draw_below(column, _MARGIN + number * (_BOX + _GAP), bound=bound)
    return {"width": width, "height": height, "shapes": parts}


def _draw_below(fallbacks: list[DrawnFallback], left: int, *, bound: bool) -> Iterator[Shape]:
    """Fallbacks of one step, one under the other, each hanging on a dashed line."""
    top, centre = _MARGIN + _TALL + _BELOW, left + _BOX // 2
    for number, fallback in enumerate(fallbacks):
        for place, step in enumerate(fallback.steps):
            if place:
                yield from _draw_edge(f"M{centre} {top - _BELOW}V{top - 2}", (centre, top - 2), down=True)
            elif bound:
                yield from _draw_hanging(number, left, top)
            yield _draw_box(step, left, top)
            if not place and fallback.condition:
                words = _fit_text(plain_words(fallback.condition), _LINE_WIDTH)[0]
                x = left + _BOX // 2 + 6 if not number else left + 4
                yield Shape("text", {"class": "soft", "x": x, "y": top - 8}, words)
            top += _TALL + _BELOW


def _draw_hanging(number: int, left: int, top: int) -> list[Shape]:
    """From a step down to the first of a fallback; a further fallback is reached round those above it."""
    bottom, centre, middle = _MARGIN + _TALL, left + _BOX // 2, top + _TALL // 2
    if not number:
        return _draw_edge(f"M{centre} {bottom}V{top - 2}", (centre, top - 2), down=True, kind="fallback")
    side = max(left - 4 - 5 * number, left - _GAP + 6)
    path = f"M{left + 10} {bottom}V{bottom + 4 + min(4 * number, 20)}H{side}V{middle}H{left - 2}"
    return _draw_edge(path, (left - 2, middle), kind="fallback")


def _draw_edge(path: str, point: tuple[int, int], *, down: bool = False, kind: str = "") -> list[Shape]:
    """A line with a tip at its end; the tip itself is never dashed."""
    tip = "l-4-6m4 6l4-6" if down else "l-6-4m6 4l-6 4"
    x, y = point
    tipped = Shape("path", {"class": "edge", "d": f"M{x} {y}{tip}"})
    return [Shape("path", {"class": f"edge {kind}".strip(), "d": path}), tipped]


def _draw_box(step: DrawnStep, left: int, top: int) -> Shape:
    """One step: its mark and type, its title in two lines at most, its state, and how often it was tried again."""
    node = step.node
    corner = 18 if node.type == "fallback" else 5
    tried = retry_text(node)
    told = ", ".join(part for part in (node.title, str(node.type), step.state, tried, node.error or "") if part)
    soft, right = {"class": "soft"}, {"x": left + _BOX - 8, "text-anchor": "end"}
    box = {"x": left, "y": top, "width": _BOX, "height": _TALL, "rx": corner}
    inside = [
        Shape("rect", {"class": f"box {step.state}", **box}),
        Shape("text", {"class": f"mark {step.state}", "x": left + 10, "y": top + 20}, MARKS[step.state]),
        Shape("text", {**soft, "x": left + 28, "y": top + 19}, str(node.type)),
        Shape("text", {**soft, **right, "y": top + 19}, node.id[:14]),
        *(
            Shape("text", {"x": left + 10, "y": top + 39 + 14 * number}, line)
            for number, line in enumerate(_fit_text(node.title, _LINE_WIDTH, _MOST_LINES))
        ),
        Shape("text", {"class": step.state, "x": left + 10, "y": top + 71}, step.state),
        Shape("text", {**soft, **right, "y": top + 71}, tried),
    ]
    return Shape("g", {}, title=told, inside=inside)


def _fit_text(text: str, width: int, most: int = 1) -> list[str]:
    """The text in so many lines of that width at most; what has no room is left out, and a sign says so."""
    lines, line = [], ""
    for word in escape_text(" ".join(text.split())).split(" "):
        longer = f"{line} {word}" if line else word
        if line and _width_of(longer) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    kept = lines[:most]
    if len(lines) > most:
        kept[-1] += "…"
    return [_cut_line(line, width) for line in kept]


def _cut_line(line: str, width: int) -> str:
    if _width_of(line) <= width:
        return line
    while _width_of(line) > width - 1:
        line = line[:-1]
    return f"{line.rstrip()}…"


def _width_of(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
