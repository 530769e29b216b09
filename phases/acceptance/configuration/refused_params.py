"""What is wrong with the params of a hook: each kind has its own, and http goes to this machine alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from phases.acceptance.configuration.fault import Fault, quoted
from phases.acceptance.configuration.http_rules import METHODS, header_fault, url_fault
from phases.acceptance.hook import BUILTIN, COMMAND
from phases.acceptance.points import ACCEPT_GATE, AFTER_TOOL, BEFORE_TOOL, SESSION_END, TOOL_FAILED

TOOL_POINTS = (BEFORE_TOOL, AFTER_TOOL, TOOL_FAILED)
LONGEST_COMMAND = 8192
_BUILTINS: Mapping[str, tuple[str, ...]] = {
    "require_file_exists": ("path",),
    "warn_on_tool_call": ("tool_name", "tool_names"),
    "add_context_note": ("note", "message"),
}
"""Of each, what it needs one of. All take a message."""


def faults_of_params(item: Mapping[str, Any], kind: str) -> Iterator[Fault]:
    """Every fault of the params of a hook whose kind and point are right."""
    params = item.get("params", {})
    found = (
        _of_command(params) if kind == COMMAND
        else _of_builtin(params, item["point"], given="kind" in item) if kind == BUILTIN
        else _of_http(params)
    )  # fmt: skip
    yield from (Fault(f".params{place}", words) for place, words in found)


def _of_command(params: Mapping[str, Any]) -> Iterator[Fault]:
    yield from _strange(params, ("command", "args"), "kind command")
    if ("command" in params) == ("args" in params):
        yield Fault("", "give either command (a line for sh) or args (a list, without a shell)")
        return
    words = [params["command"]] if "command" in params else params["args"]
    place = ".command" if "command" in params else ".args"
    if not words or not words[0].strip():
        yield Fault(place, f"there is nothing to run; write a command, like {_EXAMPLES[place]}")
    if any(len(word) > LONGEST_COMMAND for word in words):
        yield Fault(place, f"longer than {LONGEST_COMMAND:,} characters; put it into a script")
    if any("\0" in word for word in words):
        yield Fault(place, "no command can hold a NUL character; delete it")


_EXAMPLES = {".command": "'python -m pytest -q'", ".args": "[python, -m, pytest, -q]"}


def _of_builtin(params: Mapping[str, Any], point: str, *, given: bool) -> Iterator[Fault]:
    handler = params.get("handler", "")
    if handler not in _BUILTINS:
        known = ", ".join(_BUILTINS)
        hint = "" if given else " (kind is builtin where it is not given; for a command write kind: command)"
        told = "a builtin needs a handler" if not handler else f"{quoted(handler)} is no builtin"
        yield Fault(".handler", f"{told}; there are: {known}{hint}")
        return
    needs = _BUILTINS[handler]
    yield from _strange(params, ("handler", "message", *needs), handler)
    if sum(name in params for name in needs) != 1:
        yield Fault("", f"{handler} needs {' or '.join(needs)}{', not both' if len(needs) > 1 else ''}")
    for name in (*needs, "message"):
        if name in params and not all(map(str.strip, _listed(params[name]))):
            yield Fault(f".{name}", "it is empty; write it, or delete it")
    if words := _path_words(params):
        yield Fault(".path", words)
    if handler == "warn_on_tool_call" and point not in TOOL_POINTS:
        yield Fault(".handler", f"no tool is called at {point}; mount it at before_tool_call")
    if handler == "add_context_note" and point == ACCEPT_GATE:
        words = "a note goes back to the model and costs an attempt, so nothing would ever be accepted"
        yield Fault(".handler", f"{words}; mount it at session_start")
    if handler == "add_context_note" and point == SESSION_END:
        yield Fault(".handler", "no model is asked after session_end; mount it at session_start")


def _path_words(params: Mapping[str, Any]) -> str:
    """Why a required file can be in no workspace, or nothing. Links are followed where it is looked for."""
    path = params.get("path", "README.md")
    folder = os.path.normpath(path).split("/")[0]
    if os.path.isabs(path) or folder == "..":
        return (
            f"{quoted(path)} leads out of the workspace, so it would never be found; write a path in it, like README.md"
        )
    if path.strip() and (folder == "." or path.endswith("/") or "\0" in path):
        return f"{quoted(path)} is no file in the workspace; write one, like README.md"
    return ""


def _of_http(params: Mapping[str, Any]) -> Iterator[Fault]:
    yield from _strange(params, ("url", "method", "headers", "include_metadata"), "kind http")
    url, method = params.get("url", ""), params.get("method", "POST")
    words = url_fault(url) if re.fullmatch(r"[\x21-\x7e]+", url) else f"{quoted(url)} is no URL"
    if words:
        yield Fault(".url", f"{words}; write one like http://127.0.0.1:8080/hooks")
    if method not in METHODS:
        yield Fault(".method", f"{quoted(method)} is refused; there are: {', '.join(METHODS)}")
    for name, value in params.get("headers", {}).items():
        if words := header_fault(name, value):
            yield Fault(".headers", words)


def _strange(params: Mapping[str, Any], known: tuple[str, ...], of: str) -> Iterator[Fault]:
    for name in params:
        if name not in known:
            yield Fault(f".{name}", f"{of} has no {name}; it has: {', '.join(known)}; delete it")


def _listed(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
