"""Whether a planned file is written: there, not empty, and what its name says. Nothing is run."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any

from phases.workspace import syntax
from phases.workspace.workspace import CONTROL, Workspace, WorkspaceError

_RUNNERS_NEED = frozenset(sys.stdlib_module_names) | {
    "_pytest", "coverage", "exceptiongroup", "iniconfig", "packaging", "pluggy", "pygments", "pytest", "tomli",
}  # fmt: skip


def file_problems(workspace: Workspace, plan: Mapping[str, Any]) -> list[str]:
    """What is wrong with the planned files: not there, empty, or not what their names say."""
    # The user's own directory is not the agent's to clean up.
    strays = [
        stray for stray in workspace.strays() if not stray[1:].startswith((f"{CONTROL}/", f"{CONTROL}'"))
    ]  # the user's
    problems = [f"delete what cannot be taken in: {stray}" for stray in strays]
    faults = ((row["path"], planned_file_fault(workspace, row["path"])) for row in plan["file_structure"])
    return problems + [f"{path} {fault}" for path, fault in faults if fault]


def find_shadows(paths: Collection[str]) -> list[str]:
    """The files that Python takes for its own modules, or for those of a test runner, in a command run in the workspace."""
    return [path for path in paths if path.removesuffix("/__init__.py").removesuffix(".py") in _RUNNERS_NEED]


def planned_file_fault(workspace: Workspace, path: str) -> str | None:
    """Why a planned file is no file yet, or None."""
    try:
        text = workspace.read(path)
    except WorkspaceError as error:
        return f"is planned and not there ({error})"
    if not text.strip():
        return None if syntax.may_be_empty(path) else "is empty"
    fault = syntax.find_syntax_fault(path, text)
    return f"does not parse: {fault}" if fault else None
