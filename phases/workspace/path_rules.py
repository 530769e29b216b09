"""Which names a file of the workspace may have."""

from __future__ import annotations

import os
import unicodedata

MOST_PARTS = 32


def is_workspace_path(path: str) -> bool:
    """Whether this is a path inside a directory, as it may be written, shown and copied anywhere."""
    parts = path.split("/")
    odd = (part in ("", ".", "..") or "\x00" in part or "\\" in part or part.casefold() == ".git" for part in parts)
    return path.isprintable() and len(parts) <= MOST_PARTS and not any(odd)


def twin_of(name: str, directory: int) -> str | None:
    """What is in an open directory under another spelling of a name. Two names that differ in case alone are one file on
    some disks, and the code could not be copied there.
    """
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return next((other for other in os.listdir(directory) if _fold_name(other) == _fold_name(name)), None)
    return None


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
