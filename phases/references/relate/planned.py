"""A file that a plan asks for, as what one looks for in code: names, words of its path, words of what it is to do."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from phases.references.parse.terms import folded, spellings, words_of

_DECLARED = re.compile(
    r"\b(?:def|class|struct|func|fn|function|interface|enum|trait|type|void|__global__)\s+([^\W\d]\w*)|^\s*([^\W\d]\w*)\s*\("
)
_SHORTEST_NAME = 3
_EVERYWHERE = frozenset(
    (
        "main",
        "run",
        "init",
        "forward",
        "call",
        "get",
        "set",
        "test",
        "setup",
        "config",
        "load",
        "save",
        "step",
        "update",
        "__init__",
    )
)
_KEYWORDS = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+")
_UTILITY = frozenset(
    words_of(
        "metric metrics io config configs configuration settings options utils util helpers common logging logger log train"
        " trainer training loop data dataset loader loading preprocess preprocessing evaluation evaluate eval schedule"
        " scheduler optimizer optim checkpoint plot plotting visualize tools misc args arguments random seed"
    )
)


class Planned(NamedTuple):
    """What is looked for."""

    path: str
    names: dict[str, float]
    """Names of its interface, folded, with what each is worth: one that every project has says little."""
    spelled: dict[str, str]
    """The same names as the plan spells them."""
    path_words: frozenset[str]
    query: str
    said: dict[str, str]
    """The words of the query as it first spells them; what is joined of several is none."""
    focus: frozenset[str]
    """The words of names, path and purpose; the other words of the query are from what it has to meet."""
    is_test: bool


def planned_files(plan: Mapping[str, Any]) -> list[Planned]:
    """The files of a plan for which there is something to look for."""
    texts = {row["id"]: str(row["text"]) for row in plan["requirements"]}
    rows = [(row, [texts.get(one, "") for one in row.get("implements", ())]) for row in plan["file_structure"]]
    return [_planned(row, asked) for row, asked in rows if row.get("interface") or any(asked)]


def words_of_path(path: str) -> frozenset[str]:
    """The words of a file's own name and of the folder that it is in, without what every path has."""
    folder, name = posixpath.split(path)
    words = words_of(name.rpartition(".")[0] or name) or []
    near = words_of(posixpath.basename(folder)) if name.startswith("__") else []
    return frozenset(word for word in (*words, *near) if len(word) > 1) - {"init", "main", "test", "src", "py"}


def is_test_path(path: str) -> bool:
    """Whether a file is a test or belongs to tests."""
    return bool(
        {"test", "testing", "conftest"}
        & {word for part in path.split("/") for word in re.split(r"[_.\-]", part.lower())}
    ) or ("/tests/" in f"/{path.lower()}")


def is_utility(path: str) -> bool:
    """Whether a file's name, or its folder's, says that it helps the method rather than is one."""
    folder, name = posixpath.split(path)
    return bool(
        _UTILITY.intersection(words_of(name.rpartition(".")[0]))
        or _UTILITY.intersection(words_of(posixpath.basename(folder)))
    )


def _planned(row: Mapping[str, Any], asked: list[str]) -> Planned:
    declared = [name for line in row.get("interface", ()) if (name := _declared(str(line)))]
    words = words_of_path(row["path"])
    interface = [_KEYWORDS.sub("", str(line)) for line in row.get("interface", ())]
    about = " ".join((*interface, str(row.get("purpose", "")), *sorted(words)))
    query, focus = " ".join((about, *asked)), frozenset(words_of(about))
    names = {folded(name): _worth(name) for name in declared if len(name) >= _SHORTEST_NAME}
    return Planned(
        row["path"],
        names,
        {folded(name): name for name in declared},
        words,
        query,
        spellings(query),
        focus,
        is_test_path(row["path"]),
    )


def _declared(line: str) -> str:
    found = _DECLARED.search(line)
    return (found[1] or found[2]) if found else ""


def _worth(name: str) -> float:
    if name.lower() in _EVERYWHERE or name.startswith("__"):
        return 0.1
    return 1.0 if len(words_of(name)) > 1 or any(letter.isupper() for letter in name[1:]) else 0.5
