"""What is wrong with hooks as they are configured: one line for each fault, with its place and what to do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from phases.acceptance.commands.variables import SET_FOR_ALL
from phases.acceptance.configuration.fault import Fault, quoted
from phases.acceptance.configuration.refused_params import TOOL_POINTS, faults_of_params
from phases.acceptance.hook import BUILTIN, CLAUDE, COMMAND, HTTP, INTERNAL, REPO
from phases.acceptance.points import ACCEPT_GATE, FAIL_CLOSED, POINTS

LONGEST_SECONDS = 3600
OFFERED = tuple(point.name for point in POINTS.values() if point.mountable and point.fires)
"""The points at which a hook can be mounted and will run."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST_MATCHER = 500
_OF_A_REPOSITORY = ("enabled", "items")
_OF_COMMANDS = ("exit_policy", "on_timeout", "sandbox", "env", "env_allow")
_OF_A_BLOCK: Mapping[str, str] = {"failure_policy": FAIL_CLOSED, "on_timeout": "block"}
_KINDS = (BUILTIN, COMMAND, HTTP)


def faults_of(config: Mapping[str, Any], source: str) -> Iterator[Fault]:
    """Every fault of the value under `hooks`, in the order of the file. Its shape has been checked by the schema."""
    for name in config:
        if source == REPO and name not in _OF_A_REPOSITORY:
            words = f"a repository may not set this; put {name} under runtime.hooks in the config.yaml of the user"
            yield Fault(f".{name}", words)
    yield from _seconds(config, "default_timeout_sec")
    first: dict[str, int] = {}
    for index, item in enumerate(config.get("items", ())):
        place = f".items[{index}]"
        yield from _identity(item, index, first)
        yield from (fault._replace(place=place + fault.place) for fault in _item(item, source))


def _identity(item: Mapping[str, Any], index: int, first: dict[str, int]) -> Iterator[Fault]:
    name, place = item["id"], f".items[{index}].id"
    if not _ID.fullmatch(name):
        yield Fault(place, f"{quoted(name)} is no id: take letters, digits, '.', '_' and '-', 64 of them at most")
    elif first.setdefault(name.casefold(), index) != index:
        other = first[name.casefold()]
        yield Fault(place, f"'{name}' is the id of items[{other}] too (upper and lower case are one); take another")


def _item(item: Mapping[str, Any], source: str) -> Iterator[Fault]:
    kind = item.get("kind", BUILTIN)
    point_words, kind_words = _point_words(item["point"]), _kind_words(kind, source)
    if point_words:
        yield Fault(".point", point_words)
    if kind_words:
        yield Fault(".kind", kind_words)
    if item.get("scope", source) != source:
        yield Fault(".scope", f"{quoted(item['scope'])} is not the scope of this file; write {source}, or delete it")
    yield from _seconds(item, "timeout_sec")
    if not kind_words:
        yield from _of_the_kind(item, kind)
    if not point_words:
        yield from _of_the_point(item)
    if not point_words and not kind_words:
        yield from faults_of_params(item, kind)


def _point_words(name: str) -> str:
    point = POINTS.get(name)
    if name == "before_completion_decision":
        return "there is no point before_completion_decision; work is accepted at accept_gate: write that"
    if point is None:
        theirs = {their: row.name for row in POINTS.values() for their in (row.gemini, row.claude) if their}
        if name in theirs:
            return f"'{name}' is what other tools call {theirs[name]}; write that"
        return f"{quoted(name)} is no point{_near(name, OFFERED)}"
    if not point.mountable:
        return f"no hook of the user or of a repository can be mounted at {name}; there are: {', '.join(OFFERED)}"
    if not point.fires:
        return f"phase 09 never comes by {name}, so this hook would never run; there are: {', '.join(OFFERED)}"
    return ""


def _kind_words(kind: str, source: str) -> str:
    if kind in ("prompt", "agent"):
        return f"hooks of kind {kind} are not run here: the opinion of a model is no check; write kind: command"
    if kind == INTERNAL:
        return "internal hooks come with the pipeline, and none can be added; write kind: command"
    if kind == HTTP and source == REPO:
        return "a repository may not mount http hooks; put it under runtime.hooks in the config.yaml of the user"
    return "" if kind in _KINDS else f"{quoted(kind)} is no kind{_near(kind, _KINDS)}"


def _of_the_kind(item: Mapping[str, Any], kind: str) -> Iterator[Fault]:
    mode, only = item.get("mode"), "observe" if kind == HTTP else "sync"
    if mode not in (None, only):
        yield Fault(".mode", f"{quoted(mode)} is no mode of kind {kind}; write {only}, or delete it")
    if kind == HTTP and item.get("failure_policy") == FAIL_CLOSED:
        yield Fault(".failure_policy", "an http hook only observes, so it cannot fail closed; write fail_open")
    for name in _OF_COMMANDS:
        if kind != COMMAND and item.get(name):
            yield Fault(f".{name}", f"only hooks of kind command have {name}; delete it, or write kind: command")
    if kind == COMMAND and item.get("sandbox"):
        if item.get("exit_policy") == CLAUDE:
            yield Fault(".exit_policy", "in the sandbox exit codes alone count; write strict or auto, or delete it")
        for name in ("env", "env_allow"):
            if item.get(name):
                yield Fault(f".{name}", "the sandbox gives no variables to commands; delete it, or sandbox")
    for name, value in item.get("env", {}).items():
        if "\0" in value:
            yield Fault(f".env.{name}", "no variable can hold a NUL character; delete it")
        if name in SET_FOR_ALL:
            words = (
                f"the pipeline sets {name} for every hook; delete it, or set it in the command: env {name}=… COMMAND"
            )
            yield Fault(f".env.{name}", words)


def _of_the_point(item: Mapping[str, Any]) -> Iterator[Fault]:
    point, matcher = item["point"], item.get("matcher", "")
    if point != ACCEPT_GATE:
        for name in ("when", "allow_writes", "fail_fast"):
            if item.get(name):
                yield Fault(f".{name}", f"it says nothing at {point}, only at accept_gate; delete it")
    if not POINTS[point].blocks:
        for name, value in _OF_A_BLOCK.items():
            if item.get(name) == value:
                yield Fault(f".{name}", f"nothing can be blocked at {point}, so {value} says nothing there; delete it")
    if not matcher:
        return
    if point not in TOOL_POINTS:
        yield Fault(".matcher", f"no tool is called at {point}; delete it, or mount the hook at before_tool_call")
    elif words := matcher_words(matcher):
        yield Fault(".matcher", f"{quoted(matcher)} is no regular expression: {words}")


def matcher_words(matcher: str) -> str:
    """Why a text is no regular expression that is taken here, or nothing."""
    if len(matcher) > _LONGEST_MATCHER:
        return f"it is longer than {_LONGEST_MATCHER} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what will mean something else one day
            re.compile(matcher)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        return f"{error}; mend it, like 'Write|Edit'"
    return ""


def _seconds(item: Mapping[str, Any], name: str) -> Iterator[Fault]:
    seconds = item.get(name, 1)
    if not 0 < seconds <= LONGEST_SECONDS:
        yield Fault(f".{name}", f"{quoted(seconds)} seconds: it must be over 0 and at most {LONGEST_SECONDS}")


def _near(wrong: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(wrong[:100], known, n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are: {', '.join(known)}"
