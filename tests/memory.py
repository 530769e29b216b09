"""Measure how far the memory of this process grows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def measure_growth() -> Callable[[], int]:
    """Start to measure; the function that is returned gives the growth up to the peak since then, in MiB."""
    # ru_maxrss would include the parent: a child starts with its parent's peak, even one that executes another program
    Path("/proc/self/clear_refs").write_text("5")
    held = _resident("VmRSS")
    return lambda: (_resident("VmHWM") - held) // 1024


def _resident(name: str) -> int:
    """Return a line of this process's status, in KiB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[name].split()[0])
