"""Values of the sandbox: access, limits and result of a command."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from phases.sandbox.devices import NONE as GPU_NONE
from phases.sandbox.devices import DataFolder, find_devices, parse_data

STOPPED = "it was told to stop"
"""The limit of a command that its listener ended."""
PODMAN, DOCKER, APPTAINER = "podman", "docker", "apptainer"
ENGINES = (PODMAN, DOCKER, APPTAINER)
"""Engines of containers: taken only where the user names one."""
BUBBLEWRAP, LANDLOCK, OFF, NONE = "bubblewrap", "landlock", "off", "none"
"""Best first: a view of the system of its own; rules of the kernel alone; the user's own rights; not run at all."""
KINDS = (BUBBLEWRAP, LANDLOCK, *ENGINES)
"""Kinds of sandbox."""
MOUNTED = (BUBBLEWRAP, *ENGINES)
"""The kinds in which a command has a view of the system of its own: what is not mounted is not there."""
_GIB = 2**30


class Limits(NamedTuple):
    """Resource limits of one command, for all of its processes together unless stated otherwise."""

    memory: int = 8 * _GIB
    """Memory of all processes. Untouched address space is free: torch and CUDA reserve much."""
    seconds: int = 600
    """The longest that a command may ask for, and what a check gets."""
    job_seconds: int = 4 * 3600
    """Time limit of a background job, from each start of it."""
    processes: int = 256
    threads: int = 4096
    disk: int = 4 * _GIB
    """Size limit of the workspace at the end; a name counts as 4 KiB at least."""
    file: int = 2 * _GIB
    """Size limit of each file."""
    scratch: int = _GIB
    """Size limit of the private /tmp, and the same of shared memory."""
    output: int = 64 * 2**20


def limits_from(settings: Mapping[str, Any]) -> Limits:
    """Return the limits by the user's settings, or their defaults."""
    usual = Limits()
    memory = float(settings.get("command_memory_gb") or 0) * _GIB
    return usual._replace(
        memory=int(memory) or usual.memory,
        seconds=int(settings.get("command_seconds") or usual.seconds),
        job_seconds=int(settings.get("job_seconds") or usual.job_seconds),
    )


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
    """Directories of the workspace that may not be written nor made, where a mount can say so."""
    data: tuple[DataFolder, ...] = ()
    """The user's data, to be read: at /data in bubblewrap, elsewhere where it is."""
    devices: tuple[str, ...] = ()
    """The nodes of graphics cards."""
    gpu: str = GPU_NONE
    """Selected cards: none, auto, or numbers."""
    programs: tuple[str, ...] = ()
    """Directories of programs that the user shows, which may be read."""

    @property
    def all_readable(self) -> tuple[str, ...]:
        """Return the readable paths besides the system and the workspace."""
        return (*self.readable, *self.programs)


def with_machine(box: Box, settings: Mapping[str, Any]) -> Box:
    """Return the box with the machine's resources of the user's settings. Raises UsageError."""
    gpu, programs = str(settings.get("gpu") or GPU_NONE), str(settings.get("programs") or "")
    data = parse_data(str(settings.get("data") or ""))
    return box._replace(
        data=data, devices=find_devices(gpu), gpu=gpu, programs=tuple(filter(None, programs.split(os.pathsep)))
    )


class CommandResult(NamedTuple):
    exit_code: int | None
    """None when it did not run, or was stopped."""
    output: str
    """The beginning and the end of what it printed, safe to show."""
    limit: str | None = None
    """The limit that stopped it, as in "time: 300 s"."""
    timed_out: bool = False


class Listener(NamedTuple):
    """Listener of a running command, which may end it."""

    take: Callable[[bytes], object]
    """Gets each piece of its output."""
    is_stopped: Callable[[], bool]
    """Asked every second or so; once it is true the command ends."""


class Probe(NamedTuple):
    """Result of a check whether commands can run in a sandbox on this machine, with the reason if not."""

    usable: bool
    detail: str
    kind: str = NONE


def format_bytes(number: int) -> str:
    for unit, name in ((_GIB, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit:
            return f"{number / unit:.4g} {name}"
    return f"{number} bytes"
