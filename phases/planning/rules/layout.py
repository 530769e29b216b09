"""The files of a plan: five to ten, named after the components, with every requirement and value in one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.naming import constant_name, declare_component, join_names, module_name, plain_constant_name

_MOST_MODULES = 3
Row = dict[str, Any]


def plan_files(
    package: str, requirements: Sequence[Row], components: Sequence[Row], values: Sequence[Row]
) -> list[Row]:
    """The rows of file_structure, in the order of writing."""
    files = [_file(f"{package}/__init__.py", "the package"), _config(package, values)]
    files += _modules(package, requirements, components, files[1]["path"])
    placed = {name for row in files for name in row["implements"]}
    rest = [row["id"] for row in requirements if row["id"] not in placed]
    if rest or len(files) < 3:
        files.append(
            _file(
                f"{package}/experiments.py",
                "data, measures, baselines and what is run with them",
                implements=rest,
                needs=[row["path"] for row in files[1:]],
                interface=["def run_experiments"],
            )
        )
    modules = [row["path"] for row in files]
    main = "the entry script: lists what is implemented and what is not"
    return [
        *files,
        _file(f"{package}/__main__.py", main, needs=modules, interface=["def main"]),
        _file("README.md", "what the paper is about, what of it is here, and what is a stub"),
        _file("tests/__init__.py", "the tests"),
        _file("tests/test_scaffold.py", "every module imports and has its planned names", needs=modules),
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


def _modules(package: str, requirements: Sequence[Row], components: Sequence[Row], config: str) -> list[Row]:
    """A file for each group of components, with the requirements of these."""
    known = {row["id"] for row in requirements}
    names, symbols = {"config", "experiments"}, set[str]()
    files = []
    for group in _groups(components):
        met = [name for row in group for name in row["requirements"] if name in known]
        files.append(
            _file(
                f"{package}/{module_name(group[0]['name'], names)}.py",
                join_names(row["name"] for row in group),
                implements=list(dict.fromkeys(met)),
                needs=[config],
                interface=[declare_component(row["name"], symbols) for row in group],
                components=[row["id"] for row in group],
            )
        )
    return files


def _file(
    path: str,
    purpose: str,
    *,
    implements: Sequence[str] = (),
    needs: Sequence[str] = (),
    interface: Sequence[str] = (),
    components: Sequence[str] = (),
) -> Row:
    row: Row = {
        "path": path,
        "purpose": purpose,
        "implements": list(implements),
        "depends_on": list(needs),
        "interface": list(interface),
    }
    return {**row, "components": list(components)} if components else row


def _groups(components: Sequence[Row]) -> list[list[Row]]:
    """The components in at most three groups: those of one chapter stand together, and the smallest join their neighbour."""
    groups: list[list[Row]] = []
    for row in components:
        chapter = _chapter(row)
        # what was asked for at the review joins what is there: no file gets another name for it
        if groups and chapter in (_chapter(groups[-1][0]), "review"):
            groups[-1].append(row)
        else:
            groups.append([row])
    while len(groups) > _MOST_MODULES:
        at = min(range(len(groups) - 1), key=lambda place: len(groups[place]) + len(groups[place + 1]))
        groups[at : at + 2] = [[*groups[at], *groups[at + 1]]]
    # the file is named after the component of which the paper says most
    return [
        sorted(group, key=lambda row: -len(row["requirements"]) - 3 * bool(row.get("algorithm"))) for group in groups
    ]


def _chapter(row: Mapping[str, Any]) -> str:
    return str(row["source"]["section"] or "").partition(".")[0]


def _literal(row: Mapping[str, Any]) -> str:
    return repr(row["value"] if "value" in row else tuple(row["values"]))
