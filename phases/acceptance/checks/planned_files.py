"""Check the planned files: they exist, import, answer --help, and hide no module of Python or of a test runner."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.feedback import frame_output
from phases.evidence import inside
from phases.evidence.look import Look
from phases.evidence.places import is_test_file
from phases.sandbox.box import CommandResult
from phases.workspace.syntax import planned_file_fault
from phases.workspace.workspace import CONTROL, Workspace
from pipeline.base.files import read_bytes

_RUNNERS_NEED = frozenset(sys.stdlib_module_names) | {
    "_pytest", "coverage", "exceptiongroup", "iniconfig", "packaging", "pluggy", "pygments", "pytest", "tomli",
}  # fmt: skip
_DETECTS = re.compile(
    r"""PYTEST_(?:CURRENT_TEST|VERSION)|PIPELINE_EVIDENCE|["'](?:_?pytest|unittest)["']\s+(?:not\s+)?in\s+sys\.modules"""
)

_DECIDING = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "noxfile.py", "Makefile",
    "package.json", "sitecustomize.py", "usercustomize.py",
)  # fmt: skip
_SECONDS = 60
_NOT_IMPORTED = ("setup.py", "conftest.py", "noxfile.py", "__main__.py")
_PROGRAMS = ("__main__.py", "main.py", "cli.py", "app.py", "run.py")
_SPELLINGS = {"python3": "python", "-h": "--help"}
_PARSERS = re.compile(r"^\s*(?:import|from)\s+(?:argparse|click|typer|fire|docopt)\b", re.MULTILINE)
_GUARD = re.compile(r"""^if\s+__name__\s*==\s*["']__main__["']""", re.MULTILINE)
_RELATIVE = re.compile(r"^\s*from\s+\.", re.MULTILINE)
_FAULT = re.compile(
    r"^(?:E +)?(?:\w+\.)*(\w*(?:Error|Exception|Failed|Exit|Interrupt))(?::[^\S\n]*|$)([^\n]*)", re.MULTILINE
)
_NAMED_MODULE = re.compile(r"No module named '([^'\n]{1,200})'")
_IMPORTED_AS = {
    "beautifulsoup4": "bs4", "faiss-cpu": "faiss", "faiss-gpu": "faiss", "opencv-python": "cv2", "opencv-python-headless": "cv2",
    "pillow": "PIL", "python-dateutil": "dateutil", "pytorch": "torch", "pyyaml": "yaml", "scikit-image": "skimage",
    "scikit-learn": "sklearn", "tensorflow-cpu": "tensorflow", "umap-learn": "umap",
}  # fmt: skip
_PLAIN_ASSERT = re.compile(r"^E +assert\b", re.MULTILINE)


def file_problems(workspace: Workspace, plan: Mapping[str, Any]) -> list[str]:
    """Return the faults of the planned files: missing, empty, or not of the kind that their names say."""
    # The user's own directory is not the agent's to clean up.
    strays = [
        stray for stray in workspace.strays() if not stray[1:].startswith((f"{CONTROL}/", f"{CONTROL}'"))
    ]  # the user's
    problems = [f"delete what cannot be included: {stray}" for stray in strays]
    faults = ((row["path"], planned_file_fault(workspace, row["path"])) for row in plan["file_structure"])
    return problems + [f"{path} {fault}" for path, fault in faults if fault]


def find_test_detectors(python: Mapping[str, str]) -> list[str]:
    """Return where code asks whether a test runs it: what it does then says nothing of what it does otherwise."""
    problems = []
    for path, text in python.items():
        if not is_test_file(path) and not path.endswith("conftest.py") and (found := _DETECTS.search(text)):
            line = text.count("\n", 0, found.start()) + 1
            problems.append(f"{path}, line {line}, asks whether a test runs it")
    return problems


def decides_checks(path: str) -> bool:
    """Return whether a file, other than a test, configures the checks of a project."""
    return path.rsplit("/", 1)[-1] in _DECIDING


def find_shadows(paths: Collection[str]) -> list[str]:
    """Return the files that hide modules of Python or of a test runner from commands run in the workspace."""
    return [path for path in paths if path.removesuffix("/__init__.py").removesuffix(".py") in _RUNNERS_NEED]


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


def packages_missing_in_tests(output: str, missing: Sequence[str]) -> list[str]:
    """Return those of the plan's `missing` packages for whose lack alone tests failed; empty if anything else failed too."""
    imported = {top: name for name in missing for top in import_names(name)}
    lacking, others = dict[str, None](), []
    for kind, rest in _FAULT.findall(output):
        named = _NAMED_MODULE.match(rest) if kind == "ModuleNotFoundError" else None
        if named and (name := imported.get(named[1].partition(".")[0])):
            lacking[name] = None
        elif not rest.startswith("Failed to import test module"):
            others.append(rest)
    words = [word for name in lacking for word in (name, *import_names(name))]
    # One failure of another kind, and the missing package is no excuse for the rest.
    if _PLAIN_ASSERT.search(output) or not all(any(word in rest for word in words) for rest in others):
        return []
    return list(lacking)


def import_names(package: str) -> tuple[str, ...]:
    """Return the names under which a package is imported, as far as its own name tells."""
    name = re.sub(r"[-_.]+", "-", package).lower()
    return (_IMPORTED_AS.get(name, name.replace("-", "_")), package.replace("-", "_"))
