"""The values of the sandbox: what a command may touch, what it may use up, how it ended."""

from __future__ import annotations

from typing import NamedTuple

BUBBLEWRAP, LANDLOCK, OFF, NONE = "bubblewrap", "landlock", "off", "none"
"""Best first: a view of the system of its own; rules of the kernel alone; the user's own rights; not run at all."""
_GIB = 2**30


class Limits(NamedTuple):
    """What the processes of one command may use up, all together unless it says otherwise."""

    memory: int = 8 * _GIB
    """For each process its addresses, for all of them what they hold."""
    processes: int = 256
    threads: int = 4096
    disk: int = 4 * _GIB
    """What the workspace may hold in the end; a name counts as 4 KiB at least."""
    file: int = 2 * _GIB
    """Of each file."""
    scratch: int = _GIB
    """Of the private /tmp, and as much of shared memory."""
    output: int = 64 * 2**20


class Box(NamedTuple):
    workspace: str
    """The directory that may be written; the command starts in it."""
    kind: str
    readable: tuple[str, ...] = ()
    """Files and directories that may be read as well."""
    python: str | None = None
    """The virtual environment whose python is used; without it, that of this program without its libraries."""
    limits: Limits = Limits()
    writable: tuple[str, ...] = ()
    """Directories beside the workspace that may be written."""
    read_only: tuple[str, ...] = ()
    """Directories of the workspace that may not be written, where a mount can say so."""


class CommandResult(NamedTuple):
    exit_code: int | None
    """None when it did not run, or was stopped."""
    output: str
    """The beginning and the end of what it printed, safe to show."""
    limit: str | None = None
    """The limit that stopped it, as in "time: 300 s"."""
    timed_out: bool = False


class Probe(NamedTuple):
    """Whether commands can run in a sandbox on this machine, and why not."""

    usable: bool
    detail: str
    kind: str = NONE


def format_bytes(number: int) -> str:
    for unit, name in ((_GIB, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit:
            return f"{number / unit:.4g} {name}"
    return f"{number} bytes"
