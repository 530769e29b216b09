"""Start conditions of reader processes: they read untrusted input and may be taken over, so they hold no key of the user's."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

_PASSED = ("PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables for programs, libraries and encodings; also all that begin with LC_."""
MEMORY = 1024**3
"""Memory limit of a worker in bytes."""
# decision 128: processor time is the limit, because a clock blames a paper for a busy machine.
PATIENCE = 10
"""Factor from processor time to the time limit by the clock: on a busy machine a worker waits for its turn."""


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the user's environment that a worker gets."""
    passed = {name: value for name, value in environment.items() if name in _PASSED or name.startswith("LC_")}
    return {"PATH": os.defpath, **passed}


def leave_unconfined(argv: Sequence[str], readable: Sequence[str]) -> list[str]:
    """Return the command line unchanged."""
    return [*argv]


class WorkerStart(NamedTuple):
    """Start parameters of a worker."""

    environment: Mapping[str, str] = MappingProxyType({})
    """The user's, of which little is passed on."""
    confine: Callable[[Sequence[str], Sequence[str]], list[str]] = leave_unconfined
    """Makes of a worker's command line, and the paths that it is to read, one that starts it in a sandbox."""

    def command(self, argv: Sequence[str], readable: Sequence[str]) -> list[str]:
        """Return the command line of a worker that reads these paths and the libraries of its environment."""
        libraries = worker_environment(self.environment).get("LD_LIBRARY_PATH", "").split(os.pathsep)
        return self.confine(argv, [*readable, *filter(os.path.isabs, libraries)])


UNCONFINED = WorkerStart()


def exit_code_of(code: int) -> int:
    """Return how a worker ended, negative for a signal; a sandbox around it reports signals as 128 plus the number."""
    return 128 - code if code > 128 else code


def is_starved(pid: int) -> bool:
    """Return whether a process is starved of processor or disk rather than hanging asleep."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"R", b"D", b"T")
    except (OSError, IndexError):  # it is gone, or this system has no /proc
        return False


def lower_limit(number: int, most: int, *, spare: int = 0) -> None:
    """Set a limit of this process, or leave what the machine allows where that is less. `spare`: how far its end is behind."""
    hard = resource.getrlimit(number)[1]
    if hard != resource.RLIM_INFINITY:
        most, spare = min(most, hard), min(spare, max(0, hard - most))
    resource.setrlimit(number, (most, most + spare))


def why_starved(*, seconds: float, memory: int) -> str:
    """Return which limit of this process is too low for a worker, with what to type, or an empty string."""
    for number, needed, unit, words in (
        (resource.RLIMIT_AS, memory // 1024, 1024, "KiB of memory (ulimit -v)"),
        (resource.RLIMIT_DATA, memory // 1024, 1024, "KiB of memory (ulimit -d)"),
        (resource.RLIMIT_CPU, int(seconds), 1, "s of processor time (ulimit -t)"),
    ):
        hard = resource.getrlimit(number)[1]
        if hard != resource.RLIM_INFINITY and hard // unit < needed:
            return f"processes here may have {hard // unit:,} {words}, and a worker needs {needed:,}; raise that limit"
    return ""
