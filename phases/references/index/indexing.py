"""Indexing: what is in the fetched repositories goes into one document each, and into the cache that is searched.

A file is parsed when the cache does not know its content. Files go through one by one and the cache is written every few
hundred of them, so a run that is killed goes on where it stopped, and memory does not grow with the repository. A document is
written from the cache, row by row. A repository whose manifest and document are as they were is not looked at again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from phases.references.index.cache import Cache, Row
from phases.references.index.documents import CheckRow, Summary, Writer, document_path, row_of, summary_of
from phases.references.index.made_by import made, made_by
from phases.references.index.opening import NAME, remove_file, with_cache
from phases.references.index.packing import Unusable
from phases.references.index.reading import digest_of, digests_in, head_of
from phases.references.index.resolving import Resolver
from phases.references.index.restoring import restore
from phases.references.index.sources import Folder, Source, unfit_name
from phases.references.parse.frames import GIVEN_UP
from phases.references.parse.parsed import Parsed
from phases.references.parse.pool import Parsers
from pipeline.base.errors import FormatError, PhaseError
from pipeline.base.files import make_directory, sha256

_LEFT_OVER = re.compile(r".*\.(\d+)\.tmp(?:-journal)?")
"""What is written beside its name carries the number of the process that writes it."""
BATCH, _LARGE_BATCH = 500, 24 * 1024 * 1024
"""Files between two writes to the cache, and characters of their words: few large writes take half the time of many small ones,
and a run that is killed has so much to parse again."""


class RepositoryIndex(NamedTuple):
    """What indexing says of one repository; sha256 and bytes are of its document."""

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


class _Work(NamedTuple):
    code_base: str
    into: str
    check_row: CheckRow
    tell: Callable[[str], None]
    in_place: Callable[[], None]
    made_by: str
    environment: Mapping[str, str]


def index_repositories(
    code_base: str,
    repositories: Sequence[Mapping[str, Any]],
    into: str,
    check_row: CheckRow,
    tell: Callable[[str], None] = lambda text: None,
    in_place: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> list[RepositoryIndex]:
    """Brings `into`/<name>.json of every row of code_base.json up to date, and the cache with them.

    `check_row` says what is wrong with a row of `files`; `in_place` is called before anything is written or removed.
    """
    names = [str(row["name"]) for row in repositories]
    if (bad := unfit_name(names)) is not None:
        raise PhaseError(f"code_base.json: {bad!r} cannot name a repository (written by phase 07); fetch it again")
    in_place()
    make_directory(into)
    _remove_others(into, names)
    work = _Work(code_base, into, check_row, tell, in_place, made_by(), environment)
    return with_cache(os.path.join(into, NAME), lambda cache: _index_all(work, names, cache))


def _index_all(work: _Work, names: Sequence[str], cache: Cache) -> list[RepositoryIndex]:
    indexes = [_index(work, name, cache) for name in names]
    for gone in set(cache.repositories()) - set(names):
        cache.keep_summary(gone, None)
        with cache.writing():
            cache.remove(gone, list(cache.files(gone)))
    return indexes


def _index(work: _Work, name: str, cache: Cache) -> RepositoryIndex:
    folder = Folder(work.code_base, name)
    data, manifest = folder.manifest()
    digest = sha256(data)
    summary, parsed = _current(work, folder, (digest, len(manifest["files"])), cache), 0
    if summary is None:
        cache.keep_summary(name, None)
        sources = [folder.source(row) for row in manifest["files"]]
        parsed = _take_in(work, folder, [one for one in sources if not one.why], cache)
        work.in_place()
        summary = _write(work, folder, digest, sources, cache)
        work.tell(f"{name}: {summary.files} files, {summary.symbols} symbols; parsed {parsed}")
    cache.keep_summary(name, summary.as_row())
    return RepositoryIndex(
        name=name, path=f"{os.path.basename(work.into)}/{name}.json", parsed=parsed, **summary.as_row()
    )


def _current(work: _Work, folder: Folder, manifest: tuple[str, int], cache: Cache) -> Summary | None:
    """The summary of a document that needs no work: made of this manifest, by this version, and as it was written.

    `manifest`: its digest, and how many files it lists.
    """
    path, (digest, files) = document_path(work.into, folder.name), manifest
    if head_of(path) != (digest, work.made_by):
        return None
    try:
        if (row := cache.summary(folder.name)) is not None:
            summary = summary_of(row)
            if digest_of(path) != (summary.sha256, summary.bytes):
                return None
        elif cache.files(folder.name):
            return None  # it was being written when something ended the run
        else:
            summary = restore(folder, path, work.check_row, cache, digests_in(work.into))
    except FormatError:
        return None
    given_up = any(by != work.made_by for _, _, by in cache.files(folder.name).values())
    return summary if summary.files + sum(summary.left_out.values()) == files and not given_up else None


def _take_in(work: _Work, folder: Folder, sources: Sequence[Source], cache: Cache) -> int:
    """Brings the rows of a repository's files up to date. Returns how many were parsed for that."""
    have = cache.files(folder.name)
    waiting = [one for one in sources if have.get(one.path) != (one.sha256, one.language, work.made_by)]
    given_up: set[tuple[str, str]] = set()
    count = 0
    with Parsers(environment=work.environment) as parsers:
        while waiting:
            lost = _copy(work, folder, waiting, given_up, cache)
            first = {(one.sha256, one.language): one for one in reversed(lost)}
            files = ((one, one.language, folder.read(one.path, one.sha256) or b"") for one in first.values())
            for batch in _batches(parsers.parse(files)):
                given_up |= {(one.sha256, one.language) for one, parsed in batch if made("", parsed)}
                _keep(work, folder, batch, cache, parsers.go_on)
            count += len(first)
            waiting = [one for one in lost if first[one.sha256, one.language] is not one]  # twins, to be copied
    with cache.writing():
        cache.remove(folder.name, set(have) - {one.path for one in sources})
    return count


