"""What a search answers with: stretches of code, each with the repository, the commit and the licence that it comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from phases.reference.search.searching import search
from phases.reference.search.showing import NotShown, lines_of

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
    hits = search(os.path.join(root, "indexes"), query, repository=repository or None, limit=most)
    found = []
    for hit in hits:
        try:
            stretch = (hit.line, min(hit.end - hit.line + 1, LONGEST))
            found.append(_answer(root, index, (hit.repository, hit.path), stretch, (hit.kind, hit.name)))
        except NotShown:
            continue  # it was changed or taken away since it was indexed
    return found


def read_on(root: str, index: Mapping[str, Any], repository: str, path: str, line: int, most: int) -> Answer:
    """Lines of a file that was fetched. Raises PipelineError where there are none."""
    _refuse_unknown(index, repository)
    return _answer(root, index, (repository, path), (line, most), ("text", ""))


def _answer(
    root: str, index: Mapping[str, Any], file: tuple[str, str], stretch: tuple[int, int], what: tuple[str, str]
) -> Answer:
    first, last, text = lines_of(os.path.join(root, "code_base"), *file, *stretch)
    row = next((row for row in index["repositories"] if row["name"] == file[0]), {"commit": None, "licence": None})
    return Answer(*file, row["commit"], row["licence"], first, last, *what, text)


def _refuse_unknown(index: Mapping[str, Any], repository: str) -> None:
    names = [row["name"] for row in index["repositories"]]
    if repository and repository not in names:
        raise NotShown(f"there is no repository {repository[:100]!r}; there are: {', '.join(names)}")
