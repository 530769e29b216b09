"""Runs commands that a model wrote: in the best sandbox that holds here, or not at all, unless the user said --unsandboxed.

Inside: only the workspace and a private folder for temporary files are writable, the system is read-only, no home, no
network, no environment, no process of the host; limits on time, memory, processes, disk and output.
Not covered: a bug of the kernel; that a file exists, where Landlock alone holds (its content and name lists are).
"""

from __future__ import annotations

from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, OFF, Box, CommandResult
from phases.sandbox.launch import launch_command
from phases.sandbox.probe import probe_best

SECONDS = 300


def kind_of_sandbox(setting: str) -> str:
    """What commands will run in, under the user's setting: a kind of sandbox, off, or none (they do not run)."""
    return OFF if setting == "off" else probe_best().kind


def run_command(box: Box, command: str, *, seconds: float = SECONDS) -> CommandResult:
    """Runs a shell command with the workspace as its folder. Every process of it is gone when this returns."""
    if box.kind in (BUBBLEWRAP, LANDLOCK, OFF):
        return launch_command(box, command, seconds)
    return CommandResult(
        None,
        f"not run: {probe_best().detail}; install it (apt-get install bubblewrap), or allow your own rights with --unsandboxed",
    )
