"""Reads a paper in a child process: a stranger's bytes may crash, hang or swell that, and not the run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from typing import Any

from phases.paper.kinds import PDF, PLAIN_PDF
from phases.paper.reading import BROKEN, OK, Hidden, Link, Reading

SECONDS = 19
"""The longest that a paper may take, so that a verdict is there within 20. A long book takes two."""


def read_apart(kind: str, path: str, password: str | None = None, address: str = "") -> Reading:
    """The reading of a file, or of a folder of LaTeX source; `address` is where it was downloaded from.

    Never raises for what is in it: the verdict says it.
    """
    began = time.monotonic()
    reading, crashed = _attempt(kind, path, password, SECONDS, address)
    if crashed and kind == PDF and (left := SECONDS - (time.monotonic() - began)) > SECONDS / 2:
        again, _ = _attempt(PLAIN_PDF, path, password, left)
        return again if again.verdict == OK else reading
    return reading


def _attempt(kind: str, path: str, password: str | None, seconds: float, address: str = "") -> tuple[Reading, bool]:
    """The reading, and whether the child crashed over it."""
    code, output = run_apart("phases.paper.child", [kind, path, address], (password or "").encode(), seconds)
    if code is None:
        return Reading(BROKEN, "none", detail=f"reading it took more than {SECONDS} s"), False
    try:
        return _reading(json.loads(output)), False
    except (ValueError, KeyError, TypeError):
        return Reading(BROKEN, "none", detail=_why(code)), code < 0


def run_apart(
    module: str, arguments: list[str], told: bytes = b"", seconds: float = SECONDS
) -> tuple[int | None, bytes]:
    """Exit code and output of a module that sets limits on itself; None where it took too long."""
    with tempfile.TemporaryFile() as output:  # not a pipe: the child's own limit on file sizes bounds it
        with subprocess.Popen(
            [sys.executable, "-I", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as child:
            try:
                child.communicate(told, timeout=seconds)
            except subprocess.TimeoutExpired:
                return None, b""
            finally:
                child.kill()
        output.seek(0)
        return child.returncode, output.read()


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
