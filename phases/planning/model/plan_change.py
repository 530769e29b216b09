"""A change of a plan as a model tells it: rows that are new or other, and the names of those that go; all else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
KEYS = {
    "requirements": "id", "components": "id", "values": "id", "datasets": "name", "metrics": "name", "baselines": "name",
    "expected_results": "id", "experiments": "id", "file_structure": "path",
}  # fmt: skip
"""The lists whose rows have a name, by which a change puts others in their place."""
STRUCK = "struck"
_MOST_STRUCK = 250
_NAMING = {
    "components": ("requirements",), "experiments": ("results",), "file_structure": ("components", "implements", "depends_on"),
}  # fmt: skip
"""Where rows name others: what is struck is named no more."""
_LINKS = ("implements", "requirements", "depends_on", "interface", "components", "component", "results", "verify")
"""Fields that a changed row keeps unless it sets them: a model that rewords a row does not mean to cut its links."""
_WHOLE = {"plan_version", "paper", "requirements", "file_structure", "validation_approach", "environment_setup"}


def is_whole(value: Mapping[str, Any]) -> bool:
    """Whether a reply has all that a plan must have: who sends all of it again, changes it so."""
    return {*value} >= _WHOLE


def is_patched(present: Mapping[str, Any] | None) -> bool:
    """Whether a change of this plan is told as a change alone; one of version 1 is planned anew."""
    return present is not None and present["plan_version"] > 1


def change_schema(schema: Mapping[str, Any]) -> Row:
    """The schema of a change, of the short form's: no key is wanted, and `struck` names the rows that go."""
    struck = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": _MOST_STRUCK}
    lists = {name: {**schema["properties"][name], "minItems": 0} for name in KEYS}
    return {**schema, "properties": {**schema["properties"], **lists, STRUCK: struck}, "required": []}


def is_rows(rows: object) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def patch_plan(present: Mapping[str, Any], value: Mapping[str, Any]) -> Row:
    """The present plan with the rows of a reply in the place of theirs or behind them, and without those that are struck."""
    plan = {**present, **{key: rows for key, rows in value.items() if key != STRUCK}}
    struck = {str(name) for name in value[STRUCK]} if isinstance(value.get(STRUCK), list) else set[str]()
    for name, key in KEYS.items():
        if not is_rows(plan[name]):
            continue  # the schema says what is wrong with it
        known, said, new = {row[key]: row for row in present[name]}, dict[str, Row](), list[Row]()
        for row in value.get(name) or ():
            named = row.get(key)
            if isinstance(named, str) and named in known and named not in said:
                said[named] = row
            else:
                new.append(row)
        kept = [row for row in present[name] if row[key] not in struck]
        # a row that says its name alone is one that stays
        changed = {one: {**_links_of(known[one]), **row} for one, row in said.items() if len(row) > 1}
        plan[name] = [changed.get(row[key], row) for row in kept] + new
    if is_rows(value.get("uncertain")):
        plan["uncertain"] = [
            *present["uncertain"],
            *(row for row in value["uncertain"] if row not in present["uncertain"]),
        ]
    for name, keys in _NAMING.items() if struck else ():
        if is_rows(plan[name]):
            plan[name] = [_without_names(row, keys, struck) for row in plan[name]]
    if struck and is_rows(plan["requirements"]):
        plan["requirements"] = [
            {key: said for key, said in row.items() if key != "component" or said not in struck}
            for row in plan["requirements"]
        ]
    if "implementation_strategy" not in value and not _is_order(
        present["implementation_strategy"], plan["file_structure"]
    ):
        del plan["implementation_strategy"]
    return plan


def new_names(plan: Mapping[str, Any], present: Mapping[str, Any]) -> set[str]:
    """The ids of requirements and values that are new, or requirements that have another component now."""
    before = {row["id"]: row.get("component") for name in ("requirements", "values") for row in present[name]}
    rows = [row for name in ("requirements", "values") if is_rows(plan.get(name)) for row in plan[name]]
    return {str(row.get("id")) for row in rows if before.get(str(row.get("id")), "new") != row.get("component")}


def _links_of(row: Mapping[str, Any]) -> Row:
    return {field: row[field] for field in _LINKS if field in row}


def _without_names(row: Row, keys: tuple[str, ...], struck: set[str]) -> Row:
    lists = {key: [one for one in row[key] if one not in struck] for key in keys if isinstance(row.get(key), list)}
    return {**row, **{key: names for key, names in lists.items() if names != row[key]}}


def _is_order(paths: list[str], files: object) -> bool:
    """Whether these are the paths of the files, each after those that it depends on."""
    rows = files if isinstance(files, list) and is_rows(files) else []
    place = {path: number for number, path in enumerate(paths)}
    if {row.get("path") if isinstance(row.get("path"), str) else None for row in rows} != {*paths}:
        return False
    needs = ((row["path"], one) for row in rows for one in row.get("depends_on") or () if isinstance(one, str))
    return all(place.get(one, -1) < place[path] for path, one in needs)
