"""Build the command line of bubblewrap."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache

from phases.sandbox.box import Box
from phases.sandbox.landlock import SYSTEM

TMP = "/tmp"  # noqa: S108 - inside the sandbox this is an empty directory of its own
INSIDE = "/run/pipeline"
BIN = f"{INSIDE}/bin"
CONFINE = f"{INSIDE}/confine.py"
_HERE = os.path.dirname(os.path.abspath(__file__))


def wrap_command(box: Box, python: Sequence[str], command: Iterable[str], *, network: bool = False) -> list[str]:
    """Wrap a command in bubblewrap. `python` is its interpreter, then the directories that it needs.

    Its environment is the one that bubblewrap is started with: on a command line, everybody could read it.
    """
    argv = [find_bubblewrap() or "bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    argv += ["--hostname", "sandbox", "--cap-drop", "ALL"]
    argv += ["--share-net"] if network else []
    # A user namespace of its own would give a command the whole surface of the kernel that only root sees.
    argv += ["--disable-userns"] if "--disable-userns" in _known_options() else []
    for path in SYSTEM:
        if os.path.islink(path):
            argv += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            argv += ["--ro-bind", path, path]
    argv += ["--proc", "/proc", "--dev", "/dev", *_tmpfs_options(box.limits.scratch, "/dev/shm")]  # noqa: S108 - its own
    argv += _tmpfs_options(box.limits.scratch, TMP)
    # code_base is never among them: the report could not name what `cat` prints (decision 105).
    for path in (*python[1:], *box.all_readable):
        if not is_in_system(path):
            argv += ["--ro-bind", path, path]
    for folder in box.data:
        argv += ["--ro-bind", folder.path, folder.inside]
    for path in box.devices:
        argv += ["--dev-bind", path, path]
    for name in ("python", "python3"):
        argv += ["--symlink", python[0], f"{BIN}/{name}"]
    argv += ["--ro-bind", os.path.join(_HERE, "confine.py"), CONFINE]
    # Last, because a later mount covers an earlier one: the workspace may lie in a directory that is readable.
    for path in (box.workspace, *box.writable):
        argv += ["--bind", path, path]
    for path in box.read_only:
        if os.path.isdir(path) and not os.path.islink(path):  # a link would lead the mount elsewhere
            argv += ["--ro-bind", path, path]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*argv, "--", python[0], "-I", "-S", CONFINE, *command]


def find_bubblewrap() -> str | None:
    """Return the path of bubblewrap, as the user's shell would find it."""
    found = shutil.which("bwrap")
    return os.path.abspath(found) if found else None


def bubblewrap_version() -> str:
    """Return bubblewrap's version. Raises OSError without it."""
    told = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, timeout=20, check=False)
    return told.stdout.strip() or "bubblewrap"


def is_in_system(path: str) -> bool:
    """Return whether a path is mounted with the system already."""
    return any(
        path == directory or path.startswith(directory + "/") for directory in ("/usr", "/bin", "/lib", "/lib64")
    )


def _tmpfs_options(most: int, path: str) -> list[str]:
    return [*(("--size", str(most)) if "--size" in _known_options() else ()), "--tmpfs", path]


@cache
def _known_options() -> frozenset[str]:
    told = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, timeout=20, check=False)
    return frozenset((told.stdout + told.stderr).split())
