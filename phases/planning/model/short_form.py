"""The form in which a model writes a plan: shorter than the plan's own, since what can be looked up or counted is not asked for.

A row has its quote, and no section and page; results are written as the paper's tables; a requirement in the paper's words
needs no quote; a file that names its components need not list their requirements. A plan in its own form is taken as it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import Any, TypeGuard

Row = dict[str, Any]
_SOURCED = ("requirements", "components", "values", "datasets", "metrics", "baselines")
_STRING = {"type": "string", "maxLength": 160}
_QUOTE = {"type": "string", "maxLength": 300}
_CELL = {"type": ["string", "number", "integer"], "maxLength": 80}
_TABLE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["table", "columns", "rows"],
    "properties": {
        "table": _STRING,
        "page": {"type": "integer", "minimum": 0},
        "metric": _STRING,
        "unit": _STRING,
        "condition": _STRING,
        "columns": {"type": "array", "items": _STRING, "minItems": 1, "maxItems": 30},
        "rows": {
            "type": "array",
            "items": {"type": "array", "items": _CELL, "minItems": 2, "maxItems": 31},
            "minItems": 1,
            "maxItems": 60,
        },
    },
}
"""A table of results: each row begins with its label, and has a cell for each column; an empty cell is ""."""
_OPTIONAL = {"components": ("requirements",), "requirements": ("status",), "values": (), "experiments": ()}
_KEYS = {
    "requirements": "id", "components": "id", "values": "id", "datasets": "name", "metrics": "name", "baselines": "name",
    "expected_results": "id", "experiments": "id", "file_structure": "path",
}  # fmt: skip
"""The lists whose rows have a name, by which a change puts others in their place."""
STRUCK = "struck"
_WHOLE = {"plan_version", "paper", "requirements", "file_structure", "validation_approach", "environment_setup"}
"""The keys of a whole plan: who sends all of it again, changes it so."""
_WITH_DEVIATION = re.compile(
    r"([-+]?[0-9]{1,12}(?:\.[0-9]{1,12})?) ?(?:(?:±|\+/-|\\pm) ?[0-9.]{1,12}|\([0-9.]{1,12}\)) ?%?"
)
_ID_OF_RESULT = re.compile(r"E[0-9]{1,9}")


def short_schema(schema: Mapping[str, Any]) -> Row:
    """The schema of a plan in the short form, of the restricted schema of a plan."""
    kept = {name: dict(rule) for name, rule in schema["properties"].items() if name != "tables"}
    for name in _SOURCED:
        kept[name] = {**kept[name], "items": _without_source(name, kept[name]["items"])}
    kept["expected_results"] = {"type": "array", "items": _TABLE, "maxItems": 40}
    experiments = kept["experiments"]["items"]
    results = {"type": "array", "items": _STRING, "maxItems": 40}
    named = {**experiments, "properties": {**experiments["properties"], "results": results}}
    kept["experiments"] = {**kept["experiments"], "items": named}
    required = [name for name in schema["required"] if name != "implementation_strategy"]
    return {**schema, "properties": kept, "required": required}


def _without_source(name: str, items: Mapping[str, Any]) -> Row:
    rules = {key: rule for key, rule in items["properties"].items() if key != "source"}
    optional = ("source", *_OPTIONAL.get(name, ()))
    required = [key for key in items["required"] if key not in optional]
    if name != "requirements":
        required.append("quote")
    return {
        **items,
        "properties": {**rules, "quote": _QUOTE, "page": {"type": "integer", "minimum": 0}},
        "required": required,
    }


def change_schema(schema: Mapping[str, Any]) -> Row:
    """The schema of a change, of the short form's: no key is wanted, and `struck` names the rows that go."""
    struck = {"type": "array", "items": _STRING, "maxItems": 250}
    lists = {name: {**schema["properties"][name], "minItems": 0} for name in _KEYS}
    return {**schema, "properties": {**schema["properties"], **lists, STRUCK: struck}, "required": []}


def is_patched(present: Mapping[str, Any] | None) -> bool:
    """Whether a change of this plan is told as a change alone; one of version 1 is planned anew."""
    return present is not None and present["plan_version"] > 1


