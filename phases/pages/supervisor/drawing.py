"""The lanes of a run as a drawing over its rounds, in SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

from phases.pages.markup import in_html
from phases.pages.supervisor.lanes import INTERVENTIONS, Lanes, Mark, Span
from phases.pages.supervisor.rows import plain
from pipeline.base.text_escaping import escaped

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


def drawing_of(lanes: Lanes) -> str:
    """The names of the lanes, and beside them the lanes, which scroll where they are wide."""
    scale = _scale(lanes)
    rows = [*lanes.signals, *(name for name in INTERVENTIONS if name in lanes.interventions)]
    height = _TOP + (2 + len(rows)) * _ROW + (_ROW if lanes.stop else 0) + 8
    names = ["L1 mode", "L2 phase", *(plain(name) if name in lanes.signals else _NAMES[name] for name in rows)]
    return (
        f'<div class="lanes">{_names(names, lanes, height)}'
        '<div class="wide" tabindex="0" role="group" aria-label="The rounds; scrolls sideways">'
        f'<svg width="{scale.width:.0f}" height="{height}" viewBox="0 0 {scale.width:.0f} {height}" role="img" '
        f'aria-label="Modes, phases, signals and interventions over the rounds {lanes.first} to {lanes.last}">'
        f"{''.join(_lanes(lanes, scale, height))}</svg></div></div>"
    )


def swatch(shape: str, kind: str) -> str:
    """A small drawing for the legend: a span of a lane, or a mark."""
    drawn = (
        f'<rect class="span {kind}" width="16" height="12" x="1" y="2"/>'
        if shape == "span"
        else _shape(shape, kind, 9, 8)
    )
    return f'<svg width="18" height="16" aria-hidden="true">{drawn}</svg>'


def _scale(lanes: Lanes) -> _Scale:
    rounds = lanes.last - lanes.first + 1
    step = min(_STEP_AT_MOST, max(_STEP_AT_LEAST, (_WIDTH - 2 * _PAD) / rounds))
    return _Scale(lanes.first, lanes.last, min(step, _WIDEST / rounds))


def _names(names: Iterable[str], lanes: Lanes, height: int) -> str:
    rows = [*names, *(["stop"] if lanes.stop else [])]
    drawn = "".join(
        f'<text x="0" y="{_TOP + number * _ROW + 13}"{lane}>{in_html(name)}</text>'
        for number, name in enumerate(rows)
        for lane in [' class="lane"' if number < 2 else ""]
    )
    return f'<svg width="118" height="{height}" aria-hidden="true"><text class="soft" x="0" y="14">round</text>{drawn}</svg>'


def _lanes(lanes: Lanes, scale: _Scale, height: int) -> Iterator[str]:
    yield from _axis(scale, height)
    yield from _spans(lanes.modes, scale, _TOP)
    yield from _spans(lanes.phases, scale, _TOP + _ROW)
    top = _TOP + 2 * _ROW
    for marks in lanes.signals.values():
        yield from _marks(marks, scale, top, ("signal", "signal"))
        top += _ROW
    for name in INTERVENTIONS:
        if name in lanes.interventions:
            yield from _marks(lanes.interventions[name], scale, top, (name, _CLASS[name]))
            top += _ROW
    if lanes.stop:
        yield _stop(lanes.stop, scale, top)


def _axis(scale: _Scale, height: int) -> Iterator[str]:
    """Round numbers as far apart as they can be read, with a line each."""
    apart = next((nice for nice in _NICE if nice * scale.step >= _TICK_DISTANCE), _NICE[-1])
    if scale.step >= _TICK_DISTANCE / 2:
        apart = 1  # one or two digits have room enough
    at = [turn for turn in range(scale.first, scale.last + 1) if turn % apart == 0 or turn == scale.first]
    if len(at) > 1 and (at[1] - at[0]) * scale.step < _TICK_DISTANCE / 2 < apart * scale.step:
        del at[0]
    for turn in at:
        x = scale.middle(turn)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height - 4}"/>'
        yield f'<text class="soft" x="{x:.1f}" y="14" text-anchor="middle">{turn}</text>'


def _spans(spans: Iterable[Span], scale: _Scale, top: float) -> Iterator[str]:
    for span in spans:
        left, width = scale.left(span.first), scale.left(span.last + 1) - scale.left(span.first)
        rounds = f"round {span.first}" if span.first == span.last else f"rounds {span.first} to {span.last}"
        word = plain(span.value)
        named = f'<text x="{left + 5:.1f}" y="{top + 13}">{in_html(word)}</text>' if width > 12 + 7 * len(word) else ""
        yield (
            f'<g><title>{in_html(word)}, {rounds}</title><rect class="span {in_html(span.value)}" x="{left:.1f}" y="{top + 1}" '
            f'width="{width:.1f}" height="{_BAR}"/>{named}</g>'
        )


def _marks(marks: Iterable[Mark], scale: _Scale, top: float, look: tuple[str, str]) -> Iterator[str]:
    for mark in marks:
        times = f", {mark.times} times" if mark.times > 1 else ""
        title = f"<title>round {mark.round}{times}: {in_html(mark.text)}</title>"
        yield f"<g>{title}{_shape(*look, scale.middle(mark.round), top + 9)}</g>"


def _shape(name: str, kind: str, x: float, y: float) -> str:
    """Each kind of mark has a shape of its own: it is told without its colour."""
    if name == "block":
        return f'<rect class="{kind}" x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"/>'
    if name == "hint":
        return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
    if name == "stop":
        return f'<path class="{kind}" d="M{x - 5:.1f} {y - 5:.1f}l10 10m0-10l-10 10"/>'
    outline = {"takeover": "m0-6l6 11h-12z", "handoff": "m0 6l6-11h-12z", "signal": "m0-6l4.5 6l-4.5 6l-4.5-6z"}[name]
    return f'<path class="{kind}" d="M{x:.1f} {y:.1f}{outline}"/>'


def _stop(stop: Mark, scale: _Scale, top: float) -> str:
    x = scale.middle(stop.round)
    text = escaped(stop.text)
    text = text if len(text) <= _MARKED_TEXT else text[: _MARKED_TEXT - 1] + "…"
    before = x > scale.width / 2
    place = f'x="{x - 10:.1f}" text-anchor="end"' if before else f'x="{x + 10:.1f}"'
    return (
        f"<g><title>round {stop.round}: stopped, {in_html(stop.text)}</title>"
        f'<line class="stop stop-line" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{top + 4}"/>'
        f'{_shape("stop", "stop", x, top + 9)}<text {place} y="{top + 13}">{escape(text)}</text></g>'
    )
