"""Compare two plans: which files must be written again, and the difference as text for the user."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_TESTS = "tests/"
_ENTRY = "__main__.py"
_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg", "environment.yml", "environment.yaml")
_LONGEST_LINE = 140
_LONGEST_SHARED = 20
_FIELDS_OF_FILES = ("implements", "depends_on", "interface", "purpose")
_FIELDS_OF_REQUIREMENTS = ("text", "kind", "value", "name")
"""A requirement that differs in these is another one for the code; where it is cited from is not the code's concern."""
_FIELDS_OF_VALUES = ("values", "symbol", "unit", "owner", "condition")
_LISTS = ("components", "values", "datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain")
_SECTIONS = (
    ("validation_approach", "verify_commands"),
    ("environment_setup", "packages"),
    ("environment_setup", "python"),
    ("environment_setup", "tools"),
)
_Row = Mapping[str, Any]


class FileChanges(NamedTuple):
    """The planned files, to be written or kept, and those that are no longer planned. No path is in two of these."""

    write: tuple[str, ...]
    """To be written, or written again; in the order of implementation."""
    keep: tuple[str, ...]
    remove: tuple[str, ...]
    """They were planned before and are not now."""
    may_change: tuple[str, ...] = ()
    """Kept files that use or test what changed: whoever changes the code decides whether they need a change."""


def compare_files(old_plan: Mapping[str, Any], new_plan: Mapping[str, Any]) -> FileChanges:
    """Return which files a change of the plan reaches.

    A file is to be written again when its row is new or differs; when a requirement that it implements, or a component of
    such a requirement, is new, differs or is gone. What implements experiments (else the entry script) also when those
    change; what names the packages when those change. A file that uses another one whose interface changed, or that tests a
    file that is written again, may need a change; so may all tests when the verify commands change.
    """
    # decision 48: whoever changed the plan, only what it changes is written again.
    old, new = _files_of(old_plan), _files_of(new_plan)
    reached = {path for path, row in new.items() if _differing_fields(old.get(path), row, _FIELDS_OF_FILES)}
    demands = _diff_requirements(old_plan, new_plan) | _diff_components(old_plan, new_plan)
    reached |= {path for path, row in new.items() if demands.intersection(row.get("implements", ()))}
    sections = {
        name for section, name in _SECTIONS if old_plan[section].get(name, []) != new_plan[section].get(name, [])
    }
    reached |= _by_section(old_plan, new_plan, sections)
    changed = {path for path in {*old, *new} if _interface_of(old.get(path)) != _interface_of(new.get(path))}
    near = {path for path, row in new.items() if changed.intersection(row.get("depends_on", ()))}
    tests = {path for path in new if path.startswith(_TESTS)}
    near |= {
        path for path in tests if "verify_commands" in sections or reached.intersection(new[path].get("depends_on", ()))
    }
    order = list(dict.fromkeys([*(path for path in new_plan["implementation_strategy"] if path in new), *new]))
    return FileChanges(
        tuple(path for path in order if path in reached),
        tuple(path for path in order if path not in reached),
        tuple(path for path in old if path not in new),
        tuple(path for path in order if path in near - reached),
    )


def plan_difference(old_plan: Mapping[str, Any], new_plan: Mapping[str, Any]) -> list[str]:
    """Return the difference for the user, a line a change: `+` new, `~` changed, `-` gone. Empty for equal plans."""
    paper = [name for name in ("title", "core_contribution") if old_plan["paper"][name] != new_plan["paper"][name]]
    chosen = [name for name in ("language", "framework") if old_plan.get(name) != new_plan.get(name)]
    lines = [
        *(f"~ paper: {name}" for name in paper),
        *(f"~ {name}: {old_plan.get(name, 'none')} -> {new_plan.get(name, 'none')}" for name in chosen),
        *_requirement_lines(_requirements_of(old_plan), _requirements_of(new_plan)),
        *_file_lines(_files_of(old_plan), _files_of(new_plan)),
    ]
    lines += [line for name in _LISTS for line in _list_lines(name, old_plan.get(name, ()), new_plan.get(name, ()))]
    for section, name in _SECTIONS:
        before, after = old_plan[section].get(name, []), new_plan[section].get(name, [])
        if isinstance(after, list):
            gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
            lines += [f"- {name}: {text}" for text in gone.elements()]
            lines += [f"+ {name}: {text}" for text in new.elements()]
            lines += [f"~ {name}: another order"] if before != after and not gone and not new else []
        elif before != after:
            lines.append(f"~ {name}: {before} -> {after}")
    lines += _todo_lines(old_plan.get("todos", []), new_plan.get("todos", []))
    before, after = old_plan["implementation_strategy"], new_plan["implementation_strategy"]
    if [path for path in before if path in after] != [path for path in after if path in before]:
        lines.append("~ implementation_strategy: another order")
    return [_shorten_line(line) for line in lines]


