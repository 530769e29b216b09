"""Install the packages that a plan names, for commands in the sandbox alone.

What a plan asks for is resolved once, to a lock that names each file by its hash and stays with the task. An environment is made
of a lock once, in a store that all tasks of the user share: its files are hard links into uv's cache beside it, so that a second
environment with the same large package costs next to nothing.
"""

from __future__ import annotations

import glob
import json
import operator
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from phases.sandbox.box import MOUNTED, OFF, Box, CommandResult, Limits
from phases.sandbox.launch import launch_command
from phases.sandbox.locks import (
    CPU_BUILD,
    LOCKED,
    MOST_LOCK,
    NO_INDEX,
    NO_SOLUTION,
    LockedPackage,
    LockResult,
    exclude_cuda,
    list_cpu_builds,
    parse_pylock,
    read_lock,
    render_requirements,
    write_lock,
)
from phases.sandbox.package_index import find_index
from phases.sandbox.watch import measure_disk_use
from pipeline.base.errors import PipelineError, StorageError
from pipeline.base.files import make_directory, read_bytes, sha256, storage_error, write_durable
from pipeline.base.lease import lock_descriptor
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_file

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


SECONDS = 1800
MOST_PACKAGES = 100
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_BOUND = r"(?:~=|==|!=|<=|>=|<|>) {0,4}[A-Za-z0-9][A-Za-z0-9.*+!_-]{0,60}"
_BOUNDS = rf"{_BOUND}(?: ?, ?{_BOUND}){{0,9}}"
_REQUIREMENT = re.compile(rf"{_NAME}(?: ?\[ ?{_NAME}(?: ?, ?{_NAME}){{0,9}} ?\])?(?: {{0,4}}{_BOUNDS})?", re.ASCII)
_IN_BRACKETS = re.compile(rf"({_NAME}) {{0,4}}\( ?({_BOUNDS}) ?\)", re.ASCII)
_BARE_VERSION = re.compile(rf"({_NAME}) {{1,4}}v?([0-9]{{1,4}}(?:\.[0-9]{{1,6}}){{1,3}})(\+?)", re.ASCII)
_AROUND = re.compile(r"(?:[-*•] {1,4})?(?:pip3? install )?(?P<quote>[`'\"]?)(.{1,200}?)(?P=quote)")
"""A line as it stands in a list, in a command or in quotes."""
_REMARK = re.compile(r" {1,8}(?:#.{0,200}|\([A-Za-z][A-Za-z ,-]{0,80}\))$")
"""Remarks after a package: `# for plots`, `(optional)`."""
_MARKER = re.compile(r" {0,4}; {0,4}python_version {0,4}(<=|>=|<|>|==) {0,4}(['\"])3\.([0-9]{1,2})\2$")
_NO_PACKAGE = frozenset(("python", "pip", "conda", "cuda", "cudnn", "cuda toolkit")) | sys.stdlib_module_names
_OTHER_NAMES = {
    "pytorch": "torch",
    "sklearn": "scikit-learn",
    "cv2": "opencv-python-headless",
    "pil": "pillow",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
}
"""Package names of common import and project names."""
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
}  # fmt: skip
_OF_TASK, _OF_USER = "task", "user"
"""The store that holds an environment: the directory of the task, or the one that all tasks of the user share."""
_LOCK = "lock.txt"
_DISTRIBUTION = re.compile(r"([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9.+!_]*)\.dist-info", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}")


class InstallResult(NamedTuple):
    ok: bool
    packages: tuple[Mapping[str, str], ...]
    """name and version each, also of those that were installed because another needs them."""
    output: str
    """Output of uv; empty on success."""


def find_environment(directory: str, store: str = "") -> str | None:
    """Return the virtual environment recorded in `directory`, for Box.python; None if it is gone."""
    record = _read_record(directory)
    if record and record.get("version") == 1:
        made = os.path.join(directory, "environment", "venv")  # as releases made it that had no store
    elif record and _DIGEST.fullmatch(str(record.get("environment"))):
        place = directory if record.get("store") == _OF_TASK else store or directory
        made = os.path.join(home_of(place, str(record["environment"])), "venv")
    else:
        return None
    return made if os.path.exists(os.path.join(made, "bin", "python")) else None


