"""Start a command in each kind of sandbox."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from phases.sandbox.bash import build_search_path, has_bash, shell_words, why_no_command
from phases.sandbox.box import (
    BUBBLEWRAP,
    DOCKER,
    ENGINES,
    LANDLOCK,
    MOUNTED,
    OFF,
    STOPPED,
    Box,
    CommandResult,
    Listener,
    format_bytes,
)
from phases.sandbox.bubblewrap import BIN, TMP, wrap_command
from phases.sandbox.containers import (
    engine_environment,
    find_first_process,
    remove_container,
    remove_leftovers,
    wrap_in_container,
)
from phases.sandbox.devices import variables_of
from phases.sandbox.landlock import SIGNALS_ABI, landlock_abi, landlock_words
from phases.sandbox.output import OutputBuffer
from phases.sandbox.process import TIME, BubblewrapProcess, SupervisedProcess, Taker, follow_process
from phases.sandbox.process_tree import count_threads_of_user
from phases.sandbox.scratch import scratch_directory
from phases.sandbox.seccomp import seccomp_words
from phases.sandbox.supervisor import pack_order
from phases.sandbox.watch import LimitWatch
from pipeline.base.files import MACHINE_SHORT, storage_error
from pipeline.base.safe_tree import open_one

_OPEN_FILES = 4096
_NICE = 10
"""The runner gets its turn whatever a command does."""
_TICK, _TICK_OF_JOBS = 0.05, 0.25


def launch_command(
    box: Box,
    command: str,
    seconds: float,
    *,
    variables: Mapping[str, str] | None = None,
    network: bool = False,
    listener: Listener | None = None,
) -> CommandResult:
    """Run a shell command in a box of a kind that runs commands. `variables` are added to its environment.

    `network` opens that of the host, where there are mounts; Landlock alone never does. A `listener` gets the output, and may
    end the command. Raises StorageError where the machine is out of room, descriptors, processes or memory: that says nothing
    about the command.
    """
    if why := why_no_command(command) or _what_is_not_there(box):
        return CommandResult(None, f"not run: {why}\n")
    seen = variables_of(box.data, box.gpu, mounted=box.kind in MOUNTED)
    shell, variables = ["--", *shell_words(command)], {**seen, **(variables or {})}
    output = OutputBuffer()
    listener = listener or Listener(lambda piece: None, lambda: False)

    def take(piece: bytes) -> None:
        output.add(piece)
        listener.take(piece)

    hold = partial(_run_to_end, output=output, box=box, seconds=seconds, is_stopped=listener.is_stopped)
    try:
        with _mount_points(box):
            if box.kind == BUBBLEWRAP:
                return hold(_start_bubblewrap(box, shell, variables, take, network=network), scratch=())
            with scratch_directory() as scratch:
                if box.kind in ENGINES:
                    return _run_in_container(box, shell, variables, take, scratch, hold, network=network)
                return hold(_start_supervised(box, shell, variables, take, scratch), scratch=(scratch,))
    except (OSError, ValueError) as error:  # ValueError: a variable that no program can be given
        if isinstance(error, OSError) and error.errno in MACHINE_SHORT:
            place = str(error.filename2 or error.filename or box.workspace)
            raise storage_error("start a command in", place, error) from error
        return CommandResult(None, f"not run: {error}\n")


@contextmanager
def _mount_points(box: Box) -> Iterator[None]:
    """Make read-only directories of the workspace that are missing, and remove them afterwards: no command can make its own.

    An empty one is what a run left that was killed, and goes too. The last of several commands at once removes it: without
    the directory a mount on it is gone for all of them.
    """
    paths = [path for path in box.read_only if box.kind in MOUNTED and os.path.dirname(path) == box.workspace]
    if not paths:
        yield
        return
    workspace = open_one(box.workspace, None)
    try:
        fcntl.flock(workspace, fcntl.LOCK_SH)
        for path in paths:
            with suppress(FileExistsError):
                os.mkdir(path)
        yield
    finally:
        with suppress(OSError):  # another command holds it, or the user has put a file there
            fcntl.flock(workspace, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in paths:
                os.rmdir(path)
        os.close(workspace)


def _what_is_not_there(box: Box) -> str:
    for path in (box.workspace, *box.all_readable, *box.writable, *(folder.path for folder in box.data)):
        if not os.path.exists(path):
            return f"{path} is needed in the sandbox, and is not there"
    return "" if has_bash() else "bash is not installed on this machine"


def find_interpreter(box: Box) -> list[str]:
    """Return the python of this program, then exactly the directories that it needs, even in a home directory."""
    directories = [sys.base_prefix, os.path.realpath(sys.base_prefix), *([box.python] if box.python else [])]
    return [os.path.realpath(sys.executable), *dict.fromkeys(directories)]


def base_environment(home: str) -> Mapping[str, str]:
    """Return the environment of a command, without the PATH."""
    return {
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",  # else what a command printed is lost where a limit ends it
    }


def _start_bubblewrap(
    box: Box, shell: list[str], variables: Mapping[str, str], take: Taker, *, network: bool
) -> BubblewrapProcess:
    words = [*_limit_words(box), f"cd:{box.workspace}", *landlock_words(box, TMP, ()), *seccomp_words(alone=False)]
    argv = wrap_command(box, find_interpreter(box), [*words, *shell], network=network)
    environment = {**base_environment(TMP), "PATH": build_search_path(box, BIN), **variables}
    return BubblewrapProcess(argv, environment, take)


def _start_supervised(
    box: Box, shell: list[str], variables: Mapping[str, str], take: Taker, scratch: str
) -> SupervisedProcess:
    """Start without namespaces: the kernel's rules alone, or none, and a parent that ends every child."""
    python = find_interpreter(box)
    names = os.path.join(scratch, "bin")
    os.mkdir(names)
    # Names of our own, before /usr/bin: a machine may have no `python`, or an older one.
    for name in ("python", "python3"):
        os.symlink(python[0], os.path.join(names, name))
    words = [*_limit_words(box), f"cd:{box.workspace}"]
    if box.kind == LANDLOCK:
        words += ["drop:", *landlock_words(box, scratch, python[1:])]
        words += seccomp_words(alone=True, signals=landlock_abi() < SIGNALS_ABI)
    # its programs on the user's PATH look for their compilers in the user's home, which HOME does not name
    rust = {"RUSTUP_HOME": os.path.expanduser("~/.rustup")} if box.kind == OFF else {}
    environment = {**base_environment(scratch), **rust, "PATH": build_search_path(box, names), **variables}
    order = pack_order([*words, *shell], environment, "/", scratch=scratch, is_confined=True)
    return SupervisedProcess(order, (take,))


