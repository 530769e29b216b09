"""Reads a paper in a child process: a stranger's bytes may crash, hang or swell that, and not the run."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from phases.readers.kinds import PDF, PLAIN_PDF
from phases.readers.reading import BROKEN, OK, Hidden, Link, Reading
from pipeline.base.workers import PATIENCE, worker_environment

_NOTHING: Mapping[str, str] = MappingProxyType({})
SECONDS = 18
"""The most processor time that a paper may take. A long book takes two."""


def read_in_subprocess(
    kind: str, path: str, password: str | None = None, address: str = "", environment: Mapping[str, str] = _NOTHING
) -> Reading:
    """The reading of a file, or of a folder of LaTeX source; `address` is where it was downloaded from.

    `environment` is the user's, of which little is passed on. Never raises for what is in the file: the verdict says it.
    """
    began = _cpu_seconds_of_children()
    attempt = partial(_try_reading, path=path, password=password, environment=environment)
    reading, crashed = attempt(kind, seconds=SECONDS, address=address)
    if crashed and kind == PDF and (left := SECONDS - (_cpu_seconds_of_children() - began)) > SECONDS / 2:
        again, _ = attempt(PLAIN_PDF, seconds=int(left))
        return again if again.verdict == OK else reading
    return reading


def _try_reading(
    kind: str, *, path: str, password: str | None, environment: Mapping[str, str], seconds: int, address: str = ""
) -> tuple[Reading, bool]:
    """The reading, and whether the child crashed over it."""
    words = [kind, path, address]
    code, output = run_worker("phases.readers.reader_worker", words, (password or "").encode(), environment, seconds)
    if code is None:
        return Reading(BROKEN, "none", detail=f"reading it took more than {seconds * PATIENCE} s"), False
    if code == -signal.SIGXCPU:
        return Reading(BROKEN, "none", detail=f"reading it took more than {seconds} s of processor time"), False
    try:
        return _parse_reading(json.loads(output)), False
    except (ValueError, KeyError, TypeError):
        return Reading(BROKEN, "none", detail=_why_failed(code)), code < 0


def run_worker(
    module: str,
    arguments: list[str],
    told: bytes = b"",
    environment: Mapping[str, str] = _NOTHING,
    seconds: int = SECONDS,
) -> tuple[int | None, bytes]:
    """Exit code and output of a module that sets limits on itself, its last argument among them; None where it hung."""
    with tempfile.TemporaryFile() as output:  # not a pipe: the child's own limit on file sizes bounds it
        with subprocess.Popen(
            [sys.executable, "-I", "-m", module, *arguments, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=worker_environment(environment),
            start_new_session=True,
        ) as child:
            try:
                child.communicate(told, timeout=seconds * PATIENCE)
            except subprocess.TimeoutExpired:
                return None, b""
            finally:
                child.kill()
        output.seek(0)
        return child.returncode, output.read()


def _cpu_seconds_of_children() -> float:
    """The processor time of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _why_failed(code: int) -> str:
    if code > 0:
        return "the reader has a fault that this file brings out, please report it"
    return f"reading it ended with signal {-code}, as damage or a trap in a file makes it end"


def _parse_reading(found: dict[str, Any]) -> Reading:
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
