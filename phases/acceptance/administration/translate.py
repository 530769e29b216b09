"""Turns the hooks of another tool into text that can be pasted into a file of ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from phases.acceptance.configuration.import_dialects import import_hooks
from phases.acceptance.configuration.parse_hooks import find_problems
from phases.acceptance.hook import USER
from pipeline.base.errors import FormatError, UsageError
from pipeline.base.files import read_bytes
from pipeline.base.plain_yaml import dump_yaml, parse_yaml

_SETTINGS = (".claude", ".codex", ".gemini")
"""Where a project keeps such a file."""
LARGEST = 4 * 1024 * 1024


class Translation(NamedTuple):
    """What became of a file of hooks."""

    items: list[dict[str, Any]]
    untranslated: list[str]
    """What was left out, or reads differently here, a line each."""
    text: str
    """YAML; empty where nothing could be taken over."""


def translate_file(kind: str, path: str, scope: str, printable: Callable[[str], str]) -> Translation:
    """The hooks in a file of `claude`, `codex` or `gemini`. Raises UsageError, StorageError, HookConfigError.

    `printable`: what a terminal shows of a text.
    """
    if not os.path.lexists(path):
        raise UsageError(f"there is no file {path}; name the settings file with the hooks of {kind}")
    data, plugin = read_bytes(os.path.realpath(path), limit=LARGEST), _plugin_of(path)
    found = import_hooks(kind, data, path, "" if plugin else _project_of(path), plugin)
    faults = [_item_fault(item, scope, printable) for item in found.items]
    items = [item for item, fault in zip(found.items, faults, strict=True) if not fault]
    text = _yaml_text({"hooks": {"items": items}}, scope) if items else ""
    return Translation(items, [*found.untranslated, *filter(None, faults)], text)


def _project_of(path: str) -> str:
    """The directory of the project that a settings file is of; none for the user's own file, which is of every project."""
    directory = os.path.dirname(os.path.abspath(path))
    project = os.path.dirname(directory) if os.path.basename(directory) in _SETTINGS else directory
    return "" if os.path.realpath(project) == os.path.realpath(os.path.expanduser("~")) else project


def _plugin_of(path: str) -> str:
    """The directory of the plugin that a `hooks/hooks.json` is of; none for any other file. A plugin is of every project."""
    directory, name = os.path.split(os.path.abspath(path))
    parent, folder = os.path.split(directory)
    return parent if (folder, name) == ("hooks", "hooks.json") else ""


def _item_fault(item: dict[str, Any], scope: str, printable: Callable[[str], str]) -> str:
    """Why an item cannot be pasted there, or nothing: what is seen must be all that there is."""
    problem = next(iter(find_problems({"items": [item]}, scope, "")), "")
    if problem:
        return f"{item['id']}: {problem.partition(': ')[2]}"
    try:
        # A character that a terminal hides could turn a pasted command into another.
        if parse_yaml(printable(_yaml_text(item, "")).encode()) == item:
            return ""
    except (FormatError, UnicodeError):
        pass
    return f"{item['id']}: its text holds invisible characters, and is not safe to paste; write that hook by hand"


def _yaml_text(value: dict[str, Any], scope: str) -> str:
    return dump_yaml({"runtime": value} if scope == USER else value).decode("utf-8")
