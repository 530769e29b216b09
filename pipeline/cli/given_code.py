"""Code that was made elsewhere, taken into a task: copied, with a plan that is fitted to its files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from pipeline.base.errors import UsageError
from pipeline.base.files import storage_error, sync_tree
from pipeline.cli.task_factory import safe_name
from pipeline.engine.store import TaskStore

PLAN = "initial_plan.txt"
_MOST_FILES, _MOST_BYTES = 20_000, 500 * 2**20
_LEFT_OUT = frozenset((".git", ".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".tox"))
_MOST_PLANNED = 300
_CHECK = "python -m pytest -q"


def check_given_code(folder: str) -> str:
    """The folder in full. Raises UsageError for one that holds no Python, or too much."""
    if not os.path.isdir(folder):
        raise UsageError(f"--code names {folder}, and there is no such folder")
    paths = list(_files_in(folder))
    if not any(path.endswith(".py") for path in paths):
        raise UsageError(f"--code names {folder}, and there is no Python file in it")
    size = sum(os.lstat(os.path.join(folder, path)).st_size for path in paths)
    if len(paths) > _MOST_FILES or size > _MOST_BYTES:
        raise UsageError(
            f"--code names {folder}, which holds {len(paths):,} files of {size / 2**20:,.0f} MB; at most {_MOST_FILES:,} files "
            f"of {_MOST_BYTES // 2**20} MB are taken: name the folder of the code alone"
        )
    return os.path.abspath(folder)


def take_given_code(store: TaskStore, folder: str) -> None:
    """Copies the code into the task and fits the plan to it: its files are those of the code, its check is their tests."""
    plan = dict(store.load(PLAN))
    paths = sorted(_files_in(folder))
    python = [path for path in paths if path.endswith(".py")][:_MOST_PLANNED]
    fitted = {
        **plan,
        "file_structure": [{"path": path, "purpose": "is given"} for path in python],
        "implementation_strategy": python,
        "validation_approach": {"verify_commands": [_CHECK] if any(map(_is_test, python)) else [], "experiments": []},
    }
    store.redo(store.graph.find("implement"))  # a verdict of before, on other code, moves aside
    if fitted != plan:
        store.write({PLAN: fitted})
    _copy_code(folder, store.path("generate_code"))


def _copy_code(folder: str, target: str) -> None:
    unfinished = f"{target}.given"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(folder, unfinished, symlinks=True, ignore=lambda where, names: _LEFT_OUT & set(names))
        sync_tree(unfinished)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(unfinished, target)
    except (OSError, shutil.Error) as error:
        raise storage_error("copy the code to", target, error) from error


def _files_in(folder: str) -> Iterator[str]:
    """The paths in a folder, what tools put there left out."""
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        yield from (os.path.relpath(os.path.join(directory, name), folder) for name in names)


def _is_test(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith("test_") or name.endswith("_test.py")


def name_task(paper: str, folder: str) -> str:
    """What the task of a paper and a folder of code is called."""
    stem = os.path.splitext(os.path.basename(paper))[0]
    return safe_name(f"{stem}-{os.path.basename(folder)}-verify")
