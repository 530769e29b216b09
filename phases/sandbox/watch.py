"""What the processes of a command use up, and which limit that breaks."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence

from phases.sandbox.box import Limits, format_bytes
from phases.sandbox.process_tree import Process, descendants_of

_BLOCK = 512
_NAME = 4096
_DEEPEST = 128
_LEAST_FREE = 2**30
_RESTS = 10
"""Looking takes at most one part in so many of the time."""
_DISK_EVERY = 0.25
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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


def measure_disk_use(folder: str) -> int:
    """The bytes that a folder takes up on the disk, at least 4 KiB a name. One that is nested for ever has no end."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError:
        return 0
    return _measure_beneath(descriptor, 0, set())


def _measure_beneath(folder: int, depth: int, seen: set[tuple[int, int]]) -> int:
    """Closes the folder that it is given."""
    if depth > _DEEPEST:
        os.close(folder)
        return _ENDLESS
    used, inner = 0, []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if status.st_nlink == 1 or (status.st_dev, status.st_ino) not in seen:
                    used += max(_NAME, status.st_blocks * _BLOCK)
                if stat.S_ISDIR(status.st_mode):
                    inner.append(entry.name)
                elif status.st_nlink > 1:
                    seen.add((status.st_dev, status.st_ino))
        for name in inner:
            try:
                descriptor = os.open(name, _FOLDER, dir_fd=folder)
            except OSError:
                continue
            used += _measure_beneath(descriptor, depth + 1, seen)
    except OSError:
        return used
    finally:
        os.close(folder)
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
