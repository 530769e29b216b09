"""What a search answers with: stretches of code, each with the repository, the commit and the licence that it comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.references.index.cache import Cache
from phases.references.index.rebuild_cache import with_cache_for_reading
from phases.references.index.sources import FetchedRepository
from phases.references.parse.file_kinds import BINARY, HEAD, language_of, why_left_out
from phases.references.parse.source_code import text_of
from phases.references.search.search import code_base_of, search_code
from pipeline.base.errors import PipelineError

LONGEST = 60
"""Lines of one stretch; the rest of it is read on with another question."""


class SearchHit(NamedTuple):
    """A stretch of a file of somebody else."""

    repository: str
    file: str
    commit: str | None
    licence: str | None
    line: int
    end: int
    kind: str
    name: str
    text: str


def answer_query(
    root: str, index: Mapping[str, Any], query: str, repository: str, most: int, cache_directory: str = ""
) -> list[SearchHit]:
    """The best answers first. `root` is the task's folder, `index` its indexes/index.json. Raises PipelineError."""
    _refuse_unknown(index, repository)
    into = os.path.join(root, "indexes")
    _refuse_incomplete(into, index, repository, cache_directory)
    hits = search_code(into, query, repository=repository or None, limit=most, cache_directory=cache_directory)
    found = []
    why: NotShown | None = None
    for hit in hits:
        try:
            stretch = (hit.line, min(hit.end - hit.line + 1, LONGEST))
            found.append(_build_answer(root, index, (hit.repository, hit.path), stretch, (hit.kind, hit.name)))
        except NotShown as error:
            why = error  # it was changed or taken away since it was indexed; the others are there
    if why and not found:
        raise NotShown(f"what matches cannot be shown: {why}") from why
    return found


def read_on(root: str, index: Mapping[str, Any], repository: str, path: str, line: int, most: int) -> SearchHit:
    """Lines of a file that was fetched. Raises PipelineError where there are none."""
    _refuse_unknown(index, repository)
    return _build_answer(root, index, (repository, path), (line, most), ("text", ""))


# The agent sees other people's code through these answers alone, so that all it saw can be named (decision 105).
def _build_answer(
    root: str, index: Mapping[str, Any], file: tuple[str, str], stretch: tuple[int, int], what: tuple[str, str]
) -> SearchHit:
    shown = read_lines(os.path.join(root, "code_base"), *file, *stretch)
    row = next((row for row in index["repositories"] if row["name"] == file[0]), {"commit": None, "licence": None})
    return SearchHit(*file, row["commit"], row["licence"], shown.line, shown.end, *what, shown.text)


def _refuse_unknown(index: Mapping[str, Any], repository: str) -> None:
    names = [row["name"] for row in index["repositories"]]
    if repository and repository not in names:
        raise NotShown(f"there is no repository {repository[:100]!r}; there are: {', '.join(names)}")


def _refuse_incomplete(into: str, index: Mapping[str, Any], repository: str, cache_directory: str) -> None:
    """Nothing found is an answer only where everything was looked at."""
    asked = [row for row in index["repositories"] if not repository or row["name"] == repository]
    there = with_cache_for_reading(into, code_base_of(into), cache_directory, Cache.repositories)
    lost = [row["name"] for row in asked if row.get("files") and row["name"] not in there]
    if lost:
        raise NotShown(f"the index of {', '.join(lost)} is gone or damaged; make it anew with: pipeline resume")


LARGEST_SHOWN = 2 * 2**20
"""Bytes of text. A notebook may be larger by what is no code in it: outputs, pictures."""
LONGEST_LINE, LONGEST_TEXT = 500, 20_000
"""Characters: a page of prose may stand on one line, and what is shown is paid for."""


class NotShown(PipelineError):
    """Why nothing of a file is shown."""


class Stretch(NamedTuple):
    """Lines of a file, counted over the text that was parsed: of a notebook its code cells joined, every line end a newline."""

    line: int
    end: int
    text: str


def read_lines(code_base: str, repository: str, path: str, line: int, most: int) -> Stretch:
    """At most `most` lines from `line` on. Raises NotShown.

    Only what the repository's manifest lists is opened, so no path leads elsewhere.
    """
    folder = _open_repository(code_base, repository)
    _, manifest = folder.manifest()
    row: dict[str, Any] | None = next((row for row in manifest["files"] if row["path"] == path), None)
    if row is None:
        raise NotShown(f"there is no file {path[:200]!r} in {repository}")
    if row["bytes"] > LARGEST_SHOWN and not path.endswith(".ipynb"):
        raise NotShown(f"{path} has {row['bytes']:,} bytes, and nothing of files over {LARGEST_SHOWN:,} is shown")
    data = folder.read(path, row["sha256"])
    if data is None:
        raise NotShown(
            f"{path} in {repository} was changed or taken away since it was fetched, or is too large; it is not shown"
        )
    lines = _indexed_text(path, data).removesuffix("\n").split("\n")
    if line > len(lines):
        raise NotShown(f"{path} has {len(lines):,} lines")
    shown = _limit_lines(lines[line - 1 : line - 1 + most])
    return Stretch(line, line + len(shown) - 1, "\n".join(shown))


def _limit_lines(lines: Sequence[str]) -> list[str]:
    """The first of them, so many as there is room for; one at least."""
    shown: list[str] = []
    room = LONGEST_TEXT
    for line in lines:
        more = len(line) - LONGEST_LINE
        row = f"{line[:LONGEST_LINE]} … ({more:,} more characters)" if more > 0 else line
        room -= len(row) + 1
        if shown and room < 0:
            break
        shown.append(row)
    return shown


def _indexed_text(path: str, data: bytes) -> str:
    """The text that the index counts lines in."""
    language = language_of(path, data[:HEAD])
    if language is None or why_left_out(path, len(data), data[:HEAD]) == BINARY:
        raise NotShown(f"{path} is no text")
    text = text_of(language, data)[0]
    if len(text) > LARGEST_SHOWN:
        raise NotShown(f"{path} has {len(text):,} characters of text, and nothing over {LARGEST_SHOWN:,} is shown")
    return text


def _open_repository(code_base: str, repository: str) -> FetchedRepository:
    plain = os.path.basename(repository) == repository and not repository.startswith(".")
    if not plain or not os.path.exists(os.path.join(code_base, f"{repository}.json")):
        raise NotShown(f"there is no repository {repository[:100]!r}")
    return FetchedRepository(code_base, repository)