def _run_in_container(
    box: Box,
    shell: list[str],
    variables: Mapping[str, str],
    take: Taker,
    scratch: str,
    hold: Callable[..., CommandResult],
    *,
    network: bool,
) -> CommandResult:
    """Run a container's engine under a supervisor, as any process; a daemon's part ends with its standard input."""
    remove_leftovers(box.kind)
    name = os.path.basename(scratch)
    words = ["first:", *_limit_words(box), f"cd:{box.workspace}", *seccomp_words(alone=False)]
    environment = {**base_environment(TMP), "PATH": build_search_path(box, BIN), **variables}
    argv = wrap_in_container(box, find_interpreter(box), [*words, *shell], scratch, environment, network=network)
    process = SupervisedProcess(pack_order(argv, engine_environment(), "/", scratch=scratch), (take,), hold=True)
    find_other = partial(find_first_process, name) if box.kind == DOCKER else lambda: 0
    result = hold(process, scratch=(), find_other=find_other)
    if result.exit_code is None:
        remove_container(box.kind, name)
    return result


def _run_to_end(
    process: BubblewrapProcess | SupervisedProcess,
    output: OutputBuffer,
    box: Box,
    seconds: float,
    is_stopped: Callable[[], bool],
    scratch: Sequence[str],
    find_other: Callable[[], int] = lambda: 0,
) -> CommandResult:
    """Hold a process to the limits of its box. `scratch`: what it may fill beside what the box says."""
    with process:
        watch = LimitWatch(process.pid, (box.workspace, *box.writable, *scratch), box.limits, find_other)

        def find_breach() -> str | None:
            if is_stopped():
                return STOPPED
            too_much = output.taken > box.limits.output
            return f"output: {format_bytes(box.limits.output)}" if too_much else watch.find_breach()

        # what runs for hours is looked at less often than what ends in a moment
        tick = _TICK if seconds <= box.limits.seconds else _TICK_OF_JOBS
        breach = follow_process(process, seconds, tick=tick, find_breach=find_breach)
    ended = process.outcome()
    code = ended.exit_code if ended.signal is None else 128 + ended.signal
    limit = f"time: {seconds:g} s" if breach == TIME else breach
    if limit is None and code in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ):
        limit = f"file: {format_bytes(box.limits.file)} each"
    if limit:
        return CommandResult(None, f"stopped at a limit ({limit})\n{output.text()}", limit, breach == TIME)
    if ended.fault:
        return CommandResult(None, f"stopped: {ended.fault}\n{output.text()}")
    return CommandResult(code, output.text())


def _limit_words(box: Box) -> list[str]:
    limits = [
        (resource.RLIMIT_FSIZE, box.limits.file),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ]
    if os.getuid():
        # The kernel counts all threads of a user, here and elsewhere, and never root's: watching has to do there.
        limits.append((resource.RLIMIT_NPROC, count_threads_of_user() + box.limits.threads))
    return [f"nice:{_NICE}", *(f"limit:{number}:{most}" for number, most in limits)]
