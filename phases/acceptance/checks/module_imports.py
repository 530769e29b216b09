"""Import the planned Python modules in the sandbox, and ask the program for its help: what fails when it is executed."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.checks.missing_packages import import_names
from phases.acceptance.feedback import frame_output
from phases.evidence import inside
from phases.evidence.look import Look
from phases.evidence.places import is_test_file
from phases.sandbox.box import CommandResult
from pipeline.base.files import read_bytes

_SECONDS = 60
_NOT_IMPORTED = ("setup.py", "conftest.py", "noxfile.py", "__main__.py")
_PROGRAMS = ("__main__.py", "main.py", "cli.py", "app.py", "run.py")
_SPELLINGS = {"python3": "python", "-h": "--help"}
_PARSERS = re.compile(r"^\s*(?:import|from)\s+(?:argparse|click|typer|fire|docopt)\b", re.MULTILINE)
_GUARD = re.compile(r"""^if\s+__name__\s*==\s*["']__main__["']""", re.MULTILINE)
_RELATIVE = re.compile(r"^\s*from\s+\.", re.MULTILINE)


class ImportFaults(NamedTuple):
    """Modules that fail when they are imported."""

    faults: list[str]
    lacking: list[str]
    """Packages of the plan that are not installed, and for whose lack a module could not be imported."""


def import_planned(paths: Sequence[str], missing: Sequence[str], look: Look) -> ImportFaults:
    """Import the planned modules, in one command. `missing`: packages of the plan that are not installed here."""
    modules = [path for path in paths if path.endswith(".py") and not is_test_file(path)]
    modules = [path for path in modules if path.rsplit("/", 1)[-1] not in _NOT_IMPORTED]
    if not modules:
        return ImportFaults([], [])
    script = read_bytes(os.path.join(os.path.dirname(inside.__file__), "import_modules.py")).decode()
    words = ["python", "-c", script, json.dumps(modules), str(_SECONDS)]
    finished = look.run(shlex.join(words), _SECONDS * len(modules))
    imported = {top: name for name in missing for top in import_names(name)}
    faults, lacking = list[str](), dict[str, None]()
    for row in _read_rows(finished.output):
        package = imported.get(str(row.get("missing", "")).partition(".")[0])
        if package:
            lacking[package] = None
        elif row.get("error") and row.get("path") in modules:
            faults.append(f"{row['path']} cannot be imported:\n{frame_output(str(row['error']))}")
    return ImportFaults(faults, list(lacking))


def _read_rows(output: str) -> list[Mapping[str, Any]]:
    rows = list[Mapping[str, Any]]()
    for line in output.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows += [row] if isinstance(row, dict) else []
    return rows


def find_program(planned: Sequence[str], sources: Mapping[str, str]) -> str:
    """Return the planned Python file that is the program and reads a command line; empty if there is none."""
    found = [path for path in planned if path in sources and path.endswith(".py") and _is_program(path, sources)]
    return min(found, key=lambda path: (_rank(path), path.count("/"), planned.index(path)), default="")


def _is_program(path: str, sources: Mapping[str, str]) -> bool:
    """Return whether a file runs as a program, and it or, for __main__.py, a file beside it parses a command line."""
    directory, _, name = path.rpartition("/")
    is_main = name == "__main__.py"
    beside = [text for other, text in sources.items() if is_main and other.rpartition("/")[0] == directory]
    parses = any(map(_PARSERS.search, [sources[path], *beside]))
    return parses and not is_test_file(path) and (is_main or bool(_GUARD.search(sources[path])))


def _rank(path: str) -> int:
    name = path.rsplit("/", 1)[-1]
    return _PROGRAMS.index(name) if name in _PROGRAMS else len(_PROGRAMS)


def help_commands(path: str, text: str) -> tuple[str, str]:
    """Return two commands that ask a program for its help, the likelier one first: as a module of its package, and as a file."""
    *directories, name = path.split("/")
    base, package = ([directories[0]], directories[1:]) if directories[:1] in (["src"], ["lib"]) else ([], directories)
    module = ".".join([*package, *([] if name == "__main__.py" else [name.removesuffix(".py")])])
    above = ["/".join([*base, *package[:depth]]) or "." for depth in range(max(len(package), 1))]
    found_in = f"PYTHONPATH={shlex.quote(':'.join(above))} "
    as_module, as_file = f"{found_in}python -m {module} --help", f"{found_in}python {shlex.quote(path)} --help"
    if not package or not module.replace(".", "").isidentifier():
        return as_file, as_file
    return (as_module, as_file) if _RELATIVE.search(text) or name == "__main__.py" else (as_file, as_module)


def asks_same_program(command: str, other: str) -> bool:
    """Return whether two command lines ask one program for its help, whatever Python and the option are called in them."""
    return _read_call(command) == _read_call(other)


def _read_call(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is not closed
        return [command]
    return [_SPELLINGS.get(word, word) for word in words if not word.startswith("PYTHONPATH=")]


def ask_for_help(commands: tuple[str, str], look: Look) -> tuple[str, CommandResult]:
    """Run the first of two commands, and the other if it fails; return the command that counts and its result."""
    first, second = commands
    finished = look.run(first, _SECONDS)
    if finished.exit_code in (0, None) or first == second:
        return first, finished
    again = look.run(second, _SECONDS)
    return (second, again) if again.exit_code == 0 else (first, finished)
