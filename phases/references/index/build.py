"""Index the fetched repositories: write one document each, and keep the cache that is searched.

A file is parsed when the cache does not know its content. The cache is written every few hundred files, so a killed run
continues where it stopped, and memory does not grow with the repository. A document is written from the cache, row by row.
A repository whose manifest and document have not changed is skipped. A search whose cache is lost parses the code again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

from phases.references.index.cache import (
    Cache,
    CacheUnusable,
    FileRow,
    cache_path,
    open_readable,
    remove_file,
    with_cache,
)
from phases.references.index.documents import (
    CheckRow,
    DocumentWriter,
    Summary,
    digest_of,
    document_path,
    file_version,
    index_version,
    row_of,
)
from phases.references.index.sources import FetchedRepository, SourceFile, invalid_name
from phases.references.parse.model import Parsed
from phases.references.parse.worker_queue import batch_by_size, parse_files
from pipeline.base.errors import FormatError, PhaseError, PipelineError, StorageError
from pipeline.base.files import make_directory, sha256
from pipeline.base.logs import logger
from pipeline.base.workers import UNCONFINED, WorkerStart

T = TypeVar("T")
_LEFT_OVER = re.compile(r".*\.(\d+)\.tmp(?:-journal)?")
"""A temporary file, with the id of the process that writes it."""
BATCH, _LARGE_BATCH = 500, 24 * 1024 * 1024
"""Files, and characters of their words, between two writes to the cache. A killed run parses so many again."""


class RepositoryIndex(NamedTuple):
    """Index of one repository; sha256 and bytes are those of its document."""

    name: str
    path: str
    files: int
    symbols: int
    languages: dict[str, int]
    left_out: dict[str, int]
    faults: int
    sha256: str
    bytes: int
    parsed: int
    """Files that were parsed just now."""


class _IndexJob(NamedTuple):
    code_base: str
    into: str
    check_row: CheckRow
    tell: Callable[[str], None]
    in_place: Callable[[], None]
    made_by: str
    start: WorkerStart


def index_repositories(
    code_base: str,
    repositories: Sequence[Mapping[str, Any]],
    into: str,
    check_row: CheckRow,
    tell: Callable[[str], None] = lambda text: None,
    in_place: Callable[[], None] = lambda: None,
    start: WorkerStart = UNCONFINED,
    cache_directory: str = "",
) -> list[RepositoryIndex]:
    """Update `into`/<name>.json for every row of code_base.json, and the cache.

    `check_row` returns what is wrong with a row of `files`; `in_place` is called before anything is written or removed.
    """
    names = [str(row["name"]) for row in repositories]
    if (bad := invalid_name(names)) is not None:
        raise PhaseError(f"code_base.json: {bad!r} cannot name a repository (written by phase 07); fetch it again")
    in_place()
    make_directory(into)  # refuses a link: nothing is written or removed through one
    _remove_stale(into, names)
    work = _IndexJob(code_base, into, check_row, tell, in_place, index_version(), start)
    return with_cache(cache_path(cache_directory, into, tell), lambda cache: _index_each(work, names, cache))


def with_cache_for_reading(
    into: str, code_base: str, use: Callable[[Cache], T], cache_directory: str = "", start: WorkerStart = UNCONFINED
) -> T:
    """Return `use(cache)` for the repositories that have a document in `into`; parse them again if the cache is unusable.

    Raises StorageError, also while another process writes to the cache.
    """
    path, is_damaged = cache_path(cache_directory, into), False
    try:
        with open_readable(path) as cache:
            if _is_current(cache, code_base):
                return use(cache)
        logger.debug("{} is a cache of other code", path)
    except CacheUnusable as error:
        logger.debug("the code is parsed again: {}", error)
        is_damaged = True
    work = _IndexJob(code_base, into, lambda record: None, lambda text: None, lambda: None, index_version(), start)
    with_cache(path, lambda cache: _fill_cache(work, cache), afresh=is_damaged)
    try:
        with open_readable(path) as cache:
            return use(cache)
    except CacheUnusable as error:
        raise StorageError(f"{error}, also in a new cache; check the disk, then delete the file") from error


def _is_current(cache: Cache, code_base: str) -> bool:
    """Return whether the cache was made from the code that is there; another task may have been at this place."""
    for name in cache.repositories():
        summary, folder = cache.summary(name), FetchedRepository(code_base, name)
        try:
            if summary and summary.get("manifest") != sha256(folder.manifest()[0]):
                return False
        except PipelineError:
            return False
    return True


def _fill_cache(work: _IndexJob, cache: Cache) -> None:
    names = [entry.removesuffix(".json") for entry in os.listdir(work.into) if entry.endswith(".json")]
    whole = []
    for name in sorted(names):
        folder = FetchedRepository(work.code_base, name)
        try:
            data, manifest = folder.manifest() if invalid_name([name]) is None else (b"", {"files": []})
        except PipelineError:
            continue  # who asks for this repository learns that its index is gone
        _parse_changed(work, folder, [folder.source(row) for row in manifest["files"]], cache)
        if cache.summary(name).get("manifest") != sha256(data):
            cache.keep_summary(name, {"manifest": sha256(data)})
        whole.append(name)
    _forget_others(whole, cache)


def _forget_others(names: Sequence[str], cache: Cache) -> None:
    for gone in set(cache.repositories()) - set(names):
        cache.keep_summary(gone, {})
        with cache.writing():
            cache.remove(gone, list(cache.files(gone)))


def _index_each(work: _IndexJob, names: Sequence[str], cache: Cache) -> list[RepositoryIndex]:
    indexes = [_index_repository(work, name, cache) for name in names]
    _forget_others(names, cache)
    return indexes


def _index_repository(work: _IndexJob, name: str, cache: Cache) -> RepositoryIndex:
    folder = FetchedRepository(work.code_base, name)
    data, manifest = folder.manifest()
    digest = sha256(data)
    summary, parsed = _current_summary(work, name, digest, cache), 0
    if summary is None:
        cache.keep_summary(name, {})
        sources = [folder.source(row) for row in manifest["files"]]
        parsed = _parse_changed(work, folder, sources, cache)
        work.in_place()
        summary = _write_document(work, folder, digest, sources, cache)
        logger.info("{}: {} files, {} symbols; parsed {}", name, summary.files, summary.symbols, parsed)
        logger.debug("{}: languages {}, left out {}", name, summary.languages, summary.left_out)
        work.tell(f"{name}: {summary.files} files, {summary.symbols} symbols; parsed {parsed}")
    cache.keep_summary(name, summary.as_row())
    counted = {key: value for key, value in summary.as_row().items() if key in RepositoryIndex._fields}
    return RepositoryIndex(name=name, path=f"{os.path.basename(work.into)}/{name}.json", parsed=parsed, **counted)


def _current_summary(work: _IndexJob, name: str, manifest: str, cache: Cache) -> Summary | None:
    """Return the summary of a document that needs no work: of this manifest, by this version, and as it was written."""
    # a redo of planning must not parse anything again (decision 102)
    stored = cache.summary(name)
    if stored.get("manifest") != manifest or stored.get("made_by") != work.made_by:
        return None
    summary = Summary(**stored)
    try:
        if digest_of(document_path(work.into, name)) != (summary.sha256, summary.bytes):
            return None
    except FormatError:
        return None
    given_up = any(by != work.made_by for _, _, by in cache.files(name).values())
    return None if given_up else summary


def _parse_changed(work: _IndexJob, folder: FetchedRepository, sources: Sequence[SourceFile], cache: Cache) -> int:
    """Bring the rows of a repository's files up to date. Return how many files were parsed."""
    have = cache.files(folder.name)
    indexed = [source for source in sources if not source.why]
    # `made_by` is compared too: another version of a grammar finds other symbols in the same bytes
    waiting = [source for source in indexed if have.get(source.path) != (source.sha256, source.language, work.made_by)]
    files = ((source, source.language, folder.read(source.path, source.sha256) or b"") for source in waiting)
    with closing(parse_files(files, start=work.start)) as parsed_files:
        for batch in _batch_files(parsed_files):
            for source, parsed in batch:
                if parsed.fault:
                    logger.debug("{} in {}: {}", source.path, folder.name, parsed.fault)
            _store_batch(work, folder, batch, cache)
    with cache.writing():
        cache.remove(folder.name, set(have) - {source.path for source in indexed})
    return len(waiting)


