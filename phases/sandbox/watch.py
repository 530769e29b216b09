"""Measure the resources of a command's processes, and find broken limits."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from phases.sandbox.box import Limits, format_bytes
from phases.sandbox.process_tree import Process, descendants_of
from pipeline.base.safe_tree import walk_tree

_BLOCK = 512
_NAME = 4096
_DEEPEST = 128
_LEAST_FREE = 2**30
_RESTS = 10
"""Looking takes at most one part in so many of the time."""
_DISK_EVERY = 0.25
_ENDLESS = 2**62


class LimitWatch:
    """Looks at a process and all that it brings forth, and at the directories that they may fill."""

    def __init__(
        self, root: int, directories: Sequence[str], limits: Limits, find_other: Callable[[], int] = lambda: 0
    ) -> None:
        """`find_other` gives the number of another process that belongs to it, once there is one; 0 until then."""
        self._find_other, self._other = find_other, 0
        self._root, self._directories, self._limits = root, directories, limits
        self._disk = max(limits.disk, sum(measure_disk_use(directory) for directory in directories))
        self._floor = min([_LEAST_FREE, *(_free_bytes(directory) // 2 for directory in directories)])
        self._devices = {os.stat(directory).st_dev for directory in directories}
        self._look_again = self._walk_again = 0.0

    def find_breach(self) -> str | None:
        """Return the broken limit, or None. Measures only when it is time to."""
        started = time.monotonic()
        if started < self._look_again:
            return None
        self._other = self._other or self._find_other()
        descendants = descendants_of(self._root) + (descendants_of(self._other) if self._other else [])
        broken = self._processes(descendants) or self._memory(descendants)
        if not broken and started >= self._walk_again:
            broken = self._disk_breach(descendants)
            now = time.monotonic()
            self._walk_again = now + max(_DISK_EVERY, _RESTS * (now - started))
        now = time.monotonic()
        self._look_again = now + min(1.0, _RESTS * (now - started))
        return broken

    def _processes(self, descendants: Sequence[Process]) -> str | None:
        if len(descendants) > self._limits.processes:
            return f"processes: {self._limits.processes}"
        if sum(process.threads for process in descendants) > self._limits.threads:
            return f"threads: {self._limits.threads:,}"
        return None

    def _memory(self, descendants: Sequence[Process]) -> str | None:
        """Return a broken memory limit. Shared pages count once, which is measured only if the plain sum is too much."""
        most = self._limits.memory
        if sum(process.resident for process in descendants) > most and sum(map(_share_of_memory, descendants)) > most:
            return f"memory: {format_bytes(most)}"
        return None

    def _disk_breach(self, descendants: Sequence[Process]) -> str | None:
        used = sum(measure_disk_use(directory) for directory in self._directories) + self._nameless(descendants)
        if used > self._disk:
            return f"disk: {format_bytes(self._limits.disk)} in the workspace"
        if any(_free_bytes(directory) < self._floor for directory in self._directories):
            return f"disk: less than {format_bytes(self._floor)} is free"
        return None

    def _nameless(self, descendants: Sequence[Process]) -> int:
        """Return the bytes of deleted files that are still open: they take up room, too."""
        found: dict[tuple[int, int], int] = {}
        for process in descendants:
            try:
                names = os.listdir(f"/proc/{process.pid}/fd")
            except OSError:
                continue
            for name in names:
                try:
                    status = os.stat(f"/proc/{process.pid}/fd/{name}")
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode) and not status.st_nlink and status.st_dev in self._devices:
                    found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
        return sum(found.values())


def measure_disk_use(directory: str) -> int:
    """Return the disk use of a directory in bytes, at least 4 KiB a name. An endlessly nested one has no end."""
    used = 0
    seen: set[tuple[int, int]] = set()
    with suppress(OSError):
        for found in walk_tree(directory, deepest=_DEEPEST):
            try:
                status = found.entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                if not found.is_entered and found.path.count("/") == _DEEPEST:
                    return _ENDLESS
            elif status.st_nlink > 1:
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
            used += max(_NAME, status.st_blocks * _BLOCK)
    return used


def _free_bytes(directory: str) -> int:
    try:
        status = os.statvfs(directory)
    except OSError:
        return _ENDLESS
    return status.f_bavail * status.f_frsize


def _share_of_memory(process: Process) -> int:
    """Return the memory of a process, with shared memory counted in parts."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        return process.resident
    return process.resident
