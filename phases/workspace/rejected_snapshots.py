"""Keep a copy of the code of each rejected completion, with its verdict from the journal.

A copy is named after the number of its ending, with the beginning of the digest of the tree that was judged. So after a
rewind the copies of both courses of the work lie side by side, and none is ever taken for another.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from phases.llm.journal import read_journal_lines
from phases.workspace.backup_tree import back_up_tree
from phases.workspace.manifest import ManifestReader
from phases.workspace.task_paths import TaskPaths
from phases.workspace.tree import LARGEST_TREE, SnapshotError, list_names, open_root, remove_tree
from phases.workspace.workspace import Workspace
from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory, sync_directory
from pipeline.base.logs import logger

MOST_KEPT = 20
_DIGITS = 12
_COPY = re.compile(r"[0-9]+-[0-9a-f]{12}")
JournalRow = dict[str, Any]


class Refusal(NamedTuple):
    number: int
    turn: int
    source: str
    """`user:tests`, `gate`, or `hooks` for several."""
    reason: str
    """Reason on one line."""
    tree: str
    """The digest of the workspace that was judged."""
    last: bool
    """True if it ended the run, so that the model did not see it."""
    rows: int
    """Number of journal rows up to it. For the last one, up to the completion request, which is decided again."""
    copy: str
    """The directory of the code as it was; empty where there is none."""


def keep_rejected(places: TaskPaths, number: int, tree: str) -> bool:
    """Copy the workspace of a rejected completion, and drop all but the newest 20 copies. False if there is no copy.

    `number` counts the rejections of the run from 1; `tree` is the digest in the verdict: another tree is not copied.
    """
    target = os.path.join(places.endings, _copy_name(number, tree))
    try:
        if not (os.path.isdir(target) and digest_of_tree(target) == tree):
            if _is_too_large(places.workspace) or digest_of_tree(places.workspace) != tree:
                logger.debug(
                    "the copy of rejected attempt {} is dropped: too large, or changed since the verdict", number
                )
                return False
            make_directory(places.endings)
            if not back_up_tree(places.workspace, target):
                return False
            sync_directory(places.endings)
        os.utime(target)
        _forget_the_oldest(places.endings)
    except (OSError, StorageError):  # a full disk, say: the work goes on without a way back to here
        return False
    return True


def read_refusals(places: TaskPaths) -> list[Refusal]:
    """Return the rejected completions of a run, in order. Raises PhaseError for a damaged journal."""
    rows = [row for _, row in read_journal_lines(places.journal)]
    refusals: list[Refusal] = []
    for place, row in enumerate(rows):
        verdict = row.get("result", {})
        refused = verdict.get("block") is not None and not verdict.get("stop") and verdict.get("claimed", True)
        refused = refused and verdict.get("source") != "advice"
        if row["kind"] != "verdict" or not refused:
            continue
        turn, tree = int(row["key"]["turn"]), str(verdict["verification"]["tree_sha256"])
        last = not verdict.get("feedback") or [later["kind"] for later in rows[place + 1 : place + 2]] == ["ending"]
        copy = os.path.join(places.endings, _copy_name(len(refusals) + 1, tree))
        refusals.append(
            Refusal(
                len(refusals) + 1,
                turn,
                str(verdict.get("source", "")).removeprefix("hook:"),
                " ".join(str(verdict.get("detail") or verdict["block"]).split()),
                tree,
                last,
                _claim_place(rows, turn) if last else place + 1,
                copy if os.path.isdir(copy) else "",
            )
        )
    return refusals


def digest_of_tree(directory: str) -> str:
    """Return the digest of a directory of code, as verdicts use it; empty if it could not be read completely."""
    manifest = ManifestReader().take(Workspace(directory))
    return "" if manifest.truncated else manifest.sha256


def remove_leftovers(directory: str) -> None:
    """Remove incomplete copies from the directory of copies."""
    with open_root(directory) as root:
        for name in os.listdir(root):
            if not _COPY.fullmatch(name):
                remove_tree(root, name)


def _copy_name(number: int, tree: str) -> str:
    return f"{number}-{tree[:_DIGITS]}"


def _is_too_large(workspace: str) -> bool:
    """Return whether the tree exceeds the limit for snapshots."""
    try:
        with open_root(workspace) as root:
            return sum(entry.size for entry in list_names(root, lambda path: True).values()) > LARGEST_TREE
    except SnapshotError:
        return True


def _forget_the_oldest(directory: str) -> None:
    copies = [name for name in os.listdir(directory) if _COPY.fullmatch(name)]
    copies.sort(key=lambda name: (os.stat(os.path.join(directory, name)).st_mtime_ns, int(name.partition("-")[0])))
    for name in copies[:-MOST_KEPT]:
        os.rename(os.path.join(directory, name), os.path.join(directory, f"{name}.gone"))
    remove_leftovers(directory)


def _claim_place(rows: list[JournalRow], turn: int) -> int:
    """Return the place of a turn's completion request in the journal."""
    return next(place for place, row in enumerate(rows) if row["kind"] == "look" and row["key"]["turn"] == turn)