def _batch_files(files: Iterable[tuple[SourceFile, Parsed]]) -> Iterator[list[tuple[SourceFile, Parsed]]]:
    return batch_by_size(files, lambda pair: _count_characters(pair[1]), BATCH, _LARGE_BATCH)


def _count_characters(parsed: Parsed) -> int:
    return sum(len(piece.names) + len(piece.doc) + len(piece.body) for piece in parsed.pieces)


def _store_batch(
    work: _IndexJob,
    folder: FetchedRepository,
    batch: Iterable[tuple[SourceFile, Parsed]],
    cache: Cache,
) -> None:
    work.in_place()
    with cache.writing():
        for source, parsed in batch:
            row = FileRow(source.path, source.sha256, source.language)
            cache.replace(folder.name, row, file_version(work.made_by, parsed), parsed)


def _write_document(
    work: _IndexJob, folder: FetchedRepository, digest: str, sources: Sequence[SourceFile], cache: Cache
) -> Summary:
    with DocumentWriter(work.into, (folder.name, digest, work.made_by), work.check_row) as writer:
        for source in sources:
            if source.why:
                writer.leave_out(source.path, source.why)
            else:
                parsed = cache.parsed(folder.name, source.path)
                if parsed is None:
                    raise CacheUnusable(f"the cache lost what was parsed of {source.path} in {folder.name}")
                writer.add(row_of(source, parsed))
        return writer.finish()


def _remove_stale(into: str, names: Sequence[str]) -> None:
    """Remove documents of repositories that are gone, and temporary files of killed processes."""
    keep = {f"{name}.json" for name in names} | {"index.json"}
    for entry in os.listdir(into):
        left = _LEFT_OVER.fullmatch(entry)
        gone = entry.endswith(".json") and entry not in keep and not entry.startswith(".")
        if gone or (left and not _is_running(int(left[1]))):
            remove_file(os.path.join(into, entry))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
