"""Keep repositories below code_base/; every step leaves only files that a manifest lists."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from phases.references.fetch.clone import OID
from phases.references.fetch.file_filter import LFS, is_lfs_pointer, make_printable
from phases.references.fetch.licences import licence_of, may_name_a_licence
from phases.references.fetch.model import LARGEST_FILE, RepositoryContent, RepositoryRefused
from pipeline.base.errors import FormatError
from pipeline.base.files import (
    make_directory,
    replace_file,
    sha256,
    storage_error,
    sync_directory,
    sync_tree,
    write_durable,
)
from pipeline.base.formats import dump_json, parse_json
from pipeline.base.safe_tree import open_directory, read_beneath, walk_files, write_beneath

TEMPORARY = ".fetching-"
_ENDING = ".json"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_ADDED = 1000
"""Files added to a repository that are reported at most."""
_LONGEST_NAME = 120


def install_repository(
    source: RepositoryContent, name: str, url: str, into: str, in_place: Callable[[], None]
) -> Manifest:
    """Write the files and the manifest of a repository durably, in place of an earlier version.

    Raises what reading the source raises, what `in_place` raises, and StorageError.
    """
    temporary = os.path.join(into, TEMPORARY + name)
    tree, new = os.path.join(temporary, "tree"), os.path.join(temporary, "manifest")
    rows, pointers, telling = _write_tree(source, tree)
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
    _move_into_place(tree, new, name, into)
    return manifest


def installed_manifest(name: str, url: str, into: str) -> Manifest | None:
    """Return the manifest of a repository that is there, unchanged to the byte; None if it has to be fetched."""
    manifest = manifest_of(name, into)
    if manifest is None or not is_sound(manifest) or manifest["url"] != url or next(changes_in(name, into), None):
        return None
    return manifest


def changes_in(name: str, into: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of a repository that differ from its manifest, each with `edited`, `added` or `missing`.

    The path of the whole repository is empty. Without a sound manifest, nothing is reported.
    """
    manifest = manifest_of(name, into)
    if manifest is None or not is_sound(manifest):
        return
    listed = {row["path"]: (row["bytes"], row["sha256"]) for row in manifest["files"]}
    try:
        with open_directory(into, [name]) as tree:
            there = {
                os.fsencode(entry.path).decode("utf-8", "backslashreplace")
                for entry in islice(walk_files(tree), len(listed) + _MOST_ADDED)
            }
            for path in sorted({*there, *listed}):
                if path not in listed or path not in there:
                    yield path, "missing" if path in listed else "added"
                elif _digest_of(tree, path) != listed[path]:
                    yield path, "edited"
    except FileNotFoundError:
        yield "", "missing"
    except OSError:
        yield "", "edited"


def backup_edits(name: str, into: str) -> None:
    """Copy the files that the user edited in a repository to edited/ in the task, before it is fetched again. Raises
    StorageError.
    """
    edits = [path for path, what in changes_in(name, into) if path and what != "missing"]
    folder = os.path.join(os.path.dirname(into), "edited")
    for path in edits:
        with suppress(OSError, UnicodeEncodeError), open_directory(into, [name]) as tree:
            data = read_beneath(tree, path, LARGEST_FILE)
            make_directory(folder)
            flat = f"code_base/{name}/{path}".replace("/", "__")[-_LONGEST_NAME:]
            write_durable(os.path.join(folder, f"{flat}.{sha256(data)[:12]}"), data)


def _digest_of(tree: int, path: str) -> tuple[int, str] | None:
    """Return size and digest of a file; None if it cannot have been fetched."""
    try:
        data = read_beneath(tree, path, LARGEST_FILE)
    except OSError:
        return None
    return len(data), sha256(data)


def _write_tree(source: RepositoryContent, tree: str) -> tuple[list[dict[str, Any]], int, Mapping[str, bytes]]:
    """Write the files; return their rows, the number of LFS pointers, and the files that may state a licence."""
    rows: list[dict[str, Any]] = []
    pointers, telling = 0, {}
    try:
        os.mkdir(tree)
        root = os.open(tree, _FOLDER)
    except OSError as error:
        raise storage_error("make", tree, error) from error
    try:
        for path, data in source.contents:
            if is_lfs_pointer(data):
                pointers += 1
                continue
            try:
                write_beneath(root, path, data)
            except OSError as error:
                raise storage_error("write", os.path.join(tree, path), error) from error
            rows.append({"path": path, "bytes": len(data), "sha256": sha256(data)})
            if may_name_a_licence(path):
                telling[path] = data
    finally:
        os.close(root)
    sync_tree(tree)
    return rows, pointers, telling


