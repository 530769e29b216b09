"""Add a hook to the user's settings file, keeping its comments, order and spacing."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from typing import Any

from phases.acceptance.configuration.parse_hooks import find_faults
from phases.acceptance.hook import ACCEPT_GATE, COMMAND, USER
from pipeline.base.errors import FormatError, UsageError
from pipeline.base.files import read_bytes, storage_error, write_durable
from pipeline.base.plain_yaml import dump_yaml, locate_yaml, parse_yaml

_WHERE = ("runtime", "hooks", "items")


def new_item(name: str, command: str, point: str = "", matcher: str = "") -> dict[str, Any]:
    """Return the item of a command hook; without a point, it runs at accept_gate."""
    item = {"id": name, "point": point or ACCEPT_GATE, "kind": COMMAND, "params": {"command": command}}
    return {**item, **({"matcher": matcher} if matcher else {})}


def add_hook(item: Mapping[str, Any], own: Mapping[str, Any], settings_file: str) -> None:
    """Add an item to the hooks of the user. Raises UsageError."""
    config = own.get("hooks", {})
    items = list(config.get("items", ()))
    if there := next((row for row in items if row["id"].casefold() == item["id"].casefold()), None):
        raise UsageError(
            f"there is a hook '{there['id']}' in {settings_file} already; take another name, or edit that file"
        )
    place = f".items[{len(items)}]"
    for fault in find_faults({**config, "items": [*items, item]}, USER):
        if fault.place.startswith(place):
            raise UsageError(f"the hook is not added, because of its {fault.place.rpartition('.')[2]}: {fault.words}")
    path = os.path.realpath(settings_file)  # a link, as to a directory of dotfiles, stays one
    data = read_bytes(path) if os.path.exists(path) else b""
    mode = stat.S_IMODE(os.stat(path).st_mode) if data else 0o644
    text = insert_item(data, item, settings_file)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_durable(path, text)
        os.chmod(path, mode)
    except OSError as error:
        raise storage_error("write", path, error) from error


def insert_item(data: bytes, item: Mapping[str, Any], name: str) -> bytes:
    """Return the settings with one more hook. Raises UsageError if a comment would be lost."""
    value = parse_yaml(data) or {}
    runtime = value.get("runtime", {})
    config = runtime.get("hooks", {})
    items = [*config.get("items", ()), dict(item)]
    wanted = {**value, "runtime": {**runtime, "hooks": {**config, "items": items}}}
    for made in (_after_the_last(data, item, len(items) - 1), _at_the_end(data, item)):
        with contextlib.suppress(FormatError):
            if parse_yaml(made) == wanted:
                return made
    if b"#" in data:
        lines = dump_yaml({"runtime": {"hooks": {"items": [dict(item)]}}}).decode()
        raise UsageError(f"{name} cannot be added to without losing its comments; write this into it by hand:\n{lines}")
    return dump_yaml(wanted)


def _after_the_last(data: bytes, item: Mapping[str, Any], count: int) -> bytes:
    """Insert the item after the last of a list whose items begin with dashes on lines of their own."""
    line, _ = locate_yaml(data, (*_WHERE, count - 1)) if count else (0, 0)
    lines = data.decode().splitlines(keepends=True)
    dash = lines[line - 1] if line else ""
    indent = len(dash) - len(dash.lstrip(" "))
    if not dash.lstrip(" ").startswith("- "):
        return b""
    end = line
    for number, text in enumerate(lines[line:], line + 1):
        if text.strip() and len(text) - len(text.lstrip(" ")) <= indent:
            break
        end = number if text.strip() else end
    before = "".join(lines[:end])
    return _join(before, _item_lines(item, indent), "".join(lines[end:]))


def _at_the_end(data: bytes, item: Mapping[str, Any]) -> bytes:
    """Append the item with its parent keys."""
    return _join(data.decode(), f"runtime:\n  hooks:\n    items:\n{_item_lines(item, 6)}", "")


def _item_lines(item: Mapping[str, Any], indent: int) -> str:
    return "".join(f"{' ' * indent}{line}\n" for line in dump_yaml([dict(item)]).decode().splitlines())


def _join(before: str, added: str, after: str) -> bytes:
    line_end = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{line_end}{added}{after}".encode()
