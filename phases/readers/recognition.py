"""Has ocrmypdf recognize the letters of a scan, and reads the copy that it makes."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace

from phases.readers.kinds import PDF
from phases.readers.reader_subprocess import RunWorker, read_in_subprocess, run_worker
from phases.readers.reading import GARBLED, NO_TEXT, NOTHING_RECOGNIZED, READABLE, Reading
from pipeline.base.errors import PhaseError
from pipeline.base.safe_tree import open_file

PROGRAM = "ocrmypdf"
INSTALL = f"apt-get install {PROGRAM}, or brew install {PROGRAM}"
_SECONDS = 180
"""Processor time for each of the processes that it starts, several a page."""
_NOT_INSTALLED = 127
_DIRECTORY = "recognized"
"""Of a task: where the copies with a text layer lie."""


def copy_name(source_sha256: str) -> str:
    """Where in its task the copy of a source lies."""
    return f"{_DIRECTORY}/{source_sha256[:16]}.pdf"


def is_scan(kind: str, reading: Reading) -> bool:
    """Whether recognizing its letters may help."""
    return kind == PDF and reading.verdict in (NO_TEXT, GARBLED)


def read_copy(path: str, *, reader: str = "", run: RunWorker = run_worker) -> Reading:
    """The reading of a copy that `recognize_letters` made; says by whom its text is."""
    reading = read_in_subprocess(PDF, path, reader=reader, run=run)
    if reading.verdict not in READABLE:
        return replace(reading, detail=NOTHING_RECOGNIZED) if is_scan(PDF, reading) else reading
    return replace(reading, recognized_by=PROGRAM)


def recognize_letters(path: str, *, run: RunWorker = run_worker) -> bytes:
    """A copy of a PDF with a text layer that ocrmypdf recognized in its pictures. Raises PhaseError where it made none."""
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "copy.pdf")
        result = run(["recognize", os.path.abspath(path), copy], b"", _SECONDS)
        if result.code == _NOT_INSTALLED:
            raise PhaseError(f"{PROGRAM} is not installed, and --ocr needs it; install it ({INSTALL})")
        if result.code != 0 or not os.path.isfile(copy) or os.path.islink(copy):
            how = "took too long" if result.code is None else f"ended with code {result.code}"
            last = result.errors.strip().rpartition("\n")[2]
            raise PhaseError(f"ocrmypdf could make no text layer: it {how}{f' ({last})' if last else ''}")
        with open_file(copy) as file:
            return file.read()
