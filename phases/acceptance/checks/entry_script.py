"""Which planned file is the program, and how it is asked for its `--help`: read from the files, with nothing run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from phases.acceptance.checks.bindings import Bindings
from phases.acceptance.checks.imports import Modules

_PARSERS = frozenset({"argparse", "click", "typer", "fire", "docopt"})
_MAIN = "__main__.py"
_PREFERRED = ("main.py", _MAIN, "cli.py", "run.py", "app.py", "train.py")
_NO_PROGRAMS = ("setup.py", "conftest.py")
_FOLDERS_OF_TESTS = ("test", "tests")


def entry_script(files: Mapping[str, str], plan: Mapping[str, Any]) -> str:
    """The planned Python file that is the program; empty where there is none. `files`: the Python files, by path."""
    modules = Modules(files)
    planned = [row["path"] for row in plan["file_structure"]]
    programs = [path for path in planned if path in files and _is_program(modules, path)]
    return min(programs, key=lambda path: (_rank(path), path.count("/"), planned.index(path)), default="")


def command_for(path: str, files: Mapping[str, str]) -> str:
    """The command line, in the workspace, that asks it for its help."""
    modules = Modules(files)
    bindings = modules.bindings.get(path)
    *folders, name = path.split("/")
    inside = len(folders) - _outside(modules, folders, max(_dots(bindings), int(name == _MAIN)))
    from_root = _takes_from_root(modules, bindings, "/".join(folders))
    if inside and (name == _MAIN or _dots(bindings) or from_root):
        base, package = folders[: len(folders) - inside], folders[len(folders) - inside :]
        parts = [*package, *([] if name == _MAIN else [name.removesuffix(".py")])]
        if all(part.isidentifier() for part in parts):
            found_in = f"PYTHONPATH={shlex.quote('/'.join(base))} " if base else ""
            return f"{found_in}python -m {'.'.join(parts)} --help"
    found_in = "PYTHONPATH=. " if from_root else ""
    return f"{found_in}python {shlex.quote(path if not path.startswith('-') else './' + path)} --help"


def _is_program(modules: Modules, path: str) -> bool:
    """Whether it does something where it is run, and it or something that it imports reads a command line."""
    *folders, name = path.split("/")
    bindings = modules.bindings.get(path)
    if bindings is None or name in _NO_PROGRAMS or name.startswith("test_") or any(map(_holds_tests, folders)):
        return False
    if not bindings.is_program and name != _MAIN:
        return False
    # A file with a guard of its own reads a command line where it is the one that is run.
    found = (modules.bindings.get(each) for each in modules.targets(path))
    return _parses(bindings) or any(_parses(each) for each in found if each and not each.is_program)


def _holds_tests(folder: str) -> bool:
    return folder in _FOLDERS_OF_TESTS


def _parses(bindings: Bindings | None) -> bool:
    tops = {found.module.partition(".")[0] for found in bindings.imports if not found.level} if bindings else set()
    return bool(tops & _PARSERS)


def _rank(path: str) -> int:
    name = path.rpartition("/")[2]
    return _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED)


def _dots(bindings: Bindings | None) -> int:
    """How many packages it is in, by its relative imports."""
    return max((found.level for found in bindings.imports), default=0) if bindings else 0


def _outside(modules: Modules, folders: list[str], least: int) -> int:
    """How many of the folders are outside of the package that it is in, which has `least` levels."""
    depth = len(folders)
    while depth and (modules.is_package("/".join(folders[:depth])) or len(folders) - depth < least):
        depth -= 1
    return depth


def _takes_from_root(modules: Modules, bindings: Bindings | None, folder: str) -> bool:
    """Whether it imports what is found from the workspace alone, and not from its own folder."""
    tops = {found.module.partition(".")[0] for found in bindings.imports if not found.level} if bindings else set()
    return bool(folder) and any(
        modules.is_there(top) and not modules.is_there(f"{folder}/{top}") for top in tops if top
    )
