"""Relate fetched files to planned files: which help, how much, and why."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.references.index.build import with_cache_for_reading
from phases.references.index.cache import Cache
from phases.references.parse.terms import first_spellings, fold_name, words_of
from phases.references.search import FileHit, code_base_of, rank_pieces, rarity_of
from pipeline.base.logs import logger
from pipeline.base.workers import UNCONFINED, WorkerStart

MOST_OF_ONE, MOST = 3, 8
"""Files of one repository, and of all repositories, for one planned file."""
LEAST = 0.2
NAMES, PATH, TERMS = 0.45, 0.15, 0.40
"""Weights, 1 in total: defined names of the interface, path words, rare words of the purpose."""
LEAN = 0.3
"""Share of the confidence that depends on how much the paper relies on the repository."""
_STRONG_TERMS = 0.6
"""Share of the rare words, by rarity, that a piece about the same thing contains."""
_LEANS = {"own": 1.0, "basis": 1.0, "cited": 0.6, "found": 0.4, "mentioned": 0.3}
_LEAN_WORDS = {
    "own": "it is the paper's own code",
    "basis": "the paper says that it builds on the repository",
    "cited": "the paper cites the repository's reference",
}
_GIVEN = "you gave the repository as one to work from"
_LOOKED_AT = 40
_BESIDE = 0.5
"""Weight of a requirement's word relative to a word of the planned file itself."""
_FEW_WORDS = 8
"""With fewer search words than this, matches count less."""
_SHOWN = 5


class _Features(NamedTuple):
    """Features of a file for a planned file, each from 0 to 1."""

    names: float
    path: float
    terms: float
    lean: float
    defined: tuple[str, ...]
    """Names of the interface that the file defines, as the plan spells them."""
    path_words: tuple[str, ...]
    shared: tuple[str, ...]
    asked: int
    """Number of rare words searched for."""


class _Defined(NamedTuple):
    """A definition of a name of the interface. `rare`: 1 where the repository has one alone, less where it has many."""

    name: str
    symbol: str
    line: int
    rare: float


class _BestPlace(NamedTuple):
    """The place in a file that says most."""

    path: str
    symbol: str
    line: int
    language: str


def relate_repositories(
    into: str,
    plan: Mapping[str, Any],
    repositories: Sequence[Mapping[str, Any]],
    references: Mapping[str, Any],
    *,
    sections: Mapping[str, Sequence[str]] | None = None,
    code_base: str | None = None,
    cache_directory: str = "",
    start: WorkerStart = UNCONFINED,
) -> tuple[list[dict[str, Any]], dict[str, NearbyRequirements]]:
    """Return the relations of index.json, and by repository the requirements near its citations.

    `sections` gives the number and title of each section by its id: citations use ids, plans use numbers and titles.
    """
    repositories = [add_paper_references(row, references) for row in repositories]
    near = {row["name"]: requirements_near(plan, row, references, sections or {}) for row in repositories}
    planned = files_of_plan(plan)
    fetched = code_base if code_base is not None else code_base_of(into)
    if not planned or not repositories:
        return [], near

    def all_related(cache: Cache) -> list[dict[str, Any]]:
        return [row for planned_file in planned for row in _relate_file(cache, planned_file, repositories, references)]

    relations = with_cache_for_reading(into, fetched, all_related, cache_directory, start)
    logger.info("{} relations to {} planned files", len(relations), len(planned))
    for row in relations:
        logger.debug("{file} <- {repository}/{reference}: {kind}, {confidence} ({why})", **row)
    return relations, near


