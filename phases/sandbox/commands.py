"""Runs commands that a model wrote: in the best sandbox that holds here, or not at all, unless the user said --unsandboxed.

Inside: only the workspace and a private directory for temporary files are writable, the system is read-only, no home, no
network, no environment, no process of the host; limits on time, memory, processes, disk and output.
Not covered: a bug of the kernel; that a file exists, where Landlock alone holds (its content and name lists are).
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from phases.sandbox.box import KINDS, OFF, Box, CommandResult, Listener
from phases.sandbox.launch import launch_command
from phases.sandbox.probe import probe_best, probe_kind
from pipeline.base.logs import logger
from pipeline.base.text_escaping import one_line

SECONDS = 300


def kind_of_sandbox(setting: str) -> str:
    """What commands will run in, under the user's setting: a kind of sandbox, off, or none (they do not run).

    A kind that the user names is taken or none is: nothing weaker in its place.
    """
    if setting in KINDS:
        return probe_kind(setting).kind
    return OFF if setting == OFF else probe_best().kind


def run_command(
    box: Box,
    command: str,
    *,
    seconds: float = SECONDS,
    variables: Mapping[str, str] | None = None,
    listener: Listener | None = None,
) -> CommandResult:
    """Runs a shell command with the workspace as its directory. Every process of it is gone when this returns.

    `variables` are added to its environment; a `listener` gets its output and may end it.
    """
    if box.kind not in (*KINDS, OFF):
        why = probe_best().detail
        logger.debug("not run, because there is no sandbox ({}): {}", why, one_line(command))
        advice = "install it (apt-get install bubblewrap), or allow your own rights with --unsandboxed"
        return CommandResult(None, f"not run: {why}; {advice}")
    began = time.monotonic()
    result = launch_command(box, command, seconds, variables=variables, listener=listener)
    how = f"stopped at {result.limit}" if result.limit else f"exit code {result.exit_code}"
    logger.debug("ran in {}, {} after {:.2f} s: {}", box.kind, how, time.monotonic() - began, one_line(command))
    return result
