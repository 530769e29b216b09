"""The child process that reads one paper and prints what it found as JSON. It may be killed at any time."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from phases.readers.kinds import DOCX, HTML, LATEX, MARKDOWN, PDF, PLAIN_PDF, REQUIREMENT
from phases.readers.limits import set_limits
from phases.readers.reading import BROKEN, ENCRYPTED, WRONG_WORD, Reading, Unreadable

LARGEST_TEXT = 10_000_000
"""Characters; the longest books have a third of that."""


def main() -> None:
    """Reads a paper: its kind, path, address and seconds are on the command line, its password comes from standard input."""
    kind, path, address, seconds = sys.argv[1:5]
    set_limits(int(seconds))
    password = sys.stdin.read()
    try:
        reading = _read_source(kind, path, address, password or None)
    except Unreadable as error:
        wrong = password and error.verdict == ENCRYPTED
        reading = Reading(error.verdict, "none", detail=WRONG_WORD if wrong else error.detail)
    except (MemoryError, RecursionError):
        reading = Reading(BROKEN, "none", detail="reading it takes more memory than a paper may")
    if sum(map(len, reading.pages)) > LARGEST_TEXT:
        reading = Reading(BROKEN, reading.reader, detail="there is more text in it than in a paper")
    json.dump(asdict(reading), sys.stdout)


def _read_source(kind: str, path: str, address: str, password: str | None) -> Reading:
    if kind == PDF:
        from phases.readers.pdf.reader import read_pdf

        return read_pdf(path, password)
    if kind == PLAIN_PDF:
        from phases.readers.pdf.engine import read_plainly
        from phases.readers.pdf.reader import read_pdf

        return read_pdf(path, password, read_plainly)
    if kind == LATEX:
        from phases.readers.latex.reader import read_latex

        return read_latex(_load_files(path))
    with open(path, "rb") as file:
        content = file.read()
    if kind == HTML:
        from phases.readers.html.reader import read_html

        return read_html(content, address or None)
    if kind == DOCX:
        from phases.readers.docx.reader import read_docx

        return read_docx(content)
    from phases.readers.text import read_requirement, read_text

    if kind == REQUIREMENT:
        return read_requirement(content)
    return read_text(content, markdown=kind == MARKDOWN)


def _load_files(folder: str) -> dict[str, bytes]:
    """All files of a folder, by their paths in it."""
    found: dict[str, bytes] = {}
    for base, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(base, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


if __name__ == "__main__":
    main()
