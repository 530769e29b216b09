"""The cache made anew from the documents and the code they were made of, without parsing."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

from phases.reference.index.cache import Cache, Row
from phases.reference.index.documents import CheckRow, Summary, document_path
from phases.reference.index.opening import NAME, throw_away, writable
from phases.reference.index.reading import digest_of, head_of, parsed_of, rows_in
from phases.reference.index.sources import Folder
from phases.reference.parse.parsing import text_of
from phases.reference.parse.pieces import pieces_of
from pipeline.errors import FormatError
from pipeline.files import replace_file

_BATCH = 200


def rebuild(into: str, code_base: str) -> None:
    """Makes the cache of all documents in `into` beside its name, and puts it there as one step."""
    path = os.path.join(into, NAME)
    beside = f"{path}.{os.getpid()}.tmp"
    throw_away(beside)
    try:
        with writable(beside) as cache:
            for entry in sorted(os.listdir(into)):
                name = entry.removesuffix(".json")
                if name != entry and name != "index" and not name.startswith("."):
                    _try_to_restore(Folder(code_base, name), document_path(into, name), cache)
        if os.path.exists(path + "-journal"):
            throw_away(path)
        replace_file(beside, path)
    finally:
        throw_away(beside)


def restore(folder: Folder, path: str, check_row: CheckRow, cache: Cache) -> Summary:
    """Puts what a document says into the cache, and counts it. Raises FormatError where it is not as we write it."""
    summary = Summary()
    rows = rows_in(path)
    made = head_of(path)[1]
    while batch := list(islice(rows, _BATCH)):
        with cache.writing():
            for part, row in batch:
                if part == "left_out":
                    summary.count_out(row)
                    continue
                if fault := check_row(row):
                    raise FormatError(f"{path}: {fault}")
                summary.count(row)
                _put_back(folder, row, made, cache)
    summary.sha256, summary.bytes = digest_of(path)
    return summary


def _put_back(folder: Folder, row: dict[str, Any], made: str, cache: Cache) -> None:
    data = folder.read(row["path"], row["sha256"])
    if data is None:
        return  # it changed since: what is found must be what is there
    parsed = parsed_of(row)
    text, language, _ = text_of(row["language"], data)
    parsed = parsed._replace(pieces=pieces_of(language, text, parsed.symbols))
    cache.replace(folder.name, Row(row["path"], row["sha256"], row["language"]), made, parsed)


def _try_to_restore(folder: Folder, path: str, cache: Cache) -> None:
    try:
        summary = restore(folder, path, lambda row: None, cache)
    except (FormatError, KeyError, TypeError, ValueError):
        return  # not a document of ours: indexing makes it anew
    cache.keep_summary(folder.name, summary.as_row())
