"""`--tests` and `--held-out`: copy the user's own tests and data into the task, out of the agent's reach."""

from __future__ import annotations

import os

from pipeline.base.errors import UsageError
from pipeline.cli.given_folder import copy_given, files_in, is_test, refuse_unfit


def check_user_tests(path: str) -> str:
    """Return the full path. Raises UsageError if pytest would find no test there, or for too much."""
    if not path:
        return ""
    if not os.path.exists(path):
        raise UsageError(f"--tests names {path}, and there is no such folder or file")
    files = files_in(path)
    if not any(map(is_test, files)):
        raise UsageError(f"--tests names {path}, and there is no test_*.py or *_test.py in it")
    refuse_unfit(path, files, "--tests")
    return os.path.abspath(path)


def copy_user_tests(path: str, target: str) -> None:
    """Copy them to `target`, in the place of what was there. Raises StorageError."""
    copy_given(path, target, keep_links=False)


def check_held_out(path: str) -> str:
    """Return the full path. Raises UsageError without labels to hold back, or for too much."""
    if not path:
        return ""
    files = files_in(path) if os.path.isdir(path) else []
    if not any(name.startswith("labels/") and name.endswith(".csv") for name in files):
        raise UsageError(
            f"--held-out names {path}, and there is no labels/NAME.csv in it (columns: row, y_true, and seed where "
            "there are several)"
        )
    refuse_unfit(path, files, "--held-out")
    return os.path.abspath(path)
