"""Convert between the form in which a model writes a plan and the plan as stored.

It is the plan's own form without what can be looked up or counted: a row has its `quote` and no source, results are tables
as the paper prints them, and the files need no order. A row that already has a source keeps it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice
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
    """Return whether a reply has all required parts of a plan; such a reply replaces the whole plan."""
    return {*value} >= _WHOLE


def replace_rows(draft: Mapping[str, Any], value: Mapping[str, Any], schema: Mapping[str, Any]) -> Row:
    """Return the reply that was refused, with what mends it in place: rows under the name of a row replace it, new ones follow.

    Results have no names in a reply, so their list is replaced, and so is all that is no list of rows.
    """
    gone = value.get(STRUCK)
    struck = {name for name in gone if isinstance(name, str)} if isinstance(gone, list) else set[str]()
    made = {name: said for name, said in {**draft, **value}.items() if name in schema["properties"]}
    for name, key in KEYS.items():
        before, after = (one.get(name, []) for one in (draft, value))
        if name == "expected_results" or not isinstance(before, list):
            continue
        if not isinstance(after, list):  # a row outside of a list, say: nothing that can be told is lost
            made[name] = before
            continue
        new = {row[key]: row for row in after if isinstance(row, dict) and isinstance(row.get(key), str)}
        others = [row for row in after if row not in new.values()]
        rows = list[Any]()
        for row in before:
            own = row.get(key) if isinstance(row, dict) else None
            if not isinstance(own, str) or own not in {*struck, *new}:
                rows.append(row)
            elif own in new and new[own] not in rows:  # a name that stood twice is replaced once
                rows.append(new[own])
        rest = [row for row in new.values() if row not in rows]
        made |= {name: [*rows, *rest, *others]} if name in made else {}
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


SOURCED = ("requirements", "components", "values", "datasets", "metrics", "baselines")
"""The lists of a plan whose rows have a source."""
OPTIONAL = ("components", "values", "datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain")
"""Lists that are empty where a reply does not have them."""
_OF_PAPERS = ("datasets", "metrics", "baselines", "expected_results", "experiments")
MOST, MOST_RESULTS = 250, 400
"""Rows of one list, and expected results: nobody reviews more."""
_MOST_COUNTED = 5000
"""Results that are counted to say by how many they are too many."""
_DROPPED = ("$schema", "title", "description", "examples", "default", "mayBePlaceholder", "volatile", "oneOf")
_NOT_ASKED = ("todos", "user_requests", "tables", "source")
# decision 83: todos are a person's, and no model can drop or weaken them.
_COUNTED = ("source", "status", "requirements", "results", "owner", "kind")
"""What a row need not say, because it is looked up, counted or usual."""
_LENGTH = 240
_LENGTHS = {
    "title": 300, "core_contribution": 800, "text": 400, "quote": 300, "purpose": 400, "name": 80, "packages": 80,
    "equations": 400, "what": 400, "formula": 400, "steps": 300,
}  # fmt: skip
_MOST_ROWS = {"requirements": 60, "file_structure": 40, "verify_commands": 6, "packages": 40, "values": 150}
_MOST_OTHERS = 60
_PART = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,38}"
_PATTERNS = {f"^{letter}[0-9]+$": f"^{letter}[0-9]{{1,4}}$" for letter in ("R", "V", "C", "E", "X", "[RV]")}
_PATH = f"^{_PART}(/{_PART}){{0,4}}$"
_TEXT = {"type": "string", "maxLength": 160}
_PAGE = {"type": "integer", "minimum": 0}
_CELL = {"type": ["string", "number", "integer"], "maxLength": 80}
_STRUCK_ROWS = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": MOST}
_TABLE = {
    "table": _TEXT,
    "page": _PAGE,
    "metric": _TEXT,
    "unit": _TEXT,
    "condition": _TEXT,
    "columns": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 30},
    "rows": {
        "type": "array",
        "items": {"type": "array", "items": _CELL, "minItems": 2, "maxItems": 31},
        "maxItems": 60,
    },
}
"""A table of results: each row begins with its label, and has a cell for each column; an empty cell is ""."""
_ID = re.compile(r"E[0-9]+")
_NO_CODE = (".md", ".txt", ".toml", ".json", ".yaml", ".yml", "Makefile")
_NO_CELL = ("", "-", "–", "—")


def reply_form(schema: Mapping[str, Any], *, is_change: bool) -> Row:
    """Return the schema that a reply has to meet, made from the schema of a plan."""
    made = {name: dict(rule) for name, rule in schema["properties"].items()}
    for name in KEYS:
        rows = made[name]["items"]
        properties = dict(rows["properties"])
        if name in SOURCED:
            properties |= {"quote": {"type": "string"}, "page": _PAGE}
        required = [KEYS[name]] if is_change else [key for key in rows["required"] if key not in _COUNTED]
        required += ["kind"] if name == "requirements" and not is_change else []
        made[name] = {**made[name], "minItems": 0, "items": {**rows, "properties": properties, "required": required}}
        if is_change:
            made[name]["items"].pop("oneOf", None)  # a row of a change says what differs
    results = made["expected_results"]["items"]
    of_both = {**results, "properties": {**_TABLE, **results["properties"]}, "required": ["table"] * (not is_change)}
    made["expected_results"] = {"type": "array", "items": of_both}
    experiments = made["experiments"]["items"]
    made["experiments"]["items"] = {
        **experiments,
        "properties": {**experiments["properties"], "results": {"type": "array", "items": _TEXT}},
    }
    if is_change:
        return {**schema, "properties": {**made, STRUCK: _STRUCK_ROWS}, "required": []}
    made["file_structure"]["minItems"] = made["requirements"]["minItems"] = 1
    optional = ("implementation_strategy", *OPTIONAL)
    return {**schema, "properties": made, "required": [key for key in schema["required"] if key not in optional]}


def mending_form(form: Mapping[str, Any]) -> Row:
    """Return the schema of a reply that mends one that was refused: what changes alone, and the names of rows that go."""
    return {**form, "properties": {**form["properties"], STRUCK: _STRUCK_ROWS}, "required": []}


def server_form(form: Mapping[str, Any], *, is_request: bool) -> Row:
    """Return that schema as a server is given it: an end to each text and list, and nothing that is not asked for.

    Of a paper each row but a requirement has to quote something; a request has no results, and need not be quoted.
    """
    made = _bounded(form)
    lists = made["properties"]
    table = {
        "type": "object",
        "additionalProperties": False,
        "properties": _TABLE,
        "required": ["table", "columns", "rows"],
    }
    lists["expected_results"] = {"type": "array", "items": table, "maxItems": 40}
    if is_request:
        made["properties"] = {name: rule for name, rule in lists.items() if name not in _OF_PAPERS}
    elif made["required"]:
        for name in SOURCED[1:]:
            more = ["owner", "kind", "quote"] if name == "values" else ["quote"]
            lists[name]["items"]["required"] = [*lists[name]["items"]["required"], *more]
        made["required"] = [*made["required"], *OPTIONAL]
    return made


def _bounded(schema: Mapping[str, Any], name: str = "") -> Row:
    made = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "properties" in made:
        kept = {key: value for key, value in made["properties"].items() if key not in _NOT_ASKED}
        made["properties"] = {key: _bounded(value, key) for key, value in kept.items()}
    if "items" in made:
        made["items"] = _bounded(made["items"], name)
        made.setdefault("maxItems", _MOST_ROWS.get(name, _MOST_OTHERS))
    if name == "verify_commands" and "items" in made:
        made["minItems"] = 1
    types = made.get("type", ())
    if "pattern" in made:
        made["pattern"] = _PATTERNS.get(made["pattern"], _PATH if "/" in made["pattern"] else made["pattern"])
        made.pop("maxLength", None)  # the pattern has an end itself, and grammars know one or the other
    elif "string" in ((types,) if isinstance(types, str) else types):
        made["maxLength"] = min(made.get("maxLength", 10**6), _LENGTHS.get(name, _LENGTH))
    return made


def complete_plan(value: Mapping[str, Any], present: Mapping[str, Any] | None = None) -> Row:
    """Return the plan that a reply stands for, or that its change makes of the present one. The reply meets `reply_form`."""
    plan = dict(value) if present is None else patch_plan(present, value)
    for name in SOURCED:
        if name in plan:
            plan[name] = [_with_source(name, row) for row in plan[name]]
    if "components" in plan:
        plan["components"] = list(_with_requirements(plan["components"], plan.get("requirements", ())))
    if "expected_results" in plan:
        taken = [int(row["id"][1:]) for row in [*plan["expected_results"], *(present or {}).get("expected_results", ())]
                 if "id" in row]  # fmt: skip
        odd = [one for row in plan["expected_results"] if "rows" in row for one in _ragged(row)]
        plan["expected_results"] = list(islice(_cells(plan["expected_results"], max(taken, default=0)), _MOST_COUNTED))
        if odd:
            told = {"what": f"Rows that do not fit their heads are left out: {'; '.join(odd[:8])}"}
            plan["uncertain"] = [*plan.get("uncertain", ()), told]
    if "experiments" in plan:
        plan["experiments"] = list(_with_results(plan["experiments"], plan.get("expected_results", ())))
    if plan.get("file_structure"):
        plan["file_structure"] = list(_with_implements(plan, present or {}))
        if not _is_order(plan.get("implementation_strategy", ()), plan["file_structure"]) and (
            present is not None or "implementation_strategy" not in plan
        ):
            plan["implementation_strategy"] = _order_files(plan["file_structure"])
    return plan


def in_form(row: Mapping[str, Any]) -> Row:
    """Return a row of a plan as a model writes it."""
    return {**{key: value for key, value in row.items() if key != "source"}, "quote": row["source"]["quote"]}


def _with_source(name: str, row: Row) -> Row:
    made = {key: value for key, value in row.items() if key not in ("quote", "page")}
    if "quote" in row or "source" not in row:
        made["source"] = {"section": None, "page": row.get("page", 0), "quote": row.get("quote", "")}
    if name == "values":
        made.setdefault("owner", "method")
        made.setdefault("kind", "hyperparameter")
    if name in ("requirements", "values") and "status" not in row:
        is_quoted = made["source"]["quote"] or "source" in row
        made |= (
            {"status": "stated"}
            if is_quoted and name == "requirements"
            else {}
            if is_quoted
            else {"status": "inferred"}
        )
    return made


def _with_requirements(components: Sequence[Row], requirements: Sequence[Row]) -> Iterator[Row]:
    """Yield the components, each with the requirements that it lists or that name it."""
    home = {row.get("id"): row.get("component") for row in requirements}
    for row in components:
        listed = [one for one in row.get("requirements", ()) if home.get(one) in (None, row["id"])]
        yield {**row, "requirements": list(dict.fromkeys([*listed, *(one for one in home if home[one] == row["id"])]))}


def _cells(tables: Sequence[Row], number: int) -> Iterator[Row]:
    """Yield a row for each cell of the tables, numbered behind `number`; cells stay as they are."""
    for table in tables:
        if "rows" not in table:
            yield table
            continue
        heads = _heads(table)
        beside = {key: table[key] for key in ("condition", "metric", "unit") if table.get(key)}
        for label, *cells in (row for row in table["rows"] if len(row) == len(heads) + 1):
            for column, cell in zip(heads, cells, strict=True):
                if cell not in _NO_CELL:
                    number += 1
                    place = {"table": table["table"], "row": str(label), "column": str(column)}
                    yield {"id": f"E{number}", **place, **beside, "value": cell, "page": table.get("page", 0)}


def _heads(table: Row) -> Sequence[str]:
    """Return the heads, without the one over the labels where a model gives that, too."""
    columns: list[str] = table.get("columns", [])
    return columns[1:] if len(columns) == max(map(len, table["rows"]), default=0) else columns


def _ragged(table: Row) -> list[str]:
    """Return the rows that have more or fewer cells than their table has heads, by table and label."""
    width = len(_heads(table)) + 1
    return [f"{table['table']}, {row[0]}"[:60] for row in table["rows"] if len(row) != width]


def _with_results(experiments: Sequence[Row], results: Sequence[Row]) -> Iterator[Row]:
    """Yield the experiments, with the ids of all results in the tables that they name."""
    of_table: dict[str, list[str]] = defaultdict(list)
    for row in results:
        of_table[_plain(row["table"])].append(row["id"])
    for row in experiments:
        names = dict.fromkeys(row.get("results", ()))
        ids = [one for name in names for one in ([name] if _ID.fullmatch(name) else of_table[_plain(name)])]
        yield {**row, "results": list(dict.fromkeys(ids))} if "results" in row else row


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _with_implements(plan: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the files, and in them what no file implements: a requirement with its component, a value with other values.

    Of a present plan only what is new is given to a file, and what a struck file implemented.
    """
    files: list[Row] = plan["file_structure"]
    have = {row["path"]: list(row.get("implements", ())) for row in files}
    known = {row["id"] for name in ("requirements", "values") for row in present.get(name, ())}
    gone = [row for row in present.get("file_structure", ()) if row["path"] not in have]
    done = known - {one for row in gone for one in row.get("implements", ())}
    done |= {one for names in have.values() for one in names}
    homes = {part: row["path"] for row in reversed(files) for part in row.get("components", ())}
    code = [path for path in have if not path.startswith("tests/") and not path.endswith(_NO_CODE) and "__" not in path]
    code = code or [files[0]["path"]]
    settings = [path for path in code if any(one.startswith("V") for one in have[path])]
    settings += [path for path in code if "config" in path or "settings" in path] + code[:1]
    for row in plan.get("requirements", ()):
        home = homes.get(row.get("component"), "")
        is_elsewhere = (
            not present and home and row["id"] not in have[home]
        )  # such as with its number among the settings
        if row["id"] not in done or is_elsewhere:
            have[home or code[-1]].append(row["id"])
    for row in plan.get("values", ()):
        if row["id"] not in done and row.get("kind") != "fact":
            have[settings[0]].append(row["id"])
    for row in files:
        yield {**row, "implements": have[row["path"]]} if have[row["path"]] else row


def _is_order(paths: Sequence[str], files: Sequence[Row]) -> bool:
    """Return whether these are the paths of the files, each after its dependencies."""
    place = {path: number for number, path in enumerate(paths)}
    needs = ((row["path"], one) for row in files for one in row.get("depends_on", ()))
    return {row["path"] for row in files} == {*place} and all(place.get(one, -1) < place[path] for path, one in needs)


def _order_files(files: Sequence[Row]) -> list[str]:
    """Return the paths, each behind those that it depends on, else as they are listed; as listed where they go in a circle."""
    place = {row["path"]: number for number, row in enumerate(files)}
    sorter = TopologicalSorter(
        {row["path"]: [one for one in row.get("depends_on", ()) if one in place] for row in files}
    )
    try:
        sorter.prepare()
    except CycleError:
        return list(place)
    ordered, ready = list[str](), list(sorter.get_ready())
    while ready:
        path = min(ready, key=place.__getitem__)
        ready.remove(path)
        ordered.append(path)
        sorter.done(path)
        ready += sorter.get_ready()
    return ordered
