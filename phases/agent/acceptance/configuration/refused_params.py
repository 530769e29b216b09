"""What is wrong with the params of a hook: each kind has its own, and http goes to this machine alone."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from phases.agent.acceptance.hook import BUILTIN, COMMAND
from phases.agent.acceptance.points import ACCEPT_GATE, AFTER_TOOL, BEFORE_TOOL, SESSION_END, TOOL_FAILED

TOOL_POINTS = (BEFORE_TOOL, AFTER_TOOL, TOOL_FAILED)
LONGEST_COMMAND = 8192
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_BUILTINS: Mapping[str, tuple[str, ...]] = {
    "require_file_exists": ("path",),
    "warn_on_tool_call": ("tool_name", "tool_names"),
    "add_context_note": ("note", "message"),
}
"""Of each, what it needs one of. All take a message."""


class Fault(NamedTuple):
    """One thing that is wrong."""

    place: str
    """Where, below `hooks`: `.items[2].timeout_sec`."""
    words: str


def quoted(value: object) -> str:
    """A value as a message shows it: on one line, and not too long."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}…{text[-15:]}"


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
    if handler == "warn_on_tool_call" and point not in TOOL_POINTS:
        yield Fault(".handler", f"no tool is called at {point}; mount it at before_tool_call")
    if handler == "add_context_note" and point == ACCEPT_GATE:
        words = "a note goes back to the model and costs an attempt, so nothing would ever be accepted"
        yield Fault(".handler", f"{words}; mount it at session_start")
    if handler == "add_context_note" and point == SESSION_END:
        yield Fault(".handler", "no model is asked after session_end; mount it at session_start")


def _of_http(params: Mapping[str, Any]) -> Iterator[Fault]:
    yield from _strange(params, ("url", "method", "headers", "include_metadata"), "kind http")
    if words := _url_words(params.get("url", "")):
        yield Fault(".url", f"{words}; write one like http://127.0.0.1:8080/hooks")
    method = params.get("method", "POST")
    if method not in _METHODS:
        yield Fault(".method", f"{quoted(method)} is refused; there are: {', '.join(_METHODS)}")
    for name, value in params.get("headers", {}).items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            yield Fault(".headers", f"{quoted(name)} is no name of a header; mend or delete it")
        elif not value.strip() or not re.fullmatch(r"[\t\x20-\x7e\xa0-\xff]+", value):
            yield Fault(
                ".headers", f"the value of {quoted(name)} is empty, or no header can hold it; mend or delete it"
            )


def _url_words(url: str) -> str:
    """Why nothing is sent to a URL, or nothing. Names other than localhost are never looked up."""
    if not re.fullmatch(r"[\x21-\x7e]+", url):
        return f"{quoted(url)} is no URL"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        return f"{quoted(url)} is no URL: {error}"
    if parts.scheme not in ("http", "https") or not host:
        return f"{quoted(url)} is no absolute http or https URL"
    if "@" in parts.netloc:
        return "names and passwords stand in no URL"
    return (
        "" if _is_this_machine(host) else f"{quoted(host)} is not this machine; only localhost, 127.0.0.0/8 and ::1 are"
    )


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if address.version == 4:
        return address.is_loopback
    return address == ipaddress.IPv6Address("::1")


def _strange(params: Mapping[str, Any], known: tuple[str, ...], of: str) -> Iterator[Fault]:
    for name in params:
        if name not in known:
            yield Fault(f".{name}", f"{of} has no {name}; it has: {', '.join(known)}; delete it")


def _listed(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
