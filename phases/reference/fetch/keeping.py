"""Keeps a repository below code_base/: its files first, then the manifest that makes them count."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from phases.reference.fetch.beneath import opened, read_beneath, walk, write_beneath
from phases.reference.fetch.choosing import LFS, is_pointer
from phases.reference.fetch.licences import licence_of, may_name_a_licence
from phases.reference.fetch.values import LARGEST_FILE, Source
from pipeline.errors import FormatError
from pipeline.files import failure, sha256, sync_folder, write_durable
from pipeline.formats import dump_json, parse_json

TEMPORARY = ".fetching-"
_LARGEST_MANIFEST = 64 * 2**20
Manifest = dict[str, Any]


def keep(source: Source, name: str, url: str, into: str, in_place: Callable[[], None]) -> Manifest:
    """Writes the files of a repository, and last its manifest, durably. What was there under its name is gone.

    Raises what reading the source raises, what `in_place` raises, and StorageError.
    """
    tree = os.path.join(into, TEMPORARY + name, "tree")
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
    _put(tree, name, into)
    write_durable(manifest_path(name, into), dump_json(manifest))
    return manifest


def kept(name: str, url: str, into: str) -> Manifest | None:
    """The manifest of a repository that is there already, each byte of it; None where it has to be made."""
    try:
        manifest = parse_json(read_beneath(into, f"{name}.json", _LARGEST_MANIFEST))
        if (manifest["version"], manifest["name"], manifest["url"]) != (1, name, url):
            return None
        listed = {row["path"]: (row["bytes"], row["sha256"]) for row in manifest["files"]}
        with opened(into, [name]) as tree:
            there = [found.path.decode("utf-8") for found in walk(tree)]
            if sorted(there) != sorted(listed):
                return None
            for path, known in listed.items():
                data = read_beneath(tree, path, LARGEST_FILE)
                if (len(data), sha256(data)) != known:
                    return None
    except (OSError, FormatError, KeyError, TypeError, ValueError):
        return None
    return manifest  # type: ignore[no-any-return]


def manifest_path(name: str, into: str) -> str:
    """Where the manifest of a repository lies."""
    return os.path.join(into, f"{name}.json")


def remove(name: str, into: str) -> None:
    """Takes away a file, or a folder with all in it; a link itself. Raises StorageError."""
    path = os.path.join(into, name)
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise failure("remove", path, error) from error


def _written(source: Source, tree: str) -> tuple[list[dict[str, Any]], int, Mapping[str, bytes]]:
    """The rows of the files that were written, how many only stood for others, and those that may tell of a licence."""
    rows: list[dict[str, Any]] = []
    pointers, telling = 0, {}
    try:
        os.mkdir(tree)
        root = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise failure("make", tree, error) from error
    try:
        for path, data in source.contents:
            if is_pointer(data):
                pointers += 1
                continue
            _write(root, tree, path, data)
            rows.append({"path": path, "bytes": len(data), "sha256": sha256(data)})
            if may_name_a_licence(path):
                telling[path] = data
        _sync(root)
    finally:
        os.close(root)
    return rows, pointers, telling


def _write(root: int, tree: str, path: str, data: bytes) -> None:
    try:
        write_beneath(root, path, data)
    except OSError as error:
        raise failure("write", os.path.join(tree, path), error) from error


def _put(tree: str, name: str, into: str) -> None:
    """Gives the tree its name. Until its manifest is there, it counts for nothing."""
    remove(f"{name}.json", into)
    remove(name, into)
    try:
        os.rename(tree, os.path.join(into, name))
        sync_folder(into)
    except OSError as error:
        raise failure("write", os.path.join(into, name), error) from error


def _sync(folder: int) -> None:
    """Makes all that was written durable at once: one call for a repository, and not one for each file."""
    with suppress(AttributeError, OSError):
        if ctypes.CDLL(None, use_errno=True).syncfs(folder) == 0:
            return
    os.sync()
