"""Worker process that reads or renders one paper. It may be killed at any time."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import asdict
from importlib import import_module
from typing import Any

from phases.readers.kinds import KINDS, PDF_READERS
from phases.readers.reading import (
    BROKEN,
    ENCRYPTED,
    TOO_MUCH_MEMORY,
    WRONG_WORD,
    InputFile,
    Reading,
    Unreadable,
    installation,
)
from pipeline.base.workers import MEMORY, lower_limit

MEMORY_FOR_PICTURES = 4 * MEMORY
MEMORY_FOR_MODELS = 16 * MEMORY
"""Address space; tensor libraries reserve more than they use."""
LARGEST_FILE = 64 * 1024 * 1024
LARGEST_TEXT = 10_000_000
"""Characters; the longest books have a third of that."""
_MEMORIES = {"recognize": MEMORY_FOR_PICTURES, "read-by": MEMORY_FOR_MODELS}
_LOOKS = {
    "draw": "pdf.views:draw_views",
    "find-quotes": "pdf.views:find_quotes",
    "find-floats": "pdf.views:find_floats",
}
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Do one job, whose last argument is its limit in processor seconds. A password comes from standard input.

    read PATH KIND ADDRESS SECONDS            print the reading as JSON, with the identity of this installation
    read-plainly PATH KIND ADDRESS SECONDS    the same with the fallback of the format
    read-by PATH READER ADDRESS SECONDS       the same for a PDF with one of PDF_READERS
    draw PATH SECONDS                         print pictures of PDF pages, as requested by page_pictures.py
    find-quotes PATH SECONDS                  print the places of quotes, likewise
    find-floats PATH SECONDS                  print the places of figures and tables, likewise
    recognize PATH COPY SECONDS               become ocrmypdf, which writes a copy of a PDF with a text layer
    """
    job, *words, seconds = sys.argv[1:]
    set_limits(int(seconds), memory=_MEMORIES.get(job, MEMORY))
    # standard input, because other users can read a command line
    given = sys.stdin.read()
    if job == "recognize":
        recognize(*words)
    if job in _LOOKS:
        for row in _call(_LOOKS[job], words[0], json.loads(given)):
            # one by one: what was found before the time limit is kept
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
        return
    path, kind, address = words
    reader = PDF_READERS.get(kind, "") or (KINDS[kind].fallback if job == "read-plainly" else "")
    reading = read_input(kind, InputFile(path, address, given or None), reader=reader)
    json.dump({"installation": installation(), "reading": asdict(reading)}, sys.stdout)


def recognize(path: str, copy: str) -> None:
    """Become ocrmypdf within the limits of this process, which its children inherit."""
    # env exits with 127 if the program is missing
    command = ["env", "ocrmypdf", "--force-ocr", "--jobs", "1", "--output-type", "pdf", "--quiet", path, copy]
    os.execv("/usr/bin/env", command)  # noqa: S606 - no shell is wanted, and the paths are our own


def set_limits(seconds: int, *, memory: int = MEMORY) -> None:
    """Limit memory, processor time and file size (64 MiB) of this process, and let it die with its parent."""
    if sys.platform == "linux":
        # a killed run takes its worker along; elsewhere the limits end it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # decision 34: every format is read within these limits, not only PDF
    lower_limit(resource.RLIMIT_AS, memory)
    # the soft limit ends it with SIGXCPU, which states the reason; the hard limit follows
    lower_limit(resource.RLIMIT_CPU, seconds, spare=1)
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_FSIZE, LARGEST_FILE)


def read_input(kind: str, source: InputFile, *, reader: str = "") -> Reading:
    """Read a file with its format's reader or another one. Any exception but Unreadable is a fault."""
    try:
        reading: Reading = _call(reader or KINDS[kind].reader, source)
    except Unreadable as error:
        wrong = source.password and error.verdict == ENCRYPTED
        reading = Reading(error.verdict, "none", detail=WRONG_WORD if wrong else error.detail)
    except (MemoryError, RecursionError):
        reading = Reading(BROKEN, "none", detail=TOO_MUCH_MEMORY)
    if sum(map(len, reading.pages)) > LARGEST_TEXT:
        reading = Reading(BROKEN, reading.reader, detail="it has more text than a paper")
    return reading


def _call(place: str, *arguments: Any) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(f"phases.readers.{module}"), function)(*arguments)


if __name__ == "__main__":
    main()
