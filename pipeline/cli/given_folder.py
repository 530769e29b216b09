"""Check the size of folders that the user gives a task, tests or code, and copy them."""

from __future__ import annotations

import os
import shutil

from pipeline.base.errors import UsageError
from pipeline.base.files import storage_error, sync_tree

_LEFT_OUT = frozenset((".git", ".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".tox"))
"""Directories of tools."""
_MOST_FILES, _MOST_BYTES = 20_000, 500 * 2**20


def files_in(path: str) -> list[str]:
    """Return the files in a folder, as paths in it; of a file, its name."""
    if os.path.isfile(path):
        return [os.path.basename(path)]
    found = []
    for directory, folders, names in os.walk(path):
        folders[:] = set(folders) - _LEFT_OUT
        found += [os.path.relpath(os.path.join(directory, name), path) for name in names]
    return sorted(found)


def is_test(path: str) -> bool:
    """Return whether pytest takes a file for one of tests."""
    name = os.path.basename(path)
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def refuse_unfit(path: str, files: list[str], flag: str) -> None:
    """Raise UsageError for more than is copied, and for files that lie where keys do: a model may see what is given."""
    folder = os.path.dirname(path) if os.path.isfile(path) else path
    size = sum(os.lstat(os.path.join(folder, name)).st_size for name in files)
    if len(files) > _MOST_FILES or size > _MOST_BYTES:
        raise UsageError(
            f"{flag} names {path}, which holds {len(files):,} files of {size / 2**20:,.0f} MB; at most {_MOST_FILES:,} files of "
            f"{_MOST_BYTES // 2**20} MB are copied: name the one folder that is needed"
        )
    from pipeline.base.credentials import credentials_at  # imported here: few runs are given a folder

    for name in files:
        if what := credentials_at(os.path.join(folder, name)):
            raise UsageError(
                f"{flag} names {path}, and {name} in it is a file as {what} are kept in; move it away, or name another folder"
            )


def copy_given(path: str, target: str, *, keep_links: bool) -> None:
    """Copy a folder, or one file, to the folder `target`, in the place of what was there. Raises StorageError.

    `keep_links`: a link stays one; else it is copied as what it leads to.
    """
    unfinished = f"{target}.given"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        if os.path.isfile(path):
            os.mkdir(unfinished)
            shutil.copy(path, unfinished)
        else:
            shutil.copytree(path, unfinished, symlinks=keep_links, ignore=lambda where, names: _LEFT_OUT & set(names))
        sync_tree(unfinished)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(unfinished, target)
    except (OSError, shutil.Error) as error:
        raise storage_error("copy what is given to", target, error) from error