def _list_lines(name: str, old: Sequence[_Row], new: Sequence[_Row]) -> Iterator[str]:
    """Return the rows of a list that are new, changed or gone, by id, else by name."""
    before, after = (
        {str(row.get("id") or row.get("name") or row.get("what")): row for row in rows} for rows in (old, new)
    )
    for key, row in after.items():
        if key not in before:
            yield f"+ {name} {key}: {_describe_row(row)}"
        elif before[key] != row:
            fields = [field for field in {**before[key], **row} if before[key].get(field) != row.get(field)]
            # what it no longer names must not be cut off
            fields.sort(key=lambda field: not isinstance(before[key].get(field) or row.get(field), list))
            said = str(row.get("name") or row.get("what") or f"{row.get('row', '')} {row.get('column', '')}")
            yield f"~ {name} {key}, {said[:40].strip()}: {', '.join(_describe_cell(one, before[key], row) for one in fields)}"
    yield from (f"- {name} {key}: {_describe_row(row)}" for key, row in before.items() if key not in after)


def _describe_cell(field: str, before: _Row, after: _Row) -> str:
    """Describe how a field changed: old and new values, items of lists that were added or removed."""
    old, new = before.get(field), after.get(field)
    if isinstance(old or new, list) and field != "values":
        had, has = (Counter(map(str, names or ())) for names in (old, new))
        told = [f"-{one[:80]}" for one in had - has] + [f"+{one[:80]}" for one in has - had]
        return f"{field} {' '.join(told) or 'in another order'}"
    if isinstance(old, str) and isinstance(new, str):
        # what two long texts share at their start says nothing
        same = os.path.commonprefix([old, new]).rfind(" ") + 1  # noqa: RUF071 - of texts, and not of paths
        old, new = (f"…{text[same:]}" if same > _LONGEST_SHARED else text for text in (old, new))
    return field if isinstance(old or new, dict) else f"{field} {_show_cell(old)} -> {_show_cell(new)}"


def _show_cell(value: object) -> str:
    return "none" if value is None else str(value)[:60]


def _describe_row(row: _Row) -> str:
    shown = row.get("value", row.get("values"))
    said = row.get("name") or row.get("what") or f"{row.get('table', '')} {row.get('row', '')} {row.get('column', '')}"
    owner = f", of {row['owner']}" if row.get("owner") else ""
    condition = f", {row['condition']}" if row.get("condition") else ""
    return f"{said} = {shown}{owner}{condition}" if shown is not None else str(said)


def _todo_lines(old: Sequence[_Row], new: Sequence[_Row]) -> list[str]:
    before, after = ({str(row["id"]): row for row in rows} for rows in (old, new))
    marks = {key: "+" if key not in before else "~" if before[key] != after[key] else "" for key in after}
    told = [f"{mark} todo {key}: {after[key]['content']}" for key, mark in marks.items() if mark]
    return [*(f"- todo {key}: {row['content']}" for key, row in before.items() if key not in after), *told]


def _files_of(plan: Mapping[str, Any]) -> dict[str, _Row]:
    return {row["path"]: row for row in plan["file_structure"]}


def _requirements_of(plan: Mapping[str, Any]) -> dict[str, _Row]:
    return {row["id"]: row for row in plan["requirements"]}


