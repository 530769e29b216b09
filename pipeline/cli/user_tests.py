"""`--tests`: the user's own tests, copied into the task, where the agent does not reach them."""

from __future__ import annotations

import os
import shutil

from pipeline.base.errors import UsageError
from pipeline.base.files import storage_error, sync_tree

_MOST_FILES, _MOST_BYTES = 5000, 256 * 2**20
_LEFT_OUT = ("__pycache__", ".git", ".pytest_cache", ".venv")


def check_user_tests(path: str) -> str:
    """The path in full. Raises UsageError where there is nothing that pytest would take for a test, or too much."""
    if not path:
        return ""
    if not os.path.exists(path):
        raise UsageError(f"--tests names {path}, and there is no such folder or file")
    files = [path] if os.path.isfile(path) else _files_in(path)
    if not any(_is_test(os.path.basename(file)) for file in files):
        raise UsageError(f"--tests names {path}, and there is no test_*.py or *_test.py in it")
    size = sum(os.path.getsize(file) for file in files)
    if len(files) > _MOST_FILES or size > _MOST_BYTES:
        raise UsageError(
            f"--tests names {path}, which holds {len(files):,} files of {size / 2**20:,.0f} MB; at most {_MOST_FILES:,} files of "
            f"{_MOST_BYTES // 2**20} MB are copied: name the folder of the tests alone"
        )
    return os.path.abspath(path)


def copy_user_tests(path: str, target: str) -> None:
    """Copies them to `target`, in the place of what was there. A link is copied as what it leads to. Raises StorageError."""
    unfinished = f"{target}.copy"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        if os.path.isfile(path):
            os.mkdir(unfinished)
            shutil.copy(path, unfinished)
        else:
            shutil.copytree(path, unfinished, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        sync_tree(unfinished)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(unfinished, target)
    except (OSError, shutil.Error) as error:
        raise storage_error("copy the tests to", target, error) from error


def _files_in(folder: str) -> list[str]:
    found = []
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        found += [os.path.join(directory, name) for name in names if os.path.isfile(os.path.join(directory, name))]
    return found


def _is_test(name: str) -> bool:
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
