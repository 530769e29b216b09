"""Runs commands that a model wrote: in the best sandbox that holds here, or not at all, unless the user said --unsandboxed.

Inside: only the workspace and a private folder for temporary files are writable, the system is read-only, no home, no
network, no environment, no process of the host; limits on time, memory, processes, disk and output.
Not covered: a bug of the kernel; that a file exists, where Landlock alone holds (its content and name lists are).
"""

from __future__ import annotations

from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, NONE, OFF, Box, Finished, Limits, Probe
from phases.sandbox.launch import started
from phases.sandbox.output import LARGEST_OUTPUT
from phases.sandbox.probing import probe, probe_of

__all__ = [
    "BUBBLEWRAP", "LANDLOCK", "LARGEST_OUTPUT", "NONE", "OFF", "SECONDS", "Box", "Finished", "Limits", "Probe",
    "kind_of_sandbox", "probe", "probe_of", "run_in",
]  # fmt: skip
SECONDS = 300


def kind_of_sandbox(setting: str) -> str:
    """What commands will run in, under the user's setting: a kind of sandbox, off, or none (they do not run)."""
    return OFF if setting == "off" else probe().kind


def run_in(box: Box, command: str, *, seconds: float = SECONDS) -> Finished:
    """Runs a shell command with the workspace as its folder. Every process of it is gone when this returns."""
    if box.kind in (BUBBLEWRAP, LANDLOCK, OFF):
        return started(box, command, seconds)
    return Finished(
        None,
        f"not run: {probe().detail}; install it (apt-get install bubblewrap), or allow your own rights with --unsandboxed",
    )
