"""`pipeline config`: show the settings in force and their origins, and set one line of the user's file."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from pipeline.base.errors import FormatError, StorageError, UsageError
from pipeline.base.files import read_bytes, write_durable
from pipeline.base.http.addresses import printable_url
from pipeline.base.plain_yaml import parse_yaml
from pipeline.cli.arguments import answers, complete_settings
from pipeline.cli.assembly import settings_file, settings_from
from pipeline.cli.output import Answer, print_table, print_text
from pipeline.cli.trust import with_absolute_paths
from pipeline.engine.settings import HOOKS, PERMISSIONS, PREFIX, SECRET, Settings, did_you_mean, load_settings

_HIDDEN = "(set)"


@click.command("config")
@click.argument("name", metavar="[NAME]", required=False, shell_complete=complete_settings)
@click.argument("value", metavar="[VALUE]", required=False)
@click.option("--unset", is_flag=True, help="Remove NAME from your settings file.")
@click.option("--all", "everything", is_flag=True, help="Show the settings that have their default, too.")
@answers
def config_command(name: str | None, value: str | None, unset: bool, everything: bool) -> Answer:
    """Show the settings in force and where each comes from; with NAME and VALUE, set one in your settings file.

    \b
    pipeline config
    pipeline config max_usd 5
    pipeline config model --unset
    """
    if name is not None and name not in Settings._fields:
        raise UsageError(f"'{name}' is not a setting{did_you_mean(name, list(Settings._fields))}")
    if unset and (name is None or value is not None):
        raise UsageError("--unset takes one NAME: pipeline config model --unset")
    path = settings_file()
    if name is not None and (unset or value is not None):
        _write_setting(path, name, None if unset else value)
    rows = _rows(path)
    if name is not None:
        rows = [row for row in rows if row["name"] == name]
    elif not everything:
        rows = [row for row in rows if row["from"] != "default"]
    return Answer({"file": path, "settings": rows}, lambda: _show(rows, path, everything or name is not None))


def _show(rows: list[dict[str, Any]], path: str, everything: bool) -> None:
    if rows:
        print_table(
            [(row["name"], str(row["value"]), row["from"]) for row in rows], header=("SETTING", "VALUE", "FROM")
        )
    else:
        print_text("every setting has its default")
    if not everything:
        there = "" if os.path.exists(path) else " (not there yet)"
        print_text(f"\nyour settings file: {path}{there}; all settings: pipeline config --all")


def _rows(path: str) -> list[dict[str, Any]]:
    """Return every setting with its value and its origin. A secret is only stated to be set."""
    default, of_file = Settings(), load_settings(path, {}, {})
    in_force = settings_from({})
    rows = []
    for name in Settings._fields:
        value, variable = getattr(in_force, name), "STOP_AT_PHASE" if name == "stop_at" else PREFIX + name.upper()
        origin = variable if variable in os.environ else path if _is_in_file(path, name) else "default"
        if origin == "default" and value != getattr(default, name):  # a path made whole, say
            origin = path if value == getattr(of_file, name) else "default"
        # a proxy may have a password in it
        shown = _HIDDEN if name in SECRET and value else printable_url(value) if name == "proxy" else value
        rows.append({"name": name, "value": shown, "from": origin})
    return rows


def _is_in_file(path: str, name: str) -> bool:
    return any(_names(line, name) for line in _lines(path))


def _lines(path: str) -> list[str]:
    if not os.path.exists(path):
        return []
    try:
        return read_bytes(os.path.realpath(path)).decode("utf-8").splitlines(keepends=True)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error


def _names(line: str, name: str) -> bool:
    return re.match(rf"{name}\s*:", line) is not None


def _write_setting(path: str, name: str, value: str | None) -> None:
    """Set one line of the file, or take it out; comments and order stay. Raises UsageError for a value that is not right."""
    if name in (*PERMISSIONS, *SECRET):
        where = (
            f"the flag --{name.replace('_', '-')}" if name in PERMISSIONS else f"the variable {PREFIX}{name.upper()}"
        )
        raise UsageError(f"{name} cannot be stored in a file; give it by {where}")
    lines = _lines(path)
    kept = [line for line in lines if not _names(line, name)]
    if value is not None:
        # raises for what is not right, as the flag of that name does; a path is kept whole, for commands from elsewhere
        checked = getattr(with_absolute_paths(load_settings("", {}, {name: value})), name)
        is_path = isinstance(checked, str) and os.sep in checked
        text = value if isinstance(checked, (int, float)) else _quote(checked if is_path else value)
        place = next((number for number, line in enumerate(lines) if _names(line, name)), None)
        if place is None:  # before the hooks, which are a block at the end
            place = next((number for number, line in enumerate(kept) if _names(line, HOOKS)), len(kept))
        if place and not kept[place - 1].endswith("\n"):
            kept[place - 1] += "\n"
        kept.insert(place, f"{name}: {text}\n")
    written = "".join(kept)
    try:
        parse_yaml(written.encode())
    except FormatError as error:
        raise UsageError(f"{path} cannot be changed from here (line {error.line}: {error}); edit it by hand") from error
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_durable(os.path.realpath(path), written.encode())
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error


def _quote(value: str) -> str:
    if re.fullmatch(r"[A-Za-z/~][\w./~:@-]*", value) and value.lower() not in (
        "yes",
        "no",
        "on",
        "off",
        "null",
        "true",
    ):
        return value
    import json  # imported here: a plain word needs none

    return json.dumps(value, ensure_ascii=False)
