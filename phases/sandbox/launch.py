"""How a command is started in each kind of sandbox."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping

from phases.sandbox.bash import has_bash, shell_words
from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, Box, CommandResult
from phases.sandbox.bubblewrap import BIN, TMP, build_search_path, wrap_command
from phases.sandbox.landlock import SIGNALS_ABI, landlock_abi, landlock_words
from phases.sandbox.process import ProcessSpec, run_to_end
from phases.sandbox.process_tree import count_threads_of_user
from phases.sandbox.scratch import scratch_directory
from phases.sandbox.seccomp import seccomp_words
from phases.sandbox.supervise import START

MOST_BYTES = 100_000
"""Of a command: a kernel gives a program no longer argument than 128 KiB."""
_OPEN_FILES = 4096
_NICE = 10
"""The runner gets its turn whatever a command does."""
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 3)[0]


def launch_command(
    box: Box, command: str, seconds: float, *, variables: Mapping[str, str] | None = None, network: bool = False
) -> CommandResult:
    """Runs a shell command in a box of a kind that runs commands. `variables` are added to its environment.

    `network` opens that of the host, in bubblewrap alone; Landlock alone never does.
    """
    length = len(command.encode("utf-8", "replace"))
    if length > MOST_BYTES:
        return CommandResult(
            None, f"not run: the command has {length:,} bytes, over {MOST_BYTES:,}; write them to a file and run that\n"
        )
    if missing := [path for path in (box.workspace, *box.readable) if not os.path.exists(path)]:
        return CommandResult(None, f"not run: {missing[0]} is needed in the sandbox, and is not there\n")
    if not has_bash():
        return CommandResult(None, "not run: bash is not installed on this machine\n")
    shell, given = ["--", *shell_words(command)], variables or {}
    if box.kind == BUBBLEWRAP:
        words = [*_limit_words(box), f"cd:{box.workspace}", *landlock_words(box, TMP, ()), *seccomp_words(alone=False)]
        argv = wrap_command(box, find_interpreter(box), [*words, *shell], network=network)
        found = {**base_environment(TMP), "PATH": build_search_path(box, BIN), **given}
        return run_to_end(ProcessSpec(argv, found, (box.workspace,), True), box.limits, seconds)
    return _launch_supervised(box, shell, seconds, given)


def find_interpreter(box: Box) -> list[str]:
    """The python of this program, then the folders that it needs: exactly these, be they in a home folder."""
    folders = [sys.base_prefix, os.path.realpath(sys.base_prefix), *([box.python] if box.python else [])]
    return [os.path.realpath(sys.executable), *dict.fromkeys(folders)]


def base_environment(home: str) -> Mapping[str, str]:
    """All that a command finds in its environment, but for the PATH."""
    return {
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


def _launch_supervised(box: Box, shell: list[str], seconds: float, given: Mapping[str, str]) -> CommandResult:
    """Without namespaces: the kernel's rules alone, or none, and a parent that ends every child."""
    try:
        with scratch_directory() as scratch:
            return _launch_supervised_in(scratch, box, shell, seconds, given)
    except OSError as error:
        return CommandResult(None, f"not run: no folder for temporary files: {error}\n")


def _launch_supervised_in(
    scratch: str, box: Box, shell: list[str], seconds: float, given: Mapping[str, str]
) -> CommandResult:
    python = find_interpreter(box)
    names = os.path.join(scratch, "bin")
    os.mkdir(names)
    for name in ("python", "python3"):
        os.symlink(python[0], os.path.join(names, name))
    words = [*_limit_words(box), f"cd:{box.workspace}"]
    if box.kind == LANDLOCK:
        words += ["drop:", *landlock_words(box, scratch, python[1:])]
        words += seccomp_words(alone=True, signals=landlock_abi() < SIGNALS_ABI)
    argv = [python[0], "-I", "-S", "-c", START, _PACKAGES, scratch, *words, *shell]
    found = {**base_environment(scratch), "PATH": build_search_path(box, names), **given}
    return run_to_end(ProcessSpec(argv, found, (box.workspace, scratch), False), box.limits, seconds)


def _limit_words(box: Box) -> list[str]:
    limits = [
        (resource.RLIMIT_FSIZE, box.limits.file),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ]
    if sys.platform == "linux":
        limits.append((resource.RLIMIT_AS, box.limits.memory))
    if os.getuid():
        # The kernel counts all threads of a user, here and elsewhere, and never root's: watching has to do there.
        limits.append((resource.RLIMIT_NPROC, count_threads_of_user() + box.limits.threads))
    return [f"nice:{_NICE}", *(f"limit:{number}:{most}" for number, most in limits)]
