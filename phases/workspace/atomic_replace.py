"""How a file of an open folder is replaced: by a new one, with the permissions that it may keep."""

from __future__ import annotations

import os
import stat

from pipeline.base.files import write_all

_NEW_MODE, _KEPT_BITS, _OWN_BITS = 0o644, 0o755, 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def mode_to_keep(name: str, folder: int) -> int | None:
    """The permissions that a file keeps when it is replaced; never setuid, and its owner can always read and write it."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    return mode & _KEPT_BITS | _OWN_BITS if stat.S_ISREG(mode) else None


def write_new_file(name: str, data: bytes, folder: int, *, mode: int | None) -> None:
    descriptor = os.open(name, _NEW, _NEW_MODE, dir_fd=folder)
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_quietly(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return
