"""Lay out the files of a plan: constants first, then a module for each chapter of the method, experiments last."""

from __future__ import annotations

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
)
from phases.planning.rules.sections import is_named_after_content

_MOST_MODULES, _SMALL, _APART = 6, 4, 12
Row = dict[str, Any]
Sections = Sequence[Mapping[str, Any]]


def plan_files(
    package: str, requirements: Sequence[Row], components: Sequence[Row], values: Sequence[Row], sections: Sections = ()
) -> list[Row]:
    """Return the rows of file_structure in the order of writing; the headings of `sections` name the files."""
    config = _config(package, values)
    files = [_file(f"{package}/__init__.py", "the package"), config]
    files += _modules(package, requirements, components, config["path"], sections)
    placed = {name for row in files for name in row["implements"]}
    rest = [row["id"] for row in requirements if row["id"] not in placed]
    if rest or len(files) < 3:
        purpose, needs = "data, measures, baselines and what is run with them", [row["path"] for row in files[1:]]
        files.append(_file(f"{package}/experiments.py", purpose, rest, needs, ["def run_experiments"]))
    paths = [row["path"] for row in files]
    main = "the entry script: lists what is implemented and what is not"
    return [
        *files,
        _file(f"{package}/__main__.py", main, (), paths, ["def main"]),
        _file("README.md", "what the paper is about, what of it is here, and what is a stub"),
        _file("tests/__init__.py", "the tests"),
        _file("tests/test_scaffold.py", "every module imports and has its planned names", (), paths),
    ]


def _config(package: str, values: Sequence[Row]) -> Row:
    constants: set[str] = set()
    values = [row for row in values if row["kind"] != "fact"]
    named = Counter(map(plain_constant_name, values))
    lines = []
    for row in values:
        name = constant_name(row, constants, is_one_of_several=named[plain_constant_name(row)] > 1)
        lines.append(f"{name} = {row['value'] if 'value' in row else tuple(row['values'])!r}")
    purpose = "every value that the paper states, with its owner, its condition and its place"
    return _file(f"{package}/config.py", purpose, [row["id"] for row in values], (), lines)


def _modules(
    package: str, requirements: Sequence[Row], components: Sequence[Row], config: str, sections: Sections
) -> list[Row]:
    known = {row["id"] for row in requirements}
    groups = _groups(components, sections)
    files: list[Row] = []
    names, symbols = {"config", "experiments", "data"}, set[str]()
    for group in groups:
        implements = dict.fromkeys(name for row in group for name in row["requirements"] if name in known)
        path = f"{package}/{module_name(_name_of(group, sections), names)}.py"
        interface = [declare_component(name_in_letters(row), symbols) for row in group]
        file = _file(path, join_names(row["name"] for row in group), list(implements), [config], interface)
        files.append({**file, "components": [row["id"] for row in group]})
    return files


def _groups(components: Sequence[Row], sections: Sections) -> list[list[Row]]:
    """Return the components by section, neighbours joined until the groups are few and none is a single small part."""
    by_section: dict[int, list[Row]] = {}
    asked = [row for row in components if row["source"]["section"] == "review"]
    for row in components:
        if row not in asked or len(asked) == len(components):
            by_section.setdefault(_find_section(row["source"], sections), []).append(row)
    groups = [(by_section[at], _chapter(at, sections)) for at in by_section]
    if asked and len(asked) < len(components):
        groups[-1] = ([*groups[-1][0], *asked], groups[-1][1])  # what a reviewer asks for gets no file of its own

    def size(at: int) -> int:
        return sum(map(_size, groups[at][0]))

    while len(groups) > 1:
        pairs = range(len(groups) - 1)
        small = [at for at in pairs if min(size(at), size(at + 1)) < _SMALL]
        if len(groups) <= _MOST_MODULES and not small:
            break
        at = min(small or pairs, key=lambda at: size(at) + size(at + 1) + _APART * (groups[at][1] != groups[at + 1][1]))
        groups[at : at + 2] = [([*groups[at][0], *groups[at + 1][0]], groups[at][1])]
    return [group for group, _ in groups]


def _size(row: Mapping[str, Any]) -> int:
    return 2 + len(row["requirements"]) + 3 * bool(row.get("algorithm"))


def _chapter(at: int, sections: Sections) -> int:
    top = min((one["level"] for one in sections), default=1)
    return next((place for place in range(at, -1, -1) if sections[place]["level"] <= top), -1)


def _find_section(source: Mapping[str, Any], sections: Sections) -> int:
    """Return the last section of this number or title that begins before the page; -1 where there is none."""
    section = source["section"]
    named = [at for at, one in enumerate(sections) if section and section in (one["number"], one["title"])]
    before = [at for at in named if sections[at]["page"] <= source["page"]]
    return before[-1] if before else named[0] if named else -1


def _name_of(group: Sequence[Row], sections: Sections) -> str:
    """Return the heading under which most of a group stands, else the name of its largest component."""
    places = Counter(_find_section(row["source"], sections) for row in group)
    (at, most), *_ = places.most_common(1)
    title = str(sections[at]["title"]) if at >= 0 and 2 * most >= len(group) else ""
    if title and is_named_after_content(title) and is_in_letters(title) and len(title.split()) < 10:
        return title
    return name_in_letters(max(group, key=lambda row: (is_in_letters(row["name"]), _size(row))))


def _file(
    path: str, purpose: str, implements: Sequence[str] = (), needs: Sequence[str] = (), interface: Sequence[str] = ()
) -> Row:
    row: Row = {"path": path, "purpose": purpose, "implements": list(implements), "depends_on": list(needs)}
    return {**row, "interface": list(interface)}
