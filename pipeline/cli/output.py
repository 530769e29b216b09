"""Print to the terminal, with text from papers and models escaped, so that it cannot drive the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, TextIO

from pipeline.base.errors import UsageError
from pipeline.base.files import write_durable
from pipeline.base.safe_tree import open_file

_SPACES = "\n\t\u00a0\u2002\u2003\u2009\u202f\u3000"
_WIDE = 10_000
"""Width without a terminal: nothing is wrapped for programs."""
_ROOM = 24
"""Least width of the last column; with less it moves to lines of its own."""
_COLOURS = {
    **dict.fromkeys(("completed", "done"), "green"),
    **dict.fromkeys(
        ("incomplete", "warning", "paused", "cancelled", "interrupted", "stopped", "degraded", "left out", "gone"),
        "yellow",
    ),
    **dict.fromkeys(("error", "failed"), "red"),
}


def to_printable(text: str) -> str:
    """Return the text with every control, direction and invisible character written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _SPACES else c.encode("unicode_escape").decode("ascii") for c in text)


def print_text(text: str = "") -> None:
    """Print to stdout: the answer that was asked for."""
    print_raw(to_printable(text))


def print_pages(text: str) -> None:
    """Print to stdout what may be longer than the screen: through the pager ($PAGER) where it is, and a terminal shows it."""
    import shutil  # imported here: most commands print a few lines

    if not can_draw(sys.stdout) or text.count("\n") + 1 < shutil.get_terminal_size().lines:
        print_text(text)
        return
    import click

    click.echo_via_pager(to_printable(text) + "\n")


def print_raw(text: str) -> None:
    """Print to stdout what is printable, and perhaps coloured, already."""
    sys.stdout.write(text + "\n")


def print_advice(text: str = "") -> None:
    """Print to stdout words of our own that name a command to type, as this user types it."""
    print_text(rewrite_commands(text))


def print_json(value: object) -> None:
    """Print a value as JSON, for programs."""
    import json  # imported here: `--help` prints none

    sys.stdout.write(json.dumps(value, indent=2) + "\n")  # ASCII: nothing in it can drive a terminal


class Answer(NamedTuple):
    """Result of a command, and its exit code."""

    value: object
    """Value for --json, or a function that makes it."""
    show: Callable[[], None]
    """Prints it for a person."""
    exit_code: int = 0
    problems: Sequence[str] = ()
    """Problems, printed to stderr below the answer in both forms."""


def print_answer(answer: Answer, *, as_json: bool) -> int:
    """Print an answer in one of its two forms, and return the exit code."""
    if as_json:
        print_json(answer.value() if callable(answer.value) else answer.value)
    else:
        answer.show()
    for problem in answer.problems:
        print_error(problem)
    return answer.exit_code


def notify(text: str) -> None:
    """Print progress to stderr."""
    sys.stderr.write(to_printable(rewrite_commands(text)) + "\n")
    sys.stderr.flush()


def print_error(text: str) -> None:
    """Print one line of error."""
    line = " ".join(to_printable(rewrite_commands(text)).splitlines())
    sys.stderr.write(f"pipeline: {line}\n")
    sys.stderr.flush()


def print_warning(text: str) -> None:
    """Print one line of warning."""
    notify(f"warning: {' '.join(text.splitlines())}")


def in_terminal() -> bool:
    """Return whether a user can answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, without: str, *, asks_nobody: bool = False) -> bool:
    """Ask the user at the terminal. Raises UsageError where there is none; `without` is what to type then."""
    if asks_nobody or not in_terminal():
        raise UsageError(f"there is no terminal to confirm this in; {without}")
    import click

    return click.confirm(question, err=True)


def can_draw(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that understands more than lines."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def paint_text(text: str, status: str = "", *, dim: bool = False, stream: TextIO | None = None) -> str:
    """Return printable text, coloured by a status word or dim if the terminal shows colours."""
    text, stream = to_printable(text), stream or sys.stdout
    if not text or not (status in _COLOURS or dim) or os.environ.get("NO_COLOR") or not can_draw(stream):
        return text
    import click

    return click.style(text, fg=_COLOURS.get(status), dim=dim or None)


def width_of_terminal(stream: TextIO | None = None) -> int:
    """Return the columns of a stream's terminal; very many without one."""
    if not (stream or sys.stdout).isatty():
        return _WIDE
    import shutil  # imported here: only a terminal has a width

    return max(shutil.get_terminal_size().columns, 20)


def wrap_text(text: str, *, indent: int = 0, hanging: int | None = None, stream: TextIO | None = None) -> str:
    """Wrap text to the terminal, between words alone; lines after the first are indented."""
    width = width_of_terminal(stream)
    if len(text) + indent < width:
        return " " * indent + text
    from textwrap import fill  # imported here: `--help` needs no such line

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


