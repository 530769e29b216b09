"""What is printed, and how: text from papers and models is shown escaped, so that it cannot drive the terminal."""

from __future__ import annotations

import sys

from pipeline.cli.program import as_called

_SPACES = "\n\t\u00a0\u2002\u2003\u2009\u202f\u3000"


def printable(text: str) -> str:
    """The text with every control, direction and invisible character written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _SPACES else c.encode("unicode_escape").decode("ascii") for c in text)


def say(text: str = "") -> None:
    """Prints to stdout: the answer that was asked for."""
    sys.stdout.write(printable(text) + "\n")


def advise(text: str) -> None:
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
    try:
        sys.stderr.write(f"pipeline: {line}\n")
        sys.stderr.flush()
    except OSError:
        return  # the terminal is gone; the exit code still tells


def warn(text: str) -> None:
    """Prints one line of warning."""
    tell(f"warning: {' '.join(text.splitlines())}")


def in_terminal() -> bool:
    """Whether a person is there to answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def table(rows: list[tuple[str, ...]], *, header: tuple[str, ...]) -> None:
    """Prints rows in columns; the last column takes what room it needs."""
    shown = [header, *(tuple(printable(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header) - 1)]
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        sys.stdout.write("  ".join([*cells, row[-1]]).rstrip() + "\n")
