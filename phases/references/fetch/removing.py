"""Takes away what is ours in code_base/, and nothing else: what somebody put there may be the only copy.

Ours is a manifest, a folder with its manifest beside it, and what `TEMPORARY` begins the name of.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Collection
from contextlib import suppress

from phases.references.fetch.manifests import manifest_of
from pipeline.base.files import storage_error

TEMPORARY = ".fetching-"
_ENDING = ".json"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def strangers(into: str) -> set[str]:
    """The names in the folder that are not ours. Raises StorageError."""
    return {name for name in _names(into) if not _is_ours(name, into)}


def sweep(into: str, wanted: Collection[str], strange: Collection[str]) -> None:
    """Takes away what a killed run left, and what nobody wants any more. Raises StorageError."""
    # A manifest goes last: without it, what is left of its folder would not be ours any more.
    for name in sorted(_names(into), key=lambda name: name.endswith(_ENDING)):
        if name not in strange and name not in wanted and name.removesuffix(_ENDING) not in wanted:
            remove(name, into)


def drop(name: str, into: str, *, manifest: bool = True) -> None:
    """Takes away the repository of this name where it is ours: its folder, then its manifest. Raises StorageError."""
    if manifest_of(name, into) is None:
        return
    if _holds_files(name, into):
        remove(name, into)
    if manifest:
        remove(name + _ENDING, into)


def is_free(name: str, into: str) -> bool:
    """Whether nothing is under the name of a repository but a manifest of ours."""
    path = os.path.join(into, name)
    return not os.path.lexists(path) and (not os.path.lexists(path + _ENDING) or manifest_of(name, into) is not None)


def remove(name: str, into: str) -> None:
    """Takes away a file, or a folder with all in it, however deep; of a link, the link itself. Raises StorageError."""
    path = os.path.join(into, name)
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return
        top = _unlocked(path)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error("remove", path, error) from error


def _names(into: str) -> list[str]:
    try:
        return os.listdir(into)
    except OSError as error:
        raise storage_error("look into", into, error) from error


def _is_ours(name: str, into: str) -> bool:
    if name.startswith(TEMPORARY):
        return True
    if name.endswith(_ENDING) and manifest_of(name.removesuffix(_ENDING), into) is not None:
        return True
    return manifest_of(name, into) is not None and _holds_files(name, into)


def _holds_files(name: str, into: str) -> bool:
    """Whether it is a folder, or a link: there is nothing to lose in one."""
    try:
        mode = os.lstat(os.path.join(into, name)).st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _empty(top: int) -> None:
    """Empties an open folder. Folders in folders are brought up to it first, so that no depth is too much."""
    left = _emptied(top, top)
    while left:
        name = left.pop()
        folder = os.open(name, _FOLDER, dir_fd=top)
        try:
            left += _emptied(folder, top)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)


def _emptied(folder: int, top: int) -> list[str]:
    """Removes the files in a folder, and moves the folders in it to the top, under names of no one's choice."""
    moved = []
    for name in os.listdir(folder):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            continue
        os.close(_unlocked(name, folder))
        fresh = secrets.token_hex(16)
        os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=top)
        moved.append(fresh)
    return moved


def _unlocked(name: str, beneath: int | None = None) -> int:
    """An open folder, which may be emptied and moved from now on, also if it was made unwritable."""
    folder = os.open(name, _FOLDER, dir_fd=beneath)
    with suppress(OSError):
        os.fchmod(folder, 0o700)
    return folder
