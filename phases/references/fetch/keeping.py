"""Keeps a repository below code_base/, so that each step leaves nothing there that its manifest does not tell of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from phases.references.fetch.choosing import LFS, is_pointer
from phases.references.fetch.licences import licence_of, may_name_a_licence
from phases.references.fetch.manifests import Manifest, is_sound, manifest_of, manifest_path
from phases.references.fetch.names import printable
from phases.references.fetch.removing import TEMPORARY, drop, is_free
from phases.references.fetch.values import LARGEST_FILE, Refused, Source
from pipeline.base.files import (
    make_directory,
    replace_file,
    sha256,
    storage_error,
    sync_directory,
    sync_tree,
    write_durable,
)
from pipeline.base.formats import dump_json
from pipeline.base.safe_tree import open_directory, read_beneath, walk_tree, write_beneath

_MOST_ADDED = 1000
"""Files that somebody put among those of a repository: more are not told of."""
_LONGEST_NAME = 120


def keep(source: Source, name: str, url: str, into: str, in_place: Callable[[], None]) -> Manifest:
    """Writes the files of a repository, and its manifest, durably. What we had there under its name is gone.

    Raises what reading the source raises, what `in_place` raises, and StorageError.
    """
    temporary = os.path.join(into, TEMPORARY + name)
    tree, new = os.path.join(temporary, "tree"), os.path.join(temporary, "manifest")
    rows, pointers, telling = _written(source, tree)
    licence, licence_file = licence_of(telling)
    left_out = dict(source.left_out)
    if pointers:
        left_out[LFS] = left_out.get(LFS, 0) + pointers
    manifest: Manifest = {
        "version": 1,
        "name": name,
        "url": url,
        "fetched_from": source.fetched_from,
        "commit": source.commit,
        "licence": licence,
        "licence_file": licence_file,
        "bytes": sum(row["bytes"] for row in rows),
        "left_out": dict(sorted(left_out.items())),
        "files": sorted(rows, key=lambda row: str(row["path"])),
    }
    in_place()  # reading it took its time
    write_durable(new, dump_json(manifest))
    _put(tree, new, name, into)
    return manifest


def kept(name: str, url: str, into: str) -> Manifest | None:
    """The manifest of a repository that is there already, each byte of it; None where it has to be made."""
    manifest = manifest_of(name, into)
    if manifest is None or not is_sound(manifest) or manifest["url"] != url or next(changes_in(name, into), None):
        return None
    return manifest


def changes_in(name: str, into: str) -> Iterator[tuple[str, str]]:
    """What is not as the manifest of a repository says: paths in it, with `edited`, `added` or `missing`.

    The path of the whole repository is empty. Nothing, where there is no sound manifest that could say how it was.
    """
    manifest = manifest_of(name, into)
    if manifest is None or not is_sound(manifest):
        return
    listed = {row["path"]: (row["bytes"], row["sha256"]) for row in manifest["files"]}
    try:
        with open_directory(into, [name]) as tree:
            there = {
                found.path.decode("utf-8", "backslashreplace")
                for found in islice(walk_tree(tree), len(listed) + _MOST_ADDED)
            }
            for path in sorted({*there, *listed}):
                if path not in listed or path not in there:
                    yield path, "missing" if path in listed else "added"
                elif _digest(tree, path) != listed[path]:
                    yield path, "edited"
    except FileNotFoundError:
        yield "", "missing"
    except OSError:
        yield "", "edited"


def keep_edits(name: str, into: str) -> None:
    """Copies what somebody changed in a repository to edited/ in the task: it is made anew. Raises StorageError."""
    edits = [path for path, what in changes_in(name, into) if path and what != "missing"]
    folder = os.path.join(os.path.dirname(into), "edited")
    for path in edits:
        with suppress(OSError, UnicodeEncodeError), open_directory(into, [name]) as tree:
            data = read_beneath(tree, path, LARGEST_FILE)
            make_directory(folder)
            flat = f"code_base/{name}/{path}".replace("/", "__")[-_LONGEST_NAME:]
            write_durable(os.path.join(folder, f"{flat}.{sha256(data)[:12]}"), data)


def _digest(tree: int, path: str) -> tuple[int, str] | None:
    """Of a file as it is now; None where it is none that could have been kept."""
    try:
        data = read_beneath(tree, path, LARGEST_FILE)
    except OSError:
        return None
    return len(data), sha256(data)


def _written(source: Source, tree: str) -> tuple[list[dict[str, Any]], int, Mapping[str, bytes]]:
    """The rows of the files that were written, how many only stood for others, and those that may tell of a licence."""
    rows: list[dict[str, Any]] = []
    pointers, telling = 0, {}
    try:
        os.mkdir(tree)
        root = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise storage_error("make", tree, error) from error
    try:
        for path, data in source.contents:
            if is_pointer(data):
                pointers += 1
                continue
            _write(root, tree, path, data)
            rows.append({"path": path, "bytes": len(data), "sha256": sha256(data)})
            if may_name_a_licence(path):
                telling[path] = data
    finally:
        os.close(root)
    sync_tree(tree)
    return rows, pointers, telling


def _write(root: int, tree: str, path: str, data: bytes) -> None:
    try:
        write_beneath(root, path, data)
    except OSError as error:
        raise storage_error("write", os.path.join(tree, path), error) from error


def _put(tree: str, manifest: str, name: str, into: str) -> None:
    """Gives both their names, the manifest first: a folder without one is not ours, and would never be removed.

    A manifest without its files counts for nothing, because they are read before it is believed.
    """
    drop(name, into, manifest=False)
    if not is_free(name, into):
        raise Refused(
            f"something that is not ours came to {printable(os.path.join(into, name))} meanwhile; move it away"
        )
    try:
        replace_file(manifest, manifest_path(name, into))
        sync_directory(into)
        os.rename(tree, os.path.join(into, name))
        sync_directory(into)
    except OSError as error:
        raise storage_error("write", os.path.join(into, name), error) from error
