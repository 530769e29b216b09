"""Runs commands that a model wrote: in bubblewrap, or not at all, unless the user said --unsandboxed.

Inside: only the workspace is writable, the system is read-only, no home, no network, no environment, no other process.
Not covered here: a kernel bug under bubblewrap, and memory beyond the limit for one process times the processes allowed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache

BUBBLEWRAP, OFF, NONE = "bubblewrap", "off", "none"
LARGEST_OUTPUT = 20_000
SECONDS = 300
_LIMITS = 'ulimit -t 300; ulimit -f 2097152; ulimit -v 8388608; ulimit -c 0; exec sh -c "$1"'
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/alternatives")
_BIN = "/run/pipeline-bin"
_TMP = "/tmp"  # noqa: S108 - inside the sandbox this is an empty folder of its own


@dataclass(frozen=True)
class Probe:
    """Whether commands can run in a sandbox on this machine, and why not."""

    usable: bool
    detail: str


@dataclass(frozen=True)
class Finished:
    """How a command ended, and the end of what it printed. `exit_code` is None when it did not run, or ran too long."""

    exit_code: int | None
    output: str


@cache
def probe() -> Probe:
    """Tries the sandbox once: it must start, and what is written outside the workspace in it must not arrive."""
    if not shutil.which("bwrap"):
        return Probe(False, "bubblewrap is not installed")
    folder = tempfile.gettempdir()
    canary = os.path.join(folder, f"pipeline-canary-{os.getpid()}")
    attempt = f"mkdir -p {shlex.quote(folder)} && echo x > {shlex.quote(canary)}"
    finished = _run(_wrapped(None, attempt), "/", 20)
    if os.path.exists(canary):
        os.unlink(canary)
        return Probe(False, "bwrap starts, and keeps nothing in: a file outside could be written")
    if finished.exit_code != 0:
        return Probe(False, f"bwrap does not start here: {finished.output.strip()[-200:] or finished.exit_code}")
    told = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    return Probe(True, told.strip() or "bubblewrap")


def kind_of_sandbox(setting: str) -> str:
    """What commands will run in, under the user's setting: bubblewrap, off, or none (they do not run)."""
    if setting == "off":
        return OFF
    return BUBBLEWRAP if probe().usable else NONE


def run_command(command: str, workspace: str, kind: str, *, seconds: int = SECONDS) -> Finished:
    """Runs a shell command with the workspace as its folder. Its whole process group is gone when this returns."""
    if kind == BUBBLEWRAP:
        return _run(_wrapped(workspace, command), workspace, seconds)
    if kind == OFF:
        return _run(["sh", "-c", _LIMITS, "sh", command], workspace, seconds)
    return Finished(
        None,
        f"not run: {probe().detail}; install it (apt-get install bubblewrap), or allow your own rights with --unsandboxed",
    )


def _wrapped(workspace: str | None, command: str) -> list[str]:
    python = os.path.realpath(sys.executable)
    argv = [
        *("bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"),
        *("--hostname", "sandbox"),
    ]
    for path in _SYSTEM:
        if os.path.islink(path):
            argv += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            argv += ["--ro-bind", path, path]
    if not python.startswith("/usr/"):
        argv += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    for name in ("python", "python3"):
        argv += ["--symlink", python, f"{_BIN}/{name}"]
    argv += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", _TMP]
    if workspace:
        argv += ["--bind", workspace, workspace, "--chdir", workspace]
    environment = {
        "PATH": f"{_BIN}:/usr/local/bin:/usr/bin:/bin",
        "HOME": _TMP,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }
    for name, value in environment.items():
        argv += ["--setenv", name, value]
    return [*argv, "sh", "-c", _LIMITS, "sh", command]


def _run(argv: list[str], workspace: str, seconds: int) -> Finished:
    environment = {
        "PATH": f"{os.path.dirname(sys.executable)}:/usr/local/bin:/usr/bin:/bin",
        "HOME": workspace,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                argv,
                cwd=workspace,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL byte or half a surrogate pair in the command
            return Finished(None, f"not run: {error}")
        try:
            code: int | None = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _kill_group(process)
        return Finished(code, _tail(output) if code is not None else f"stopped after {seconds} s\n{_tail(output)}")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(output: object) -> str:
    file = output
    size = file.seek(0, os.SEEK_END)  # type: ignore[attr-defined]
    file.seek(max(0, size - LARGEST_OUTPUT))  # type: ignore[attr-defined]
    text = file.read().decode("utf-8", "replace")  # type: ignore[attr-defined]
    return f"… {size - LARGEST_OUTPUT:,} bytes before this are left out\n{text}" if size > LARGEST_OUTPUT else text
