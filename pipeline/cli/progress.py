"""The progress of a run on stderr: one live line a phase in a terminal, plain lines elsewhere, and never backwards."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.cli.console import can_draw, paint, printable, width_of_terminal, wrap
from pipeline.engine.run_request import Event

_MARKS = {
    "done": "done",
    "fresh": "up to date",
    "skipped": "skipped",
    "degraded": "left out",
    "failed": "failed",
    "stopped": "stopped",
}
_TICK = 0.2
_HANGING = 20
"""Where the words after a phase's number and name stand."""


class Progress:
    """Shows events. In a terminal the last line lives: it carries the running phases, their time, and files done."""

    def __init__(self) -> None:
        self._live = can_draw(sys.stderr)
        self._running: dict[str, tuple[Event, float]] = {}
        self._best: dict[str, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._aside = False
        if self._live:
            threading.Thread(target=self._tick, daemon=True).start()

    def show(self, event: Event) -> None:
        """Takes one event of the runner, from whichever thread."""
        label = f"{event.phase.number:<3} {event.phase.name:<13}"
        with self._lock:
            if event.kind == "started":
                self._running[event.phase.number] = (event, time.monotonic())
                self._best[event.phase.number] = (-1, "")
            elif event.kind == "progress":
                self._advance(event, label)
            elif event.kind == "told":
                self._line(f"  {label} {event.text}")
            else:
                self._running.pop(event.phase.number, None)
                took = (
                    f"{event.seconds:8.2f} s" if event.kind in ("done", "failed", "degraded", "stopped") else " " * 10
                )
                self._line(f"  {label} {took}", _MARKS[event.kind], event.text)
            self._redraw()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Inside, the live line is away: somebody is asked something."""
        with self._lock:
            self._redraw(hidden=True)
            self._aside = True
        try:
            yield
        finally:
            with self._lock:
                self._aside = False

    def close(self) -> None:
        """Takes the live line away."""
        self._closed.set()
        with self._lock:
            self._running.clear()
            self._redraw()

    def _advance(self, event: Event, label: str) -> None:
        said = (event.done, event.text)
        if event.phase.number not in self._running or said[0] < self._best[event.phase.number][0]:
            return  # a late word: progress never goes backwards
        if said == self._best[event.phase.number]:
            return
        self._best[event.phase.number] = said
        self._running[event.phase.number] = (event, self._running[event.phase.number][1])
        if not self._live and not event.text.endswith("…"):  # what is still coming is for those who watch
            self._line(f"  {label} {event.done} of {event.total}: {event.text}")

    def _line(self, text: str, mark: str = "", more: str = "") -> None:
        ended = f"  {mark}: {more}" if more else f"  {mark}" if mark else ""
        shown = wrap(printable(text + ended), hanging=_HANGING, stream=sys.stderr)
        shown = shown.replace(f"  {mark}", f"  {paint(mark, mark, stream=sys.stderr)}", 1) if mark else shown
        sys.stderr.write(("\r\x1b[K" if self._live else "") + shown + "\n")
        sys.stderr.flush()

    def _redraw(self, *, hidden: bool = False) -> None:
        if not self._live or self._aside:
            return
        parts = []
        for event, since in () if hidden else self._running.values():
            counted = f" {event.done} of {event.total}: {event.text}" if event.total else ""
            parts.append(f"{event.phase.label} {time.monotonic() - since:.0f} s{counted}")
        sys.stderr.write(
            "\r\x1b[K" + printable("  … " + " | ".join(parts))[: width_of_terminal(sys.stderr) - 1]
            if parts
            else "\r\x1b[K"
        )
        sys.stderr.flush()

    def _tick(self) -> None:
        while not self._closed.wait(_TICK):
            with self._lock:
                self._redraw()
