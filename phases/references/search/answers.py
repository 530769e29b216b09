"""What a search answers with: stretches of code, each with the repository, the commit and the licence that it comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from phases.references.search.searching import beside, search, with_readable
from phases.references.search.showing import NotShown, lines_of

LONGEST = 60
"""Lines of one stretch; the rest of it is read on with another question."""


class Answer(NamedTuple):
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


def answers_to(root: str, index: Mapping[str, Any], query: str, repository: str, most: int) -> list[Answer]:
    """The best answers first. `root` is the task's folder, `index` its indexes/index.json. Raises PipelineError."""
    _refuse_unknown(index, repository)
    into = os.path.join(root, "indexes")
    _refuse_lost(into, index, repository)
    hits = search(into, query, repository=repository or None, limit=most)
    found = []
    why: NotShown | None = None
    for hit in hits:
        try:
            stretch = (hit.line, min(hit.end - hit.line + 1, LONGEST))
            found.append(_answer(root, index, (hit.repository, hit.path), stretch, (hit.kind, hit.name)))
        except NotShown as error:
            why = error  # it was changed or taken away since it was indexed; the others are there
    if why and not found:
        raise NotShown(f"what matches cannot be shown: {why}") from why
    return found


def read_on(root: str, index: Mapping[str, Any], repository: str, path: str, line: int, most: int) -> Answer:
    """Lines of a file that was fetched. Raises PipelineError where there are none."""
    _refuse_unknown(index, repository)
    return _answer(root, index, (repository, path), (line, most), ("text", ""))


def _answer(
    root: str, index: Mapping[str, Any], file: tuple[str, str], stretch: tuple[int, int], what: tuple[str, str]
) -> Answer:
    shown = lines_of(os.path.join(root, "code_base"), *file, *stretch)
    row = next((row for row in index["repositories"] if row["name"] == file[0]), {"commit": None, "licence": None})
    return Answer(*file, row["commit"], row["licence"], shown.line, shown.end, *what, shown.text)


def _refuse_unknown(index: Mapping[str, Any], repository: str) -> None:
    names = [row["name"] for row in index["repositories"]]
    if repository and repository not in names:
        raise NotShown(f"there is no repository {repository[:100]!r}; there are: {', '.join(names)}")


def _refuse_lost(into: str, index: Mapping[str, Any], repository: str) -> None:
    """Nothing found is an answer only where everything was looked at."""
    asked = [row for row in index["repositories"] if not repository or row["name"] == repository]
    there = with_readable(into, beside(into), lambda cache: frozenset(cache.repositories()))
    lost = [row["name"] for row in asked if row.get("files") and row["name"] not in there]
    if lost:
        raise NotShown(f"the index of {', '.join(lost)} is gone or damaged; make it anew with: pipeline resume")