def complete_plan(value: Mapping[str, Any], present: Mapping[str, Any] | None = None) -> Row:
    """The plan that a reply in the short form means, or that the change of a present plan makes of it.

    What is not of the short form stays as it is, for the schema to judge.
    """
    is_change = is_patched(present) and not {*value} >= _WHOLE
    plan = _patch(present, value) if present and is_change else dict(value)
    for name in _SOURCED:
        if _is_rows(plan.get(name)):
            plan[name] = [_with_source(name, row) for row in plan[name]]
    _fill_quotes(plan)
    if _is_rows(plan.get("components")):
        plan["components"] = _with_requirements(plan, is_change=is_change)
    if _is_rows(plan.get("expected_results")):
        plan["expected_results"] = _as_cells(plan["expected_results"])
    if _is_rows(plan.get("experiments")):
        plan["experiments"] = _with_ids(plan)
    files = plan.get("file_structure")
    if files and _is_rows(files) and all(isinstance(row.get("path"), str) for row in files):
        if is_change or not all("implements" in row for row in files):
            plan["file_structure"] = list(_with_implements(plan))
        plan.setdefault("implementation_strategy", _order_files(files))
    return plan


def _patch(present: Mapping[str, Any], value: Mapping[str, Any]) -> Row:
    """The present plan with the rows of a reply in the place of theirs or behind them, and without those that are struck."""
    plan = {**present, **{key: rows for key, rows in value.items() if key != STRUCK}}
    struck = {str(name) for name in value[STRUCK]} if isinstance(value.get(STRUCK), list) else set()
    for name, key in _KEYS.items():
        if not _is_rows(plan[name]):
            continue  # the schema says what is wrong with it
        known, said, new = {row[key] for row in present[name]}, dict[str, Row](), list[Row]()
        for row in value.get(name) or ():
            named = row.get(key)
            if isinstance(named, str) and named in known and named not in said:
                said[named] = row
            else:
                new.append(row)
        kept = [row for row in present[name] if row[key] not in struck]
        # a row that says its name alone is one that stays
        plan[name] = [said[row[key]] if len(said.get(row[key], ())) > 1 else row for row in kept] + new
    if _is_rows(value.get("uncertain")):
        plan["uncertain"] = [*present["uncertain"], *value["uncertain"]]
    files = plan["file_structure"] if _is_rows(plan["file_structure"]) else []
    if {str(row.get("path")) for row in files} != {row["path"] for row in present["file_structure"]}:
        plan.pop("implementation_strategy", None)
    return plan


def shorten_row(row: Mapping[str, Any]) -> Row:
    """A requirement or value of a plan in the short form."""
    return {**{key: value for key, value in row.items() if key != "source"}, "quote": row["source"]["quote"]}


def _is_rows(rows: object) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def _with_source(name: str, row: Row) -> Row:
    made = {key: value for key, value in row.items() if key not in ("quote", "page") or "source" in row}
    if name == "requirements":
        made.setdefault("status", "stated")
    if "source" in row:
        return made
    return {**made, "source": {"section": None, "page": row.get("page", 0), "quote": row.get("quote", "")}}


def _fill_quotes(plan: Row) -> None:
    """Puts words in the place of ids: a row may quote those of a requirement, or of a value above it, by naming it."""
    words: dict[str, str] = {}
    for name in _SOURCED:
        for place, row in enumerate(plan[name] if _is_rows(plan.get(name)) else ()):
            source = row["source"] if isinstance(row["source"], dict) else {}
            quote = source.get("quote")
            if isinstance(quote, str) and quote in words and "text" not in row:
                plan[name][place] = {**row, "source": {**source, "quote": words[quote]}}
                quote = words[quote]
            # words of the model's own are no words of the paper
            said = row["text"] if row.get("status") == "stated" and "text" in row else quote
            if isinstance(said, str) and isinstance(row.get("id"), str):
                words[row["id"]] = said


def _with_requirements(plan: Mapping[str, Any], *, is_change: bool) -> list[Row]:
    """The components, each that lists none with the requirements that name it; after a change all, without what is struck."""
    asked = plan["requirements"] if _is_rows(plan.get("requirements")) else []
    known = {row.get("id") for row in asked}
    of: dict[Any, list[Any]] = defaultdict(list)
    for row in asked:
        if isinstance(row.get("component"), str):
            of[row["component"]].append(row.get("id"))
    made = []
    for row in plan["components"]:
        own = of[row.get("id")] if isinstance(row.get("id"), str) else []
        listed = row.get("requirements")
        if is_change and _is_names(listed):
            listed = list(dict.fromkeys([*(one for one in listed or () if one in known), *own]))
        made.append({**row, "requirements": own if listed is None else listed})
    return made


