"""List the workspace by path and content, to detect whether a run has changed it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from phases.workspace.tree import UNSETTLED_NS
from phases.workspace.workspace import (
    DIRECTORY,
    LINK,
    REGULAR,
    Workspace,
    is_workspace_path,
    kind_of,
    walk_workspace,
)
from pipeline.base.files import MACHINE_SHORT, sha256, storage_error
from pipeline.base.safe_tree import WalkedEntry, open_regular

ADDED, MODIFIED, DELETED = "added", "modified", "deleted"
MOST_FILES = 200_000
MOST_KEPT = 20_000
"""Paths in the journal: a row of more would be as large as all the others."""
MOST_LISTED = 500
MOST_BYTES = 8 * 2**30
"""Bytes read in one go: twice the limit of a workspace, because a sparse file may claim any size."""
_PIECE = 2**20
_UNREAD = "unread"
_CACHES = frozenset(
    ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".cache", ".gradle")
) | {".ipynb_checkpoints", "node_modules", "target", "build"}
"""Directories filled by tools. .gitignore is not used: the agent could hide its work with it (decision 74)."""
_Signs = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Manifest:
    """All files of a workspace at one moment, without caches; other entries by their kind."""

    files: Mapping[str, str]
    """The sha256 of each file by path; an invalid path is quoted."""
    sha256: str
    """One digest of all paths, sizes and contents."""
    truncated: bool = False
    """True if files were skipped or unreadable, so that changes could be missed."""


class Changes(NamedTuple):
    """Differences between two manifests."""

    changed: bool
    files: tuple[tuple[str, str], ...] = ()
    """Path with added, modified or deleted, by path; at most MOST_LISTED."""
    truncated: bool = False
    left_out: int = 0
    """Number of further changes."""


# git is never asked: it runs what the configuration of a hostile repository says (decision 73).
class ManifestReader:
    """The files that this process has read: one that certainly did not change since is not read again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Signs, str]] = {}

    def take(self, workspace: Workspace) -> Manifest:
        """Return the workspace as it is. What goes wrong on the way makes it `truncated`.

        Raises StorageError only for what the machine is to blame for: it would be recorded, and be right never again.
        """
        scan = _TreeScan(self._known, MOST_FILES)
        try:
            scan.all_of(workspace)
        except OSError as error:
            if error.errno in MACHINE_SHORT:
                raise storage_error("read", workspace.root, error) from error
            scan.truncated = True
        self._known = scan.known
        files = {row.path: row.sha256 for row in scan.rows}
        return Manifest(files, _digest_of(scan.rows), scan.truncated)


def tree_digest(workspace: Workspace) -> str:
    """Return one sha256 for all files of the workspace, to which a verdict applies. Raises StorageError."""
    scan = _TreeScan({}, None)
    try:
        scan.all_of(workspace)
    except OSError as error:
        raise storage_error("read", workspace.root, error) from error
    return _digest_of(scan.rows)


def compare_manifests(base: Manifest, head: Manifest, *, planned: Collection[str] = ()) -> Changes:
    """Return what changed from one to the other, but for caches; a file that is again as it was did not change.

    A file that is `planned` counts wherever it lies.
    """
    truncated = base.truncated or head.truncated
    if base.sha256 == head.sha256 and base.files == head.files:
        return Changes(truncated, truncated=truncated)
    changed = [row for row in _list_differences(base, head) if row[0] in planned or not _is_cache(row[0])]
    listed = tuple(changed[:MOST_LISTED])
    return Changes(bool(changed) or truncated, listed, truncated, len(changed) - len(listed))


