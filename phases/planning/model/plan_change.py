"""A change of a plan as a model tells it: what differs, and the names of rows that go; all else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
KEYS = {
    "requirements": "id", "components": "id", "values": "id", "datasets": "name", "metrics": "name", "baselines": "name",
    "expected_results": "id", "experiments": "id", "file_structure": "path",
}  # fmt: skip
"""The lists whose rows have a name, by which a change finds them."""
STRUCK = "struck"
_NAMING = ("requirements", "results", "components", "implements", "depends_on")
"""Where rows name others: what is struck is named no more."""
_WHOLE = {"plan_version", "paper", "requirements", "file_structure", "validation_approach", "environment_setup"}


def is_whole(value: Mapping[str, Any]) -> bool:
    """Whether a reply has all that a plan must have: who sends all of it again, changes it so."""
    return {*value} >= _WHOLE


def replace_rows(draft: Mapping[str, Any], value: Mapping[str, Any], schema: Mapping[str, Any]) -> Row:
    """Return the reply that was refused, with what mends it in place: rows under the name of a row replace it, new ones follow.

    Results have no names in a reply, so their list is replaced, and so is all that is no list of rows.
    """
    gone = value.get(STRUCK)
    struck = gone if isinstance(gone, list) else []
    made = {name: said for name, said in {**draft, **value}.items() if name in schema["properties"]}
    for name, key in KEYS.items():
        before, after = (one.get(name, []) for one in (draft, value))
        if name == "expected_results" or not (isinstance(before, list) and isinstance(after, list)):
            continue
        new = {row[key]: row for row in after if isinstance(row, dict) and isinstance(row.get(key), str)}
        others = [row for row in after if row not in new.values()]
        names = [row.get(key) if isinstance(row, dict) else None for row in before]
        stay = [(one, row) for one, row in zip(names, before, strict=True) if one not in struck or one in new]
        rows = [new.pop(one, row) if isinstance(one, str) else row for one, row in stay]
        made |= {name: [*rows, *new.values(), *others]} if name in made else {}
    return made


def patch_plan(present: Mapping[str, Any], value: Mapping[str, Any]) -> Row:
    """Return the present plan with the rows of a change in it. A row keeps what the change does not say of it."""
    sent = {row.get(key) for name, key in KEYS.items() for row in value.get(name, ())}
    struck = set(value.get(STRUCK, ())) - sent  # a row that is sent again under its name is replaced
    plan = {**present, **{key: said for key, said in value.items() if key != STRUCK}}
    for name, key in KEYS.items():
        said: dict[str, Row] = {}
        new: list[Row] = []
        known = {row[key] for row in present[name]}
        for row in value.get(name, ()):
            if row.get(key) in known:
                said[row[key]] = {**said.get(row[key], {}), **row}
            else:
                new.append(row)
        rows = [_merge(row, said.get(row[key], {})) for row in present[name] if row[key] not in struck]
        plan[name] = [_without_names(row, struck) for row in [*rows, *new]] if struck else [*rows, *new]
    if "uncertain" in value:
        plan["uncertain"] = [
            *present["uncertain"],
            *(one for one in value["uncertain"] if one not in present["uncertain"]),
        ]
    return plan


def _merge(row: Row, said: Mapping[str, Any]) -> Row:
    """Return the row with what is said of it: of one value and several, the one that is said."""
    other = {"value": "values", "values": "value"}
    return {key: kept for key, kept in row.items() if other.get(key) not in said} | {**said}


def _without_names(row: Row, struck: set[str]) -> Row:
    lists = {key: [one for one in row[key] if one not in struck] for key in _NAMING if isinstance(row.get(key), list)}
    kept = {key: said for key, said in row.items() if key != "component" or said not in struck}
    return {**kept, **{key: names for key, names in lists.items() if names != row[key]}}
