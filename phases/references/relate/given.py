"""Which repository of the paper a folder is that the user gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FOLDER = "folder:"


def is_given(repository: Mapping[str, Any]) -> bool:
    """Whether the user gave it as a folder."""
    return str(repository["url"]).startswith(_FOLDER)


def as_the_paper_names_it(repository: Mapping[str, Any], references: Mapping[str, Any]) -> dict[str, Any]:
    """A folder with the references of the one repository that the paper names like it; all others as they are."""
    if not is_given(repository):
        return {**repository, "urls": [repository["url"]]}
    name = _last(str(repository["url"]).removeprefix(_FOLDER))
    same = [row for row in references["repositories"] if _last(str(row["url"])) == name]
    if len(same) != 1:
        return {**repository, "urls": [repository["url"]]}
    led = dict.fromkeys((*repository.get("references", ()), *same[0].get("references", ())))
    return {**repository, "urls": [repository["url"], same[0]["url"]], "references": list(led)}


def _last(url: str) -> str:
    """The repository's own name in an address, as a clone of it is called."""
    return url.rstrip("/").rpartition("/")[2].removesuffix(".git").casefold()
