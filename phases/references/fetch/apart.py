"""Keeps the folders that the user names apart from the one that repositories are kept in."""

from __future__ import annotations

import os

from phases.references.fetch.names import printable
from phases.references.fetch.values import Rules
from pipeline.base.errors import UsageError


def refuse_own(rules: Rules, into: str) -> None:
    """Raises UsageError where a folder of the user's is, lies in or holds the one that this task fetches into.

    One of references may hold it in a sub-folder that has other folders beside it: `leading_to` tells which.
    """
    base = os.path.realpath(into)
    task = os.path.dirname(base)
    for flag, folder in (("references", rules.folders), ("mirror", rules.mirror)):
        place = os.path.realpath(folder) if folder else ""
        if not folder or not (_lies_in(place, base) or _lies_in(base, place)):
            continue
        if _lies_in(place, base):
            how = "is" if place == base else "lies in"
            raise _refused(flag, folder, f"{how} {printable(base)}, where this task keeps what it fetches")
        if flag == "mirror" or place in (task, os.path.dirname(task)):
            raise _refused(flag, folder, f"holds this task itself ({printable(task)})")


def leading_to(into: str, folder: str) -> str | None:
    """The name in the folder under which the one that is fetched into lies; None where it lies elsewhere."""
    base, place = os.path.realpath(into), os.path.realpath(folder)
    return os.path.relpath(base, place).split(os.sep)[0] if _lies_in(base, place) and base != place else None


def holds_the_task(folder: str) -> UsageError:
    """The refusal of a folder that is one repository, and has the task in it."""
    return _refused("references", folder, "is one repository, and holds this task itself")


def _lies_in(inner: str, outer: str) -> bool:
    return os.path.commonpath([inner, outer]) == outer


def _refused(flag: str, folder: str, why: str) -> UsageError:
    return UsageError(f"--{flag} {printable(folder)} {why}; put the code into a folder of its own, and name that one")
