"""One hook of another tool as an item of ours, or the reason why none can be made of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from phases.acceptance.configuration.fault import quoted
from phases.acceptance.configuration.foreign import DIALECTS, GEMINI, Dialect
from phases.acceptance.configuration.refused import LONGEST_SECONDS
from phases.acceptance.hook import CLAUDE, COMMAND, HTTP
from phases.acceptance.points import SESSION_END

Row = str | tuple[str, dict[str, Any]]
"""A line for what was not translated, or a place and the item that stands there."""
_TAKEN = {COMMAND: ("type", "command", "args", "timeout", "shell"), HTTP: ("type", "url", "headers", "timeout")}
_CHANGES_THE_MEANING = ("if", "async", "asyncRewake", "async_rewake")
_PROJECT = re.compile(r"\$(?:(?:CLAUDE|GEMINI)_PROJECT_DIR\b|\{(?:CLAUDE|GEMINI)_PROJECT_DIR\})")
_PROJECT_NAME = re.compile(r"\b(?:CLAUDE|GEMINI)_PROJECT_DIR\b")
_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)
_NOT_SET_HERE = re.compile(r"\$\{?((?!CLAUDE_PROJECT_DIR\b)(?:CLAUDE|CODEX|GEMINI|PLUGIN)_[A-Z_]+)")


class Reader(NamedTuple):
    """Whose file is read, and which hooks are turned off in it."""

    dialect: Dialect
    disabled: frozenset[str]
    project: str = ""
    """The directory of the project that the file is of; empty where it is of no one project."""


def item_of(hook: Any, place: str, base: dict[str, Any], reader: Reader) -> Iterator[Row]:
    """What becomes of one hook: perhaps an item, made from `base`, and a line for each thing that is lost."""
    theirs = hook
    if reader.project and isinstance(hook, dict) and (hook := _resolved(hook, reader.project)) != theirs:
        where = f"the project of this file, {quoted(reader.project)}, is put in for its name"
        yield f"{place}.command: {where}; the code of a run is in the directory that a hook starts in"
    if reason := _no_hook(hook, reader):
        yield f"{place}: {reason}"
        return
    kind = hook.get("type", COMMAND)
    own_name = isinstance(hook.get("name"), str)
    said = {"name": own_name, "enabled": hook.get("enabled") is True}
    for key in hook:
        if key not in _TAKEN[kind] and not said.get(key):
            yield f"{at(place, key)}: there is nothing like it here"
    seconds, words = _seconds(hook.get("timeout"), base["point"], reader.dialect)
    if words:
        yield f"{place}.timeout: {words}"
    params = _params(hook, kind, reader.dialect)
    if kind == HTTP:
        yield f"{place}: it only observes here; what is sent differs, and the answer is not read"
    for variable in dict.fromkeys(
        _NOT_SET_HERE.findall(" ".join([*params.get("args", ()), params.get("command", "")]))
    ):
        yield f"{place}.command: ${variable} is not set here"
    yield (
        place,
        {
            **base,
            "id": hook["name"] if own_name else f"{base['id']} {theirs.get('command', kind)}",
            "kind": kind,
            **({"timeout_sec": seconds} if seconds else {}),
            **({"exit_policy": CLAUDE} if kind == COMMAND else {}),
            "params": params,
        },
    )


def _resolved(hook: Mapping[str, Any], project: str) -> dict[str, Any]:
    """A hook with the directory of its project put in: its scripts lie there, and not in the workspace of a run."""
    resolved = dict(hook)
    if isinstance(args := hook.get("args"), list):
        resolved["args"] = [_PROJECT.sub(lambda _: project, word) if isinstance(word, str) else word for word in args]
    if not isinstance(command := hook.get("command"), str) or not (named := _PROJECT_NAME.search(command)):
        return resolved
    put_in = _PROJECT.sub(lambda _: project, command)
    if "args" in hook or (_PLAIN_PATH.fullmatch(project) and not _PROJECT_NAME.search(put_in)):
        return {**resolved, "command": put_in}
    return {**resolved, "command": f"{named[0]}={shlex.quote(project)}; {command}"}  # in any quotes, and with a default


def _no_hook(hook: Any, reader: Reader) -> str:
    """Why nothing can be made of a hook, or nothing."""
    if not isinstance(hook, dict):
        return "it is no hook"
    kind = hook.get("type", COMMAND)
    if kind not in (COMMAND, HTTP):
        return f"hooks of type {quoted(kind)} are not run here"
    if hook.get("enabled") is False or any(hook.get(key) in reader.disabled for key in _texts(hook, "name", "command")):
        return "it is turned off there"
    for key in _CHANGES_THE_MEANING:
        if hook.get(key):
            return f"with {key} it runs otherwise than hooks do here"
    if kind == HTTP:
        headers = hook.get("headers", {})
        sound = isinstance(headers, dict) and len(_texts(headers, *headers)) == len(headers) and _texts(hook, "url")
        return "" if sound else "it has no text `url`, or `headers` that are no texts"
    args = hook.get("args", [])
    if not _texts(hook, "command") or not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        return "it has no text `command`, or `args` that are no texts"
    if "args" in hook and any("$" in word for word in (hook["command"], *args)):
        return "nothing is put in for a $NAME in `args` here; make it one line for a shell"
    return "" if hook.get("shell") in (None, "sh", "bash") else f"there is no shell {quoted(hook['shell'])} here"


def _texts(value: Mapping[str, Any], *keys: str) -> list[str]:
    return [key for key in keys if isinstance(value.get(key), str)]


def _params(hook: Mapping[str, Any], kind: str, dialect: Dialect) -> dict[str, Any]:
    if kind == HTTP:
        return {key: hook[key] for key in ("url", "headers") if key in hook}
    command = str(hook["command"])
    if dialect is DIALECTS[GEMINI]:
        command = re.sub(r"\$(?:GEMINI_PROJECT_DIR\b|\{GEMINI_PROJECT_DIR\})", "${PIPELINE_PROJECT_DIR}", command)
    if "args" in hook:
        return {"args": [command, *hook["args"]]}
    return {"args": ["bash", "-c", command]} if hook.get("shell") == "bash" else {"command": command}


def _seconds(theirs: Any, point: str, dialect: Dialect) -> tuple[float | None, str]:
    """How long a hook may take, in seconds, and what is to be said of it; None: what is usual here."""
    usual = None if point == SESSION_END else dialect.seconds
    if theirs is None:
        return usual, ""
    if isinstance(theirs, bool) or not isinstance(theirs, int | float) or not theirs >= dialect.a_second / 1000:
        return usual, f"{quoted(theirs)} is no time; it is left out"
    if theirs > LONGEST_SECONDS * dialect.a_second:
        return LONGEST_SECONDS, f"{quoted(theirs)} is more than a hook may take here; it is {LONGEST_SECONDS} s"
    seconds = round(theirs / dialect.a_second, 3)
    return int(seconds) if seconds == int(seconds) else seconds, ""


def at(place: str, key: str) -> str:
    """The place of a key in what is at a place."""
    return f"{place}.{key}" if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", key) else f"{place}[{quoted(key)}]"
