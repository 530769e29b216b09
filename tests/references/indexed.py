"""Indexes of tests: with a cache directory beside the code, as the command line gives the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phases.references import relations, search
from phases.references.index import build
from phases.references.index.build import RepositoryIndex
from phases.references.index.cache import cache_path
from phases.references.index.documents import CheckRow
from phases.references.search import Hit, SearchHit


def cache_file(task: Path | str) -> Path:
    """Where the cache of a task's index lies."""
    return Path(cache_path(_directory(task), os.path.join(task, "indexes")))


def index_repositories(code_base: str, rows: Any, into: str, check: CheckRow) -> list[RepositoryIndex]:
    return build.index_repositories(code_base, rows, into, check, cache_directory=_directory(os.path.dirname(into)))


def search_code(into: str, query: str, **how: Any) -> list[Hit]:
    return search.search_code(into, query, **how, cache_directory=_directory(os.path.dirname(into)))


def answer_query(root: str, index: Mapping[str, Any], query: str, repository: str, most: int) -> list[SearchHit]:
    return search.answer_query(root, index, query, repository, most, _directory(root))


def relate_repositories(into: str, *what: Any, **how: Any) -> Any:
    return relations.relate_repositories(into, *what, **how, cache_directory=_directory(os.path.dirname(into)))


def _directory(task: Path | str) -> str:
    return os.path.join(task, "cache")
