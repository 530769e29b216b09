"""Lay out the files of a plan: constants first, then a module for each chapter of the method, experiments last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.naming import (
    constant_name,
    declare_component,
    is_in_letters,
    join_names,
    module_name,
    name_in_letters,
    plain_constant_name,
)  # fmt: skip
from phases.planning.rules.sections import is_named_after_content

_MOST_MODULES, _SMALL, _FEWEST_OF_DATA = 6, 4, 2
_GENERATED = re.compile(r"\b(?:drawn|generat\w+|synthe\w+|simulat\w+|random(?:ly)?)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w+-]{3,}")
Row = dict[str, Any]


def plan_files(
    package: str,
    requirements: Sequence[Row],
    components: Sequence[Row],
    values: Sequence[Row],
    sections: Sequence[Mapping[str, Any]] = (),
) -> list[Row]:
    """Return the rows of file_structure in the order of writing; the headings of `sections` name the files."""
    init, config = _file(f"{package}/__init__.py", "the package"), _config(package, values)
    modules = _modules(package, requirements, components, config["path"], sections)
    placed = {name for row in modules for name in row["implements"]}
    rest = [row for row in requirements if row["id"] not in placed]
    data = _data_file(package, rest, config["path"])
    files = [init, config, *data, *modules]
    rest = [row for row in rest if row["kind"] != "dataset" or not data]
    if rest or len(files) < 3:
        purpose = f"{'' if data else 'data, '}measures, baselines and what is run with them"
        files.append(
            _file(
                f"{package}/experiments.py",
                purpose,
                implements=[row["id"] for row in rest],
                needs=[row["path"] for row in files[1:]],
                interface=["def run_experiments"],
            )  # fmt: skip
        )
    paths = [row["path"] for row in files]
    main = "the entry script: lists what is implemented and what is not"
    return [
        *files,
        _file(f"{package}/__main__.py", main, needs=paths, interface=["def main"]),
        _file("README.md", "what the paper is about, what of it is here, and what is a stub"),
        _file("tests/__init__.py", "the tests"),
        _file("tests/test_scaffold.py", "every module imports and has its planned names", needs=paths),
    ]


def _config(package: str, values: Sequence[Row]) -> Row:
    constants: set[str] = set()
    values = [row for row in values if row["kind"] != "fact"]
    named = Counter(map(plain_constant_name, values))
    return _file(
        f"{package}/config.py",
        "every value that the paper states, with its owner, its condition and its place",
        implements=[row["id"] for row in values],
        interface=[
            f"{constant_name(row, constants, is_one_of_several=named[plain_constant_name(row)] > 1)} = {_literal(row)}"
            for row in values
        ],
    )


def _literal(row: Row) -> str:
    return repr(row["value"] if "value" in row else tuple(row["values"]))


def _data_file(package: str, rest: Sequence[Row], config: str) -> list[Row]:
    about = [row for row in rest if row["kind"] == "dataset"]
    if len(about) < _FEWEST_OF_DATA:
        return []
    name = "generate_data" if any(_GENERATED.search(row["text"]) for row in about) else "load_data"
    purpose = "the data: made or read here, before anything is run on them"
    return [
        _file(
            f"{package}/data.py",
            purpose,
            implements=[row["id"] for row in about],
            needs=[config],
            interface=[f"def {name}"],
        )
    ]


def _modules(
    package: str,
    requirements: Sequence[Row],
    components: Sequence[Row],
    config: str,
    sections: Sequence[Mapping[str, Any]],
) -> list[Row]:
    """A file for each group of components; one comes behind those whose components it names."""
    known = {row["id"]: row["text"] for row in requirements}
    groups = _groups(components, sections)
    used = _uses(groups, known)
    files: dict[int, Row] = {}
    names, symbols = {"config", "experiments", "data"}, set[str]()
    for at in _order(used):
        group = groups[at]
        needs = [files[other]["path"] for other in sorted(used[at]) if other in files]
        files[at] = _file(
            f"{package}/{module_name(_name_of(group, sections), names)}.py",
            join_names(row["name"] for row in group),
            implements=list(dict.fromkeys(name for row in group for name in row["requirements"] if name in known)),
            needs=[config, *needs],
            interface=[declare_component(name_in_letters(row), symbols) for row in group],
            components=[row["id"] for row in group],
        )
    return list(files.values())


def _groups(components: Sequence[Row], sections: Sequence[Mapping[str, Any]]) -> list[list[Row]]:
    """Return the components by section, neighbours joined until the groups are few and none is a single small part."""
    by_section: dict[object, list[Row]] = {}
    asked = [row for row in components if row["source"]["section"] == "review"]
    for row in components:
        if row not in asked or len(asked) == len(components):
            by_section.setdefault(_find_section(row["source"], sections), []).append(row)
    groups = list(by_section.values())
    if asked and len(asked) < len(components):
        groups[-1] = [*groups[-1], *asked]  # what a reviewer asks for gets no file of its own
    chapters = _chapters(sections)

    def chapter(group: Sequence[Row]) -> int:
        at = _find_section(group[0]["source"], sections)
        return chapters[at] if at >= 0 else -1

    def size(group: Sequence[Row]) -> int:
        return sum(2 + len(row["requirements"]) + 3 * bool(row.get("algorithm")) for row in group)

    while len(groups) > 1:
        pairs = range(len(groups) - 1)
        small = [at for at in pairs if min(size(groups[at]), size(groups[at + 1])) < _SMALL]
        if len(groups) <= _MOST_MODULES and not small:
            break
        at = min(
            small or pairs,
            key=lambda one: (
                size(groups[one]) + size(groups[one + 1]) + 12 * (chapter(groups[one]) != chapter(groups[one + 1]))
            ),
        )
        groups[at : at + 2] = [[*groups[at], *groups[at + 1]]]
    return groups


def _chapters(sections: Sequence[Mapping[str, Any]]) -> list[int]:
    top = min((one["level"] for one in sections), default=1)
    chapters: list[int] = []
    for at, one in enumerate(sections):
        chapters.append(at if one["level"] <= top or not chapters else chapters[-1])
    return chapters


def _find_section(source: Mapping[str, Any], sections: Sequence[Mapping[str, Any]]) -> int:
    """Return the last section of this number or title that begins before the page; -1 where there is none."""
    named = [
        at
        for at, one in enumerate(sections)
        if source["section"] and source["section"] in (one["number"], one["title"])
    ]
    before = [at for at in named if sections[at]["page"] <= source["page"]]
    return before[-1] if before else named[0] if named else -1


def _name_of(group: Sequence[Row], sections: Sequence[Mapping[str, Any]]) -> str:
    """Return the heading under which all of a group stands, else the name of its largest component."""
    places = Counter(_find_section(row["source"], sections) for row in group)
    (at, most), *_ = places.most_common(1)
    if at >= 0 and 2 * most >= len(group):
        title = str(sections[at]["title"])
        if is_named_after_content(title) and is_in_letters(title) and len(title.split()) <= 9:
            return title
    largest = max(
        group, key=lambda row: (is_in_letters(row["name"]), len(row["requirements"]) + 3 * bool(row.get("algorithm")))
    )
    return name_in_letters(largest)


def _uses(groups: Sequence[Sequence[Row]], known: Mapping[str, str]) -> list[set[int]]:
    """Return for each group the others whose components it names, clearly more often than the other way."""
    texts = [
        " ".join(
            text
            for row in group
            for text in (row["what"], *row.get("steps", ()), *(known.get(name, "") for name in row["requirements"]))
        )
        for group in groups
    ]
    names = [
        {row["name"] for row in group if len(_WORD.findall(row["name"])) > 1 or not row["name"].islower()}
        for group in groups
    ]
    labels = [{str(row["algorithm"]) for row in group if row.get("algorithm")} for group in groups]

    def count(one: int, other: int) -> int:
        return sum(texts[one].count(name) for name in names[other] - names[one]) + 3 * sum(
            texts[one].count(label) for label in labels[other]
        )

    every = range(len(groups))
    return [
        {two for two in every if two != one and count(one, two) >= 2 and count(one, two) > 2 * count(two, one)}
        for one in every
    ]


def _order(used: Sequence[set[int]]) -> list[int]:
    """Return the groups in the order of the paper, each behind those that it uses; a circle is cut at its first."""
    order: list[int] = []
    left = list(range(len(used)))
    while left:
        free = next((place for place in left if not used[place].intersection(left)), left[0])
        left.remove(free)
        order.append(free)
    return order


def _file(
    path: str, purpose: str, *, implements: Sequence[str] = (), needs: Sequence[str] = (), interface: Sequence[str] = (),
    components: Sequence[str] = (),
) -> Row:  # fmt: skip
    row: Row = {
        "path": path, "purpose": purpose, "implements": list(implements), "depends_on": list(needs), "interface": list(interface),
    }  # fmt: skip
    return {**row, "components": list(components)} if components else row
