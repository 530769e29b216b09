"""The worker process that reads or draws one paper. It may be killed at any time."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import asdict
from importlib import import_module

from phases.readers.kinds import KINDS
from phases.readers.reading import BROKEN, ENCRYPTED, WRONG_WORD, InputFile, Reading, Unreadable, installation

MEMORY = 1024**3
LARGEST_FILE = 64 * 1024 * 1024
LARGEST_TEXT = 10_000_000
"""Characters; the longest books have a third of that."""
DOTS_PER_INCH, MOST_PICTURES = 80, 60
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Does one job, whose last argument is its seconds of processor time. A paper's password comes from standard input.

    read KIND PATH ADDRESS SECONDS            prints the reading as JSON, with the installation that this is
    read-plainly KIND PATH ADDRESS SECONDS    the same by the kind's fallback
    draw PATH DIRECTORY SECONDS               writes each page of a PDF into the directory as a picture
    """
    job, *words, seconds = sys.argv[1:]
    set_limits(int(seconds))
    # on standard input, because other users can read the command line of a process
    password = sys.stdin.read() or None
    if job == "draw":
        draw_pictures(words[0], words[1], password)
        return
    kind, path, address = words
    reading = read_input(kind, InputFile(path, address, password), plainly=job == "read-plainly")
    json.dump({"installation": installation(), "reading": asdict(reading)}, sys.stdout)


def set_limits(seconds: int) -> None:
    """From here on this process has a GiB of memory, so much processor time and files of 64 MiB, and dies with its parent."""
    if sys.platform == "linux":
        # A run that is killed takes its worker along; elsewhere the limits end it.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # decision 34: every kind of paper is read within these limits, not PDFs alone.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # the soft limit ends it with SIGXCPU, which says why; the hard one follows if it does not listen
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))


def read_input(kind: str, source: InputFile, *, plainly: bool = False) -> Reading:
    """What the reader of this kind, or its fallback, makes of a file. Whatever it raises beside Unreadable is a fault."""
    module, _, function = (KINDS[kind].fallback if plainly else KINDS[kind].reader).partition(":")
    try:
        reading: Reading = getattr(import_module(f"phases.readers.{module}"), function)(source)
    except Unreadable as error:
        wrong = source.password and error.verdict == ENCRYPTED
        reading = Reading(error.verdict, "none", detail=WRONG_WORD if wrong else error.detail)
    except (MemoryError, RecursionError):
        reading = Reading(BROKEN, "none", detail="reading it takes more memory than a paper may")
    if sum(map(len, reading.pages)) > LARGEST_TEXT:
        reading = Reading(BROKEN, reading.reader, detail="there is more text in it than in a paper")
    return reading


def draw_pictures(path: str, directory: str, password: str | None) -> None:
    """Draws the first pages of a PDF, one PNG a page."""
    from phases.readers.pdf.engine import draw_page  # imported here: only a PDF needs the engine

    for number in range(1, MOST_PICTURES + 1):
        picture = draw_page(path, password, number, DOTS_PER_INCH)
        if picture is None:
            return
        with open(os.path.join(directory, f"{number}.png"), "wb") as file:
            file.write(picture)


if __name__ == "__main__":
    main()
