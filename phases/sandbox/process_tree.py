"""List the descendants of a process, as the kernel reports them."""

from __future__ import annotations

import os
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PARENT, _THREADS, _RESIDENT = 1, 17, 21
"""Fields of /proc/PID/stat, counted from the state, which stands after the name."""


class Process(NamedTuple):
    """One process; `resident` is its memory in bytes, shared pages counted in full."""

    pid: int
    parent: int
    threads: int
    resident: int


def descendants_of(root: int) -> list[Process]:
    """Return all descendants of a process, without itself. Empty without /proc."""
    children: dict[int, list[Process]] = {}
    for process in _list_processes():
        children.setdefault(process.parent, []).append(process)
    found = list(children.pop(root, ()))
    for process in found:
        found += children.pop(process.pid, ())
    return found


def count_threads_of_user() -> int:
    """Return the number of the user's threads, all processes together; 0 without /proc."""
    user, threads = os.getuid(), 0
    for process in _list_processes():
        try:
            threads += process.threads if os.stat(f"/proc/{process.pid}").st_uid == user else 0
        except OSError:
            continue
    return threads


def _list_processes() -> list[Process]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [process for name in names if name.isdigit() and (process := _read_process(name))]


def _read_process(name: str) -> Process | None:
    try:
        descriptor = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            told = os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
        fields = told[told.rindex(b")") + 2 :].split()
        return Process(int(name), int(fields[_PARENT]), int(fields[_THREADS]), int(fields[_RESIDENT]) * _PAGE)
    except (OSError, ValueError, IndexError):
        return None  # it ended meanwhile
