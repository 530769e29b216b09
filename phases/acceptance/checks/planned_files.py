"""Check the planned files, and find files that Python would take for others. Nothing is run."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from typing import Any

from phases.evidence.places import is_test_file
from phases.workspace.syntax import planned_file_fault
from phases.workspace.workspace import CONTROL, Workspace

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


def file_problems(workspace: Workspace, plan: Mapping[str, Any]) -> list[str]:
    """What is wrong with the planned files: not there, empty, or not what their names say."""
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
    """Whether a file that is no test says what the checks of a project mean."""
    return path.rsplit("/", 1)[-1] in _DECIDING


def find_shadows(paths: Collection[str]) -> list[str]:
    """The files that Python takes for its own modules, or for those of a test runner, in a command run in the workspace."""
    return [path for path in paths if path.removesuffix("/__init__.py").removesuffix(".py") in _RUNNERS_NEED]
