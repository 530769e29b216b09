"""Run commands that a model wrote: in the best sandbox that holds here, or not at all, unless the user said --unsandboxed.

Inside: only the workspace and a private directory for temporary files are writable, the system is read-only, no home, no
network, no environment, no process of the host; limits on time, memory, processes, disk and output.
Not covered: a bug of the kernel; that a file exists, where Landlock alone holds (its content and name lists are).
"""

from __future__ import annotations

import platform
import re
import shutil
import time
from collections.abc import Mapping
from functools import cache

from phases.sandbox.bash import build_search_path
from phases.sandbox.box import KINDS, OFF, Box, CommandResult, Listener
from phases.sandbox.launch import launch_command
from phases.sandbox.probe import probe_best, probe_kind
from phases.sandbox.scratch import scratch_directory
from pipeline.base.logs import logger
from pipeline.base.text_escaping import one_line

SECONDS = 300
_TOOLS = (
    "node npm gcc g++ make cmake go cargo rustc java javac ruby php perl Rscript julia dotnet ghc ocaml elixir swift"
)
_ASKED_WITH = {"go": "version", "java": "-version", "javac": "-version"}
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}")
_PROBE_SECONDS = 60


def kind_of_sandbox(setting: str) -> str:
    """Return the kind of sandbox under the user's setting, off, or none (commands do not run).

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
    """Run a shell command with the workspace as its directory. Every process of it is gone when this returns.

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


def find_tools(box: Box) -> list[str]:
    """Return the tools that commands in this box find beside Python, each with its version where it is known."""
    return list(_find_tools(box.kind, box.programs))


def describe_tools(box: Box) -> str:
    """Return Python and the tools in one line: "Python 3.12.3, node 20.1.0, g++ 13.2.0"."""
    return ", ".join([f"Python {platform.python_version()}", *find_tools(box)])


@cache
def _find_tools(kind: str, programs: tuple[str, ...]) -> tuple[str, ...]:
    box = Box("", kind, programs=programs)
    there = [name for name in _TOOLS.split() if shutil.which(name, path=build_search_path(box, ""))]
    asks = ((name, f"{name} {_ASKED_WITH.get(name, '--version')}") for name in there)
    script = "".join(f'said=$(timeout 20 {ask} 2>&1) && echo "{name} $(echo $said)"\n' for name, ask in asks)
    with scratch_directory() as folder:
        done = run_command(box._replace(workspace=folder), f"{script}true", seconds=_PROBE_SECONDS)
    if done.exit_code is None:
        return tuple(there)
    # a program that cannot tell its version does not work here: rustup's stand-ins find no toolchain in a sandbox
    said = dict(line.split(" ", 1) for line in done.output.splitlines() if line.partition(" ")[0] in there)
    return tuple(" ".join([name, *_VERSION.findall(said[name])[:1]]) for name in there if name in said)
