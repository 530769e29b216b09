"""The files of a plan: at most ten beside the tests, named after the components, with every requirement and value in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.component_names import name_words
from phases.planning.rules.naming import constant_name, declare_component, join_names, module_name, plain_constant_name

_MOST_MODULES, _FEWEST_EACH = 4, 2
"""Files of components, and how many components a file has at least on average."""
_OF_COMPONENT = 2
"""A component counts for so many requirements where the sizes of groups are compared."""
_FEWEST_OF_DATA = 2
_SPOKEN_OF, _CLEARLY = 3, 2
"""How often a file names what another one has, and how much more than the other way, before it is built on that."""
Row = dict[str, Any]


def plan_files(
    package: str, requirements: Sequence[Row], components: Sequence[Row], values: Sequence[Row]
) -> list[Row]:
    """The rows of file_structure, in the order of writing."""
    init, config = _file(f"{package}/__init__.py", "the package"), _config(package, values)
    modules = _modules(package, requirements, components, config["path"])
    placed = {name for row in modules for name in row["implements"]}
    rest = [row for row in requirements if row["id"] not in placed]
    data = _data_file(package, rest, config["path"])
    files = [init, config, *data, *modules]
    rest = [row for row in rest if not data or row["id"] not in data[0]["implements"]]
    if rest or len(files) < 3:
        files.append(
            _file(
                f"{package}/experiments.py",
                f"{'' if data else 'data, '}measures, baselines and what is run with them",
                implements=[row["id"] for row in rest],
                needs=[row["path"] for row in files[1:]],
                interface=["def run_experiments"],
            )
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


def _data_file(package: str, rest: Sequence[Row], config: str) -> list[Row]:
    """The file of the data, where several requirements of no component are about them."""
    about = [row["id"] for row in rest if row["kind"] == "dataset"]
    if len(about) < _FEWEST_OF_DATA:
        return []
    purpose = "the data: made or read here, before anything is run on them"
    return [_file(f"{package}/data.py", purpose, implements=about, needs=[config], interface=["def load_data"])]


def _modules(package: str, requirements: Sequence[Row], components: Sequence[Row], config: str) -> list[Row]:
    """A file for each group of components, with the requirements of these; a file comes after those that it uses."""
    known = {row["id"]: row["text"] for row in requirements}
    groups = _groups(components)
    used = _uses(groups, known)
    names, symbols = {"config", "experiments", "data"}, set[str]()
    files: dict[int, Row] = {}
    for place in _order(used):
        group = groups[place]
        needs = [files[other]["path"] for other in sorted(used[place]) if other in files]
        purpose = join_names(row["name"] for row in group)
        built_on = join_names(path.rpartition("/")[2] for path in needs)
        files[place] = _file(
            f"{package}/{module_name(group[0]['name'], names)}.py",
            f"{purpose}; built on {built_on}" if needs else purpose,
            implements=list(dict.fromkeys(name for row in group for name in row["requirements"] if name in known)),
            needs=[config, *needs],
            interface=[declare_component(row["name"], symbols) for row in group],
            components=[row["id"] for row in group],
        )
    return list(files.values())


def _uses(groups: Sequence[Sequence[Row]], known: Mapping[str, str]) -> list[set[int]]:
    """For each group the others whose components it speaks of, clearly more than they speak of its own."""
    texts = [
        " ".join(f" {' '.join(name_words(text))} " for row in group for text in _texts(row, known)) for group in groups
    ]
    names = [{f" {' '.join(name_words(row['name']))} " for row in group} for group in groups]
    labels = [{f" {str(row['algorithm']).lower()} " for row in group if row.get("algorithm")} for group in groups]

    def count(one: int, other: int) -> int:
        return sum(texts[one].count(name) for name in (*(names[other] - names[one]), *labels[other]))

    return [
        {
            other
            for other in range(len(groups))
            if other != one and count(one, other) >= _SPOKEN_OF and count(one, other) > _CLEARLY * count(other, one)
        }
        for one in range(len(groups))
    ]


def _texts(row: Row, known: Mapping[str, str]) -> list[str]:
    return [row["what"], *row.get("steps", ()), *(known[name] for name in row["requirements"] if name in known)]


def _order(used: Sequence[set[int]]) -> list[int]:
    """The groups in the order of the paper, each after those that it uses; a circle is cut at its first."""
    order: list[int] = []
    left = list(range(len(used)))
    while left:
        free = next((place for place in left if not used[place].intersection(left)), left[0])
        left.remove(free)
        order.append(free)
    return order


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
    """The components in a few groups: those of one section stand together, and the smallest join a neighbour of their chapter."""
    groups: list[list[Row]] = []
    for row in components:
        # what was asked for at the review joins what is there: no file gets another name for it
        if groups and row["source"]["section"] in (groups[-1][0]["source"]["section"], "review"):
            groups[-1].append(row)
        else:
            groups.append([row])

    def cost(place: int) -> tuple[bool, int]:
        one, other = groups[place], groups[place + 1]
        size = sum(_OF_COMPONENT + len(row["requirements"]) for row in (*one, *other))
        return _chapter(one[-1]) != _chapter(other[0]), size

    most = min(_MOST_MODULES, -(-len(components) // _FEWEST_EACH))
    while len(groups) > most:
        at = min(range(len(groups) - 1), key=cost)
        groups[at : at + 2] = [[*groups[at], *groups[at + 1]]]
    # the file is named after the component of which the paper says most
    return [
        sorted(group, key=lambda row: -len(row["requirements"]) - 3 * bool(row.get("algorithm"))) for group in groups
    ]


def _chapter(row: Mapping[str, Any]) -> str:
    return str(row["source"]["section"] or "").partition(".")[0]


def _literal(row: Mapping[str, Any]) -> str:
    return repr(row["value"] if "value" in row else tuple(row["values"]))
