"""The cache made anew from the documents and the code they were made of, without parsing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from typing import Any

from phases.references.index.cache import Cache, FileRow
from phases.references.index.cache_file import NAME, open_writable, remove_cache
from phases.references.index.documents import (
    CheckRow,
    Summary,
    digest_of,
    digests_in,
    document_path,
    head_of,
    parse_row,
    rows_in,
)
from phases.references.index.lock import lock_file
from phases.references.index.sources import FetchedRepository, invalid_name
from phases.references.index.version import file_version
from phases.references.parse.pieces import pieces_of
from phases.references.parse.source_code import text_of
from pipeline.base.errors import FormatError
from pipeline.base.files import replace_file, storage_error

_BATCH = 200
_PATIENCE = 1.0
"""Seconds to wait for another process, before the cache is worth another look: that one may have made it."""


def file_identity(path: str) -> tuple[int, ...]:
    """What tells a file from another one that is put in its place, or from itself when it was written to."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def rebuild_cache(into: str, code_base: str, seen: tuple[int, ...] | None = None) -> bool:
    """Makes the cache of the documents in `into` anew. Returns False where it was not this process that did so.

    That is where another one is at it, or where the cache is no longer the one that was `seen`: look at it again.
    """
    path = os.path.join(into, NAME)
    with lock_file(path, _PATIENCE) as mine:
        if not mine or (seen is not None and file_identity(path) != seen):
            return False
        beside = f"{path}.{os.getpid()}.tmp"
        remove_cache(beside)
        try:
            build_cache(beside, into, code_base)
            remove_cache(path)
            replace_file(beside, path)
        except OSError as error:
            raise storage_error("write", path, error) from error
        finally:
            remove_cache(beside)
    return True


def build_cache(path: str, into: str, code_base: str) -> None:
    """Makes a cache at `path` of the documents in `into` that are as they were written."""
    digests = digests_in(into)
    with open_writable(path) as cache:
        for entry in sorted(os.listdir(into)):
            name = entry.removesuffix(".json")
            if name != entry and name != "index" and invalid_name([name]) is None:
                _try_to_restore(FetchedRepository(code_base, name), document_path(into, name), cache, digests)


def restore_repository(
    folder: FetchedRepository, path: str, check_row: CheckRow, cache: Cache, digests: Mapping[str, str]
) -> Summary:
    """Puts what a document says into the cache, and counts it. Raises FormatError where it is not as we wrote it.

    `digests` are those of the last finished run; a document that is not among them must be whole, at the least.
    """
    try:
        return _restore_rows(folder, path, check_row, cache, digests)
    except (FormatError, KeyError, TypeError, ValueError) as error:
        with cache.writing():
            cache.remove(folder.name, list(cache.files(folder.name)))
        raise FormatError(f"{path} is not as it was written: {error}") from error


def _restore_rows(
    folder: FetchedRepository, path: str, check_row: CheckRow, cache: Cache, digests: Mapping[str, str]
) -> Summary:
    summary = Summary()
    summary.sha256, summary.bytes = digest_of(path)
    if digests.get(os.path.basename(path), summary.sha256) != summary.sha256:
        raise FormatError("it was changed since")
    rows = rows_in(path)
    by = head_of(path)[1]
    while batch := list(islice(rows, _BATCH)):
        with cache.writing():
            for part, row in batch:
                if part == "left_out":
                    summary.count_out(row)
                    continue
                if fault := check_row(row):
                    raise FormatError(fault)
                summary.count(row)
                _restore_file(folder, row, by, cache)
    return summary


def _restore_file(folder: FetchedRepository, row: dict[str, Any], by: str, cache: Cache) -> None:
    data = folder.read(row["path"], row["sha256"])
    if data is None:
        return  # it changed since: what is found must be what is there
    parsed = parse_row(row)
    text, language, _ = text_of(row["language"], data)
    parsed = parsed._replace(pieces=pieces_of(language, text, parsed.symbols))
    cache.replace(folder.name, FileRow(row["path"], row["sha256"], row["language"]), file_version(by, parsed), parsed)


def _try_to_restore(folder: FetchedRepository, path: str, cache: Cache, digests: Mapping[str, str]) -> None:
    try:
        summary = restore_repository(folder, path, lambda row: None, cache, digests)
    except FormatError:
        return  # nothing of it is in the cache, and who asks for that repository is told so
    cache.keep_summary(folder.name, summary.as_row())
