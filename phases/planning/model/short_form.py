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

from phases.planning.model.bounded_schema import MOST_ROWS
from phases.planning.model.plan_change import Row, is_patched, is_rows, is_whole, new_names, patch_plan

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
_MOST_NAMED, _LONGEST_NAMED = 8, 60
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


_TEXTS = ("id", "component", "path", "table")
_LISTS = ("requirements", "components", "implements", "depends_on", "results")


def type_fault(value: Mapping[str, Any]) -> str:
    """Where a name in a row is no text, or a list of names is none; empty where rows can be completed."""
    for name, rows in value.items():
        for number, row in enumerate(rows) if isinstance(rows, list) else ():
            for key, said in row.items() if isinstance(row, dict) else ():
                if key in _TEXTS and not isinstance(said, str):
                    return f"at $.{name}[{number}].{key}: it must be a text"
                if key in _LISTS and not (isinstance(said, list) and all(isinstance(one, str) for one in said)):
                    return f"at $.{name}[{number}].{key}: it must be a list of texts"
    return ""


def complete_plan(value: Mapping[str, Any], present: Mapping[str, Any] | None = None) -> Row:
    """The plan that a reply in the short form means, or that the change of a present plan makes of it.

    What is not of the short form stays as it is, for the schema to judge. `value` has no `type_fault`.
    """
    new: set[str] | None = None
    if present is not None and is_patched(present) and not is_whole(value):
        plan = patch_plan(present, value)
        new = new_names(plan, present)
    else:
        plan = dict(value)
    for name in _SOURCED:
        if is_rows(plan.get(name)):
            plan[name] = [_with_source(name, row) for row in plan[name]]
    fill_quotes(plan)
    if is_rows(plan.get("components")):
        plan["components"] = _with_requirements(plan, new)
    if is_rows(plan.get("expected_results")):
        taken = [*plan["expected_results"], *(present["expected_results"] if present and new is not None else ())]
        plan["expected_results"] = _as_cells(plan["expected_results"], _last_number(taken))
        if ragged := _ragged_rows(value.get("expected_results")) if is_rows(plan.get("uncertain", [])) else []:
            plan["uncertain"] = [
                *plan.get("uncertain", ()),
                {"what": f"Rows that do not fit their heads are left out: {ragged}"},
            ]
    if is_rows(plan.get("experiments")):
        plan["experiments"] = _with_ids(plan)
    files = plan.get("file_structure")
    if files and is_rows(files) and all(isinstance(row.get("path"), str) for row in files):
        # a plan in its own form lists what it means to
        asked = value["requirements"] if is_rows(value.get("requirements")) else []
        is_short = not any("source" in row for row in asked)
        if new is not None or (is_short and not all("implements" in row for row in files)):
            plan["file_structure"] = list(_with_implements(plan, new))
        plan.setdefault("implementation_strategy", _order_files(files))
    return plan


def shorten_row(row: Mapping[str, Any]) -> Row:
    """A requirement or value of a plan in the short form."""
    return {**{key: value for key, value in row.items() if key != "source"}, "quote": row["source"]["quote"]}


def _with_source(name: str, row: Row) -> Row:
    made = {key: value for key, value in row.items() if key not in ("quote", "page") or "source" in row}
    if name == "requirements":
        made.setdefault("status", "stated")
    if "source" in row:
        return made
    return {**made, "source": {"section": None, "page": row.get("page", 0), "quote": row.get("quote", "")}}


def fill_quotes(plan: Row, sofar: Mapping[str, Any] | None = None) -> None:
    """Puts words in the place of ids: a row may quote those of a requirement, or of a value above it, by naming it.

    `sofar`: the plan to which these rows belong, where they are some of it.
    """
    words: dict[str, str] = {}
    if sofar:
        fill_quotes(beside := {name: list(sofar.get(name, ())) for name in _SOURCED})
        words = {row["id"]: _words_of(row) for name in _SOURCED for row in beside[name] if "id" in row}
    for name in _SOURCED:
        for place, row in enumerate(plan[name] if is_rows(plan.get(name)) else ()):
            source = row["source"] if isinstance(row["source"], dict) else {}
            quote = source.get("quote")
            if isinstance(quote, str) and quote in words and "text" not in row:
                plan[name][place] = {**row, "source": {**source, "quote": words[quote]}}
            if isinstance(row.get("id"), str):
                words[row["id"]] = _words_of(plan[name][place])


def _words_of(row: Mapping[str, Any]) -> str:
    """The paper's words in a row: words of the model's own are none."""
    is_stated = row.get("status") == "stated" and isinstance(row.get("text"), str)
    quote = row["source"].get("quote") if isinstance(row.get("source"), dict) else ""
    return str(row["text"]) if is_stated else quote if isinstance(quote, str) else ""


def _with_requirements(plan: Mapping[str, Any], new: set[str] | None) -> list[Row]:
    """The components, each that lists none with the requirements that name it; after a change all with those that are `new`."""
    asked = plan["requirements"] if is_rows(plan.get("requirements")) else []
    of: dict[Any, list[Any]] = defaultdict(list)
    for row in asked:
        if isinstance(row.get("component"), str):
            of[row["component"]].append(row.get("id"))
    made = []
    for row in plan["components"]:
        own = of[row.get("id")] if isinstance(row.get("id"), str) else []
        listed = row.get("requirements")
        if new and _is_names(listed):
            stayed = [one for one in listed or () if one not in new]
            listed = list(dict.fromkeys([*stayed, *(one for one in own if one in new)]))
        made.append({**row, "requirements": own if listed is None else listed})
    return made