def manifest_to_json(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest for the journal; of very many files, only some, and the others count as unknown."""
    shown = sorted(manifest.files)[:MOST_KEPT]
    return {
        "files": {path: manifest.files[path] for path in shown},
        "sha256": manifest.sha256,
        "truncated": manifest.truncated or len(shown) < len(manifest.files),
    }


def manifest_from_json(row: Mapping[str, Any]) -> Manifest:
    return Manifest(dict(row["files"]), str(row["sha256"]), bool(row["truncated"]))


def _is_cache(path: str) -> bool:
    return path.endswith((".pyc", ".pyo")) or not _CACHES.isdisjoint(path.split("/")[:-1])


def _list_differences(base: Manifest, head: Manifest) -> Iterator[tuple[str, str]]:
    for path in sorted({*base.files, *head.files}):
        before, now = base.files.get(path), head.files.get(path)
        if before is None:
            if not base.truncated:  # else it may have been there, and not looked at
                yield path, ADDED
        elif now is None:
            if not head.truncated:
                yield path, DELETED
        elif before != now:
            yield path, MODIFIED


class _FileRow(NamedTuple):
    path: str
    bytes: int
    sha256: str


def _digest_of(rows: list[_FileRow]) -> str:
    lines = "".join(f"{row.path} {row.bytes} {row.sha256}\n" for row in sorted(rows))
    return sha256(lines.encode("utf-8", "surrogateescape"))


class _TreeScan:
    """One look at everything. `before`: what is known of earlier ones."""

    def __init__(self, before: Mapping[str, tuple[_Signs, str]], most: int | None) -> None:
        self._before, self._most, self._left = before, most, MOST_BYTES
        self.known: dict[str, tuple[_Signs, str]] = {}
        self.rows: list[_FileRow] = []
        self.truncated = False

    def all_of(self, workspace: Workspace) -> None:
        """Take in every file. Raises OSError."""
        for entry in walk_workspace(workspace.root):
            if len(self.rows) == self._most:
                self.truncated = True
                return
            self._take(entry)

    def _take(self, entry: WalkedEntry) -> None:
        path, kind = entry.path if is_workspace_path(entry.path) else ascii(entry.path), kind_of(entry)
        if kind == DIRECTORY:
            self.truncated = True  # nobody sees into it
        elif kind == REGULAR:
            self._take_file(path, entry)
        else:
            leads = os.readlink(entry.name, dir_fd=entry.directory) if kind == LINK else ""
            self.rows.append(_FileRow(path, 0, sha256(f"{kind} {leads}".encode("utf-8", "surrogateescape"))))

    def _take_file(self, path: str, entry: WalkedEntry) -> None:
        known = self._before.get(path)
        signs: _Signs | None
        try:
            status = entry.status()
            signs = _stat_signs(status)
            if known is not None and known[0] == signs:
                row = _FileRow(path, status.st_size, known[1])
            else:
                row, signs = self._read(path, entry, known)
        except FileNotFoundError:
            return  # it went since it was listed
        except OSError as error:
            if error.errno in MACHINE_SHORT:
                raise
            row, signs = _FileRow(path, 0, _UNREAD), None
        self.truncated = self.truncated or row.sha256 == _UNREAD
        self.rows.append(row)
        if signs is not None:
            self.known[path] = signs, row.sha256

    def _read(self, path: str, entry: WalkedEntry, known: tuple[_Signs, str] | None) -> tuple[_FileRow, _Signs | None]:
        """Return the content of a file, and the attributes that would show a change, if there are any."""
        descriptor = open_regular(entry.name, entry.directory)
        try:
            # The time is taken first, so that no change after it can count as settled.
            looked_at, status = time.time_ns(), os.fstat(descriptor)
            signs = _stat_signs(status)
            if status.st_size > self._left:
                return _FileRow(path, status.st_size, _UNREAD), None
            if known is not None and known[0] == signs:
                return _FileRow(path, status.st_size, known[1]), signs
            digest, size = hashlib.sha256(), 0
            while size <= self._left and (piece := os.read(descriptor, _PIECE)):
                digest.update(piece)
                size += len(piece)
            self._left -= size
            settled = status.st_ctime_ns + UNSETTLED_NS < looked_at and signs == _stat_signs(os.fstat(descriptor))
            return _FileRow(path, size, digest.hexdigest()), signs if settled else None
        finally:
            os.close(descriptor)


def _stat_signs(status: os.stat_result) -> _Signs:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
