"""The program of a workspace, and the command that asks it for its help."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from phases.acceptance.checks.bindings import Bindings
from phases.acceptance.checks.imports import Modules

_PARSERS = frozenset({"argparse", "click", "typer", "fire", "docopt"})
_MAIN = "__main__.py"
_PREFERRED = ("main.py", _MAIN, "cli.py", "run.py", "app.py", "train.py")
_SPELLINGS = {"python3": "python", "-h": "--help"}
_NO_PROGRAMS = ("setup.py", "conftest.py")
_TEST_DIRECTORIES = ("test", "tests")


def find_entry_script(files: Mapping[str, str], plan: Mapping[str, Any]) -> str:
    """The planned Python file that is the program; empty where there is none. `files`: the Python files, by path."""
    modules = Modules(files)
    planned = [row["path"] for row in plan["file_structure"]]
    programs = [path for path in planned if path in files and _is_program(modules, path)]
    return min(programs, key=lambda path: (_name_rank(path), path.count("/"), planned.index(path)), default="")


def help_command(path: str, files: Mapping[str, str]) -> str:
    """The command line, in the workspace, that asks it for its help."""
    modules = Modules(files)
    bindings = modules.bindings.get(path)
    *directories, name = path.split("/")
    inside = len(directories) - _count_outside(modules, directories, max(_relative_depth(bindings), int(name == _MAIN)))
    from_root = _takes_from_root(modules, bindings, "/".join(directories))
    if inside and (name == _MAIN or _relative_depth(bindings) or from_root):
        base, package = directories[: len(directories) - inside], directories[len(directories) - inside :]
        parts = [*package, *([] if name == _MAIN else [name.removesuffix(".py")])]
        if all(part.isidentifier() for part in parts):
            found_in = f"PYTHONPATH={shlex.quote('/'.join(base))} " if base else ""
            return f"{found_in}python -m {'.'.join(parts)} --help"
    found_in = "PYTHONPATH=. " if from_root else ""
    return f"{found_in}python {shlex.quote(path if not path.startswith('-') else './' + path)} --help"


def asks_same_program(command: str, other: str) -> bool:
    """Return whether two command lines ask one program for its help, whatever the interpreter and the option are called."""
    return _read_call(command) == _read_call(other)


def _read_call(command: str) -> list[str]:
    """Return the words of a command line, its names of Python and of the option for help in one spelling."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is not closed
        return [command]
    return [_SPELLINGS.get(word, word) for word in words]


def _is_program(modules: Modules, path: str) -> bool:
    """Whether it does something where it is run, and it or something that it imports reads a command line."""
    *directories, name = path.split("/")
    bindings = modules.bindings.get(path)
    if bindings is None or name in _NO_PROGRAMS or name.startswith("test_") or any(map(_holds_tests, directories)):
        return False
    if not bindings.is_program and name != _MAIN:
        return False
    # A file with a guard of its own reads a command line where it is the one that is run.
    found = (modules.bindings.get(each) for each in modules.targets(path))
    return _parses_arguments(bindings) or any(_parses_arguments(each) for each in found if each and not each.is_program)


def _holds_tests(directory: str) -> bool:
    return directory in _TEST_DIRECTORIES


def _parses_arguments(bindings: Bindings | None) -> bool:
    tops = {found.module.partition(".")[0] for found in bindings.imports if not found.level} if bindings else set()
    return bool(tops & _PARSERS)


def _name_rank(path: str) -> int:
    name = path.rpartition("/")[2]
    return _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED)


def _relative_depth(bindings: Bindings | None) -> int:
    """How many packages it is in, by its relative imports."""
    return max((found.level for found in bindings.imports), default=0) if bindings else 0


def _count_outside(modules: Modules, directories: list[str], least: int) -> int:
    """How many of the directories are outside of the package that it is in, which has `least` levels."""
    depth = len(directories)
    while depth and (modules.is_package("/".join(directories[:depth])) or len(directories) - depth < least):
        depth -= 1
    return depth


def _takes_from_root(modules: Modules, bindings: Bindings | None, directory: str) -> bool:
    """Whether it imports what is found from the workspace alone, and not from its own directory."""
    tops = {found.module.partition(".")[0] for found in bindings.imports if not found.level} if bindings else set()
    return bool(directory) and any(
        modules.is_there(top) and not modules.is_there(f"{directory}/{top}") for top in tops if top
    )
