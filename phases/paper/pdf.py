"""Reads a PDF in a child process: a stranger's bytes may crash, hang or swell that, and not the run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

from phases.paper.reading import BROKEN, Reading, TocEntry

SECONDS = 120


def read_pdf(path: str) -> Reading:
    """The reading of a PDF. Never raises for what is in the file: the verdict says it."""
    command = [sys.executable, "-I", "-m", "phases.paper.pdf_child", path]
    with tempfile.TemporaryFile() as output:  # not a pipe: the child's own limit on file sizes bounds it
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
        ) as child:
            try:
                child.wait(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return Reading(BROKEN, "none", detail=f"reading it took more than {SECONDS} s")
            finally:
                child.kill()
        output.seek(0)
        try:
            return _reading(json.loads(output.read()))
        except (ValueError, KeyError, TypeError):
            return Reading(BROKEN, "none", detail=f"the reader ended with code {child.returncode}")


def _reading(found: dict[str, Any]) -> Reading:
    return Reading(
        verdict=found["verdict"],
        reader=found["reader"],
        pages=tuple(found["pages"]),
        title=found["title"],
        authors=tuple(found["authors"]),
        toc=tuple(TocEntry(**entry) for entry in found["toc"]),
        detail=found["detail"],
    )
