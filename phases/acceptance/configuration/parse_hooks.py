"""Check the value under `hooks` of a file, and parse it into hooks with every default filled in.

The command of a hook stands under `params`, as `command` or `args`, and nowhere else.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from phases.acceptance.command_hooks import SET_FOR_ALL
from phases.acceptance.hook import (
    ACCEPT_GATE,
    AFTER_TOOL,
    BEFORE_TOOL,
    BUILTIN,
    CLAUDE,
    COMMAND,
    FAIL_CLOSED,
    FAIL_OPEN,
    INTERNAL,
    POINTS,
    REPO,
    RESUME,
    SESSION_END,
    SESSION_START,
    STARTUP,
    STRICT,
    TOOL_FAILED,
    USER,
    WORKSPACE_CHANGED,
    Hook,
    HookPoint,
)
from pipeline.base.errors import PipelineError

LONGEST_SECONDS = 3600
OFFERED = tuple(point.name for point in POINTS.values() if point.mountable and point.fires)
"""The points at which a hook can be mounted and will run."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST_MATCHER = 500
_OF_A_REPOSITORY = ("enabled", "items")
_OF_COMMANDS = ("exit_policy", "on_timeout", "sandbox", "env", "env_allow")
_OF_A_BLOCK: Mapping[str, str] = {"failure_policy": FAIL_CLOSED, "on_timeout": "block"}
_KINDS = (BUILTIN, COMMAND)


class HookConfigError(PipelineError):
    """Hooks that cannot be used as they are written."""


def parse_hooks(config: Mapping[str, Any], source: str, where: str) -> tuple[Hook, ...]:
    """Return the hooks to run, in their order within the source. Raises HookConfigError for the first fault.

    `config`: the value under `hooks`, of a shape that the schema allows; `where`: the file. Hooks that are turned off are
    checked all the same.
    """
    problem = next(iter(find_problems(config, source, where)), None)
    if problem:
        raise HookConfigError(problem)
    if not config.get("enabled", True) or (source == USER and not config.get("user_hooks_enabled", True)):
        return ()
    hooks = [_make_hook(item, source, config) for item in config.get("items", ()) if item.get("enabled", True)]
    return tuple(sorted(hooks, key=lambda hook: -hook.priority))


def find_problems(config: Mapping[str, Any], source: str, where: str) -> list[str]:
    """Return a line for each fault: its place, the fault, and what to do."""
    root = "$.runtime.hooks" if source == USER else "$.hooks"
    return [f"{where} at {root}{place}: {words}" for place, words in find_faults(config, source)]


def _make_hook(item: Mapping[str, Any], source: str, config: Mapping[str, Any]) -> Hook:
    point, kind = POINTS[item["point"]], item.get("kind", BUILTIN)
    return Hook(
        id=item["id"],
        source=source,
        point=point.name,
        kind=kind,
        priority=int(item.get("priority", 0)),
        seconds=float(item.get("timeout_sec", config.get("default_timeout_sec", point.seconds))),
        failure_policy=_failure_policy(item, config, point),
        # Spec 5.3: at the gate any test command must do, so every exit code but 0 counts.
        exit_policy=item.get("exit_policy", STRICT if point.name == ACCEPT_GATE or item.get("sandbox") else CLAUDE),
        timeout_blocks=item.get("on_timeout") == "block",
        params=dict(item.get("params", {})),
        matcher=item.get("matcher", ""),
        when=item.get("when", WORKSPACE_CHANGED),
        fail_fast=item.get("fail_fast", False),
        allow_writes=item.get("allow_writes", False),
        sandbox=item.get("sandbox", False),
        env=dict(item.get("env", {})),
        env_allow=tuple(item.get("env_allow", ())),
    )


def _failure_policy(item: Mapping[str, Any], config: Mapping[str, Any], point: HookPoint) -> str:
    policy = str(item.get("failure_policy", config.get("default_failure_policy", point.failure_policy)))
    return FAIL_OPEN if policy == "warn_only" else policy


def find_faults(config: Mapping[str, Any], source: str) -> Iterator[ConfigFault]:
    """Yield every fault of the value under `hooks`, in file order. The schema has been checked already."""
    for name in config:
        if source == REPO and name not in _OF_A_REPOSITORY:
            words = f"a repository may not set this; put {name} under runtime.hooks in the config.yaml of the user"
            yield ConfigFault(f".{name}", words)
    yield from _check_seconds(config, "default_timeout_sec")
    first: dict[str, int] = {}
    for index, item in enumerate(config.get("items", ())):
        place = f".items[{index}]"
        yield from _check_id(item, index, first)
        yield from (fault._replace(place=place + fault.place) for fault in _check_item(item, source))


def _check_id(item: Mapping[str, Any], index: int, first: dict[str, int]) -> Iterator[ConfigFault]:
    name, place = item["id"], f".items[{index}].id"
    if not _ID.fullmatch(name):
        yield ConfigFault(
            place, f"{quote_value(name)} is not an id: use letters, digits, '.', '_' and '-', at most 64 of them"
        )
    elif first.setdefault(name.casefold(), index) != index:
        other = first[name.casefold()]
        yield ConfigFault(place, f"'{name}' is the id of items[{other}] too (case does not count); choose another")


