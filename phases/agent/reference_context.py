"""Other people's code that the agent may look at, and the record of what it was shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # the search brings SQLite, and this module is loaded where nothing is searched
    from phases.references.search import SearchHit

from pipeline.engine.phase import is_placeholder

_FILE = ("repository", "file", "commit", "licence")


class ReferenceContext(NamedTuple):
    """What can be asked of it. Both raise PipelineError where it cannot be read."""

    search: Callable[[str, str, int], Sequence[SearchHit]]
    """Query, the repository (empty: all) and how many are wanted in; the best first out."""
    read: Callable[[str, str, int, int], SearchHit]
    """Repository, path in it, first line and number of lines in."""
    relations: Mapping[str, Sequence[Mapping[str, Any]]]
    """Planned file -> what helps with it: repository, file, symbol, line, kind, confidence, licence, why each; best first."""


def describe_shown(hit: SearchHit) -> dict[str, Any]:
    """What the journal keeps of it once the model has seen it."""
    return {name: getattr(hit, name) for name in (*_FILE, "line", "end")}


def reference_context_of(index: Mapping[str, Any], root: str, cache_directory: str) -> ReferenceContext | None:
    """The fetched code that an index.json tells of, where there is any."""
    if is_placeholder(index) or not index["repositories"]:
        return None
    from phases.references.search import answer_query, read_on  # late: SQLite, for runs with references

    licences = {row["name"]: row["licence"] for row in index["repositories"]}
    relations: dict[str, list[dict[str, Any]]] = {}
    for row in index["relations"]:
        helps = {name: row[name] for name in ("repository", "symbol", "line", "kind", "confidence", "why")}
        helps |= {"file": row["reference"], "licence": licences.get(row["repository"])}
        relations.setdefault(row["file"], []).append(helps)
    return ReferenceContext(
        lambda query, repository, most: answer_query(root, index, query, repository, most, cache_directory),
        lambda *asked: read_on(root, index, *asked),
        relations,
    )


def excerpts_shown(begun: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All that the model was shown of other people's code: in these rows of a journal, and before on the code that was kept."""
    before = [dict(one) for one in begun.get("shown", ())]
    return before + [dict(one) for row in rows if row["kind"] == "result" for one in row["result"].get("shown", ())]


def group_by_file(shown: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every file of them with its lines. What was shown of another commit, which may have another licence, is told apart."""
    found: dict[tuple[str, ...], tuple[Mapping[str, Any], set[int]]] = {}
    for one in shown:
        key = tuple(str(one[name] or "") for name in _FILE)
        found.setdefault(key, (one, set()))[1].update(range(one["line"], one["end"] + 1))
    return [
        {**{name: one[name] for name in _FILE}, "lines": _line_ranges(sorted(lines))}
        for _, (one, lines) in sorted(found.items(), key=lambda item: item[0])
    ]


def _line_ranges(lines: Sequence[int]) -> list[str]:
    """Lines as people write them: 3-9, 12."""
    ranges: list[list[int]] = []
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
