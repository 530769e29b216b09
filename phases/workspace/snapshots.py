"""Copy the workspace before a command, so that an interrupted command runs again on the same tree."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from typing import Any

from phases.workspace.tree import (
    DIRECTORY,
    FILE,
    LARGEST_FILE,
    SnapshotError,
    TreeEntry,
    list_entries,
    list_names,
    open_root,
    read_file,
    remove_tree,
    restore_entry,
    restore_mode,
    start_of_changes,
    sync_changed,
)
from pipeline.base.errors import StorageError
from pipeline.base.files import (
    make_directory,
    read_bytes,
    sha256,
    storage_error,
    sync_directory,
    write_durable,
    write_without_sync,
)

_VERSION = 1


class Snapshot:
    """One workspace and its copy. The copy is of use only while it is marked, under the name that it was taken for.

    Copies and mark are durable. Sockets are not copied.
    """

    def __init__(self, workspace_root: str, kept_root: str) -> None:
        self._root, self._kept = workspace_root, kept_root
        self._files = os.path.join(kept_root, "files")
        self._tree = os.path.join(kept_root, "tree.json")
        self._mark = os.path.join(kept_root, "taken.json")
        self._index: dict[str, TreeEntry] | None = None
        self._digest = ""

    def take(self, name: str) -> bool:
        """Copy the changes since the last time, and mark the copy. False: too much to copy, nothing is marked."""
        self.drop()
        if self._index is None:
            make_directory(self._kept)
            make_directory(self._files)
            self._load()
        known = self._index or {}
        try:
            with open_root(self._root) as root:
                entries = list_entries(root)
                found = {entry.path: self._copied(root, entry, known.get(entry.path)) for entry in entries}
        except SnapshotError:
            return False
        # The index before the mark: a mark counts only with the digest of the index that it was set on.
        if found != known or not self._digest:
            self._write_index(found)
        self._write_mark({"version": _VERSION, "name": name, "index_sha256": self._digest})
        return True

    def pending(self) -> str | None:
        """Return the reason of the marked copy; None if there is none, or it is damaged."""
        mark = _parse_document(_read_quietly(self._mark))
        if mark is None:
            return None
        self._load()
        name = mark.get("name")
        return name if isinstance(name, str) and self._digest and mark.get("index_sha256") == self._digest else None

    def restore(self) -> None:
        """Restore the workspace from the marked copy, durably. May be repeated. Raises StorageError."""
        if self.pending() is None or self._index is None:
            raise StorageError(f"there is no copy of {self._root} to go back to in {self._kept}")
        wanted, began = self._index, start_of_changes()
        contents = {entry.copy: self._copy(entry) for entry in wanted.values() if entry.kind == FILE}
        directories = {path for path, entry in wanted.items() if entry.kind == DIRECTORY}
        with open_root(self._root) as root:
            now = list_names(root, directories.__contains__)
            for path in sorted(now):
                if path not in wanted or now[path].kind != wanted[path].kind:
                    remove_tree(root, path)
            for path in sorted(wanted):
                if path not in now or not wanted[path].unchanged(now[path]):
                    restore_entry(root, wanted[path], contents.get(wanted[path].copy, b""))
            # Last and from the inside out: a directory may be closed to us once it has its rights.
            for path in sorted(directories, reverse=True):
                restore_mode(root, wanted[path])
        sync_changed(self._root, began)

    def drop(self) -> None:
        """Forget the mark. The copies stay, for the next time."""
        try:
            os.unlink(self._mark)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error("remove", self._mark, error) from error

    def clear(self) -> None:
        """Remove the copy with its mark. Raises StorageError, because a partial copy would count as a whole one."""
        self._index, self._digest = None, ""
        try:
            shutil.rmtree(self._kept)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error("remove", self._kept, error) from error

    def _copied(self, root: int, entry: TreeEntry, before: TreeEntry | None) -> TreeEntry:
        """Return the entry with the name of its copy, which is made unless an identical one exists."""
        if entry.kind != FILE:
            return entry
        if before is not None and before.unchanged(entry):
            return before
        data, read = read_file(root, entry.path)
        target = os.path.join(self._files, sha256(data))
        if not os.path.exists(target):
            write_without_sync(target, data, content=True)  # its name is synced before the index names it
        return read._replace(copy=sha256(data))

    def _copy(self, entry: TreeEntry) -> bytes:
        data = read_bytes(os.path.join(self._files, entry.copy), limit=LARGEST_FILE)
        if sha256(data) != entry.copy:
            raise StorageError(f"the copy of {entry.path} in {self._files} is damaged; the workspace is left as it is")
        return data

    def _load(self) -> None:
        """Read the index, unless this process wrote or read it before."""
        if self._index is not None:
            return
        data = _read_quietly(self._tree)
        document = _parse_document(data)
        try:
            rows = document["entries"] if document and document.get("version") == _VERSION else None
            self._index = {entry.path: entry for entry in (TreeEntry(*row) for row in rows or ())}
        except (TypeError, KeyError):
            rows, self._index = None, {}
        self._digest = sha256(data) if data and rows is not None else ""

    def _write_index(self, found: Mapping[str, TreeEntry]) -> None:
        rows = [list(found[path]) for path in sorted(found)]
        data = json.dumps({"version": _VERSION, "entries": rows}).encode()
        try:
            sync_directory(self._files)
        except OSError as error:
            raise storage_error("sync", self._files, error) from error
        write_durable(self._tree, data)
        self._index, self._digest = dict(found), sha256(data)
        needed = {entry.copy for entry in found.values()}
        try:
            for name in os.listdir(self._files):
                if name not in needed:
                    os.unlink(os.path.join(self._files, name))
        except OSError as error:
            raise storage_error("tidy", self._files, error) from error

    def _write_mark(self, mark: Mapping[str, Any]) -> None:
        # decision 258: without it a power cut while a check runs leaves what the check changed, and nothing puts it back
        write_durable(self._mark, json.dumps(mark).encode())


def _read_quietly(path: str) -> bytes | None:
    try:
        return read_bytes(path)
    except StorageError:
        return None


def _parse_document(data: bytes | None) -> dict[str, Any] | None:
    try:
        document = json.loads(data or b"")
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