def print_pairs(rows: list[tuple[str, str]], *, dim: bool = False) -> None:
    """Print what is named on the left and explained on the right; below where a terminal is too narrow."""
    shown = [(rewrite_commands(left), rewrite_commands(right)) for left, right in rows]
    column = max((len(left) for left, _ in shown), default=0) + 4
    stacked = width_of_terminal() < column + _ROOM
    for left, right in shown:
        name = "  " + paint_text(left, dim=dim)
        if stacked:
            print_raw(f"{name}\n{wrap_text(to_printable(right), indent=6)}")
        else:
            print_raw(
                name
                + " " * (column - 2 - len(left))
                + wrap_text(to_printable(right), indent=column, hanging=column).strip()
            )


def print_table(rows: list[tuple[str, ...]], *, header: tuple[str, ...]) -> None:
    """Print rows in columns; the last one takes what room it needs, in lines of its own where a terminal is narrow."""
    shown = [header, *(tuple(to_printable(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header) - 1)]
    before, width = sum(widths) + 2 * len(widths), width_of_terminal()
    room = min(_ROOM, max(len(row[-1]) for row in shown) + 1)
    for row in shown:
        cells = [paint_text(cell, cell) + " " * (size - len(cell)) for cell, size in zip(row, widths, strict=False)]
        if width >= before + room:
            print_raw("  ".join([*cells, wrap_text(row[-1], indent=before, hanging=before).strip()]).rstrip())
            continue
        below = "" if row is header else row[-1]
        rows_of_cells = [cells] if before <= width else [cells[:1], ["  ", *cells[1:]]]
        lines = ["  ".join(each).rstrip() for each in rows_of_cells] + [wrap_text(below, indent=4).rstrip()]
        print_raw("\n".join(line for line in lines if line))


_NAME = "pipeline"
_EXTRA = "pip install 'paper-pipeline["


def program_name() -> str:
    """Return `pipeline` if the shell finds this one by that name, else its path, or `python -m pipeline`; ready to paste."""
    called = sys.argv[0] if os.path.basename(sys.argv[0]) == _NAME and os.access(sys.argv[0], os.X_OK) else ""
    found, beside = _find_on_path(_NAME), os.path.join(os.path.dirname(sys.executable), _NAME)
    if found and os.path.realpath(found) in (os.path.realpath(called or beside), os.path.realpath(beside)):
        return _NAME
    return quote_short(called) if called else f"{_python_command()} -m {_NAME}"


def rewrite_commands(text: str) -> str:
    """Replace every `pipeline COMMAND`, and every pip for an extra, by what this user types."""
    if _EXTRA in text:  # the pip on the path may be another Python's
        text = re.sub(rf"(?<!-m ){re.escape(_EXTRA)}", lambda _: f"{_python_command()} -m {_EXTRA}", text)
        clone = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        if os.path.isfile(
            os.path.join(clone, "pyproject.toml")
        ):  # no index need know the name, or mean this program by it
            text = text.replace(_EXTRA, f"pip install -e '{clone}[")
    if f"{_NAME} " not in text or (name := program_name()) == _NAME:
        return text
    # in this one place, so that no message need know how the program was started (decision 137)
    from pipeline.cli import COMMANDS

    return re.sub(rf"(?<![\w./-])(?<!-m ){_NAME} (?=(?:{'|'.join(COMMANDS)}|--help)\b)", lambda _: f"{name} ", text)


def _python_command() -> str:
    """Return the interpreter as it was typed, if that still means the running one."""
    typed = sys.orig_argv[0]
    if os.sep in typed:
        return quote_short(typed)
    found = _find_on_path(typed)  # its last link stays unfollowed: the python of a venv is a link out of it
    same = found and os.path.realpath(os.path.dirname(found)) == os.path.realpath(os.path.dirname(sys.executable))
    return typed if same else quote_short(sys.executable)


def _find_on_path(name: str) -> str:
    """Return the program that the shell finds under a name, or an empty string. shutil would cost 2 ms."""
    paths = (os.path.join(folder, name) for folder in os.environ.get("PATH", "").split(os.pathsep))
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), "")


def quote_short(path: str) -> str:
    """Return the shorter of the full and the relative path, quoted for a shell."""
    relative = os.path.relpath(path)
    name = min(os.path.abspath(path), relative if os.sep in relative else f"./{relative}", key=len)
    if re.fullmatch(r"[\w./+-]+", name, re.ASCII):
        return name

    from shlex import quote

    return quote(name)


def write_page(out: str, start: str, render: Callable[[], str]) -> None:
    """Write a page, and print its name. Raises UsageError if another file has that name."""
    if os.path.lexists(out) and not _begins_with(out, start.encode()):
        raise UsageError(f"--html {out} already exists, and was not written by this command; choose another name")
    write_durable(os.path.abspath(out), render().encode())
    notify(f"wrote {out}")


def _begins_with(path: str, start: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open_file(os.path.realpath(path)) as page:
            return page.read(len(start)) == start
    except OSError:
        return False