def list_installed(directory: str) -> tuple[str, ...]:
    """Return what was asked for when the packages recorded in `directory` were installed; empty where none were."""
    asked = (_read_record(directory) or {}).get("asked")
    return tuple(map(str, asked)) if isinstance(asked, list) else ()


def measure_store(store: str) -> int:
    """Return the size of a store in bytes; a file that several environments share counts once."""
    return measure_disk_use(store)


def read_requirement(text: str) -> str | None:
    """Return a plan's line as an installer takes it: `Torch (>=2.0)` is torch>=2.0, `numpy 1.26` numpy==1.26.

    Empty: there is nothing to install, as for Python itself and its own modules. None: more than one thing can be meant.
    """
    line = text.strip(" ") if text.isprintable() else ""
    line = _REMARK.sub("", found[2]) if (found := _AROUND.fullmatch(line)) else line
    line = _REMARK.sub("", line)
    if found := _MARKER.search(line):
        line = line[: found.start()]
        if not _COMPARE[found[1]](sys.version_info[1], int(found[3])):
            return ""
    if re.split(r" *[<>=~!(]| v?[0-9]", line.lower(), maxsplit=1)[0] in _NO_PACKAGE:
        return ""
    if found := _IN_BRACKETS.fullmatch(line):
        line = f"{found[1]}{found[2]}"
    elif found := _BARE_VERSION.fullmatch(line):
        line = f"{found[1]}{'>=' if found[3] else '=='}{found[2]}"
    if not _REQUIREMENT.fullmatch(line):
        return None
    name = re.match(_NAME, line)[0]  # type: ignore[index] # a requirement begins with a name
    return _OTHER_NAMES.get(name.lower(), name) + line[len(name) :]


def why_not_installable(text: str) -> str | None:
    """Return why a plan's line is not an installable package (a name, extras, bounds on the version), or None."""
    if read_requirement(text) is not None:
        return None
    return f"{text[:100]!r} is not installed: give a name with bounds on its version, like numpy>=1.26,<3"


def install_wheels(
    packages: Sequence[str],
    directory: str,
    *,
    store: str = "",
    kind: str,
    environment: Mapping[str, str],
    seconds: float = SECONDS,
    until: str = "",
    cpu: bool = False,
) -> InstallResult:
    """Make an environment with these packages, or find the one that is there.

    `directory` is the task's: it keeps what was asked for and the lock. `store` is shared by tasks; without one, or where
    commands run with the user's own rights and could write to it, the environment lies in `directory`. Nothing is built, so
    nothing of a package runs, and uv may write nowhere else. `environment` is the user's; `until` the day (2024-05-01) that no
    package may be newer than, empty for today. `cpu`: other builds go before those for graphics cards. Raises PipelineError.
    """
    # Whether packages may be installed at all stands under the seal of task.json and was asked before (decision 115).
    _refuse_what_is_unsafe(packages, kind)
    place, store = (_OF_USER, store) if store and kind in MOUNTED else (_OF_TASK, directory)
    asked, wanted = _digest_of(packages, until, cpu=cpu)
    if not asked:
        return InstallResult(True, (), "")
    record = _read_record(directory)
    is_same = record and (record["asked_sha256"], record.get("store", place)) == (wanted, place)
    if record and is_same and find_environment(directory, store):
        logger.debug("{} packages are installed already: the request did not change", len(record["packages"]))
        return InstallResult(True, tuple(record["packages"]), "")
    make_directory(directory)
    make_place(store)
    with _only_one(store):
        uv = Uv(store, kind, environment, seconds)
        if (lock := _kept_lock(directory, wanted)) is None:
            found_lock = _resolve(uv, asked, wanted, directory, until, cpu=cpu)
            if found_lock.outcome != LOCKED:
                return InstallResult(False, (), found_lock.output)
            lock = render_requirements(found_lock.packages)
        digest = sha256(lock + wanted.encode())
        if said := uv.make(digest, lock):
            return InstallResult(False, (), said)
        found = list_distributions(os.path.join(home_of(store, digest), "venv"))
    row = {"version": 2, "asked": asked, "asked_sha256": wanted, "environment": digest, "store": place}
    write_durable(_record_of(directory), json.dumps({**row, "packages": found}, indent=1).encode())
    return InstallResult(True, found, "")