def _differing_fields(before: _Row | None, after: _Row, fields: Iterable[str]) -> list[str]:
    """Return the fields in which a row differs; all of them for a new row."""
    if before is None:
        return list(fields)
    return [name for name in fields if _value_key(before.get(name)) != _value_key(after.get(name))]


def _value_key(value: Any) -> Any:
    """Return a key for comparing values: a missing list equals an empty one, and 1 equals neither 1.0 nor true."""
    return (type(value), value) if value else type(value) if value not in (None, []) else None


def _interface_of(row: _Row | None) -> list[str] | None:
    return list(row.get("interface", ())) if row else None


def _diff_requirements(old_plan: Mapping[str, Any], new_plan: Mapping[str, Any]) -> set[str]:
    """Return the ids of requirements that are new, changed or gone."""
    old, new = (
        {**_requirements_of(plan), **{row["id"]: row for row in plan.get("values", ())}}
        for plan in (old_plan, new_plan)
    )
    fields = (*_FIELDS_OF_REQUIREMENTS, *_FIELDS_OF_VALUES)
    differing = {name for name, row in new.items() if _differing_fields(old.get(name), row, fields)}
    return differing | (old.keys() - new.keys())


def _diff_components(old_plan: Mapping[str, Any], new_plan: Mapping[str, Any]) -> set[str]:
    """Return the ids of requirements of components that are new, changed or gone: their files get another prompt."""
    old, new = (
        [{name: value for name, value in row.items() if value and name != "source"} for row in plan["components"]]
        for plan in (old_plan, new_plan)
    )
    differing = [row for row in old if row not in new] + [row for row in new if row not in old]
    return {name for row in differing for name in row.get("requirements", ())}


def _by_section(old_plan: Mapping[str, Any], new_plan: Mapping[str, Any], changed: Collection[str]) -> set[str]:
    """Return the files that a change outside requirements and files reaches."""
    files, reached = _files_of(new_plan), set[str]()
    if old_plan.get("experiments") != new_plan.get("experiments"):
        kinds = {row["id"]: row["kind"] for row in new_plan["requirements"]}
        entries = {path for path in files if path.rpartition("/")[2] == _ENTRY}
        experiments = {name for name, kind in kinds.items() if kind == "experiment"}
        reached |= {
            path for path, row in files.items() if experiments.intersection(row.get("implements", ()))
        } or entries
    if {"packages", "python"} & {*changed}:
        reached |= {path for path in files if path in _PACKAGING or path.rpartition("/")[2].startswith("requirements")}
    return reached


def _requirement_lines(old: Mapping[str, _Row], new: Mapping[str, _Row]) -> Iterator[str]:
    for name, row in new.items():
        if name not in old:
            yield f"+ {name} {row['kind']}: {row['text']}"
        elif fields := _differing_fields(old[name], row, (*_FIELDS_OF_REQUIREMENTS, "source", "status")):
            yield f"~ {name} {row['kind']}: {', '.join(_describe_field(field, old[name], row) for field in fields)}"
    yield from (f"- {name} {row['kind']}: {row['text']}" for name, row in old.items() if name not in new)


def _describe_field(field: str, before: _Row, after: _Row) -> str:
    if field == "text":
        return f"text is now: {after['text']}"
    return field if field == "source" else f"{field} {before.get(field)} -> {after.get(field)}"


def _file_lines(old: Mapping[str, _Row], new: Mapping[str, _Row]) -> Iterator[str]:
    for path, row in new.items():
        if path not in old:
            yield f"+ {path}: {row['purpose']}"
        elif fields := _differing_fields(old[path], row, _FIELDS_OF_FILES):
            yield f"~ {path}: {', '.join(_describe_cell(field, old[path], row) for field in fields)}"
    yield from (f"- {path}" for path in old if path not in new)


def _shorten_line(line: str) -> str:
    plain = " ".join(line.split())
    return plain if len(plain) <= _LONGEST_LINE else f"{plain[: _LONGEST_LINE - 1].rstrip()}…"