def _relate_file(
    cache: Cache, planned: PlannedFile, repositories: Sequence[Mapping[str, Any]], references: Mapping[str, Any]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    telling = rarity_of(cache, planned.query)
    rarity = {
        word: worth if word in planned.focus else worth * _BESIDE
        for word, worth in telling.items()
        if word in planned.said  # `learning_rate` is two words, not a third one beside them
    }
    for repository in repositories:
        lean = _lean_of(repository, references)
        relations = (
            _relation_row(planned, repository, best, features)
            for best, features in _find_candidates(cache, planned, rarity, str(repository["name"]), lean)
        )
        rows += sorted((row for row in relations if row["confidence"] >= LEAST), key=_sort_key)[:MOST_OF_ONE]
    return sorted(rows, key=_sort_key)[:MOST]


def _sort_key(row: Mapping[str, Any]) -> tuple[float, str, str]:
    return -row["confidence"], row["repository"], row["reference"]


def _lean_of(repository: Mapping[str, Any], references: Mapping[str, Any]) -> float:
    """By what the repository is to the paper, and by the score that the references gave it."""
    scores = [float(row["score"]) for row in references["repositories"] if row["url"] in repository["urls"]]
    weight = _LEANS.get(repository["role"], 0.3)
    return (weight + max(scores)) / 2 if scores else weight


def _find_candidates(
    cache: Cache, planned: PlannedFile, rarity: Mapping[str, float], repository: str, lean: float
) -> Iterator[tuple[_BestPlace, _Features]]:
    """Yield every file that defines a name of the interface or ranks high for the words, with its features."""
    defined = _definitions(cache, planned, repository)
    pieces: dict[int, list[FileHit]] = {}
    for hit in rank_pieces(cache, planned.query, repository, _LOOKED_AT):
        pieces.setdefault(hit.file, []).append(hit)
    for file in dict.fromkeys((*defined, *pieces)):
        path, language = cache.place(file)
        if is_test_path(path) and not planned.is_test:
            continue
        shared, best = _best_piece(cache, pieces.get(file, ()), rarity)
        words = sorted(planned.path_words & words_of_path(path))
        names = {
            definition.name: planned.names[definition.name] * definition.rare for definition in defined.get(file, ())
        }
        share = sum(rarity[word] for word in shared) / (sum(rarity.values()) or 1.0)
        terms = share * min(1.0, len(rarity) / _FEW_WORDS)
        features = _Features(
            names=min(1.0, sum(names.values()) / max(0.5, min(2.0, sum(planned.names.values())))),
            path=len(words) / max(1, len(planned.path_words | words_of_path(path))),
            terms=min(1.0, terms / _STRONG_TERMS) if language != "text" else min(0.5, terms),
            lean=lean,
            defined=tuple(planned.spelled[name] for name in names),
            path_words=tuple(planned.said.get(word, word) for word in words),
            shared=tuple(shared),
            asked=len(rarity),
        )
        symbol, line = _place_of(defined.get(file, ()), planned, best)
        yield _BestPlace(path, symbol, line, language), features


def _definitions(cache: Cache, planned: PlannedFile, repository: str) -> dict[int, list[_Defined]]:
    """By file: the names of the interface that it defines."""
    definitions: dict[int, list[_Defined]] = {}
    for name in planned.names:
        rows = cache.defining(name, repository)
        for file, parent, spelled, line in rows:
            here = definitions.setdefault(file, [])
            if all(name != other.name for other in here):
                symbol = f"{parent}.{spelled}" if parent else spelled
                here.append(_Defined(name, symbol, line, 1 / (1 + math.log2(len(rows)))))
    return definitions


def _best_piece(
    cache: Cache, pieces: Sequence[FileHit], rarity: Mapping[str, float]
) -> tuple[list[str], FileHit | None]:
    best: tuple[float, list[str], FileHit | None] = (0.0, [], None)
    for piece in pieces[:5]:
        words = cache.words_in(piece.piece)
        shared = sorted((word for word in rarity if word in words), key=lambda word: (-rarity[word], word))
        best = max(best, (sum(rarity[word] for word in shared), shared, piece), key=lambda one: one[0])
    return best[1], best[2]


def _place_of(defined: Sequence[_Defined], planned: PlannedFile, best: FileHit | None) -> tuple[str, int]:
    if defined:
        first = max(defined, key=lambda one: planned.names[one.name] * one.rare)
        return first.symbol, first.line
    return (best.hit.name, best.hit.line) if best else ("", 0)


def _relation_row(
    planned: PlannedFile, repository: Mapping[str, Any], best: _BestPlace, features: _Features
) -> dict[str, Any]:
    confidence = _confidence_of(planned, features)
    return {
        "file": planned.path,
        "repository": repository["name"],
        "reference": best.path,
        "symbol": best.symbol,
        "line": best.line,
        "kind": _kind_of(best, features, confidence),
        "confidence": confidence,
        "why": _explain_relation(planned, repository, features),
    }


def _confidence_of(planned: PlannedFile, features: _Features) -> float:
    """Return the confidence of a relation; a planned file without an interface is judged by path and words."""
    names = NAMES if planned.names else 0.0
    near = (names * features.names + PATH * features.path + TERMS * features.terms) / (names + PATH + TERMS)
    return round(min(1.0, near * (1 - LEAN + LEAN * features.lean)), 2)


def _kind_of(best: _BestPlace, features: _Features, confidence: float) -> str:
    same_role = features.path >= 0.5 and features.terms >= 0.7
    if best.language != "text" and confidence >= 0.4 and (features.names >= 0.5 or same_role):
        return "direct_match"
    if is_utility(best.path):
        return "utility"
    near = features.names >= 0.25 or features.terms >= 0.6
    return "partial_match" if best.language != "text" and near else "reference"


def _explain_relation(planned: PlannedFile, repository: Mapping[str, Any], features: _Features) -> str:
    parts = []
    if features.defined:
        parts.append(f"defines {', '.join(features.defined[:_SHOWN])}, which the plan's interface names")
    if features.path_words:
        parts.append(f"its path says {', '.join(features.path_words[:_SHOWN])} too")
    if features.shared:
        few = ", ".join([planned.said[word] for word in features.shared if not word.isdigit()][:_SHOWN])
        parts.append(f"has {len(features.shared)} of {features.asked} words of what is planned ({few})")
    lean = _LEAN_WORDS.get(repository["role"], "the paper only mentions the repository")
    parts.append(_GIVEN if is_user_given(repository) else lean)
    return "; ".join(parts)


_DECLARED = re.compile(
    r"\b(?:def|class|struct|func|fn|function|interface|enum|trait|type|void|__global__)\s+([^\W\d]\w*)|^\s*([^\W\d]\w*)\s*\("
)
_SHORTEST_NAME = 3
_EVERYWHERE = frozenset((
    "main", "run", "init", "forward", "call", "get", "set", "test", "setup", "config", "load", "save", "step", "update",
    "__init__",
))  # fmt: skip
_KEYWORDS = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+")
_UTILITY = frozenset(
    words_of(
        "metric metrics io config configs configuration settings options utils util helpers common logging logger log train"
        " trainer training loop data dataset loader loading preprocess preprocessing evaluation evaluate eval schedule"
        " scheduler optimizer optim checkpoint plot plotting visualize tools misc args arguments random seed"
    )
)


class PlannedFile(NamedTuple):
    """One planned file, as search terms."""

    path: str
    names: dict[str, float]
    """Folded names of its interface with their weights; names that every project has weigh little."""
    spelled: dict[str, str]
    """The same names as the plan spells them."""
    path_words: frozenset[str]
    query: str
    said: dict[str, str]
    """The words of the query as it first spells them; what is joined of several is none."""
    focus: frozenset[str]
    """The words of names, path and purpose; the other words of the query are from what it has to meet."""
    is_test: bool


def files_of_plan(plan: Mapping[str, Any]) -> list[PlannedFile]:
    """Return the files of a plan that give search terms."""
    texts = {row["id"]: str(row["text"]) for row in plan["requirements"]}
    rows = [
        (row, [texts.get(requirement, "") for requirement in row.get("implements", ())])
        for row in plan["file_structure"]
    ]
    return [_planned_file(row, asked) for row, asked in rows if row.get("interface") or any(asked)]


def words_of_path(path: str) -> frozenset[str]:
    """Return the words of a file's name and directory, without common ones."""
    folder, name = posixpath.split(path)
    words = words_of(name.rpartition(".")[0] or name) or []
    near = words_of(posixpath.basename(folder)) if name.startswith("__") else []
    return frozenset(word for word in (*words, *near) if len(word) > 1) - {"init", "main", "test", "src", "py"}


def is_test_path(path: str) -> bool:
    """Return whether a file is a test or belongs to tests."""
    words = set(re.split(r"[/_.\-]", path.lower()))
    return not words.isdisjoint(("test", "testing", "conftest")) or "/tests/" in f"/{path.lower()}"


def is_utility(path: str) -> bool:
    """Return whether a file's name or directory marks it as a helper rather than a part of the method."""
    folder, name = posixpath.split(path)
    return not _UTILITY.isdisjoint((*words_of(name.rpartition(".")[0]), *words_of(posixpath.basename(folder))))


def _planned_file(row: Mapping[str, Any], asked: list[str]) -> PlannedFile:
    declared = [name for line in row.get("interface", ()) if (name := _declared_name(str(line)))]
    words = words_of_path(row["path"])
    interface = [_KEYWORDS.sub("", str(line)) for line in row.get("interface", ())]
    about = " ".join((*interface, str(row.get("purpose", "")), *sorted(words)))
    query, focus = " ".join((about, *asked)), frozenset(words_of(about))
    names = {fold_name(name): _name_weight(name) for name in declared if len(name) >= _SHORTEST_NAME}
    spelled, said = {fold_name(name): name for name in declared}, first_spellings(query)
    return PlannedFile(row["path"], names, spelled, words, query, said, focus, is_test_path(row["path"]))


def _declared_name(line: str) -> str:
    match = _DECLARED.search(line)
    return (match[1] or match[2]) if match else ""


def _name_weight(name: str) -> float:
    if name.lower() in _EVERYWHERE or name.startswith("__"):
        return 0.1
    return 1.0 if len(words_of(name)) > 1 or any(letter.isupper() for letter in name[1:]) else 0.5


_SHARED_RUN = 6
"""Words in a row that two quotes share where they are from the same passage."""
_TELLING = 5
_SHARED_WORDS = 2


class NearbyRequirements(NamedTuple):
    """Requirements near a citation of a repository, with the reason in words."""

    requirements: tuple[str, ...]
    why: str


def requirements_near(
    plan: Mapping[str, Any],
    repository: Mapping[str, Any],
    references: Mapping[str, Any],
    sections: Mapping[str, Sequence[str]],
) -> NearbyRequirements:
    """By passage, or else by page and section. `repository` is as given.as_the_paper_names_it has it.

    `sections`: the number and the title of each section by its id.
    """
    reasons: dict[str, str] = {}
    for label, citation in _citations_of(repository, references):
        for requirement in plan["requirements"]:
            if requirement["id"] not in reasons and (how := _how_near(requirement, citation, sections)):
                reasons[requirement["id"]] = f"{label} {how} {requirement['id']}"
    return NearbyRequirements(
        tuple(row["id"] for row in plan["requirements"] if row["id"] in reasons), "; ".join(list(reasons.values())[:5])
    )


def _citations_of(
    repository: Mapping[str, Any], references: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the places that cite a repository's references or name the repository, outside of the reference list."""
    wanted = set(repository.get("references", ()))
    for row in references["references"]:
        if row["id"] in wanted:
            yield from (
                (f"{row['id']} is cited", mention) for mention in row["citations"] if mention["where"] != "reference"
            )
    for row in references["repositories"]:
        if row["url"] in repository["urls"]:
            yield from (("it is named", mention) for mention in row["mentions"] if mention["where"] != "reference")


def _how_near(
    requirement: Mapping[str, Any], citation: Mapping[str, Any], sections: Mapping[str, Sequence[str]]
) -> str | None:
    source = requirement["source"]
    ours, theirs = words_of(str(source.get("quote") or requirement["text"])), words_of(citation["quote"])
    if _share_word_run(ours, theirs):
        return "in the very passage of"
    if not citation["page"] or citation["page"] != source.get("page"):
        return None
    named = {" ".join(str(name).split()).casefold() for name in sections.get(citation["section"] or "", ()) if name}
    if str(source.get("section") or "").casefold() in {*named, str(citation["section"] or "").casefold()} - {""}:
        return "next to"
    if named:
        return None  # another section, for sure
    shared = {word for word in ours + words_of(requirement["text"]) if len(word) >= _TELLING}.intersection(theirs)
    return "on the page of" if len(shared) >= _SHARED_WORDS else None


def _share_word_run(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    length = min(_SHARED_RUN, len(ours))
    if length < 3:
        return False
    runs = {tuple(theirs[at : at + length]) for at in range(len(theirs) - length + 1)}
    return any(tuple(ours[at : at + length]) in runs for at in range(len(ours) - length + 1))


_FOLDER = "folder:"


def is_user_given(repository: Mapping[str, Any]) -> bool:
    """Return whether the repository is a directory of the user's."""
    return str(repository["url"]).startswith(_FOLDER)


def add_paper_references(repository: Mapping[str, Any], references: Mapping[str, Any]) -> dict[str, Any]:
    """Return a repository with its addresses; a user's directory gets those of the only linked repository with its name."""
    # a folder has no address: only its name can say which of the paper's repositories it is
    if not is_user_given(repository):
        return {**repository, "urls": [repository["url"]]}
    name = _repository_name(str(repository["url"]).removeprefix(_FOLDER))
    same = [row for row in references["repositories"] if _repository_name(str(row["url"])) == name]
    if len(same) != 1:
        return {**repository, "urls": [repository["url"]]}
    led = dict.fromkeys((*repository.get("references", ()), *same[0].get("references", ())))
    return {**repository, "urls": [repository["url"], same[0]["url"]], "references": list(led)}


def _repository_name(url: str) -> str:
    """Return the last part of an address without `.git`."""
    return url.rstrip("/").rpartition("/")[2].removesuffix(".git").casefold()
