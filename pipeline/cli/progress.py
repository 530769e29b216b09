"""Show progress while phases run: a line a phase, and in a terminal a live last line."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from pipeline.base.logs import Echo
from pipeline.base.threads import start_thread
from pipeline.cli.assembly import locate_task
from pipeline.cli.output import (
    can_draw,
    in_terminal,
    notify,
    paint_text,
    print_warning,
    rewrite_commands,
    to_printable,
    width_of_terminal,
    wrap_text,
)
from pipeline.cli.review import choose_reviewer
from pipeline.engine.phase import Decision
from pipeline.engine.run_request import RunEvent
from pipeline.engine.store import TaskStore

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
"""Column of the text after a phase's number and name."""


class Progress:
    """Shows events. In a terminal the last line lives: it carries the running phases, their time, and files done."""

    def __init__(self, root: str, options: Mapping[str, Any]) -> None:
        self._root = root
        self._before_review: Callable[[], None] = options.get("before_review", lambda: None)
        self.echo: Echo | None = self._show_log if options["verbose"] else None
        self._live = can_draw(sys.stderr)
        self._running: dict[str, tuple[RunEvent, float]] = {}
        self._best: dict[str, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._aside = False
        if self._live:
            start_thread(self._tick, "progress")

    def show(self, event: RunEvent) -> None:
        """Take one event of the runner, from whichever thread."""
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
                timed = event.kind in ("done", "failed", "degraded", "stopped")
                took = f"{event.seconds:8.2f} s" if timed else " " * 10
                # why it failed is the last line of the screen, and stands there alone
                self._line(f"  {label} {took}", _MARKS[event.kind], "" if event.kind == "failed" else event.text)
            self._redraw()

    def tell(self, text: str, *, warning: bool = False) -> None:
        """Show what the user should know before the first phase runs."""
        (print_warning if warning else notify)(text)

    def choose_reviewer(self, store: TaskStore, values: dict[str, Any]) -> Callable[[str, str], Decision]:
        """Return the reviewer of the plan; the live line is hidden during a review."""
        reviewer = choose_reviewer(store, values)

        def review(plan: str, digest: str) -> Decision:
            with self._aside_from():
                self._before_review()
                return reviewer(plan, digest)

        return review

    def ask(self, values: Mapping[str, Any], question: str, options: Sequence[str]) -> str | None:
        """Ask the user at the terminal."""
        with self._aside_from():
            return _ask_user(question, options, values)

    def _show_log(self, level: str, message: str) -> None:
        """Show a line of the log, from whichever thread."""
        with self._lock:
            self._line(f"  {level:<7} {message}")
            self._redraw()

    @contextmanager
    def _aside_from(self) -> Iterator[None]:
        """Hide the live line during a question."""
        with self._lock:
            self._redraw(hidden=True)
            self._aside = True
        try:
            yield
        finally:
            with self._lock:
                self._aside = False

    def close(self) -> None:
        """Take the live line away."""
        self._closed.set()
        with self._lock:
            self._running.clear()
            self._redraw()

    def _advance(self, event: RunEvent, label: str) -> None:
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
        told = locate_task(text + ended, self._root)
        shown = wrap_text(to_printable(rewrite_commands(told)), hanging=_HANGING, stream=sys.stderr)
        shown = shown.replace(f"  {mark}", f"  {paint_text(mark, mark, stream=sys.stderr)}", 1) if mark else shown
        sys.stderr.write(("\r\x1b[K" if self._live else "") + shown + "\n")
        sys.stderr.flush()

    def _redraw(self, *, hidden: bool = False) -> None:
        if not self._live or self._aside:
            return
        parts = []
        for event, since in () if hidden else self._running.values():
            counted = f" {event.done} of {event.total}: {event.text}" if event.total else ""
            parts.append(f"{event.phase.label} {time.monotonic() - since:.0f} s{counted}")
        line = to_printable("  … " + " | ".join(parts))[: width_of_terminal(sys.stderr) - 1] if parts else ""
        sys.stderr.write("\r\x1b[K" + line)
        sys.stderr.flush()

    def _tick(self) -> None:
        while not self._closed.wait(_TICK):
            with self._lock:
                self._redraw()


def _ask_user(question: str, options: Sequence[str], values: Mapping[str, Any]) -> str | None:
    """Ask the user in the terminal what a model wants to know. None without a terminal, with --review auto or file, or for no
    answer.
    """
    if values["review"] in ("auto", "file") or not in_terminal():
        return None
    notify(f"\nThe model asks: {question}")
    for number, option in enumerate(options, 1):
        notify(f"  {number}  {option}")
    notify("A number, or your own words; empty: the model takes 1, as an assumption.")
    try:
        answer = click.prompt("answer", default="", show_default=False, err=True).strip()
    except click.Abort:
        return None
    chosen = int(answer) if answer.isdecimal() and len(answer) == 1 else 0
    return (options[chosen - 1] if 1 <= chosen <= len(options) else answer) or None