def _move_into_place(tree: str, manifest: str, name: str, into: str) -> None:
    """Give manifest and tree their names, the manifest first: a directory without one would never be removed.

    A manifest without its files is harmless, because the files are checked before it is used.
    """
    # decision 114: a kill between the two leaves a manifest without a folder, which is known, and never the reverse
    remove_repository(name, into, manifest=False)
    if not is_free(name, into):
        raise RepositoryRefused(
            f"something that is not ours came to {make_printable(os.path.join(into, name))} meanwhile; move it away"
        )
    try:
        replace_file(manifest, manifest_path(name, into))
        sync_directory(into)
        os.rename(tree, os.path.join(into, name))
        sync_directory(into)
    except OSError as error:
        raise storage_error("write", os.path.join(into, name), error) from error


def foreign_names(into: str) -> set[str]:
    """Return the names in the directory that are not ours. Raises StorageError."""
    return {name for name in _list_names(into) if not _is_ours(name, into)}


def remove_leftovers(into: str, wanted: Collection[str], strange: Collection[str]) -> None:
    """Remove what a killed run left, and repositories that are no longer wanted. Raises StorageError."""
    # A manifest goes last: without it, what is left of its folder would not be ours any more.
    for name in sorted(_list_names(into), key=lambda name: name.endswith(_ENDING)):
        if name not in strange and name not in wanted and name.removesuffix(_ENDING) not in wanted:
            remove_tree(name, into)


def remove_repository(name: str, into: str, *, manifest: bool = True) -> None:
    """Remove the repository with this name if it is ours: its directory, then its manifest. Raises StorageError."""
    if manifest_of(name, into) is None:
        return
    if _holds_files(name, into):
        remove_tree(name, into)
    if manifest:
        remove_tree(name + _ENDING, into)


def is_free(name: str, into: str) -> bool:
    """Return whether the name of a repository is unused, except for a manifest of ours."""
    path = os.path.join(into, name)
    return not os.path.lexists(path) and (not os.path.lexists(path + _ENDING) or manifest_of(name, into) is not None)


def remove_tree(name: str, into: str) -> None:
    """Remove a file, or a directory with everything in it; of a link, the link itself. Raises StorageError."""
    path = os.path.join(into, name)
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path, onerror=_retry_writable)
        else:
            os.unlink(path)
    except FileNotFoundError:
        return
    except (OSError, RecursionError) as error:
        raise storage_error("remove", path, error if isinstance(error, OSError) else OSError(0, str(error))) from error


def _retry_writable(remove: Callable[[str], None], path: str, error: object) -> None:
    os.chmod(os.path.dirname(path), 0o700)
    remove(path)


def _list_names(into: str) -> list[str]:
    try:
        return os.listdir(into)
    except OSError as error:
        raise storage_error("look into", into, error) from error


def _is_ours(name: str, into: str) -> bool:
    if name.startswith(TEMPORARY):
        return True
    if name.endswith(_ENDING) and manifest_of(name.removesuffix(_ENDING), into) is not None:
        return True
    return manifest_of(name, into) is not None and _holds_files(name, into)


def _holds_files(name: str, into: str) -> bool:
    """Return whether the name is a directory or a link; a link has nothing to lose."""
    try:
        mode = os.lstat(os.path.join(into, name)).st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


_LARGEST_MANIFEST = 64 * 2**20
_DIGEST = re.compile(r"[0-9a-f]{64}")
Manifest = dict[str, Any]


def manifest_path(name: str, into: str) -> str:
    """Return the path of a repository's manifest."""
    return os.path.join(into, f"{name}.json")


def manifest_of(name: str, into: str) -> Manifest | None:
    """Return the manifest with this name, also a damaged one; None if it is not ours."""
    try:
        value = parse_json(read_beneath(into, f"{name}.json", _LARGEST_MANIFEST))
    except (OSError, FormatError, ValueError):
        return None
    if not isinstance(value, dict) or value.get("name") != name:
        return None
    return value if len(value.keys() & _CHECKS.keys()) > len(_CHECKS) // 2 else None


def is_sound(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest has all its fields, each of the right kind."""
    if manifest.keys() != _CHECKS.keys() or not all(check(manifest[key]) for key, check in _CHECKS.items()):
        return False
    return bool(manifest["bytes"] == sum(row["bytes"] for row in manifest["files"]))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0  # True is an int, too


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def _is_text_or_none(value: Any) -> bool:
    return value is None or _is_text(value)


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(key) and _is_count(count) for key, count in value.items())


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_row, value)) and len({row["path"] for row in value}) == len(value)


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or row.keys() != {"path", "bytes", "sha256"}:
        return False
    digest = row["sha256"]
    known = isinstance(digest, str) and bool(_DIGEST.fullmatch(digest))
    return known and _is_text(row["path"]) and _is_count(row["bytes"])


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "version": lambda value: type(value) is int and value == 1,
    "name": _is_text,
    "url": _is_text,
    "fetched_from": _is_text,
    "commit": lambda value: value is None or (isinstance(value, str) and bool(OID.fullmatch(value))),
    "licence": _is_text_or_none,
    "licence_file": _is_text_or_none,
    "bytes": _is_count,
    "left_out": _are_counts,
    "files": _are_rows,
}
