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
"""Addresses, of which a library of tensors reserves more than it uses."""
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
    """Does one job, whose last argument is its seconds of processor time. A paper's password comes from standard input.

    read PATH KIND ADDRESS SECONDS            prints the reading as JSON, with the installation that this is
    read-plainly PATH KIND ADDRESS SECONDS    the same by the kind's fallback
    read-by PATH READER ADDRESS SECONDS       the same of a PDF by one of PDF_READERS
    draw PATH SECONDS                         prints pictures of a PDF's pages, as page_pictures.py asks for them
    find-quotes PATH SECONDS                  prints the places of quotes, as it asks for them
    find-floats PATH SECONDS                  prints what captions are of, as it asks for them
    recognize PATH COPY SECONDS               becomes ocrmypdf, which writes a copy of a PDF with a text layer
    """
    job, *words, seconds = sys.argv[1:]
    set_limits(int(seconds), memory=_MEMORIES.get(job, MEMORY))
    # on standard input, because other users can read the command line of a process
    given = sys.stdin.read()
    if job == "recognize":
        recognize(*words)
    if job in _LOOKS:
        for row in _call(_LOOKS[job], words[0], json.loads(given)):
            # one after the other: what was found when the time is up is not lost
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
        return
    path, kind, address = words
    reader = PDF_READERS.get(kind, "") or (KINDS[kind].fallback if job == "read-plainly" else "")
    reading = read_input(kind, InputFile(path, address, given or None), reader=reader)
    json.dump({"installation": installation(), "reading": asdict(reading)}, sys.stdout)


def recognize(path: str, copy: str) -> None:
    """Becomes ocrmypdf, within the limits that were set; what it starts has them too."""
    # env ends with 127 where there is no such program
    command = ["env", "ocrmypdf", "--force-ocr", "--jobs", "1", "--output-type", "pdf", "--quiet", path, copy]
    os.execv("/usr/bin/env", command)  # noqa: S606 - no shell is wanted, and the paths are our own


def set_limits(seconds: int, *, memory: int = MEMORY) -> None:
    """From here on this process has so much memory and processor time, files of 64 MiB, and dies with its parent."""
    if sys.platform == "linux":
        # A run that is killed takes its worker along; elsewhere the limits end it.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # decision 34: every kind of paper is read within these limits, not PDFs alone.
    lower_limit(resource.RLIMIT_AS, memory)
    # the soft limit ends it with SIGXCPU, which says why; the hard one follows if it does not listen
    lower_limit(resource.RLIMIT_CPU, seconds, spare=1)
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_FSIZE, LARGEST_FILE)


def read_input(kind: str, source: InputFile, *, reader: str = "") -> Reading:
    """What the reader of this kind, or another one, makes of a file. Whatever it raises beside Unreadable is a fault."""
    try:
        reading: Reading = _call(reader or KINDS[kind].reader, source)
    except Unreadable as error:
        wrong = source.password and error.verdict == ENCRYPTED
        reading = Reading(error.verdict, "none", detail=WRONG_WORD if wrong else error.detail)
    except (MemoryError, RecursionError):
        reading = Reading(BROKEN, "none", detail=TOO_MUCH_MEMORY)
    if sum(map(len, reading.pages)) > LARGEST_TEXT:
        reading = Reading(BROKEN, reading.reader, detail="there is more text in it than in a paper")
    return reading


def _call(place: str, *arguments: Any) -> Any:
    """What a function of this package gives, named as `module:function`: only what is needed is loaded."""
    module, _, function = place.partition(":")
    return getattr(import_module(f"phases.readers.{module}"), function)(*arguments)


if __name__ == "__main__":
    main()
