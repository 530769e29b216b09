"""Confine the processes that parse untrusted input: no network, no home directory, no writable file.

They run in what holds on this machine: the kernel's rules (Landlock) with the filter on system calls, else bubblewrap, else that
filter alone. A worker sets its limits on memory and time itself, and has no key in its environment (pipeline/base/workers.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

import phases
import pipeline
from phases.sandbox.bubblewrap import TMP, find_bubblewrap
from phases.sandbox.landlock import OLDEST_ABI, SYSTEM, landlock_abi, reading_words
from phases.sandbox.seccomp import seccomp_words

_CONFINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "confine.py")
_OWN = (*phases.__path__, *pipeline.__path__)


def confine_parser(argv: Sequence[str], readable: Sequence[str]) -> list[str]:
    """Return the command line of a confined Python worker of this program, which reads `readable` besides Python."""
    paths = [*_installed(), *map(os.path.abspath, readable)]
    # without this machine's namespaces around it, the filter refuses every socket (decision 255)
    words = [*seccomp_words(alone=True)]
    if landlock_abi() >= OLDEST_ABI:
        words = ["drop:", *reading_words(paths, _listed()), *words]
    confined = [sys.executable, "-I", "-S", _CONFINE, *words, "--", *argv] if words else [*argv]
    if landlock_abi() >= OLDEST_ABI or not (bubblewrap := find_bubblewrap()):
        return confined
    return [bubblewrap, *_mounts([*SYSTEM, *paths]), "--", *confined]


def _installed() -> list[str]:
    """Return exactly the directories of Python and this program, even in a home directory."""
    stores = ("/nix/store", "/gnu/store")  # where some systems have all their programs
    python = sorted({sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)})
    return [*filter(os.path.isdir, stores), *python, *map(os.path.abspath, _OWN)]


def _listed() -> list[str]:
    """Return the directories in which Python looks for this program: only their names are read."""
    return sorted({os.path.dirname(os.path.abspath(path)) for path in _OWN})


def _mounts(paths: Sequence[str]) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", TMP)  # first: what is read may lie below one of them
    for path in dict.fromkeys(paths):
        if os.path.exists(path):
            yield from ("--ro-bind", path, path)
    for path in (TMP, "/dev", "/"):
        yield from ("--remount-ro", path)