def _as_cells(tables: Sequence[Row]) -> list[Row]:
    """A row for each cell of the tables, numbered; rows that are cells already keep their ids."""
    found: list[Row] = []
    number = max((int(row["id"][1:]) for row in tables if _ID_OF_RESULT.fullmatch(str(row.get("id")))), default=0)
    for table in tables:
        if not isinstance(table.get("columns"), list) or not isinstance(table.get("rows"), list):
            found.append(table)
            continue
        beside = {key: table[key] for key in ("condition", "metric", "unit") if table.get(key)}
        for label, column, cell in _cells_of(table["columns"], table["rows"]):
            place = {"table": table.get("table", ""), "row": label, "column": column}
            number += 1
            found.append({"id": f"E{number}", **place, **beside, "value": cell, "page": table.get("page", 0)})
    return found


def _cells_of(columns: Sequence[Any], rows: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    for row in rows:
        label, *cells = row if isinstance(row, list) and row else [""]
        # a model may give the column of labels a head
        heads = columns[1:] if len(columns) == len(cells) + 1 else columns
        for column, cell in zip(heads, cells, strict=False):
            if cell not in ("", None, "-", "–", "—"):
                yield str(label), str(column), _number_of(cell)


def _number_of(cell: Any) -> Any:
    """92.1 of "92.1 ± 0.3" and of "92.1 (0.3)": what lies around a mean is no target."""
    found = _WITH_DEVIATION.fullmatch(cell.strip()) if isinstance(cell, str) else None
    return float(found[1]) if found else cell


def _with_ids(plan: Mapping[str, Any]) -> list[Row]:
    """The experiments, with the ids of all results of the tables that they name."""
    of_table: dict[str, list[Any]] = defaultdict(list)
    for row in plan["expected_results"] if _is_rows(plan.get("expected_results")) else ():
        of_table[_plain(str(row.get("table", "")))].append(row.get("id"))

    def ids_of(name: object) -> list[Any]:
        is_id = not isinstance(name, str) or _ID_OF_RESULT.fullmatch(name)
        return [name] if is_id else of_table.get(_plain(str(name)), [])

    return [
        {**row, "results": list(dict.fromkeys(one for name in row["results"] for one in ids_of(name)))}
        if isinstance(row.get("results"), list) and all(isinstance(name, str) for name in row["results"])
        else row
        for row in plan["experiments"]
    ]


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _with_implements(plan: Mapping[str, Any]) -> Iterator[Row]:
    """The files, each with the requirements of its components that no file has, and the settings with all values that none has.

    What a file is said to meet and the plan does not have any more is left out; what no file would meet goes to the last module.
    """
    files: list[Row] = plan["file_structure"]
    asked, values, parts = (
        plan[name] if _is_rows(plan.get(name)) else [] for name in ("requirements", "values", "components")
    )
    known = {str(row.get("id")) for row in (*asked, *values)}
    of_part = {str(row.get("id")): row["requirements"] for row in parts if _is_names(row.get("requirements"))}
    have = {row["path"]: [one for one in _names_in(row, "implements") if one in known] for row in files}
    left = dict.fromkeys(str(row.get("id")) for row in asked)
    left |= dict.fromkeys(str(row.get("id")) for row in values if row.get("kind") != "fact")
    claimed = {one for names in have.values() for one in names}
    left = {name: None for name in left if name not in claimed}
    modules = [row["path"] for row in files if not row["path"].startswith("tests/")] or [files[0]["path"]]
    config = next((path for path in modules if path.endswith("config.py")), modules[0])
    last = next((path for path in reversed(modules) if not path.endswith(("__init__.py", "__main__.py"))), config)
    for row in files:
        for name in [one for part in _names_in(row, "components") for one in of_part.get(part, ())]:
            if name in left:
                del left[name]
                have[row["path"]].append(name)
    for name in left:
        have[config if name.startswith("V") else last].append(name)
    for row in files:
        yield {**row, "implements": have[row["path"]]} if have[row["path"]] or "implements" in row else row


def _names_in(row: Mapping[str, Any], key: str) -> list[str]:
    names = row.get(key)
    return names if _is_names(names) and names is not None else []


def _is_names(value: object) -> TypeGuard[list[str] | None]:
    return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _order_files(files: Sequence[Row]) -> list[str]:
    """The paths, each after those that it depends on, else as they are listed; as listed where they go round in a circle."""
    place = {row["path"]: number for number, row in enumerate(files)}
    needs = {row["path"]: [one for one in _names_in(row, "depends_on") if one in place] for row in files}
    sorter, ordered = TopologicalSorter(needs), list[str]()
    try:
        sorter.prepare()
    except CycleError:
        return list(place)
    ready = [place[path] for path in sorter.get_ready()]
    heapify(ready)
    while ready:
        path = files[heappop(ready)]["path"]
        ordered.append(path)
        sorter.done(path)
        for free in sorter.get_ready():
            heappush(ready, place[free])
    return ordered