def _check_item(item: Mapping[str, Any], source: str) -> Iterator[ConfigFault]:
    kind = item.get("kind", BUILTIN)
    point_words, kind_words = _why_no_point(item["point"]), _why_no_kind(kind, source)
    if point_words:
        yield ConfigFault(".point", point_words)
    if kind_words:
        yield ConfigFault(".kind", kind_words)
    if item.get("scope", source) != source:
        yield ConfigFault(
            ".scope", f"{quote_value(item['scope'])} is not the scope of this file; write {source}, or delete it"
        )
    yield from _check_seconds(item, "timeout_sec")
    if not kind_words:
        yield from _check_kind(item, kind)
    if not point_words:
        yield from _check_point(item)
    if not point_words and not kind_words:
        yield from find_param_faults(item, kind)


def _why_no_point(name: str) -> str:
    point = POINTS.get(name)
    # The seed deletes this point; files written for the reference still name it.
    if name == "before_completion_decision":
        return "there is no point before_completion_decision; work is accepted at accept_gate: write that"
    if point is None:
        theirs = {their: row.name for row in POINTS.values() for their in (row.gemini, row.claude) if their}
        if name in theirs:
            return f"'{name}' is the name of {theirs[name]} in other tools; write that"
        return f"{quote_value(name)} is not a point{suggest_word(name, OFFERED)}"
    if not point.mountable:
        return f"no hook of the user or of a repository can be mounted at {name}; there are: {', '.join(OFFERED)}"
    if not point.fires:
        return f"phase 09 never reaches {name}, so this hook would never run; there are: {', '.join(OFFERED)}"
    return ""


def _why_no_kind(kind: str, source: str) -> str:
    if kind in ("prompt", "agent"):
        return f"hooks of kind {kind} are not run here: the opinion of a model is not a check; write kind: command"
    if kind == INTERNAL:
        return "internal hooks come with the pipeline and cannot be added; write kind: command"
    if kind == "http":
        return "hooks of kind http are not run here; write kind: command with a command that calls curl"
    return "" if kind in _KINDS else f"{quote_value(kind)} is not a kind{suggest_word(kind, _KINDS)}"


def _check_kind(item: Mapping[str, Any], kind: str) -> Iterator[ConfigFault]:
    mode = item.get("mode")
    if mode not in (None, "sync"):
        yield ConfigFault(".mode", f"{quote_value(mode)} is not a mode of kind {kind}; write sync, or delete it")
    for name in _OF_COMMANDS:
        if kind != COMMAND and item.get(name):
            yield ConfigFault(f".{name}", f"only hooks of kind command have {name}; delete it, or write kind: command")
    if kind == COMMAND and item.get("sandbox"):
        if item.get("exit_policy") == CLAUDE:
            yield ConfigFault(
                ".exit_policy", "in the sandbox exit codes alone count; write strict or auto, or delete it"
            )
        for name in ("env", "env_allow"):
            if item.get(name):
                yield ConfigFault(f".{name}", "the sandbox gives no variables to commands; delete it, or sandbox")
    for name, value in item.get("env", {}).items():
        if "\0" in value:
            yield ConfigFault(f".env.{name}", "no variable can hold a NUL character; delete it")
        if name in SET_FOR_ALL:
            words = (
                f"the pipeline sets {name} for every hook; delete it, or set it in the command: env {name}=… COMMAND"
            )
            yield ConfigFault(f".env.{name}", words)


def _check_point(item: Mapping[str, Any]) -> Iterator[ConfigFault]:
    point, matcher = item["point"], item.get("matcher", "")
    if point != ACCEPT_GATE:
        # Decision 82: an option that would do nothing where it stands is refused.
        for name in ("when", "allow_writes", "fail_fast"):
            if item.get(name):
                yield ConfigFault(f".{name}", f"it has no effect at {point}, only at accept_gate; delete it")
    if not POINTS[point].blocks:
        for name, value in _OF_A_BLOCK.items():
            if item.get(name) == value:
                yield ConfigFault(
                    f".{name}", f"nothing can be blocked at {point}, so {value} says nothing there; delete it"
                )
    if not matcher:
        return
    if point not in (*TOOL_POINTS, SESSION_START):
        yield ConfigFault(".matcher", f"no tool is called at {point}; delete it, or mount the hook at before_tool_call")
    elif words := why_bad_matcher(matcher):
        yield ConfigFault(".matcher", f"{quote_value(matcher)} is not a regular expression: {words}")
    elif point == SESSION_START and not any(re.fullmatch(matcher, word) for word in (STARTUP, RESUME)):
        words = f"{quote_value(matcher)} fits neither {STARTUP} nor {RESUME}, so this hook would never run; write one of them"
        yield ConfigFault(".matcher", words)


def why_bad_matcher(matcher: str) -> str:
    """Return why a text is not accepted as a regular expression; empty if it is."""
    if len(matcher) > _LONGEST_MATCHER:
        return f"it is longer than {_LONGEST_MATCHER} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what will mean something else one day
            re.compile(matcher)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        return f"{error}; fix it, like 'Write|Edit'"
    return ""


