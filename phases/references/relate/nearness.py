"""Which requirements of a plan stand where the paper cites a repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.references.parse.terms import words_of

_SHARED_RUN = 6
"""Words in a row that two quotes share where they are from the same passage."""
_TELLING = 5
_SHARED_WORDS = 2


class NearbyRequirements(NamedTuple):
    """The requirements that stand beside a citation of a repository, and why, in words."""

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
    found: dict[str, str] = {}
    for label, citation in _citations_of(repository, references):
        for requirement in plan["requirements"]:
            if requirement["id"] not in found and (how := _how_near(requirement, citation, sections)):
                found[requirement["id"]] = f"{label} {how} {requirement['id']}"
    return NearbyRequirements(
        tuple(row["id"] for row in plan["requirements"] if row["id"] in found), "; ".join(list(found.values())[:5])
    )


def _citations_of(
    repository: Mapping[str, Any], references: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where the paper cites what a repository belongs to, or names the repository itself; not where it lists references."""
    wanted = set(repository.get("references", ()))
    for row in references["references"]:
        if row["id"] in wanted:
            yield from ((f"{row['id']} is cited", one) for one in row["citations"] if one["where"] != "reference")
    for row in references["repositories"]:
        if row["url"] in repository["urls"]:
            yield from (("it is named", one) for one in row["mentions"] if one["where"] != "reference")


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
        return "beside"
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
    """Whether the user gave it as a folder."""
    return str(repository["url"]).startswith(_FOLDER)


def add_paper_references(repository: Mapping[str, Any], references: Mapping[str, Any]) -> dict[str, Any]:
    """A folder with the references of the one repository that the paper names like it; all others as they are."""
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
    """The repository's own name in an address, as a clone of it is called."""
    return url.rstrip("/").rpartition("/")[2].removesuffix(".git").casefold()
