"""Make the Python of sandboxed commands: the standard library, and the tools that watch tests.

One small virtual environment in the user's cache directory serves all tasks. What is installed for a task lies in an environment
of its own, which finds the tools of this one last on its path: what a task brings along comes before them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from compileall import compile_dir
from contextlib import suppress
from functools import cache
from importlib import metadata

from phases.sandbox.devices import packages_in
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes, sha256, storage_error, write_without_sync

TOOLS = ("coverage", "pytest", "pluggy", "iniconfig", "packaging", "pygments")
INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside")
_LAYOUT = 2
_START = "pipeline_evidence.pth"
_START_LINE = "import os; os.environ.get('PIPELINE_EVIDENCE') and __import__('evidence_start')\n"


def bare_python(cache_directory: str) -> str:
    """Return the directory of the environment, creating it if necessary. Raises StorageError."""
    target = os.path.join(cache_directory, "python", _digest_of_parts())
    if not os.path.exists(target):
        try:
            _make_environment(target)
        except OSError as error:
            raise storage_error("make", target, error) from error
    return target


def make_bare_python(cache_directory: str, own: str) -> str:
    """Return the same; use `own`, in the task, if the user's cache is not writable. Raises StorageError."""
    if cache_directory:
        with suppress(StorageError):
            return bare_python(cache_directory)
    return bare_python(os.path.dirname(own))


def lend_tools(environment: str, bare: str) -> None:
    """Let another environment, made for a task, find the tools. Raises StorageError."""
    text = f"{packages_in(bare)}\n{_START_LINE}"
    write_without_sync(os.path.join(packages_in(environment), _START), text.encode())


def layer_python(own: str, bare: str, target: str) -> str:
    """Return an environment with the tools and the packages of one of the user's, which is not changed. Raises StorageError."""
    packages, interpreter = packages_in(target), os.path.realpath(sys.executable)
    lines = [f"import site; site.addsitedir({packages_in(own)!r})", *([packages_in(bare)] if bare else []), _START_LINE]
    try:
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(packages)
        os.mkdir(os.path.join(target, "bin"))
        for name in ("python", "python3"):
            os.symlink(interpreter, os.path.join(target, "bin", name))
        for path, text in (
            (f"{packages}/{_START}", "\n".join(lines)),
            (f"{target}/pyvenv.cfg", _configuration(interpreter)),
        ):
            write_without_sync(path, text.encode())
    except OSError as error:
        raise storage_error("make", target, error) from error
    return target


def _make_environment(target: str) -> None:
    """Make it under another name first: of two runs at once, the later one finds what the earlier one made."""
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    unfinished = tempfile.mkdtemp(prefix="new-", dir=os.path.dirname(target))
    packages = packages_in(unfinished)
    os.makedirs(packages)
    os.mkdir(os.path.join(unfinished, "bin"))
    interpreter = os.path.realpath(sys.executable)
    for name in ("python", "python3"):
        os.symlink(interpreter, os.path.join(unfinished, "bin", name))
    for name in TOOLS:
        _copy_distribution(name, packages)
    for name in os.listdir(INSIDE):
        if os.path.isfile(os.path.join(INSIDE, name)):
            shutil.copyfile(os.path.join(INSIDE, name), os.path.join(packages, name))
    for name, text in (
        (f"{packages}/{_START}", _START_LINE),
        (f"{unfinished}/pyvenv.cfg", _configuration(interpreter)),
    ):
        write_without_sync(name, text.encode())
    compile_dir(packages, quiet=2)  # else each check would compile it again: the directory is not written later
    try:
        os.rename(unfinished, target)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not os.path.exists(target):
            raise


def _copy_distribution(name: str, packages: str) -> None:
    """Copy what an installed distribution consists of, but for its commands and what starts by itself."""
    for file in metadata.distribution(name).files or ():
        source = str(file.locate())
        if file.suffix in (".pyc", ".pth") or ".." in file.parts or not os.path.isfile(source):
            continue
        target = os.path.join(packages, *file.parts)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)


def _configuration(interpreter: str) -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    return f"home = {os.path.dirname(interpreter)}\ninclude-system-site-packages = false\nversion = {version}\n"


@cache
def _digest_of_parts() -> str:
    """Return the digest of the environment's parts: another version of a part needs another environment.

    A run has the parts that were there when it began: to read their versions takes half as long as to start a Python.
    """
    parts = [str(_LAYOUT), os.path.realpath(sys.executable), sys.version]
    parts += [f"{name} {metadata.version(name)}" for name in TOOLS]
    for name in sorted(os.listdir(INSIDE)):
        if os.path.isfile(path := os.path.join(INSIDE, name)):
            parts.append(f"{name} {sha256(read_bytes(path))}")
    return sha256("\n".join(parts).encode())[:16]
