"""What Claude Code, Codex and Gemini CLI call things, in our words."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from phases.acceptance.configuration.parse_hooks import (
    LONGEST_SECONDS,
    TOOL_POINTS,
    HookConfigError,
    find_faults,
    quote_value,
    why_bad_matcher,
)
from phases.acceptance.hook import (
    ACCEPT_GATE,
    CLAUDE,
    COMMAND,
    POINTS,
    RESUME,
    SESSION_END,
    SESSION_START,
    STARTUP,
    USER,
)
from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json

CLAUDE_CODE, CODEX, GEMINI = "claude", "codex", "gemini"
_OURS = {*shlex.split("Read Write Edit Glob Grep Bash Job TodoWrite Task AskUser AddPackage SearchReference")}
_CLAUDE_TOOLS = {"MultiEdit": "Edit", "Agent": "Task"}
_CODEX_TOOLS = {
    "apply_patch": "Write|Edit", "shell": "Bash", "local_shell": "Bash", "exec_command": "Bash", "unified_exec": "Bash",
    "update_plan": "TodoWrite", "spawn_agent": "Task",
}  # fmt: skip
_GEMINI_TOOLS = {
    "run_shell_command": "Bash", "write_file": "Write", "replace": "Edit", "read_file": "Read", "read_many_files": "Read",
    "glob": "Glob", "search_file_content": "Grep", "grep_search": "Grep", "grep": "Grep", "write_todos": "TodoWrite",
}  # fmt: skip


class Dialect(NamedTuple):
    """How one tool writes hooks down."""

    name: str
    points: Mapping[str, str]
    """Its event -> our point."""
    tools: Mapping[str, str]
    """Its tool -> ours."""
    a_second: float
    """What it writes for one second."""
    seconds: float
    """How long it gives a command that does not say."""


_CLAUDE_POINTS = MappingProxyType({point.claude: point.name for point in POINTS.values() if point.claude})
_GEMINI_POINTS = MappingProxyType({point.gemini: point.name for point in POINTS.values() if point.gemini})
DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        CLAUDE_CODE: Dialect("Claude Code", _CLAUDE_POINTS, MappingProxyType(_CLAUDE_TOOLS), 1, 600),
        CODEX: Dialect("Codex", _CLAUDE_POINTS, MappingProxyType({**_CLAUDE_TOOLS, **_CODEX_TOOLS}), 1, 600),
        GEMINI: Dialect("Gemini CLI", _GEMINI_POINTS, MappingProxyType(_GEMINI_TOOLS), 1000, 60),
    }
)
_LIST = re.compile(r"[A-Za-z0-9_\-,| ]*")


class TranslatedMatcher(NamedTuple):
    """A matcher of another tool, in our words."""

    matcher: str
    """Empty: any tool."""
    unknown: tuple[str, ...] = ()
    """Names in it of tools that there are not here."""
    never: bool = False
    """No tool here has a name that it asks for."""


def translate_matcher(theirs: str, dialect: Dialect) -> TranslatedMatcher:
    """What a matcher asks for. A list of names fits whole names; anything else is searched for anywhere in the name."""
    if theirs.strip() in ("", "*"):
        return TranslatedMatcher("")
    if not _LIST.fullmatch(theirs):
        pattern = f".*(?:{_rename_tools(theirs, dialect)}).*"
        # an invalid pattern matches no name either, and validation reports it
        never = not why_bad_matcher(pattern) and not any(re.fullmatch(pattern, tool) for tool in _OURS)
        return TranslatedMatcher(pattern, never=never)
    names = [name for name in (part.strip() for part in re.split(r"[|,]", theirs)) if name]
    ours = {name: dialect.tools.get(name, name) for name in names}
    unknown = tuple(name for name, own in ours.items() if not _OURS.issuperset(own.split("|")))
    kept = dict.fromkeys(own for name, own in ours.items() if name not in unknown)
    return TranslatedMatcher("|".join(kept), unknown, never=not kept)


def _translate_start(theirs: str) -> TranslatedMatcher:
    """The same of how a session begins; a context that was cleared or compacted begins none here."""
    if theirs.strip() in ("", "*"):
        return TranslatedMatcher("")
    kept = [word for word in (STARTUP, RESUME) if not why_bad_matcher(theirs) and re.fullmatch(theirs, word)]
    return TranslatedMatcher("" if len(kept) > 1 else "".join(kept), never=not kept)


def _rename_tools(pattern: str, dialect: Dialect) -> str:
    """A regular expression with the names of tools in it replaced, word by word; escapes like `\\b` are no words."""

    def own(found: re.Match[str]) -> str:
        name = dialect.tools.get(found[0], found[0])
        return f"(?:{name})" if found[0] in dialect.tools and "|" in name else name

    return re.sub(r"\\.|[A-Za-z_][A-Za-z0-9_]*", own, pattern)


Row = str | tuple[str, dict[str, Any]]
"""A line for what was not translated, or a place and the item that stands there."""
_TAKEN = {COMMAND: ("type", "command", "args", "timeout", "shell")}
_CHANGES_THE_MEANING = ("if", "async", "asyncRewake", "async_rewake")
_PROJECT_NAMES, _PLUGIN_ROOT = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"), "CLAUDE_PLUGIN_ROOT"
_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)
_NOT_SET_HERE = re.compile(
    r"\$\{?((?!CLAUDE_(?:PROJECT_DIR|PLUGIN_ROOT|ENV_FILE)\b)(?:CLAUDE|CODEX|GEMINI|PLUGIN)_[A-Z_]+)"
)


class HookSource(NamedTuple):
    """Whose file is read, and which hooks are turned off in it."""

    dialect: Dialect
    disabled: frozenset[str]
    directories: Mapping[str, str] = MappingProxyType({})
    """Variables that commands name, each with the directory that is known for it: of the project or the plugin of the file."""


def translate_hook(hook: Any, place: str, base: dict[str, Any], reader: HookSource) -> Iterator[Row]:
    """What becomes of one hook: perhaps an item, made from `base`, and a line for each thing that is lost."""
    theirs = hook
    for name, directory in reader.directories.items() if isinstance(hook, dict) else ():
        before, hook = hook, _put_directory_in(hook, name, directory)
        if hook != before:
            whose = "plugin" if name == _PLUGIN_ROOT else "project"
            where = f"the {whose} of this file, {quote_value(directory)}, is put in for its name"
            yield f"{place}.command: {where}; the code of a run is in the directory that a hook starts in"
    if reason := _why_no_hook(hook, reader):
        yield f"{place}: {reason}"
        return
    kind = hook.get("type", COMMAND)
    own_name = isinstance(hook.get("name"), str)
    said = {"name": own_name, "enabled": hook.get("enabled") is True}
    for key in hook:
        if key not in _TAKEN[kind] and not said.get(key):
            yield f"{place_at(place, key)}: there is nothing like it here"
    seconds, words = _translate_timeout(hook.get("timeout"), base["point"], reader.dialect)
    if words:
        yield f"{place}.timeout: {words}"
    params = _translate_params(hook, kind, reader.dialect)
    for variable in dict.fromkeys(
        _NOT_SET_HERE.findall(" ".join([*params.get("args", ()), params.get("command", "")]))
    ):
        yield f"{place}.command: ${variable} is not set here"
    if _PLUGIN_ROOT in " ".join([*params.get("args", ()), params.get("command", "")]) and not reader.directories.get(
        _PLUGIN_ROOT
    ):
        told = "is the directory of your settings file here: copy the plugin's scripts there, or write their whole path"
        yield f"{place}.command: ${_PLUGIN_ROOT} {told}"
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


def _put_directory_in(hook: Mapping[str, Any], name: str, directory: str) -> dict[str, Any]:
    """A hook with a directory put in for its name: its scripts lie there, and not in the workspace of a run."""
    resolved, used = dict(hook), re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
    if isinstance(args := hook.get("args"), list):
        resolved["args"] = [used.sub(lambda _: directory, word) if isinstance(word, str) else word for word in args]
    if not isinstance(command := hook.get("command"), str) or not re.search(rf"\b{name}\b", command):
        return resolved
    put_in = used.sub(lambda _: directory, command)
    if "args" in hook or (_PLAIN_PATH.fullmatch(directory) and not re.search(rf"\b{name}\b", put_in)):
        return {**resolved, "command": put_in}
    return {**resolved, "command": f"{name}={shlex.quote(directory)}; {command}"}  # in any quotes, and with a default


def _why_no_hook(hook: Any, reader: HookSource) -> str:
    """Why nothing can be made of a hook, or nothing."""
    if not isinstance(hook, dict):
        return "it is no hook"
    kind = hook.get("type", COMMAND)
    if kind == "http":
        return "hooks of type 'http' are not run here: write a command that calls curl"
    if kind != COMMAND:
        return f"hooks of type {quote_value(kind)} are not run here"
    if hook.get("enabled") is False or any(
        hook.get(key) in reader.disabled for key in _text_keys(hook, "name", "command")
    ):
        return "it is turned off there"
    for key in _CHANGES_THE_MEANING:
        if hook.get(key):
            return f"with {key} it runs otherwise than hooks do here"
    args = hook.get("args", [])
    if not _text_keys(hook, "command") or not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        return "it has no text `command`, or `args` that are no texts"
    if "args" in hook and any("$" in word for word in (hook["command"], *args)):
        return "nothing is put in for a $NAME in `args` here; make it one line for a shell"
    return "" if hook.get("shell") in (None, "sh", "bash") else f"there is no shell {quote_value(hook['shell'])} here"


def _text_keys(value: Mapping[str, Any], *keys: str) -> list[str]:
    return [key for key in keys if isinstance(value.get(key), str)]


def _translate_params(hook: Mapping[str, Any], kind: str, dialect: Dialect) -> dict[str, Any]:
    command = str(hook["command"])
    if dialect is DIALECTS[GEMINI]:
        command = re.sub(r"\$(?:GEMINI_PROJECT_DIR\b|\{GEMINI_PROJECT_DIR\})", "${PIPELINE_PROJECT_DIR}", command)
    if "args" in hook:
        return {"args": [command, *hook["args"]]}
    return {"args": ["bash", "-c", command]} if hook.get("shell") == "bash" else {"command": command}


def _translate_timeout(theirs: Any, point: str, dialect: Dialect) -> tuple[float | None, str]:
    """How long a hook may take, in seconds, and what is to be said of it; None: what is usual here."""
    # Ours is far shorter there: a run that is over should not wait.
    usual = None if point == SESSION_END else dialect.seconds
    if theirs is None:
        return usual, ""
    if isinstance(theirs, bool) or not isinstance(theirs, int | float) or not theirs >= dialect.a_second / 1000:
        return usual, f"{quote_value(theirs)} is no time; it is left out"
    if theirs > LONGEST_SECONDS * dialect.a_second:
        return LONGEST_SECONDS, f"{quote_value(theirs)} is more than a hook may take here; it is {LONGEST_SECONDS} s"
    seconds = round(theirs / dialect.a_second, 3)
    return int(seconds) if seconds == int(seconds) else seconds, ""


def place_at(place: str, key: str) -> str:
    """The place of a key in what is at a place."""
    return f"{place}.{key}" if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", key) else f"{place}[{quote_value(key)}]"


_SWITCHES = {
    CODEX: (("features", "hooks"), ("features", "codex_hooks")),
    GEMINI: (("hooks", "enabled"), ("hooksConfig", "enabled")),
}
_LONGEST_STEM = 48


class ImportedHooks(NamedTuple):
    """What became of a file of hooks."""

    items: list[dict[str, Any]]
    """For `hooks.items`."""
    untranslated: list[str]
    """What was left out or reads differently here, a line each with its place: `$.hooks.Stop[0].hooks[1]: …`."""


def import_hooks(kind: str, data: bytes, name: str, project: str = "", plugin: str = "") -> ImportedHooks:
    """The hooks in a file of `claude`, `codex` or `gemini`. Raises HookConfigError for one that cannot be read.

    `project`: the directory that its commands call $CLAUDE_PROJECT_DIR; empty where the file is of no one project.
    `plugin`: the same of $CLAUDE_PLUGIN_ROOT.
    """
    directories = dict.fromkeys(_PROJECT_NAMES, project) if project else {}
    directories |= {_PLUGIN_ROOT: plugin} if plugin else {}
    dialect = DIALECTS[kind]
    items: list[dict[str, Any]] = []
    untranslated: list[str] = []
    taken: set[str] = set()
    for row in _translate_rows(_parse_file(kind, data, name), kind, dialect, directories):
        if isinstance(row, str):
            untranslated.append(row)
            continue
        place, item = row
        fault = next(find_faults({"items": [{**item, "id": "x"}]}, USER), None)
        if fault:
            untranslated.append(f"{place}: {fault.words}")
        else:
            items.append({**item, "id": _unique_id(item["id"], taken)})
    return ImportedHooks(items, untranslated)


def _parse_file(kind: str, data: bytes, name: str) -> Mapping[str, Any]:
    try:
        value = tomllib.loads(data.decode()) if kind == CODEX and name.endswith(".toml") else parse_json(data)
    except (FormatError, ValueError, RecursionError) as error:
        place = f", line {error.line}" if isinstance(error, FormatError) and error.line else ""
        raise HookConfigError(f"{name}{place}: {error}; mend it, or say with --from whose file it is") from error
    if not isinstance(value, dict):
        raise HookConfigError(f"{name}: it is no object with hooks in it; say with --from whose file it is")
    return value


def _translate_rows(
    value: Mapping[str, Any], kind: str, dialect: Dialect, directories: Mapping[str, str]
) -> Iterator[Row]:
    hooks, off = value.get("hooks"), _why_off(value, kind)
    yield from (f"{place_at('$', key)}: it is no hook" for key in value if key != "hooks")
    if not isinstance(hooks, dict):
        yield "$.hooks: there are no hooks in this file"
        return
    disabled = _list_disabled(value, hooks) if kind == GEMINI else frozenset()
    for event, groups in hooks.items():
        place = place_at("$.hooks", event)
        reason = _why_no_event(event, dialect) or (off and f"turned off there by {off}")
        if reason or not isinstance(groups, list):
            yield f"{place}: {reason or 'it is no list of hooks'}"
            continue
        for index, group in enumerate(groups):
            yield from _translate_group(group, f"{place}[{index}]", event, HookSource(dialect, disabled, directories))


def _why_off(value: Mapping[str, Any], kind: str) -> str:
    """What turns all hooks of a file off, or nothing."""
    if kind == CLAUDE_CODE:
        return "$.disableAllHooks" if value.get("disableAllHooks") is True else ""
    for table, key in _SWITCHES[kind]:
        inner = value.get(table)
        if isinstance(inner, dict) and inner.get(key) is False:
            return f"$.{table}.{key}"
    return ""


def _list_disabled(value: Mapping[str, Any], hooks: Mapping[str, Any]) -> frozenset[str]:
    config = value.get("hooksConfig")
    lists = (hooks.get("disabled"), config.get("disabled") if isinstance(config, dict) else None)
    return frozenset(name for names in lists if isinstance(names, list) for name in names if isinstance(name, str))


def _why_no_event(event: str, dialect: Dialect) -> str:
    if event not in dialect.points:
        return "there is no such moment here"
    point = POINTS[dialect.points[event]]
    if not point.mountable:
        return f"no hook can be mounted at {point.name}"
    return "" if point.fires else f"phase 09 never comes by {point.name}"


def _translate_group(group: Any, place: str, event: str, reader: HookSource) -> Iterator[Row]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    matcher = group.get("matcher") if isinstance(group, dict) else None
    if not isinstance(hooks, list) or not isinstance(matcher, str | None):
        yield f"{place}: it is no group of hooks, with a list `hooks` and perhaps a text `matcher`"
        return
    yield from (
        f"{place_at(place, key)}: there is nothing like it here" for key in group if key not in ("hooks", "matcher")
    )
    point = reader.dialect.points[event]
    fits = (
        _translate_start(matcher or "") if point == SESSION_START else translate_matcher(matcher or "", reader.dialect)
    )
    if fits.matcher or fits.never:
        if point == ACCEPT_GATE:
            yield f"{place}.matcher: it says nothing at {event}, there as here"
        elif point not in (*TOOL_POINTS, SESSION_START):
            yield f"{place}: at {point} nothing can be chosen by {quote_value(matcher)}, and the hooks would always run"
            return
        elif fits.never:
            what = "no run here begins with" if point == SESSION_START else "no tool here is called"
            yield f"{place}: {what} {quote_value(matcher)}"
            return
        elif fits.unknown:
            yield f"{place}.matcher: no tool here is called {', '.join(map(quote_value, fits.unknown))}"
    if not hooks:
        yield f"{place}.hooks: it is empty"
    for index, hook in enumerate(hooks):
        base = {
            "id": event,
            "point": point,
            **({"matcher": fits.matcher} if fits.matcher and point != ACCEPT_GATE else {}),
        }
        yield from translate_hook(hook, f"{place}.hooks[{index}]", base, reader)


def _unique_id(words: str, taken: set[str]) -> str:
    """An id that is made of words, and that no other item has."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-").lower()[:_LONGEST_STEM].strip("-") or "hook"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name)
    return name