def _check_seconds(item: Mapping[str, Any], name: str) -> Iterator[ConfigFault]:
    seconds = item.get(name, 1)
    if not 0 < seconds <= LONGEST_SECONDS:
        yield ConfigFault(
            f".{name}", f"{quote_value(seconds)} seconds: it must be over 0 and at most {LONGEST_SECONDS}"
        )


def suggest_word(wrong: str, known: Sequence[str]) -> str:
    """Return `; did you mean 'x'?` if a known word is similar, else a list of the known words."""
    near = get_close_matches(wrong[:100], known, n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are: {', '.join(known)}"


TOOL_POINTS = (BEFORE_TOOL, AFTER_TOOL, TOOL_FAILED)
LONGEST_COMMAND = 8192
_BUILTINS: Mapping[str, tuple[str, ...]] = {
    "require_file_exists": ("path",),
    "warn_on_tool_call": ("tool_name", "tool_names"),
    "add_context_note": ("note", "message"),
}
"""Of each, what it needs one of. All take a message."""


def find_param_faults(item: Mapping[str, Any], kind: str) -> Iterator[ConfigFault]:
    """Yield the faults of a hook's params; its kind and point are valid."""
    params = item.get("params", {})
    found = _check_command(params) if kind == COMMAND else _check_builtin(params, item["point"], given="kind" in item)
    yield from (ConfigFault(f".params{place}", words) for place, words in found)


def _check_command(params: Mapping[str, Any]) -> Iterator[ConfigFault]:
    yield from _check_names(params, ("command", "args"), "kind command")
    if ("command" in params) == ("args" in params):
        yield ConfigFault("", "give either command (a line for sh) or args (a list, without a shell)")
        return
    words = [params["command"]] if "command" in params else params["args"]
    place = ".command" if "command" in params else ".args"
    if not words or not words[0].strip():
        yield ConfigFault(place, f"there is nothing to run; write a command, like {_EXAMPLES[place]}")
    if any(len(word) > LONGEST_COMMAND for word in words):
        yield ConfigFault(place, f"longer than {LONGEST_COMMAND:,} characters; put it into a script")
    if any("\0" in word for word in words):
        yield ConfigFault(place, "no command can hold a NUL character; delete it")


_EXAMPLES = {".command": "'python -m pytest -q'", ".args": "[python, -m, pytest, -q]"}


def _check_builtin(params: Mapping[str, Any], point: str, *, given: bool) -> Iterator[ConfigFault]:
    handler = params.get("handler", "")
    if handler not in _BUILTINS:
        known = ", ".join(_BUILTINS)
        hint = "" if given else " (kind is builtin where it is not given; for a command write kind: command)"
        fault = "a builtin needs a handler" if not handler else f"{quote_value(handler)} is not a builtin"
        yield ConfigFault(".handler", f"{fault}; there are: {known}{hint}")
        return
    needs = _BUILTINS[handler]
    yield from _check_names(params, ("handler", "message", *needs), handler)
    if sum(name in params for name in needs) != 1:
        yield ConfigFault("", f"{handler} needs {' or '.join(needs)}{', not both' if len(needs) > 1 else ''}")
    for name in (*needs, "message"):
        if name in params and not all(map(str.strip, _as_texts(params[name]))):
            yield ConfigFault(f".{name}", "it is empty; write it, or delete it")
    if words := _why_bad_path(params):
        yield ConfigFault(".path", words)
    if handler == "warn_on_tool_call" and point not in TOOL_POINTS:
        yield ConfigFault(".handler", f"no tool is called at {point}; mount it at before_tool_call")
    if handler == "add_context_note" and point == ACCEPT_GATE:
        words = "a note goes back to the model and costs an attempt, so nothing would ever be accepted"
        yield ConfigFault(".handler", f"{words}; mount it at session_start")
    if handler == "add_context_note" and point == SESSION_END:
        yield ConfigFault(".handler", "no model is asked after session_end; mount it at session_start")


def _why_bad_path(params: Mapping[str, Any]) -> str:
    """Return why a required file cannot exist in a workspace; empty if it can. Links are followed later."""
    path = params.get("path", "README.md")
    directory = os.path.normpath(path).split("/")[0]
    if os.path.isabs(path) or directory == "..":
        return f"{quote_value(path)} leads out of the workspace, so it would never be found; write a path in it, like README.md"
    if path.strip() and (directory == "." or path.endswith("/") or "\0" in path):
        return f"{quote_value(path)} is not a file in the workspace; name one, like README.md"
    return ""


def _check_names(params: Mapping[str, Any], known: tuple[str, ...], of: str) -> Iterator[ConfigFault]:
    for name in params:
        if name not in known:
            yield ConfigFault(f".{name}", f"{of} has no {name}; it has: {', '.join(known)}; delete it")


def _as_texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


class ConfigFault(NamedTuple):
    """A fault of the configuration."""

    place: str
    """Place below `hooks`, such as `.items[2].timeout_sec`."""
    words: str


def quote_value(value: object) -> str:
    """Return a value for a message: on one line, and shortened."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}…{text[-15:]}"
