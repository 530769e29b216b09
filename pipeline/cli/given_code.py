"""Import code that was made elsewhere into a task, with a plan fitted to its files."""

from __future__ import annotations

import os
from typing import Any

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes
from pipeline.cli.given_folder import copy_given, files_in, is_test, refuse_unfit
from pipeline.cli.task_factory import safe_name
from pipeline.engine.store import TaskStore

_PLAN = "initial_plan.txt"
_MOST_PLANNED = 300
_CHECK = "python -m pytest -q"


def check_given_code(folder: str) -> str:
    """Return the folder's full path. Raises UsageError if it holds no Python, or too much."""
    if not os.path.isdir(folder):
        raise UsageError(f"--code names {folder}, and there is no such folder")
    files = files_in(folder)
    if not any(path.endswith(".py") for path in files):
        raise UsageError(f"--code names {folder}, and there is no Python file in it")
    refuse_unfit(folder, files, "--code")
    return os.path.abspath(folder)


def take_given_code(store: TaskStore, folder: str) -> None:
    """Copy the code into the task and fit the plan to it: its files are those of the code, its check is their tests."""
    plan = dict(store.load(_PLAN))
    python = [path for path in files_in(folder) if path.endswith(".py")][:_MOST_PLANNED]
    fitted = {
        **plan,
        "file_structure": [{"path": path, "purpose": "is given"} for path in python],
        "implementation_strategy": python,
        "environment_setup": {**plan["environment_setup"], "packages": _packages_of(folder, plan)},
        "validation_approach": {"verify_commands": [_CHECK] if any(map(is_test, python)) else []},
    }
    store.redo(store.graph.find("implement"))  # a verdict of before, on other code, moves aside
    if fitted != plan:
        store.write({_PLAN: fitted})
    copy_given(folder, store.path("generate_code"), keep_links=True)


def _packages_of(folder: str, plan: dict[str, Any]) -> list[str]:
    """Return the packages of the plan and of the code's own requirements.txt, as far as they are names with bounds."""
    from phases.sandbox.installs import read_requirement  # imported here: TAB must import no phase

    path = os.path.join(folder, "requirements.txt")
    lines = read_bytes(path).decode("utf-8", "replace").splitlines() if os.path.isfile(path) else []
    own = [read_requirement(line.partition("#")[0].partition(";")[0].strip()) for line in lines]
    return list(dict.fromkeys([*plan["environment_setup"]["packages"], *filter(None, own)]))


def name_task(paper: str, folder: str) -> str:
    """Return the task's name for a paper and a folder of code."""
    stem = os.path.splitext(os.path.basename(paper))[0]
    return safe_name(f"{stem}-{os.path.basename(folder)}-verify")