def _last_number(rows: Sequence[Row]) -> int:
    return max((int(row["id"][1:]) for row in rows if _ID_OF_RESULT.fullmatch(str(row.get("id")))), default=0)


def _as_cells(tables: Sequence[Row], number: int) -> list[Row]:
    """A row for each cell of the tables, numbered behind `number`; rows that are cells already keep their ids.

    At most one more than a plan may have, so that it is told.
    """
    found: list[Row] = []
    for table in tables:
        if not _is_table(table):
            found.append(table)
            continue
        beside = {key: table[key] for key in ("condition", "metric", "unit") if table.get(key)}
        for label, column, cell in _cells_of(table["columns"], table["rows"]):
            if len(found) > MOST_ROWS["expected_results"]:
                return found
            number += 1
            place = {"table": table.get("table", ""), "row": label, "column": column}
            found.append({"id": f"E{number}", **place, **beside, "value": cell, "page": table.get("page", 0)})
    return found


def _is_table(row: Row) -> bool:
    return isinstance(row.get("columns"), list) and isinstance(row.get("rows"), list)


def _cells_of(columns: Sequence[Any], rows: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    """Label, head and cell, of the rows that have a cell for each head."""
    heads = _heads_of(columns, rows)
    for row in rows:
        if isinstance(row, list) and len(row) == len(heads) + 1:
            for column, cell in zip(heads, row[1:], strict=True):
                if cell not in ("", None, "-", "–", "—"):
                    yield str(row[0]), str(column), _number_of(cell)


def _heads_of(columns: Sequence[Any], rows: Sequence[Any]) -> Sequence[Any]:
    """The heads without the one over the labels, where a model gives that, too."""
    widest = max((len(row) for row in rows if isinstance(row, list)), default=0)
    return columns[1:] if len(columns) == widest else columns


def _ragged_rows(tables: object) -> str:
    """The first rows that have more or fewer cells than their table has heads, by table and label."""
    found = [
        f"{table.get('table', '')}, {row[0] if isinstance(row, list) and row else 'a row without cells'}"[
            :_LONGEST_NAMED
        ]
        for table in (tables if isinstance(tables, list) and is_rows(tables) else ())
        if _is_table(table)
        for row in table["rows"]
        if not isinstance(row, list) or len(row) != len(_heads_of(table["columns"], table["rows"])) + 1
    ]
    return "; ".join(found[:_MOST_NAMED])


def _number_of(cell: Any) -> Any:
    """92.1 of "92.1 ± 0.3" and of "92.1 (0.3)": what lies around a mean is no target."""
    found = _WITH_DEVIATION.fullmatch(cell.strip()) if isinstance(cell, str) else None
    return float(found[1]) if found else cell


def _with_ids(plan: Mapping[str, Any]) -> list[Row]:
    """The experiments, with the ids of all results of the tables that they name."""
    of_table: dict[str, list[Any]] = defaultdict(list)
    for row in plan["expected_results"] if is_rows(plan.get("expected_results")) else ():
        of_table[_plain(str(row.get("table", "")))].append(row.get("id"))

    def ids_of(name: object) -> list[Any]:
        is_id = not isinstance(name, str) or _ID_OF_RESULT.fullmatch(name)
        return [name] if is_id else of_table.get(_plain(str(name)), [])

    return [
        {**row, "results": list(dict.fromkeys(one for name in dict.fromkeys(row["results"]) for one in ids_of(name)))}
        if isinstance(row.get("results"), list) and all(isinstance(name, str) for name in row["results"])
        else row
        for row in plan["experiments"]
    ]


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _with_implements(plan: Mapping[str, Any], new: set[str] | None) -> Iterator[Row]:
    """The files, each with the requirements of its components that no file has, and the settings with all values that none has.

    What no file would meet goes to the last module. After a change only what is `new` is given to files.
    """
    files: list[Row] = plan["file_structure"]
    asked, values, parts = (
        plan[name] if is_rows(plan.get(name)) else [] for name in ("requirements", "values", "components")
    )
    of_part = {str(row.get("id")): row["requirements"] for row in parts if _is_names(row.get("requirements"))}
    have = {row["path"]: list(_names_in(row, "implements")) for row in files}
    left = dict.fromkeys(str(row.get("id")) for row in asked)
    left |= dict.fromkeys(str(row.get("id")) for row in values if row.get("kind") != "fact")
    claimed = {one for names in have.values() for one in names}
    left = {name: None for name in left if name not in claimed and (new is None or name in new)}
    modules = [row["path"] for row in files if not row["path"].startswith("tests/")] or [files[0]["path"]]
    config = next((path for path in modules if path.endswith("config.py")), modules[0])
    last = next((path for path in reversed(modules) if not path.endswith(("__init__.py", "__main__.py"))), config)
    for row in files:
        for part in _names_in(row, "components"):
            for name in of_part.pop(part, None) or ():
                if name in left:
                    del left[name]
                    have[row["path"]].append(name)
    for name in left:
        have[config if name.startswith("V") else last].append(name)
    for row in files:
        yield {**row, "implements": have[row["path"]]} if have[row["path"]] else row


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
