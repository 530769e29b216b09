"""Reads a paper in a child process: a stranger's bytes may crash, hang or swell that, and not the run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

from phases.paper.reading import BROKEN, Hidden, Link, Reading

SECONDS = 20
"""The longest that a paper may take. A long book takes two."""


def read_apart(kind: str, path: str, password: str | None = None) -> Reading:
    """The reading of a file, or of a folder of LaTeX source. Never raises for what is in it: the verdict says it."""
    command = [sys.executable, "-I", "-m", "phases.paper.child", kind, path]
    with tempfile.TemporaryFile() as output:  # not a pipe: the child's own limit on file sizes bounds it
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
        ) as child:
            try:
                child.communicate((password or "").encode(), timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return Reading(BROKEN, "none", detail=f"reading it took more than {SECONDS} s")
            finally:
                child.kill()
        output.seek(0)
        try:
            return _reading(json.loads(output.read()))
        except (ValueError, KeyError, TypeError):
            return Reading(BROKEN, "none", detail=_why(child.returncode))
def _why(code: int) -> str:
    if code > 0:
        return "the reader has a fault that this file brings out, please report it"
    return f"reading it ended with signal {-code}, as damage or a trap in a file makes it end"


def _reading(found: dict[str, Any]) -> Reading:
    return Reading(
        verdict=found["verdict"],
        reader=found["reader"],
        pages=tuple(found["pages"]),
        title=found["title"],
        authors=tuple(found["authors"]),
        links=tuple(Link(**row) for row in found["links"]),
        hidden=tuple(Hidden(**row) for row in found["hidden"]),
        detail=found["detail"],
    )
