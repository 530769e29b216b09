"""Hooks of other tools as items of ours, with a line for everything that could not be taken over.

Nothing is dropped in silence: each event, hook and field is in an item, or in `untranslated`: itself, or what it is in.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from phases.acceptance.configuration.configured import HookConfigError
from phases.acceptance.configuration.fault import quoted
from phases.acceptance.configuration.foreign import CLAUDE_CODE, CODEX, DIALECTS, GEMINI, Dialect, matched
from phases.acceptance.configuration.foreign_hook import Reader, Row, at, item_of
from phases.acceptance.configuration.refused import faults_of
from phases.acceptance.configuration.refused_params import TOOL_POINTS
from phases.acceptance.hook import USER
from phases.acceptance.points import ACCEPT_GATE, POINTS
from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json

_SWITCHES = {
    CODEX: (("features", "hooks"), ("features", "codex_hooks")),
    GEMINI: (("hooks", "enabled"), ("hooksConfig", "enabled")),
}
_LONGEST_STEM = 48


class Imported(NamedTuple):
    """What became of a file of hooks."""

    items: list[dict[str, Any]]
    """For `hooks.items`."""
    untranslated: list[str]
    """What was left out or reads differently here, a line each with its place: `$.hooks.Stop[0].hooks[1]: …`."""


def import_hooks(kind: str, data: bytes, name: str, project: str = "") -> Imported:
    """The hooks in a file of `claude`, `codex` or `gemini`. Raises HookConfigError for one that cannot be read.

    `project`: the directory that its commands call $CLAUDE_PROJECT_DIR; empty where the file is of no one project.
    """
    dialect = DIALECTS[kind]
    items: list[dict[str, Any]] = []
    untranslated: list[str] = []
    taken: set[str] = set()
    for row in _rows(_parsed(kind, data, name), kind, dialect, project):
        if isinstance(row, str):
            untranslated.append(row)
            continue
        place, item = row
        fault = next(faults_of({"items": [{**item, "id": "x"}]}, USER), None)
        if fault:
            untranslated.append(f"{place}: {fault.words}")
        else:
            items.append({**item, "id": _unique(item["id"], taken)})
    return Imported(items, untranslated)


def _parsed(kind: str, data: bytes, name: str) -> Mapping[str, Any]:
    try:
        value = tomllib.loads(data.decode()) if kind == CODEX and name.endswith(".toml") else parse_json(data)
    except (FormatError, ValueError, RecursionError) as error:
        place = f", line {error.line}" if isinstance(error, FormatError) and error.line else ""
        raise HookConfigError(f"{name}{place}: {error}; mend it, or say with --from whose file it is") from error
    if not isinstance(value, dict):
        raise HookConfigError(f"{name}: it is no object with hooks in it; say with --from whose file it is")
    return value


def _rows(value: Mapping[str, Any], kind: str, dialect: Dialect, project: str) -> Iterator[Row]:
    hooks, off = value.get("hooks"), _turned_off(value, kind)
    yield from (f"{at('$', key)}: it is no hook" for key in value if key != "hooks")
    if not isinstance(hooks, dict):
        yield "$.hooks: there are no hooks in this file"
        return
    disabled = _disabled(value, hooks) if kind == GEMINI else frozenset()
    for event, groups in hooks.items():
        place = at("$.hooks", event)
        reason = _no_event(event, dialect) or (off and f"turned off there by {off}")
        if reason or not isinstance(groups, list):
            yield f"{place}: {reason or 'it is no list of hooks'}"
            continue
        for index, group in enumerate(groups):
            yield from _group(group, f"{place}[{index}]", event, Reader(dialect, disabled, project))


def _turned_off(value: Mapping[str, Any], kind: str) -> str:
    """What turns all hooks of a file off, or nothing."""
    if kind == CLAUDE_CODE:
        return "$.disableAllHooks" if value.get("disableAllHooks") is True else ""
    for table, key in _SWITCHES[kind]:
        inner = value.get(table)
        if isinstance(inner, dict) and inner.get(key) is False:
            return f"$.{table}.{key}"
    return ""


def _disabled(value: Mapping[str, Any], hooks: Mapping[str, Any]) -> frozenset[str]:
    config = value.get("hooksConfig")
    lists = (hooks.get("disabled"), config.get("disabled") if isinstance(config, dict) else None)
    return frozenset(name for names in lists if isinstance(names, list) for name in names if isinstance(name, str))


def _no_event(event: str, dialect: Dialect) -> str:
    if event not in dialect.points:
        return "there is no such moment here"
    point = POINTS[dialect.points[event]]
    if not point.mountable:
        return f"no hook can be mounted at {point.name}"
    return "" if point.fires else f"phase 09 never comes by {point.name}"


def _group(group: Any, place: str, event: str, reader: Reader) -> Iterator[Row]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    matcher = group.get("matcher") if isinstance(group, dict) else None
    if not isinstance(hooks, list) or not isinstance(matcher, str | None):
        yield f"{place}: it is no group of hooks, with a list `hooks` and perhaps a text `matcher`"
        return
    yield from (f"{at(place, key)}: there is nothing like it here" for key in group if key not in ("hooks", "matcher"))
    point, fits = reader.dialect.points[event], matched(matcher or "", reader.dialect)
    if fits.matcher or fits.never:
        if point == ACCEPT_GATE:
            yield f"{place}.matcher: it says nothing at {event}, there as here"
        elif point not in TOOL_POINTS:
            yield f"{place}: at {point} nothing can be chosen by {quoted(matcher)}, and the hooks would always run"
            return
        elif fits.never:
            yield f"{place}: no tool here is called {quoted(matcher)}"
            return
        elif fits.unknown:
            yield f"{place}.matcher: no tool here is called {', '.join(map(quoted, fits.unknown))}"
    if not hooks:
        yield f"{place}.hooks: it is empty"
    for index, hook in enumerate(hooks):
        base = {
            "id": event,
            "point": point,
            **({"matcher": fits.matcher} if point in TOOL_POINTS and fits.matcher else {}),
        }
        yield from item_of(hook, f"{place}.hooks[{index}]", base, reader)


def _unique(words: str, taken: set[str]) -> str:
    """An id that is made of words, and that no other item has."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-").lower()[:_LONGEST_STEM].strip("-") or "hook"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name)
    return name
