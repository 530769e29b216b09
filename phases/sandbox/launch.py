"""How a command is started in each kind of sandbox."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping

from phases.sandbox.bash import has_bash, shell_words
from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, Box, Finished
from phases.sandbox.bubblewrap import BIN, TMP, search_path, wrapped
from phases.sandbox.landlock import SIGNALS_ABI, abi, landlock_words
from phases.sandbox.process import Launch, run
from phases.sandbox.process_tree import tasks_of_this_user
from phases.sandbox.scratch import scratch_folder
from phases.sandbox.seccomp import seccomp_words
from phases.sandbox.supervise import START

MOST_BYTES = 100_000
"""Of a command: a kernel gives a program no longer argument than 128 KiB."""
_OPEN_FILES = 4096
_NICE = 10
"""The runner gets its turn whatever a command does."""
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 3)[0]


def started(
    box: Box, command: str, seconds: float, *, variables: Mapping[str, str] | None = None, network: bool = False
) -> Finished:
    """Runs a shell command in a box of a kind that runs commands. `variables` are added to its environment.

    `network` opens that of the host, in bubblewrap alone; Landlock alone never does.
    """
    length = len(command.encode("utf-8", "replace"))
    if length > MOST_BYTES:
        return Finished(
            None, f"not run: the command has {length:,} bytes, over {MOST_BYTES:,}; write them to a file and run that\n"
        )
    if missing := [path for path in (box.workspace, *box.readable) if not os.path.exists(path)]:
        return Finished(None, f"not run: {missing[0]} is needed in the sandbox, and is not there\n")
    if not has_bash():
        return Finished(None, "not run: bash is not installed on this machine\n")
    shell, given = ["--", *shell_words(command)], variables or {}
    if box.kind == BUBBLEWRAP:
        words = [*_limits(box), f"cd:{box.workspace}", *landlock_words(box, TMP, ()), *seccomp_words(alone=False)]
        argv = wrapped(box, interpreter(box), [*words, *shell], network=network)
        found = {**environment(TMP), "PATH": search_path(box, BIN), **given}
        return run(Launch(argv, found, (box.workspace,), True), box.limits, seconds)
    return _supervised(box, shell, seconds, given)


def interpreter(box: Box) -> list[str]:
    """The python of this program, then the folders that it needs: exactly these, be they in a home folder."""
    folders = [sys.base_prefix, os.path.realpath(sys.base_prefix), *([box.python] if box.python else [])]
    return [os.path.realpath(sys.executable), *dict.fromkeys(folders)]


def environment(home: str) -> Mapping[str, str]:
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


def _supervised(box: Box, shell: list[str], seconds: float, given: Mapping[str, str]) -> Finished:
    """Without namespaces: the kernel's rules alone, or none, and a parent that ends every child."""
    try:
        with scratch_folder() as scratch:
            return _supervised_in(scratch, box, shell, seconds, given)
    except OSError as error:
        return Finished(None, f"not run: no folder for temporary files: {error}\n")


def _supervised_in(scratch: str, box: Box, shell: list[str], seconds: float, given: Mapping[str, str]) -> Finished:
    python = interpreter(box)
    names = os.path.join(scratch, "bin")
    os.mkdir(names)
    for name in ("python", "python3"):
        os.symlink(python[0], os.path.join(names, name))
    words = [*_limits(box), f"cd:{box.workspace}"]
    if box.kind == LANDLOCK:
        words += ["drop:", *landlock_words(box, scratch, python[1:])]
        words += seccomp_words(alone=True, signals=abi() < SIGNALS_ABI)
    argv = [python[0], "-I", "-S", "-c", START, _PACKAGES, scratch, *words, *shell]
    found = {**environment(scratch), "PATH": search_path(box, names), **given}
    return run(Launch(argv, found, (box.workspace, scratch), False), box.limits, seconds)


def _limits(box: Box) -> list[str]:
    limits = [
        (resource.RLIMIT_FSIZE, box.limits.file),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ]
    if sys.platform == "linux":
        limits.append((resource.RLIMIT_AS, box.limits.memory))
    if os.getuid():
        # The kernel counts all threads of a user, here and elsewhere, and never root's: watching has to do there.
        limits.append((resource.RLIMIT_NPROC, tasks_of_this_user() + box.limits.threads))
    return [f"nice:{_NICE}", *(f"limit:{number}:{most}" for number, most in limits)]
