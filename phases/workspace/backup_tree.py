"""Copy generated code for the user before it is replaced."""

from __future__ import annotations

import errno
import os
import shutil
import stat

from phases.workspace.tree import open_root, remove_tree
from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory, sync_directory, sync_tree
from pipeline.base.safe_tree import open_directory, open_file, open_regular, walk_tree

_DEEPEST = 64


def back_up_tree(workspace: str, target: str) -> bool:
    """Copy the workspace to `target`, whole or not at all; False where it cannot be copied.

    Links are copied as links; pipes, devices and sockets are left out.
    """
    unfinished = f"{workspace}.copy"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        _copy(workspace, unfinished)
        # Durable before it gets its name: what it is a copy of may be changed next.
        sync_tree(unfinished)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(unfinished, target)
        sync_directory(os.path.dirname(workspace))
    except (OSError, StorageError):  # a command may close directories to us
        shutil.rmtree(unfinished, ignore_errors=True)
        return False
    return True


def remove_directory(path: str) -> None:
    """Remove a directory that commands wrote in, whatever rights they gave it. Raises StorageError; a link is not followed."""
    if os.path.lexists(path):
        with open_root(path, verb="remove") as root:
            for name in os.listdir(root):
                remove_tree(root, name)
            os.rmdir(path)


def copy_tree(workspace: str, target: str) -> bool:
    """Copy the workspace as a scratch copy: not durable, and False may leave a part of it."""
    try:
        _copy(workspace, target)
    except OSError:
        return False
    return True


def _copy(workspace: str, target: str) -> None:
    """Raise OSError, also for directories nested beyond what can be copied: a command can make them without end."""
    with open_directory(workspace) as root:
        directories = {target: os.fstat(root)}
        os.mkdir(target, 0o700)
        for entry in walk_tree(root, deepest=_DEEPEST):
            copy = os.path.join(target, entry.path)
            if entry.is_entered:
                directories[copy] = entry.status()
                os.mkdir(copy, 0o700)
            elif entry.is_directory():
                raise OSError(errno.EACCES, "it lies too deep, or cannot be opened", entry.path)
            elif entry.is_regular():
                _copy_file(open_regular(entry.name, entry.directory), copy)
            elif entry.entry.is_symlink():
                os.symlink(os.readlink(entry.name, dir_fd=entry.directory), copy)
    for copy, status in reversed(directories.items()):  # when all in it is there: it may be closed to writers
        os.chmod(copy, stat.S_IMODE(status.st_mode))
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


def carry_directory_over(name: str, source: str, target: str) -> None:
    """Copy one directory out of a workspace that was set aside into the new one: what the user put there stays there."""
    theirs, ours = os.path.join(source, name), os.path.join(target, name)
    if os.path.isdir(theirs) and not os.path.islink(theirs) and not os.path.lexists(ours):
        make_directory(target)
        back_up_tree(theirs, ours)


def latest_aside(path: str) -> str:
    """Return the newest backup of a path: `<path>.prev`, `.prev2`, …; empty if there is none."""
    latest, target, number = "", f"{path}.prev", 2
    while os.path.lexists(target):
        latest, target, number = target, f"{path}.prev{number}", number + 1
    return latest


def carry_file_over(path: str, source: str, target: str) -> None:
    """Copy one file out of a workspace that was set aside into the new one, where it is not there."""
    *parts, name = path.split("/")
    ours = os.path.join(target, path)
    if ".." in parts or os.path.lexists(ours):
        return
    try:
        with open_directory(source, parts) as directory:
            descriptor = open_regular(name, directory)
    except OSError:  # it is not there, is no file, or a link is on the way
        return
    os.makedirs(os.path.dirname(ours), exist_ok=True)
    _copy_file(descriptor, ours)


def _copy_file(descriptor: int, target: str) -> None:
    """Copy an open file with mode and times, and close it; setuid and setgid are dropped. Raises OSError, also if the copy
    exists.
    """
    with os.fdopen(descriptor, "rb") as source, open_file(target, "xb") as copy:
        status = os.fstat(descriptor)
        os.fchmod(copy.fileno(), stat.S_IMODE(status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.utime(copy.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
