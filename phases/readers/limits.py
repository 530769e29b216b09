"""The limits that a child process sets itself before it opens what a stranger made."""

from __future__ import annotations

import ctypes
import resource
import signal
import sys

MEMORY = 1024**3
LARGEST_FILE = 64 * 1024 * 1024
_PR_SET_PDEATHSIG = 1


def set_limits(seconds: int) -> None:
    """From here on this process has a GiB of memory, so much processor time and files of 64 MiB, and dies with its parent."""
    if sys.platform == "linux":
        # A run that is killed takes its child along; elsewhere the limits end it.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # SIGXCPU says why it ended
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
