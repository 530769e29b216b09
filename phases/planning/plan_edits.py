"""Strike, change and add rows of a plan by their ids, and keep all references between rows valid."""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.plan_words import write_ids
from pipeline.base.errors import FormatError, UsageError
from pipeline.base.plain_yaml import parse_yaml
from pipeline.engine.phase import Checker

_LISTS = {"R": "requirements", "C": "components", "V": "values", "E": "expected_results", "X": "experiments"}
_CONSTANT = re.compile(r"[A-Za-z_]\w* = ")
_LEADS = {"component": "components", "requirements": "requirements", "results": "expected_results"}
"""Fields that name rows by their ids, and the lists of those."""
_PLACES = ("section", "page", "quote")
"""Fields of a row's source, which are set like its own."""
_TEXTS = (
    "text", "name", "owner", "condition", "what", "unit", "symbol", "row", "column", "table", "metric", "quick", "full",
    "section", "quote",
)  # fmt: skip
"""Fields that are texts, also where a text looks like a number: a section 4.5, a column 2019."""
_SCIENTIFIC = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")
_DEFINITION = re.compile(r"(?:class|def) (\w+)")
_LONGEST_CONSTANT = 2_000
Plan = dict[str, Any]


def strike_row(plan: Mapping[str, Any], identifier: str) -> Plan:
    """Return the plan without one row and without every mention of it; for a missing row only its mentions are removed.

    Raises UsageError where there is neither.
    """
    made = copy.deepcopy(dict(plan))
    if identifier not in _mentioned(made):
        _list_of(made, identifier)
    for row in made["file_structure"]:
        _drop_constant(row, identifier)
        _drop_definition(row, identifier, plan.get("components", ()))
        row["implements"] = [one for one in row.get("implements", ()) if one != identifier]
    made[_LISTS[identifier[0]]] = [row for row in made[_LISTS[identifier[0]]] if row["id"] != identifier]
    for name, field in (("components", "requirements"), ("experiments", "results"), ("file_structure", "components")):
        for row in made.get(name, ()):
            if field in row:
                row[field] = [one for one in row[field] if one != identifier]
    for row in made["requirements"]:
        if row.get("component") == identifier:
            del row["component"]
    made["uncertain"] = [row for row in made.get("uncertain", ()) if row.get("about") != identifier]
    return made


def change_row(plan: Mapping[str, Any], identifier: str, field: str, text: str) -> Plan:
    """Return the plan with a new value in one field of a row; `text` is parsed as YAML: 0.1 is a number, [1, 2] a list."""
    made = copy.deepcopy(dict(plan))
    row = next(row for row in _list_of(made, identifier) if row["id"] == identifier)
    if field == "id":
        raise UsageError(f"{identifier} keeps its id; strike it, and add another")
    value = text if field in _TEXTS else _read_value(text)
    if field in ("value", "values"):
        if value == []:
            raise UsageError(f"{identifier}.{field}: the list is empty; strike {identifier} if it has no value")
        row.pop("values", None)
        row.pop("value", None)
        field = "values" if isinstance(value, list) else "value"
        for file in made["file_structure"]:
            _set_constant(file, identifier, tuple(value) if isinstance(value, list) else value)
    if field in ("requirements", "results") and not isinstance(value, list):
        value = [] if value is None else [value]
    if field in _PLACES and "source" in row:
        row["source"] = {**row["source"], field: value}
        return made
    if field in _LEADS:
        _lead_elsewhere(made, identifier, field, value)
    if field == "component" and value is None:
        row.pop(field, None)
    else:
        row[field] = value
    return made


def _read_value(text: str) -> Any:
    try:
        value = parse_yaml(text.encode())
    except FormatError:
        return text
    return [*map(_read_number, value)] if isinstance(value, list) else _read_number(value)


