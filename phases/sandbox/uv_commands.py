"""Run uv in a sandbox: resolve packages to a lock, and make the environment of a lock."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence

from phases.sandbox.box import MOUNTED, Box, CommandResult, Limits
from phases.sandbox.launch import launch_command
from phases.sandbox.locks import (
    CPU_BUILD,
    LOCKED,
    MOST_LOCK,
    NO_INDEX,
    NO_SOLUTION,
    LockResult,
    exclude_cuda,
    list_cpu_builds,
    parse_pylock,
)
from phases.sandbox.package_index import find_index
from phases.sandbox.watch import measure_disk_use
from pipeline.base.files import read_bytes, sha256, storage_error, write_durable
from pipeline.base.logs import logger

_GROWTH = 40 * 2**30
"""Most bytes that one installation may add to the store."""
_LIMITS = Limits(file=8 * 2**30, processes=64)
_UNSOLVED = 1
"""The exit code of uv where the packages cannot go together."""
_CPU_INDEX = ("--torch-backend", "cpu")
"""Has uv ask PyTorch's own index for PyTorch's packages, and PyPI for all others."""


class Uv:
    """uv in a sandbox: it may write to the store alone, and has the network."""

    def __init__(self, store: str, kind: str, environment: Mapping[str, str], seconds: float) -> None:
        from uv import find_uv_bin  # imported here: only an installation needs it

        self._store, self._seconds, self._kind = store, seconds, kind
        self._index, self._program = find_index(environment), find_uv_bin()

    def resolve(self, asked: Sequence[str], until: str, *, cpu: bool) -> LockResult:
        """Return the lock of what is asked for, or why there is none. `cpu`: builds for processors go first."""
        found = self._compile(asked, until)
        if cpu and (constraints := exclude_cuda(found.packages)):
            if self._index.is_usual:  # PyPI takes no versions like 2.5.1+cpu
                other = self._compile(asked, until, _CPU_INDEX)
            else:
                builds = list_cpu_builds(self._compile(asked, until, constraints=constraints).packages)
                other = self._compile(asked, until, constraints=builds) if builds else found
            found = other if other.outcome == LOCKED else found
        return found

    def _compile(
        self, asked: Sequence[str], until: str, more: Sequence[str] = (), constraints: Sequence[str] = ()
    ) -> LockResult:
        path, bounds = (os.path.join(self._store, name) for name in ("pylock.new.toml", "constraints.new.txt"))
        # Wheels alone: to build a source distribution is to run its code, with network.
        options = ["--only-binary", ":all:", "--format", "pylock.toml", "--output-file", path, "--constraint", bounds]
        options += ["--exclude-newer", until] if until else []
        words = self._words("pip", "compile", *options, *self._index.flags, *more, "--python", _python(), "-")
        bound = f"printf '%s\\n' {shlex.join(constraints or [''])} > {shlex.quote(bounds)}"
        done = self._run(f"rm -f {shlex.quote(path)}; {bound}; printf '%s\\n' {shlex.join(asked)} | {words}")
        asked_at = self._index.addresses
        if done.exit_code != 0:
            outcome = NO_SOLUTION if done.exit_code == _UNSOLVED else NO_INDEX
            return LockResult(outcome, (), done.output or f"uv was stopped: {done.limit}", asked_at)
        try:
            return LockResult(LOCKED, parse_pylock(read_bytes(path, limit=MOST_LOCK)), "", asked_at)
        except (ValueError, KeyError, TypeError) as error:
            return LockResult(NO_SOLUTION, (), f"a package comes without a hash of its files: {error}", asked_at)

    def make(self, digest: str, lock: bytes) -> str:
        """Make the environment of a lock, where it is not made yet; return what uv said where that failed."""
        home = home_of(self._store, digest)
        if os.path.exists(os.path.join(home, "made.json")):
            return ""
        _remove_unfinished(home)
        write_durable(os.path.join(home, "lock.txt"), lock)
        venv = os.path.join(home, "venv")
        sync = ["--require-hashes", "--only-binary", ":all:", "--link-mode", "hardlink", *self._index.flags]
        sync += _CPU_INDEX if self._index.is_usual and CPU_BUILD.encode() in lock else ()
        done = self._run(
            f"{self._words('venv', '--python', _python(), venv)} && "
            f"{self._words('pip', 'sync', *sync, '--python', f'{venv}/bin/python', f'{home}/lock.txt')}"
        )
        if done.exit_code != 0:
            _remove_unfinished(home)
            return done.output or f"uv was stopped: {done.limit}"
        os.sync()  # thousands of files: one call for all, before what says that they are there
        write_durable(os.path.join(home, "made.json"), json.dumps({"version": 1, "lock_sha256": sha256(lock)}).encode())
        return ""

    def _words(self, *words: str) -> str:
        # Cache and environments in one tree and one mount: hard links do not cross mounts.
        common = ["--quiet", "--no-progress", "--color", "never", "--no-python-downloads", "--no-managed-python"]
        return shlex.join([self._program, *words, *common, "--cache-dir", os.path.join(self._store, "cache")])

    def _run(self, script: str) -> CommandResult:
        readable = (*self._index.readable, self._program)
        box = Box(self._store, self._kind, readable=readable, limits=_LIMITS._replace(disk=self._room()))
        variables = {**self._index.variables, "UV_NO_PROGRESS": "1"}
        done = launch_command(box, script, self._seconds, variables=variables, network=self._kind in MOUNTED)
        logger.debug("uv in {}: exit code {}", self._kind, done.exit_code)
        return done

    def _room(self) -> int:
        return measure_disk_use(self._store) + _GROWTH


def home_of(store: str, digest: str) -> str:
    return os.path.join(store, "made", digest[:32])


def _python() -> str:
    # Not `python`: a name of the sandbox alone would lead nowhere outside it.
    return os.path.realpath(sys.executable)


def _remove_unfinished(home: str) -> None:
    """Take away what an installation that was cut off left."""
    try:
        if os.path.lexists(home):
            shutil.rmtree(home)
    except OSError as error:
        raise storage_error("empty", home, error) from error
    make_place(home)


def make_place(path: str) -> None:
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise storage_error("make", path, error) from error