def _copy(
    work: _Work, folder: Folder, waiting: Sequence[Source], given_up: Collection[tuple[str, str]], cache: Cache
) -> list[Source]:
    """Takes from the cache what it knows of the same content. Returns the files that it does not know.

    Before any is parsed: what is parsed takes the place of rows that are copied here, as where a file was renamed.
    Among those `given_up` in this run a twin is not tried again.
    """
    lost = []

    def known() -> Iterator[tuple[Source, Parsed]]:
        for one in waiting:
            by = made(work.made_by, _GIVEN_UP) if (one.sha256, one.language) in given_up else work.made_by
            if (parsed := cache.known(one.sha256, one.language, by)) is not None:
                yield one, parsed
            else:
                lost.append(one)

    for batch in _batches(known()):
        _keep(work, folder, batch, cache)
    return lost


_GIVEN_UP = Parsed(0, fault=GIVEN_UP)


def _batches(files: Iterable[tuple[Source, Parsed]]) -> Iterator[list[tuple[Source, Parsed]]]:
    batch: list[tuple[Source, Parsed]] = []
    size = 0
    for one in files:
        batch.append(one)
        size += sum(len(piece.names) + len(piece.doc) + len(piece.body) for piece in one[1].pieces)
        if len(batch) >= BATCH or size >= _LARGE_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _keep(
    work: _Work,
    folder: Folder,
    batch: Iterable[tuple[Source, Parsed]],
    cache: Cache,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    work.in_place()
    with cache.writing():
        for one, parsed in batch:
            row = Row(one.path, one.sha256, one.language)
            cache.replace(folder.name, row, made(work.made_by, parsed), parsed)
            meanwhile()


def _write(work: _Work, folder: Folder, digest: str, sources: Sequence[Source], cache: Cache) -> Summary:
    kept = [one for one in sources if not one.why]
    resolver = Resolver([one.path for one in kept], folder.go_modules(kept))
    with Writer(work.into, (folder.name, digest, work.made_by), work.check_row) as writer:
        for one in sources:
            if one.why:
                writer.leave_out(one.path, one.why)
            else:
                parsed = cache.parsed(folder.name, one.path)
                if parsed is None:
                    raise Unusable(f"the cache lost what was parsed of {one.path} in {folder.name}")
                writer.add(row_of(one, parsed, resolver))
        return writer.finish()


def _remove_others(into: str, names: Sequence[str]) -> None:
    """Removes documents of repositories that are gone, and what killed processes left; index.json is the phase's own."""
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
