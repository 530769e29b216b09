"""What is printed, and how: text from papers and models is shown escaped, so that it cannot drive the terminal."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from pipeline.cli.program import as_called

_SPACES = "\n\t\u00a0\u2002\u2003\u2009\u202f\u3000"
_WIDE = 10_000
"""Columns of what is no terminal: nothing is wrapped for programs."""
_ROOM = 24
"""With less room for it, the last column stands on lines of its own."""
_COLOURS = {
    **dict.fromkeys(("completed", "done"), "green"),
    **dict.fromkeys(
        ("incomplete", "warning", "paused", "cancelled", "interrupted", "stopped", "degraded", "left out", "gone"),
        "yellow",
    ),
    **dict.fromkeys(("error", "failed"), "red"),
}


def printable(text: str) -> str:
    """The text with every control, direction and invisible character written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _SPACES else c.encode("unicode_escape").decode("ascii") for c in text)


def say(text: str = "") -> None:
    """Prints to stdout: the answer that was asked for."""
    put(printable(text))


def put(text: str) -> None:
    """Prints to stdout what is printable, and perhaps coloured, already."""
    sys.stdout.write(text + "\n")


def advise(text: str = "") -> None:
    """Prints to stdout words of our own that name a command to type, as this user types it."""
    say(as_called(text))


def say_json(value: object) -> None:
    """Prints a value as JSON, for programs."""
    import json

    sys.stdout.write(json.dumps(value, indent=2) + "\n")  # ASCII: nothing in it can drive a terminal


def tell(text: str) -> None:
    """Prints to stderr: what goes on meanwhile."""
    sys.stderr.write(printable(as_called(text)) + "\n")
    sys.stderr.flush()


def complain(text: str) -> None:
    """Prints one line of error."""
    line = " ".join(printable(as_called(text)).splitlines())
    sys.stderr.write(f"pipeline: {line}\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    """Prints one line of warning."""
    tell(f"warning: {' '.join(text.splitlines())}")


def in_terminal() -> bool:
    """Whether a person is there to answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def can_draw(stream: TextIO) -> bool:
    """Whether a stream is a terminal that understands more than lines."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def paint(text: str, status: str = "", *, dim: bool = False, stream: TextIO | None = None) -> str:
    """The text made printable; in a terminal that may show colours, in that of a status word, or dim."""
    text, stream = printable(text), stream or sys.stdout
    if not text or not (status in _COLOURS or dim) or os.environ.get("NO_COLOR") or not can_draw(stream):
        return text
    import click

    return click.style(text, fg=_COLOURS.get(status), dim=dim or None)


def width_of_terminal(stream: TextIO | None = None) -> int:
    """The columns of the terminal that a stream is; very many where it is none."""
    if not (stream or sys.stdout).isatty():
        return _WIDE
    import shutil

    return max(shutil.get_terminal_size().columns, 20)


def wrap(text: str, *, indent: int = 0, hanging: int | None = None, stream: TextIO | None = None) -> str:
    """The text in lines that fit the terminal, cut between words alone; lines after the first are indented."""
    width = width_of_terminal(stream)
    if len(text) + indent < width:
        return " " * indent + text
    from textwrap import fill

    start = " " * (indent + len(text) - len(text.lstrip(" ")))
    rest = start if hanging is None else " " * hanging
    return fill(
        text.strip(),
        width - 1,
        initial_indent=start,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def say_pairs(rows: list[tuple[str, str]], *, dim: bool = False) -> None:
    """Prints what is named on the left and explained on the right; below where a terminal is too narrow."""
    shown = [(as_called(left), as_called(right)) for left, right in rows]
    column = max((len(left) for left, _ in shown), default=0) + 4
    stacked = width_of_terminal() < column + _ROOM
    for left, right in shown:
        name = "  " + paint(left, dim=dim)
        if stacked:
            put(f"{name}\n{wrap(printable(right), indent=6)}")
        else:
            put(name + " " * (column - 2 - len(left)) + wrap(printable(right), indent=column, hanging=column).strip())


def table(rows: list[tuple[str, ...]], *, header: tuple[str, ...]) -> None:
    """Prints rows in columns; the last one takes what room it needs, in lines of its own where a terminal is narrow."""
    shown = [header, *(tuple(printable(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header) - 1)]
    before, width = sum(widths) + 2 * len(widths), width_of_terminal()
    for row in shown:
        cells = [paint(cell, cell) + " " * (size - len(cell)) for cell, size in zip(row, widths, strict=False)]
        if width >= before + _ROOM:
            put("  ".join([*cells, wrap(row[-1], indent=before, hanging=before).strip()]).rstrip())
            continue
        below = "" if row is header else row[-1]
        rows_of_cells = [cells] if before <= width else [cells[:1], ["  ", *cells[1:]]]
        lines = ["  ".join(each).rstrip() for each in rows_of_cells] + [wrap(below, indent=4).rstrip()]
        put("\n".join(line for line in lines if line))
