"""The Python of commands in the sandbox, made once for all tests: each home of a test leads to the same one."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from phases.evidence.bare_python import bare_python

CACHE = os.path.join(tempfile.gettempdir(), f"pipeline-tests-{os.getuid()}")
"""What would be the user's cache directory."""


@cache
def shared_python() -> str:
    """The environment; it outlives the tests, because its name says what it is made of."""
    os.makedirs(CACHE, mode=0o700, exist_ok=True)
    return bare_python(CACHE)


def lend_python(home: Path) -> None:
    """Lets a home find it, instead of making its own."""
    cache_directory = home / ".cache" / "pipeline"
    cache_directory.mkdir(parents=True, exist_ok=True)
    link = cache_directory / "python"
    if not os.path.lexists(link):
        link.symlink_to(os.path.dirname(shared_python()))
