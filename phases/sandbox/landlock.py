"""Rules for Landlock: the rights at an ABI, and those of a path."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterable
from functools import cache
from glob import glob

from phases.sandbox.box import LANDLOCK, Box

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
_MAKE_DEVICE = (1 << 6) | (1 << 11)
_MAKE_SOCKET = 1 << 9
_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights on files from an ABI on."""
_NET_FROM, _SCOPE_FROM = 4, 6
OLDEST_ABI = 3
"""Oldest ABI for Landlock alone: before it, a write-protected file can still be emptied."""
SIGNALS_ABI = _SCOPE_FROM
"""First ABI at which Landlock blocks signals to processes outside."""
_CREATE_RULESET, _ASK_VERSION = 444, 1
_SETTINGS = (*sorted(glob("/etc/java-*")), "/etc/R")  # links of /usr/lib lead there, and java does not start without
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/alternatives", *_SETTINGS)
_KERNEL_FACTS = (
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version"),
    *(
        "/proc/filesystems",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/kernel/cap_last_cap",
        "/sys/devices/system/cpu",
    ),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_TERMINALS = ("/dev/pts", "/dev/ptmx", "/dev/tty")


@cache
def landlock_abi() -> int:
    """Return the kernel's Landlock version; 0 without it."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return 0
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def landlock_words(box: Box, scratch: str, python: Iterable[str]) -> list[str]:
    """Return the words that make confine.py apply Landlock; none without it in the kernel."""
    version = landlock_abi()
    if not version:
        return []
    everything = max((since, rights) for since, rights in _FILES.items() if since <= version)[1]
    read, write = READ_FILE | READ_DIR | EXECUTE, everything & ~_MAKE_DEVICE
    words = [f"fs:{everything}"]
    if version >= _SCOPE_FROM:
        words.append("scope:3")
    rules = [(read, path) for path in python]
    rules += [(write, path) for path in (box.workspace, *box.writable, scratch)]
    rules += [((READ_FILE | WRITE_FILE | TRUNCATE) & everything, path) for path in _DEVICES]
    rules += [((READ_FILE | WRITE_FILE | READ_DIR | IOCTL_DEV) & everything, path) for path in box.devices]
    if box.kind == LANDLOCK:
        rules += [(read, folder.path) for folder in box.data]
        words += ["net:3"] if version >= _NET_FROM else []
        rules = [(rights & ~_MAKE_SOCKET, path) for rights, path in rules]
        rules += [(read, path) for path in (*SYSTEM, *box.all_readable)]
        rules += [(READ_FILE | READ_DIR, path) for path in _KERNEL_FACTS]
    # In bubblewrap what is not to be read is not there at all, so Landlock holds back writing alone.
    else:
        rules += [(read, "/"), (write, "/dev/shm")]  # noqa: S108 - the sandbox's own
        rules += [((READ_FILE | WRITE_FILE | READ_DIR | IOCTL_DEV) & everything, path) for path in _TERMINALS]
    return [*words, *(f"rule:{rights}:{path}" for rights, path in rules)]


def reading_words(paths: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Return the words for a process that only reads the system and these paths; of `listed` only names."""
    version = landlock_abi()
    everything = max((since, rights) for since, rights in _FILES.items() if since <= version)[1]
    words = [
        f"fs:{everything}",
        *(["net:3"] if version >= _NET_FROM else []),
        *(["scope:3"] if version >= _SCOPE_FROM else []),
    ]
    rules = [(READ_FILE | READ_DIR | EXECUTE, path) for path in (*SYSTEM, *paths)]
    rules += [(READ_FILE | READ_DIR, path) for path in _KERNEL_FACTS] + [(READ_DIR, path) for path in listed]
    rules += [((READ_FILE | WRITE_FILE | TRUNCATE) & everything, path) for path in _DEVICES]
    return [*words, *(f"rule:{rights}:{path}" for rights, path in rules)]
