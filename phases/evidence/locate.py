"""Locate each requirement and value of the plan in the code: cited, in the files that the plan names for it, or by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from phases.evidence.demands import demands_of, is_value
from phases.evidence.names import find_by_name
from phases.evidence.places import (
    CLASS,
    DATA,
    FUNCTION,
    PLANNED,
    TEXT,
    Place,
    find_places,
    is_test_file,
    last_names,
    read_keys,
    split_lines,
    walk_definitions,
    whole_module,
)
from phases.evidence.stubs import Function, is_stub, last_word
from phases.workspace.syntax import parse_python
from phases.workspace.workspace import Workspace, WorkspaceError

_BUILT = frozenset(("target", "build", "dist", "CMakeFiles", "node_modules", "__pycache__", "site-packages"))
"""Directories of what tools made or fetched."""
_TAG = re.compile(r"\\tag\{([^{}]+)\}")


def read_sources(workspace: Workspace) -> dict[str, str]:
    """Return the text files of a workspace by path, without hidden, built and binary ones, and those that cannot be read."""
    sources = {}
    for path in workspace.paths():
        if not any(part.startswith(".") or part in _BUILT for part in path.split("/")[:-1]):
            try:
                text = workspace.read(path)
            except WorkspaceError:
                continue
            if "\0" not in text and not path.rsplit("/", 1)[-1].startswith("."):
                sources[path] = text
    return sources


def locate_demands(plan: Mapping[str, Any], sources: Mapping[str, str]) -> list[Place]:
    """Return the places of all requirements and values of a plan, each with how it was found.

    A citation of the id counts before one of the equation or algorithm, and that before one of the section. Without a
    citation a requirement is in the files that the plan names for it, else where a name fits; a value the other way round.
    """
    demands = demands_of(plan)
    keys = {str(row["id"]): _keys_of(row) for row in demands}
    cited = _cited_places(sources, {key for wanted in keys.values() for key in wanted})
    overrides = _find_overrides(sources)
    by_name, wholes = find_by_name(plan, sources), _whole_files(plan, sources, overrides)
    # a requirement may be about the tests themselves; which tests run these says nothing
    tests = {path: Place("", path, "(file)", 1, 1, DATA, how=PLANNED) for path in sources if is_test_file(path)}
    found = list[Place]()
    for row in demands:
        name = str(row["id"])
        at = next((cited[key] for key in keys[name] if key in cited), [])
        planned, named = list(_planned_places(row, plan, wholes)), by_name.get(name, [])
        at = at or (named or planned if is_value(row) else planned or named) or list(_planned_places(row, plan, tests))
        found += [other._replace(identifier=name) for place in at for other in _with_overrides(place, overrides)]
    return found


def _keys_of(row: Mapping[str, Any]) -> list[str]:
    """Return what code may cite for a requirement, the most specific key first."""
    source: Mapping[str, Any] = row.get("source") or {}
    said = f"{row['text']} {source.get('quote') or ''}"
    numbered = [f"equation {number}" for number in _TAG.findall(str(row.get("formula") or ""))]
    numbered += [key for key in read_keys(said) if key.startswith(("equation", "algorithm"))]
    section = str(source.get("section") or "").split(" ")[0].rstrip(".")
    own = [] if is_value(row) else [*numbered, *([f"section {section}"] if section else [])]
    return [str(row["id"]), *dict.fromkeys(own)]


def _cited_places(sources: Mapping[str, str], wanted: Collection[str]) -> dict[str, list[Place]]:
    cited = dict[str, list[Place]]()
    for path, source in sources.items():
        for place in find_places(path, source, wanted):
            cited.setdefault(place.identifier, []).append(place)
    return cited


def _planned_places(row: Mapping[str, Any], plan: Mapping[str, Any], wholes: Mapping[str, Place]) -> Iterator[Place]:
    """Yield the files that the plan names for a requirement and that are there, each as a whole."""
    name, component = str(row["id"]), row.get("component")
    for file in plan["file_structure"]:
        named = name in file.get("implements", ()) or (component and component in file.get("components", ()))
        if named and file["path"] in wholes:
            yield wholes[file["path"]]


def _whole_files(plan: Mapping[str, Any], sources: Mapping[str, str], overrides: Collection[str]) -> dict[str, Place]:
    """Return the existing planned files other than tests, as places without an id."""
    paths = [file["path"] for file in plan["file_structure"]]
    return {
        path: _whole_file(path, sources[path], overrides)
        for path in paths
        if path in sources and not is_test_file(path)
    }


def _whole_file(path: str, source: str, overrides: Collection[str]) -> Place:
    tree = parse_python(source) if path.endswith(".py") else None
    count = len(split_lines(source))
    if tree is None:
        return Place("", path, path.rsplit("/", 1)[-1], 1, count, TEXT, how=PLANNED)
    return whole_module(path, tree, count, overrides)._replace(how=PLANNED)


def _find_overrides(sources: Mapping[str, str]) -> dict[str, list[Place]]:
    """Return the methods that do something by each `Class.method` of a class above theirs."""
    trees = {path: parse_python(text) for path, text in sources.items() if path.endswith(".py")}
    classes = [
        (path, one.symbol, one.node)
        for path, tree in trees.items()
        if tree and not is_test_file(path)
        for one in walk_definitions(tree)
        if isinstance(one.node, ast.ClassDef)
    ]
    parents = dict[str, set[str]]()
    for _, _, node in classes:
        bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
        parents.setdefault(node.name, set()).update(map(last_word, bases))
    found = dict[str, list[Place]]()
    for path, symbol, node in classes:
        methods = [each for each in node.body if isinstance(each, Function) and not is_stub(each)]
        for method in methods:
            end = method.end_lineno or method.lineno
            place = Place(
                "", path, f"{symbol}.{method.name}", method.lineno, end, FUNCTION, body=((method.body[0].lineno, end),)
            )
            for parent in _ancestors(node.name, parents):
                found.setdefault(f"{parent}.{method.name}", []).append(place)
    return found


def _ancestors(name: str, parents: Mapping[str, Collection[str]]) -> set[str]:
    found, todo = set[str](), [name]
    while todo:
        todo += (new := set(parents.get(todo.pop(), ())) - found)
        found |= new
    return found - {name, ""}


def _with_overrides(place: Place, overrides: Mapping[str, Sequence[Place]]) -> list[Place]:
    """Return a place and, if it leaves its work to subclasses, the methods of theirs that do it."""
    if not (place.is_stub or place.is_abstract) or place.kind not in (FUNCTION, CLASS):
        return [place]
    own = place.symbol.rpartition(".")[2]
    keys = (
        [last_names(place.symbol)]
        if place.kind == FUNCTION
        else [key for key in overrides if key.startswith(f"{own}.")]
    )
    methods = [method._replace(how=place.how) for key in keys for method in overrides.get(key, ())]
    return [place._replace(is_abstract=True), *methods] if methods else [place]


def find_tests(names: Sequence[str], sources: Mapping[str, str]) -> list[Place]:
    """Return the places of Python tests by their names (`path::Class::test`), as far as they are there."""
    found = list[Place]()
    for name in names:
        path, *parts = name.split("::")
        tree = parse_python(sources.get(path, "")) if path.endswith(".py") else None
        node = (
            next((one.node for one in walk_definitions(tree) if one.symbol == ".".join(parts)), None) if tree else None
        )
        if isinstance(node, Function):
            found.append(Place("", path, ".".join(parts), node.lineno, node.end_lineno or node.lineno, FUNCTION))
    return found


def describe_places(places: Sequence[Place]) -> str:
    """Return the first three distinct place names, joined."""
    return ", ".join(list(dict.fromkeys(place.name for place in places))[:3])
