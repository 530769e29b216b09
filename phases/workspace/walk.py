"""What lies in a folder and below it: met by open folders, never by name alone, so that no link is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from phases.workspace.path_rules import MOST_PARTS

OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR, LINK = "a regular file", "a link"
FOLDER, OTHER = "a folder that lies too deep or cannot be opened", "a pipe, a socket or a device"
_NOT_OURS = ("__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
"""Folders of tools: nothing in them is work."""


class WorkspaceEntry(NamedTuple):
    """One thing that is no folder to look into, with the open folder that it is in."""

    path: str
    name: str
    folder: int
    """Open only until the next entry is asked for."""
    kind: str
    """REGULAR, LINK, FOLDER or OTHER; what it is by now may be something else."""


def walk_workspace(root: int, prefix: str = "", depth: int = 1) -> Iterator[WorkspaceEntry]:
    """Everything below an open folder. A folder that turns into a link meanwhile is told as one that cannot be opened."""
    with os.scandir(root) as entries:
        kinds = {entry.name: _kind_of(entry) for entry in entries}
    for name, kind in sorted(kinds.items()):
        inner = _open_directory(name, root) if kind == FOLDER and depth < MOST_PARTS else None
        if inner is None:
            yield WorkspaceEntry(prefix + name, name, root, kind)
            continue
        try:
            if name not in _NOT_OURS:
                yield from walk_workspace(inner, f"{prefix}{name}/", depth + 1)
        finally:
            os.close(inner)


def _kind_of(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return FOLDER
    return REGULAR if entry.is_file(follow_symlinks=False) else OTHER


def _open_directory(name: str, folder: int) -> int | None:
    try:
        return os.open(name, OPEN_DIRECTORY, dir_fd=folder)
    except OSError:
        return None
