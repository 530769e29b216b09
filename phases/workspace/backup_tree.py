"""Copies of the generated code that are kept for its owner, before something else takes its place."""

from __future__ import annotations

import os
import shutil
import stat

from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory, sync_directory, sync_tree
from pipeline.base.safe_tree import walk_tree

_DEEPEST = 64


def back_up_tree(workspace: str, target: str) -> bool:
    """Copies the workspace to `target`, whole or not at all; False where it cannot be copied.

    Links are copied as links; pipes, devices and sockets are left out.
    """
    unfinished = f"{workspace}.copy"
    if _is_too_deep(workspace):
        return False
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        _copy(workspace, unfinished)
        # Durable before it gets its name: what it is a copy of may be changed next.
        sync_tree(unfinished)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(unfinished, target)
        sync_directory(os.path.dirname(workspace))
    except (OSError, shutil.Error, StorageError):  # a command may close directories to us
        shutil.rmtree(unfinished, ignore_errors=True)
        return False
    return True


def copy_tree(workspace: str, target: str) -> bool:
    """The same for a copy that is only worked on: it is not made durable, and False may leave a part of it."""
    if _is_too_deep(workspace):
        return False
    try:
        _copy(workspace, target)
    except (OSError, shutil.Error):
        return False
    return True


def _copy(workspace: str, target: str) -> None:
    shutil.copytree(workspace, target, symlinks=True, ignore=_names_to_skip, copy_function=_copy_file)


def carry_directory_over(name: str, source: str, target: str) -> None:
    """Copies one directory out of a workspace that was set aside into the new one: what the user put there stays there."""
    theirs, ours = os.path.join(source, name), os.path.join(target, name)
    if os.path.isdir(theirs) and not os.path.islink(theirs) and not os.path.lexists(ours):
        make_directory(target)
        back_up_tree(theirs, ours)


def latest_aside(path: str) -> str:
    """What was set aside last from there: `<path>.prev`, `.prev2`, …; empty where nothing was."""
    found, target, number = "", f"{path}.prev", 2
    while os.path.lexists(target):
        found, target, number = target, f"{path}.prev{number}", number + 1
    return found


def carry_file_over(path: str, source: str, target: str) -> None:
    """Copies one file out of a workspace that was set aside into the new one, where it is not there."""
    theirs, ours = os.path.join(source, path), os.path.join(target, path)
    inside = os.path.realpath(theirs) == os.path.join(os.path.realpath(source), path)
    if inside and os.path.isfile(theirs) and not os.path.lexists(ours):
        os.makedirs(os.path.dirname(ours), exist_ok=True)
        _copy_file(theirs, ours)


def _copy_file(source: str, target: str) -> None:
    """Copies a file with its mode and times; never setuid or setgid: a copy is nobody's to be run as somebody else."""
    shutil.copy2(source, target, follow_symlinks=False)
    mode = os.lstat(target).st_mode
    if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
        os.chmod(target, stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _is_too_deep(root: str) -> bool:
    """Whether directories are nested beyond what can be copied; a command can make them without end."""
    try:
        return any(found.is_directory() and not found.is_entered for found in walk_tree(root, deepest=_DEEPEST))
    except OSError:
        return True


def _names_to_skip(directory: str, names: list[str]) -> list[str]:
    paths = ((name, os.path.join(directory, name)) for name in names)
    return [name for name, path in paths if not (os.path.islink(path) or os.path.isfile(path) or os.path.isdir(path))]