def _read_number(value: Any) -> Any:
    """Parse numbers such as 1e-3, which YAML reads as text."""
    is_number = isinstance(value, str) and _SCIENTIFIC.fullmatch(value) and math.isfinite(float(value))
    return float(value) if is_number else value


def _lead_elsewhere(plan: Plan, identifier: str, field: str, value: object) -> None:
    """A requirement and its component name each other: what one is told, the other is. Raises UsageError for ids of nothing."""
    known = {row["id"] for row in plan[_LEADS[field]]}
    wanted = value if isinstance(value, list) else [value] if value is not None else []
    if lost := [str(one) for one in wanted if one not in known]:
        raise UsageError(
            f"{identifier}.{field}: the plan has no {', '.join(lost)}; {_describe_ids(plan, _LEADS[field])}"
        )
    if field == "component":
        for row in plan["components"]:
            kept = [one for one in row["requirements"] if one != identifier]
            row["requirements"] = [*kept, identifier] if row["id"] == value else kept
    elif field == "requirements":
        for row in plan["components"]:
            if row["id"] != identifier:
                row["requirements"] = [one for one in row["requirements"] if one not in wanted]
        for row in plan["requirements"]:
            if row["id"] in wanted:
                row["component"] = identifier
            elif row.get("component") == identifier:
                del row["component"]


def why_row_unfit(plan: Mapping[str, Any], identifier: str, contracts: Checker) -> str:
    """Return why a row does not fit the plan, in words about its fields; empty where it fits."""
    name = _LISTS[identifier[0]]
    row = next(row for row in plan[name] if row["id"] == identifier)
    schema = contracts.schema("initial_plan.txt")["properties"][name]["items"]
    if other := next((field for field in row if field not in schema["properties"]), ""):
        known = ", ".join(field for field, rule in schema["properties"].items() if field not in ("id", "source"))
        places = f", {', '.join(_PLACES)}" if "source" in schema["properties"] else ""
        return f"{identifier} has no field '{other}'; it has {known}{places}"
    return f"{identifier}.{breach.removeprefix('at $.')}" if (breach := contracts.breach(schema, row)) else ""


def add_row(plan: Mapping[str, Any], kind: str, text: str) -> Plan:
    """Return the plan with one more requirement ("It must …") or value ("name = 0.1"), in the file for such rows."""
    made = copy.deepcopy(dict(plan))
    source = {"section": "review", "page": 0, "quote": text}
    if not text.strip():
        raise UsageError(f"there is nothing to add: the {kind} has no words")
    if kind == "requirement":
        identifier = _next_id(made, "R")
        made["requirements"].append(
            {"id": identifier, "kind": "artifact", "text": text, "source": {**source, "quote": ""}, "status": "stated"}
        )
    elif kind == "value":
        name, equals, shown = text.partition("=")
        if not equals or not name.strip() or not shown.strip():
            raise UsageError('a value is added as "NAME = VALUE", like "learning rate = 0.1"')
        identifier = _next_id(made, "V")
        row = {"id": identifier, "name": name.strip(), "value": None, "owner": "method", "kind": "hyperparameter"}
        made["values"].append({**row, "source": source})
        made = change_row(made, identifier, "value", shown.strip())
    else:
        raise UsageError(f"'{kind}' cannot be added; add a requirement or a value")
    home = _home(made, identifier[0])
    home["implements"] = [*home.get("implements", ()), identifier]
    if identifier[0] == "V" and home["path"].endswith("config.py"):
        value = made["values"][-1]
        given = value["value"] if "value" in value else tuple(value["values"])
        name = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in value["name"]).upper()
        home["interface"] = [*home.get("interface", ()), f"{name.strip('_') or identifier} = {given!r}"]
    return made


def _constants(file: Mapping[str, Any]) -> dict[str, int]:
    """Return value id -> line of the interface that declares its constant; empty where they do not match one to one."""
    lines = [at for at, line in enumerate(file.get("interface", ())) if _CONSTANT.match(line)]
    values = [one for one in file.get("implements", ()) if one.startswith("V")]
    return dict(zip(values, lines, strict=True)) if len(values) == len(lines) else {}