def lock_wheels(
    packages: Sequence[str],
    directory: str,
    *,
    store: str = "",
    kind: str,
    environment: Mapping[str, str],
    seconds: float = SECONDS,
    until: str = "",
    cpu: bool = False,
) -> LockResult:
    """Resolve packages without installing: install_wheels, with the same arguments, installs these. Raises PipelineError."""
    _refuse_what_is_unsafe(packages, kind)
    store = store if store and kind in MOUNTED else directory
    asked, wanted = _digest_of(packages, until, cpu=cpu)
    if not asked or (kept := read_lock(directory, wanted)) is not None:
        return LockResult(LOCKED, kept if asked and kept else (), "")
    make_directory(directory)
    make_place(store)
    with _only_one(store):
        return _resolve(Uv(store, kind, environment, seconds), asked, wanted, directory, until, cpu=cpu)


def index_addresses(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the indexes in the user's settings, without names and passwords; empty: the usual one."""
    return find_index(environment).addresses


def find_lock(
    packages: Sequence[str], directory: str, until: str = "", *, cpu: bool = False
) -> tuple[LockedPackage, ...] | None:
    """Return the earlier resolution of these packages, or None."""
    return read_lock(directory, _digest_of(packages, until, cpu=cpu)[1])


def _digest_of(packages: Sequence[str], until: str, *, cpu: bool) -> tuple[list[str], str]:
    """Return the installer's requirements, and their digest on this Python."""
    asked = sorted({text for package in packages if (text := read_requirement(package))})
    of = [asked, sys.version_info[:3], sys.base_prefix, *([until] if until else []), *([] if cpu else ["gpu"])]
    return asked, sha256(json.dumps(of).encode())


def _resolve(uv: Uv, asked: Sequence[str], wanted: str, directory: str, until: str, *, cpu: bool) -> LockResult:
    found = uv.resolve(asked, until, cpu=cpu)
    if found.outcome == LOCKED:
        write_lock(directory, wanted, found.packages)
    return found


def _record_of(directory: str) -> str:
    return os.path.join(directory, "installed.json")


@contextmanager
def _only_one(store: str) -> Iterator[None]:
    """Allow one installation at a time: the next one finds its result."""
    try:
        file = open_file(os.path.join(store, "busy"), "wb")
    except OSError as error:
        raise storage_error("write", store, error) from error
    with file, lock_descriptor(file.fileno(), file.name):
        yield


def _kept_lock(directory: str, wanted: str) -> bytes | None:
    """Return the lock for exactly this request, from this machine or another, or None."""
    if packages := read_lock(directory, wanted):
        return render_requirements(packages)
    try:  # as releases wrote it that had no package_lock.json
        if read_bytes(f"{os.path.join(directory, _LOCK)}.of", limit=100).decode("ascii", "replace") == wanted:
            return read_bytes(os.path.join(directory, _LOCK), limit=MOST_LOCK)
    except StorageError:
        pass
    return None


def _refuse_what_is_unsafe(packages: Sequence[str], kind: str) -> None:
    if kind not in (*MOUNTED, OFF):
        raise PipelineError(
            f"packages cannot be installed: that needs the network, and the sandbox here ({kind}) cannot open it for the "
            "installer alone; apt-get install bubblewrap, or run with --install refused"
        )
    if len(packages) > MOST_PACKAGES:
        raise PipelineError(f"the plan names {len(packages)} packages, and at most {MOST_PACKAGES} are installed")
    for package in packages:
        if fault := why_not_installable(package):
            raise PipelineError(f"initial_plan.txt at environment_setup.packages: {fault}")


def _read_record(directory: str) -> dict[str, Any] | None:
    try:
        row = json.loads(read_bytes(_record_of(directory), limit=2**20))
        return row if isinstance(row["packages"], list) and isinstance(row["asked_sha256"], str) else None
    except (StorageError, ValueError, KeyError, TypeError):
        return None


def list_distributions(venv: str) -> tuple[Mapping[str, str], ...]:
    """Name and version of what is installed, from the names of its directories alone."""
    names = [os.path.basename(path) for path in glob.glob(os.path.join(glob.escape(venv), "lib/*/site-packages/*"))]
    found = [match.groups() for name in names if (match := _DISTRIBUTION.fullmatch(name))]
    rows = [{"name": name.replace("_", "-").lower(), "version": version} for name, version in sorted(found)]
    return tuple(row for row in rows if row["name"] not in ("pip", "setuptools"))
