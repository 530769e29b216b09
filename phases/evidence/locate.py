"""Locate each requirement and value of the plan in the code: cited, in the files that the plan names for it, or by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from phases.evidence.demands import demands_of, is_value
from phases.evidence.names import find_by_name
from phases.evidence.places import (
    FUNCTION,
    MODULE,
    PLANNED,
    TEXT,
    Place,
    find_places,
    is_test_file,
    read_keys,
    split_lines,
    walk_definitions,
)
from phases.evidence.stubs import Function, is_stub
from phases.workspace.syntax import parse_python
from phases.workspace.workspace import Workspace, WorkspaceError

_TAG = re.compile(r"\\tag\{([^{}]+)\}")


def read_sources(workspace: Workspace) -> dict[str, str]:
    """Return the text files of a workspace by path, without hidden ones; unreadable files are left out."""
    sources = {}
    for path in workspace.paths():
        if not any(part.startswith(".") for part in path.split("/")):
            try:
                sources[path] = workspace.read(path)
            except WorkspaceError:
                continue
    return sources


def locate_demands(plan: Mapping[str, Any], sources: Mapping[str, str]) -> list[Place]:
    """Return the places of all requirements and values of a plan, each with how it was found.

    A citation of the id counts before one of the equation or algorithm, and that before one of the section. Without a
    citation a requirement is in the files that the plan names for it, else where a name fits; a value the other way round.
    """
    demands = demands_of(plan)
    keys = {str(row["id"]): _keys_of(row) for row in demands}
    cited = _cited_places(sources, {key for wanted in keys.values() for key in wanted})
    by_name, wholes = find_by_name(plan, sources), _whole_files(plan, sources)
    found = list[Place]()
    for row in demands:
        name = str(row["id"])
        at = next((cited[key] for key in keys[name] if key in cited), [])
        planned, named = list(_planned_places(row, plan, wholes)), by_name.get(name, [])
        at = at or (named or planned if is_value(row) else planned or named)
        found += [place._replace(identifier=name) for place in at]
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


def _whole_files(plan: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, Place]:
    """Return the planned files that are there and are no tests, as places without an id."""
    paths = [file["path"] for file in plan["file_structure"]]
    return {path: _whole_file(path, sources[path]) for path in paths if path in sources and not is_test_file(path)}


def _whole_file(path: str, source: str) -> Place:
    tree = parse_python(source) if path.endswith(".py") else None
    count = len(split_lines(source))
    if tree is None:
        return Place("", path, path.rsplit("/", 1)[-1], 1, count, TEXT, how=PLANNED)
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    stub = bool(functions) and all(map(is_stub, functions))
    body = tuple((each.body[0].lineno, each.end_lineno or each.lineno) for each in functions) or ((1, count),)
    return Place("", path, "(module)", 1, count, MODULE, is_stub=stub, body=body, how=PLANNED)


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