def constant_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield values that differ from the file of constants: the user changed one and not the other."""
    values = {row["id"]: row for row in plan.get("values", ())}
    for file in plan["file_structure"]:
        for identifier, at in _constants(file).items():
            name, _, shown = file["interface"][at].partition(" = ")
            row = values.get(identifier, {})
            given = row.get("value", tuple(row.get("values", ())))
            if row and _read_constant(shown, given) != given:
                yield f"{identifier}: {file['path']} is to have {name} = {shown[:40]}, and the value is {str(given)[:40]}"


def _read_constant(shown: str, otherwise: object) -> object:
    """Return the value behind a constant's name; `otherwise` for anything else, such as a type."""
    try:
        return ast.literal_eval(shown[:_LONGEST_CONSTANT])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return otherwise


def _drop_constant(file: dict[str, Any], identifier: str) -> None:
    at = _constants(file).get(identifier)
    if at is not None:
        file["interface"] = [line for number, line in enumerate(file["interface"]) if number != at]


def _drop_definition(file: dict[str, Any], identifier: str, components: Sequence[Mapping[str, Any]]) -> None:
    """The class or function of a struck component goes with it: those of a file stand in the order of its components."""
    own = file.get("components", ())
    lines = [at for at, line in enumerate(file.get("interface", ())) if _DEFINITION.match(line)]
    if identifier not in own or own.index(identifier) >= len(lines):
        return
    at = lines[own.index(identifier)]
    name = next((row["name"] for row in components if row["id"] == identifier), "")
    defined = "".join(filter(str.isalnum, file["interface"][at].lower()))
    # a model's plan may have them in another order
    if any(word in defined for word in re.findall(r"\w{3,}", name.lower())):
        file["interface"] = [line for number, line in enumerate(file["interface"]) if number != at]


def _set_constant(file: dict[str, Any], identifier: str, value: object) -> None:
    at = _constants(file).get(identifier)
    if at is not None:
        name = file["interface"][at].partition(" = ")[0]
        file["interface"] = [
            f"{name} = {value!r}" if number == at else line for number, line in enumerate(file["interface"])
        ]


def _list_of(plan: Plan, identifier: str) -> list[dict[str, Any]]:
    name = _LISTS.get(identifier[:1], "")
    rows = list(plan.get(name, ()))
    if not any(row["id"] == identifier for row in rows):
        raise UsageError(f"the plan has no row {identifier}; {_describe_ids(plan, name)}")
    return rows


def _describe_ids(plan: Plan, name: str) -> str:
    """List the existing ids of one list or of all."""
    lists = [name] if name else [*_LISTS.values()]
    told = (f"{one} {write_ids(row['id'] for row in plan[one]) or 'none'}" for one in lists)
    return f"it has {', '.join(told)}".replace("_", " ")


def _mentioned(plan: Plan) -> set[str]:
    """Return the ids that files, components and experiments name."""
    names = ("implements", "components", "requirements", "results")
    rows = [*plan["file_structure"], *plan["components"], *plan["experiments"]]
    return {one for row in rows for name in names for one in row.get(name, ())}


def _next_id(plan: Plan, letter: str) -> str:
    numbers = [int(row["id"][1:]) for row in plan[_LISTS[letter]]]
    return f"{letter}{max(numbers, default=0) + 1}"


def _home(plan: Plan, letter: str) -> dict[str, Any]:
    """Return the file that holds rows of this letter; the first file with code where none does."""
    files: list[dict[str, Any]] = plan["file_structure"]
    with_some = [row for row in files if any(one.startswith(letter) for one in row.get("implements", ()))]
    code = [row for row in files if row["path"].endswith(".py") and "__" not in row["path"]]
    return (with_some or code or files)[-1 if letter == "R" else 0]
