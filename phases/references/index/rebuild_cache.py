"""The cache made anew from the documents and the code they were made of, without parsing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import islice
from threading import get_native_id
from typing import Any, TypeVar

from phases.references.index.cache import Cache, CacheUnusable, FileRow
from phases.references.index.cache_file import (
    cache_path,
    lock_file,
    open_readable,
    open_writable,
    remove_cache,
    still_unusable,
)
from phases.references.index.documents import (
    CheckRow,
    Summary,
    digest_of,
    digests_in,
    document_path,
    file_version,
    head_of,
    parse_row,
    rows_in,
)
from phases.references.index.sources import FetchedRepository, invalid_name
from phases.references.parse.source_code import pieces_of, text_of
from pipeline.base.errors import FormatError, StorageError
from pipeline.base.files import replace_file, storage_error
from pipeline.base.logs import logger

_BATCH = 200
T = TypeVar("T")


def with_cache_for_reading(
    into: str, code_base: str, cache_directory: str, use: Callable[[Cache], T], digests: Mapping[str, str] | None = None
) -> T:
    """What `use` returns for the cache of the documents in `into`; one that cannot be used is made anew from them first.

    `digests`: of each document's file name; as the last finished run wrote them to index.json, if not given. Raises
    StorageError where another process is making the cache, and goes on doing so.
    """
    digests = digests_in(into) if digests is None else digests
    with cache_path(cache_directory, into) as path:
        for is_new in (False, True):
            try:
                with open_readable(path) as cache:
                    if is_new or _is_of(cache, into, digests):
                        return use(cache)
                    why = CacheUnusable(f"{path} is of other documents")
            except CacheUnusable as error:
                if is_new:
                    raise still_unusable(error) from error
                why = error
            logger.debug("the cache is made anew: {}", why)
            rebuild_cache(path, into, code_base, digests)
        raise still_unusable(why)


def _is_of(cache: Cache, into: str, digests: Mapping[str, str]) -> bool:
    """Whether a cache is of the documents that are there: another task may have been in the place of this one."""
    for name in cache.repositories() if digests else ():
        path, summary = document_path(into, name), cache.summary(name)
        if summary is None or summary.get("sha256") == digests.get(os.path.basename(path)):
            continue
        try:  # a run may have been ended before it wrote index.json: then the document itself is the witness
            if digest_of(path)[0] != summary.get("sha256"):
                return False
        except FormatError:
            return False
    return True


def rebuild_cache(path: str, into: str, code_base: str, digests: Mapping[str, str]) -> None:
    """Makes the cache at `path` of the documents in `into` anew, where no other process has done so meanwhile."""
    seen = _identity_of(path)
    with lock_file(path) as mine:
        if not mine:
            raise StorageError(f"another process is making {path}; search again when it is done")
        if _identity_of(path) != seen:
            return
        beside = f"{path}.{get_native_id()}.tmp"
        remove_cache(beside)
        try:
            build_cache(beside, into, code_base, digests)
            remove_cache(path)
            replace_file(beside, path)
        except OSError as error:
            raise storage_error("write", path, error) from error
        finally:
            remove_cache(beside)


def _identity_of(path: str) -> tuple[int, int] | None:
    """What tells a file from another one that is put in its place."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size


def build_cache(path: str, into: str, code_base: str, digests: Mapping[str, str]) -> None:
    """Makes a cache at `path` of the documents in `into` that are as they were written."""
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
