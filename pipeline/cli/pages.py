"""Pages that commands write: one of ours is written over, anything else is not."""

from __future__ import annotations

import os

from pipeline.base.errors import UsageError
from pipeline.cli.console import tell


def may_write_page(out: str, start: str) -> None:
    """Raises UsageError where there is something else than a page that begins so."""
    if os.path.lexists(out) and not _begins_with(out, start.encode()):
        raise UsageError(f"--html {out} is there already, and is no such page; choose another name")


def write_page(out: str, page: str) -> None:
    """Writes a page, and says so."""
    from pipeline.base.files import write_durable

    write_durable(os.path.abspath(out), page.encode())
    tell(f"wrote {out}")


def _begins_with(path: str, start: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as page:
            return page.read(len(start)) == start
    except OSError:
        return False
