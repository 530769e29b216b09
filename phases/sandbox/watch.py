"""What the processes of a command use up, and which limit that breaks."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
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
    """Looks at a process and all that it brings forth, and at the folders that they may fill."""

    def __init__(self, root: int, folders: Sequence[str], limits: Limits) -> None:
        self._root, self._folders, self._limits = root, folders, limits
        self._disk = max(limits.disk, sum(measure_disk_use(folder) for folder in folders))
        self._floor = min([_LEAST_FREE, *(_free_bytes(folder) // 2 for folder in folders)])
        self._devices = {os.stat(folder).st_dev for folder in folders}
        self._look_again = self._walk_again = 0.0

    def find_breach(self) -> str | None:
        """The limit that is broken, or None. Looks only when it is time to."""
        started = time.monotonic()
        if started < self._look_again:
            return None
        kin = descendants_of(self._root)
        broken = self._processes(kin) or self._memory(kin)
        if not broken and started >= self._walk_again:
            broken = self._disk_breach(kin)
            now = time.monotonic()
            self._walk_again = now + max(_DISK_EVERY, _RESTS * (now - started))
        now = time.monotonic()
        self._look_again = now + min(1.0, _RESTS * (now - started))
        return broken

    def _processes(self, kin: Sequence[Process]) -> str | None:
        if len(kin) > self._limits.processes:
            return f"processes: {self._limits.processes}"
        if sum(process.threads for process in kin) > self._limits.threads:
            return f"threads: {self._limits.threads:,}"
        return None

    def _memory(self, kin: Sequence[Process]) -> str | None:
        """Shared pages count once; that costs more to find out, and is asked only where the sum of all is too much."""
        most = self._limits.memory
        if sum(process.resident for process in kin) > most and sum(map(_share_of_memory, kin)) > most:
            return f"memory: {format_bytes(most)}"
        return None

    def _disk_breach(self, kin: Sequence[Process]) -> str | None:
        used = sum(measure_disk_use(folder) for folder in self._folders) + self._nameless(kin)
        if used > self._disk:
            return f"disk: {format_bytes(self._limits.disk)} in the workspace"
        if any(_free_bytes(folder) < self._floor for folder in self._folders):
            return f"disk: less than {format_bytes(self._floor)} is free"
        return None

    def _nameless(self, kin: Sequence[Process]) -> int:
        """Files that were deleted and are still open take up room, too."""
        found: dict[tuple[int, int], int] = {}
        for process in kin:
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
    """The bytes that a directory takes up on the disk, at least 4 KiB a name. One that is nested for ever has no end."""
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


def _free_bytes(folder: str) -> int:
    try:
        status = os.statvfs(folder)
    except OSError:
        return _ENDLESS
    return status.f_bavail * status.f_frsize


def _share_of_memory(process: Process) -> int:
    """The memory of a process, with what it shares counted in parts."""
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
