"""Translate the hooks of Claude Code, Codex and Gemini CLI into items of a hooks file. Nothing is dropped silently."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
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
from pipeline.base.errors import FormatError, UsageError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.base.plain_yaml import dump_yaml, parse_yaml

CLAUDE_CODE, CODEX, GEMINI = "claude", "codex", "gemini"
TOOLS = {*shlex.split("Read Write Edit Glob Grep Bash Job TodoWrite Task AskUser AddPackage SearchReference")}
_CLAUDE_TOOLS = {"MultiEdit": "Edit", "Agent": "Task"}
_CODEX_TOOLS = {
    "apply_patch": "Write|Edit", "shell": "Bash", "local_shell": "Bash", "exec_command": "Bash", "unified_exec": "Bash",
    "update_plan": "TodoWrite", "spawn_agent": "Task",
}  # fmt: skip
_GEMINI_TOOLS = {
    "run_shell_command": "Bash", "write_file": "Write", "replace": "Edit", "read_file": "Read", "read_many_files": "Read",
    "glob": "Glob", "search_file_content": "Grep", "grep_search": "Grep", "grep": "Grep", "write_todos": "TodoWrite",
}  # fmt: skip
_CLAUDE_POINTS = {point.claude: point.name for point in POINTS.values() if point.claude}
_GEMINI_POINTS = {point.gemini: point.name for point in POINTS.values() if point.gemini}


class Dialect(NamedTuple):
    """The names and units that one tool writes hooks with."""

    points: Mapping[str, str]
    """Event -> point."""
    tools: Mapping[str, str]
    """Tool -> tool here; `|` separates several."""
    second: float = 1
    """One second as a timeout."""
    seconds: float = 600
    """Timeout of a command that sets none."""


DIALECTS: Mapping[str, Dialect] = {
    CLAUDE_CODE: Dialect(_CLAUDE_POINTS, _CLAUDE_TOOLS),
    CODEX: Dialect(_CLAUDE_POINTS, {**_CLAUDE_TOOLS, **_CODEX_TOOLS}),
    GEMINI: Dialect(_GEMINI_POINTS, _GEMINI_TOOLS, 1000, 60),
}
_LARGEST_FILE = 4 * 1024 * 1024
_LONGEST_ID = 48
_FIELDS = ("type", "command", "args", "timeout", "shell")
_USUAL: Mapping[str, Any] = {"type": COMMAND, "command": None, "args": [], "shell": None}
_UNSUPPORTED = ("if", "async", "asyncRewake", "async_rewake")
"""Fields that change what a hook does, and have no equivalent here."""
_SETTINGS_DIRECTORIES = (".claude", ".codex", ".gemini")
_PROJECT_NAMES, _PLUGIN_ROOT = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"), "CLAUDE_PLUGIN_ROOT"
_NAME_LIST = re.compile(r"[A-Za-z0-9_\-,| ]*")
_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)
_UNSET = re.compile(r"\$\{?((?!CLAUDE_(?:PROJECT_DIR|PLUGIN_ROOT|ENV_FILE)\b)(?:CLAUDE|CODEX|GEMINI|PLUGIN)_[A-Z_]+)")
Translated = tuple[str, str | dict[str, Any]]
"""A place in the file, with the item made of it or the reason why something there was left out."""


class ImportedHooks(NamedTuple):
    """Items for `hooks.items`, and what was left out or differs here."""

    items: list[dict[str, Any]]
    untranslated: list[str]
    """Lines that begin with the place: `$.hooks.Stop[0].hooks[1]: …`."""

    def to_yaml(self, scope: str) -> str:
        """Return the items as text to paste into the settings of the user or a hooks file of a repository."""
        return _to_yaml({"hooks": {"items": self.items}}, scope) if self.items else ""


def import_file(kind: str, path: str, printable: Callable[[str], str]) -> ImportedHooks:
    """Translate a file of `claude`, `codex` or `gemini`. Raises UsageError, StorageError, HookConfigError.

    Args:
        printable: Returns what a terminal shows of a text.
    """
    if not os.path.lexists(path):
        raise UsageError(f"there is no file {path}; name the settings file with the hooks of {kind}")
    found = import_hooks(kind, read_bytes(os.path.realpath(path), limit=_LARGEST_FILE), path, _directories_of(path))
    unsafe = [item for item in found.items if not _is_all_visible(item, printable)]
    lines = [f"{item['id']}: contains invisible characters; write that hook by hand" for item in unsafe]
    return ImportedHooks([item for item in found.items if item not in unsafe], [*found.untranslated, *lines])


def import_hooks(kind: str, data: bytes, name: str, directories: Mapping[str, str] | None = None) -> ImportedHooks:
    """Translate the bytes of a file. Raises HookConfigError.

    Args:
        directories: The directory of each variable that commands may name, such as CLAUDE_PROJECT_DIR.
    """
    items, untranslated, ids = list[dict[str, Any]](), list[str](), set[str]()
    for place, result in _translate_file(_parse_file(kind, data, name), DIALECTS[kind], directories or {}):
        if isinstance(result, str):
            untranslated.append(f"{place}: {result}")
        elif fault := next(find_faults({"items": [{**result, "id": "x"}]}, USER), None):
            untranslated.append(f"{place}: {fault.words}")
        else:
            items.append({**result, "id": _unique_id(result["id"], ids)})
    return ImportedHooks(items, untranslated)


def _directories_of(path: str) -> dict[str, str]:
    """Return the directories that commands of a file mean. A plugin and the user's own settings serve any project."""
    directory, name = os.path.split(os.path.abspath(path))
    parent, last = os.path.split(directory)
    if (last, name) == ("hooks", "hooks.json"):
        return {_PLUGIN_ROOT: parent}
    project = parent if last in _SETTINGS_DIRECTORIES else directory
    is_home = os.path.realpath(project) == os.path.realpath(os.path.expanduser("~"))
    return {} if is_home else dict.fromkeys(_PROJECT_NAMES, project)


def _is_all_visible(item: Mapping[str, Any], printable: Callable[[str], str]) -> bool:
    """Return whether an item can be pasted as shown: a hidden character could turn a command into another one."""
    try:
        return bool(parse_yaml(printable(_to_yaml(item, "")).encode()) == item)
    except (FormatError, UnicodeError):
        return False


def _to_yaml(value: Mapping[str, Any], scope: str) -> str:
    return dump_yaml({"runtime": value} if scope == USER else value).decode("utf-8")


def _parse_file(kind: str, data: bytes, name: str) -> Mapping[str, Any]:
    try:
        value = tomllib.loads(data.decode()) if kind == CODEX and name.endswith(".toml") else parse_json(data)
    except (FormatError, ValueError, RecursionError) as error:
        place = f", line {error.line}" if isinstance(error, FormatError) and error.line else ""
        raise HookConfigError(f"{name}{place}: {error}; fix it, or name its tool with --from") from error
    if not isinstance(value, dict):
        raise HookConfigError(f"{name}: not an object with hooks; name its tool with --from")
    return value


_SWITCHES = ("disableAllHooks", "hooksConfig", "features", "disabled", "enabled")
_SWITCH = "a switch, which is not followed: hooks that it turns off there are on in this translation"


def _translate_file(value: Mapping[str, Any], dialect: Dialect, directories: Mapping[str, str]) -> Iterator[Translated]:
    hooks = value.get("hooks")
    yield from ((_child("$", key), _SWITCH if key in _SWITCHES else "not a hook") for key in value if key != "hooks")
    if not isinstance(hooks, dict):
        yield "$.hooks", "there are no hooks in this file"
        return
    for event, groups in hooks.items():
        reason = _SWITCH if event in _SWITCHES else _why_no_event(event, dialect)
        if reason or not isinstance(groups, list):
            yield _child("$.hooks", event), reason or "not a list of hooks"
            continue
        for index, group in enumerate(groups):
            place = f"{_child('$.hooks', event)}[{index}]"
            yield from _translate_group(group, place, event, dialect, directories)


def _why_no_event(event: str, dialect: Dialect) -> str:
    if event not in dialect.points:
        return "this event does not exist here"
    point = POINTS[dialect.points[event]]
    if not point.mountable:
        return f"no hook can be mounted at {point.name}"
    return "" if point.fires else f"phase 09 never reaches {point.name}"


def _translate_group(
    group: Any, place: str, event: str, dialect: Dialect, directories: Mapping[str, str]
) -> Iterator[Translated]:
    hooks, matcher = (group.get("hooks"), group.get("matcher")) if isinstance(group, dict) else (None, None)
    if not isinstance(hooks, list) or not isinstance(matcher, str | None):
        yield place, "not a group of hooks: it needs a list `hooks`, and may have a text `matcher`"
        return
    yield from ((_child(place, key), "has no equivalent here") for key in group if key not in ("hooks", "matcher"))
    point = dialect.points[event]
    at_start = point == SESSION_START
    match = translate_matcher(
        matcher or "", {} if at_start else dialect.tools, (STARTUP, RESUME) if at_start else TOOLS
    )
    if match.pattern or match.never:
        what = "no run here begins with" if at_start else "no tool here is called"
        if point == ACCEPT_GATE:
            yield f"{place}.matcher", f"has no effect at {event}, there as here"
        elif point not in (*TOOL_POINTS, SESSION_START):
            yield place, f"at {point} a matcher is not supported, and these hooks would always run"
            return
        elif match.never:
            yield place, f"{what} {quote_value(matcher)}"
            return
        elif match.unknown:
            yield f"{place}.matcher", f"{what} {', '.join(map(quote_value, match.unknown))}"
    if not hooks:
        yield f"{place}.hooks", "is empty"
    base = {
        "id": event,
        "point": point,
        **({"matcher": match.pattern} if match.pattern and point != ACCEPT_GATE else {}),
    }
    for index, hook in enumerate(hooks):
        yield from _translate_hook(hook, f"{place}.hooks[{index}]", base, dialect, directories)


class TranslatedMatcher(NamedTuple):
    """A matcher in the names used here."""

    pattern: str
    """Empty for any name."""
    unknown: tuple[str, ...] = ()
    """Names in it that do not exist here."""
    never: bool = False
    """Nothing here has a name that it fits."""


def translate_matcher(theirs: str, names: Mapping[str, str], known: Collection[str]) -> TranslatedMatcher:
    """Translate a matcher. A list fits whole names; any other pattern is searched for anywhere in a name.

    Args:
        names: Their name -> ours, for the names that differ.
        known: All names that exist here.
    """
    if theirs.strip() in ("", "*"):
        return TranslatedMatcher("")
    if not _NAME_LIST.fullmatch(theirs):
        pattern = f".*(?:{_rename_words(theirs, names)}).*"
        # an invalid pattern matches no name either, and the checks of the item report it
        return TranslatedMatcher(
            pattern, never=not why_bad_matcher(pattern) and not any(re.fullmatch(pattern, name) for name in known)
        )
    ours = {name: names.get(name, name) for part in re.split(r"[|,]", theirs) if (name := part.strip())}
    unknown = tuple(name for name, own in ours.items() if not set(known).issuperset(own.split("|")))
    fitting = dict.fromkeys(own for name, own in ours.items() if name not in unknown)
    return TranslatedMatcher("|".join(fitting), unknown, never=not fitting)


def _rename_words(pattern: str, names: Mapping[str, str]) -> str:
    """Replace names within a regular expression; an escape such as `\\b` is not a name."""

    def rename(word: re.Match[str]) -> str:
        name = names.get(word[0], word[0])
        return f"(?:{name})" if "|" in name else name

    return re.sub(r"\\.|[A-Za-z_][A-Za-z0-9_]*", rename, pattern)


def _translate_hook(
    hook: Any, place: str, base: dict[str, Any], dialect: Dialect, directories: Mapping[str, str]
) -> Iterator[Translated]:
    command = hook.get("command") if isinstance(hook, dict) else None
    for name, directory in directories.items() if isinstance(hook, dict) else ():
        resolved = _insert_directory(hook, name, directory)
        if resolved != hook:
            hook = resolved
            yield (
                f"{place}.command",
                f"${name} becomes {quote_value(directory)}; the code of a run is in the working directory",
            )
    if reason := _why_no_hook(hook):
        yield place, reason
        return
    has_name = isinstance(hook.get("name"), str)
    meant = {*_FIELDS, *(["name"] if has_name else []), *(["enabled"] if hook.get("enabled") is True else [])}
    yield from ((_child(place, key), "has no equivalent here") for key in hook if key not in meant)
    seconds, words = _translate_timeout(hook.get("timeout"), base["point"], dialect)
    if words:
        yield f"{place}.timeout", words
    params = _translate_params(hook)
    text = " ".join([*params.get("args", ()), params.get("command", "")])
    yield from ((f"{place}.command", f"${name} is not set here") for name in dict.fromkeys(_UNSET.findall(text)))
    if _PLUGIN_ROOT in text and _PLUGIN_ROOT not in directories:
        yield (
            f"{place}.command",
            f"${_PLUGIN_ROOT} is the directory of your settings file here: write whole paths instead",
        )
    yield (
        place,
        {
            **base,
            "id": hook["name"] if has_name else f"{base['id']} {command}",
            "kind": COMMAND,
            **({"timeout_sec": seconds} if seconds else {}),
            "exit_policy": CLAUDE,
            "params": params,
        },
    )


def _insert_directory(hook: Mapping[str, Any], name: str, directory: str) -> dict[str, Any]:
    """Replace a variable by its directory: the scripts of a hook are there, and not in the workspace of a run."""
    variable = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
    command, args = hook.get("command"), hook.get("args")
    inserted = dict(hook)
    if isinstance(args, list):
        inserted["args"] = [variable.sub(lambda _: directory, word) if isinstance(word, str) else word for word in args]
    if not isinstance(command, str) or not re.search(rf"\b{name}\b", command):
        return inserted
    plain = variable.sub(lambda _: directory, command)
    is_plain = "args" in hook or (_PLAIN_PATH.fullmatch(directory) and not re.search(rf"\b{name}\b", plain))
    # An assignment works within any quotes, and with a default.
    return {**inserted, "command": plain if is_plain else f"{name}={shlex.quote(directory)}; {command}"}


def _why_no_hook(hook: Any) -> str:
    if not isinstance(hook, dict):
        return "not a hook"
    kind, command, args, shell = (hook.get(key, usual) for key, usual in _USUAL.items())
    if kind != COMMAND:
        cure = ": write a command that calls curl" if kind == "http" else ""
        return f"hooks of type {quote_value(kind)} are not run here{cure}"
    if hook.get("enabled") is False:
        return "it is turned off there"
    if key := next((key for key in _UNSUPPORTED if hook.get(key)), ""):
        return f"{key} is not supported here, and the hook would run differently"
    if not isinstance(command, str) or not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        return "`command` is not a text, or `args` is not a list of texts"
    if "args" in hook and any("$" in word for word in (command, *args)):
        return "variables in `args` are not replaced here; write one line for a shell"
    return "" if shell in (None, "sh", "bash") else f"there is no shell {quote_value(shell)} here"


def _translate_params(hook: Mapping[str, Any]) -> dict[str, Any]:
    command = re.sub(r"\$(?:GEMINI_PROJECT_DIR\b|\{GEMINI_PROJECT_DIR\})", "${PIPELINE_PROJECT_DIR}", hook["command"])
    if "args" in hook:
        return {"args": [command, *hook["args"]]}
    return {"args": ["bash", "-c", command]} if hook.get("shell") == "bash" else {"command": command}


def _translate_timeout(theirs: Any, point: str, dialect: Dialect) -> tuple[float | None, str]:
    """Return the timeout in seconds, and what to report about it; None for the usual timeout here."""
    # The usual timeout here is far shorter at the end: a run that is over should not wait.
    usual = None if point == SESSION_END else dialect.seconds
    if theirs is None:
        return usual, ""
    if isinstance(theirs, bool) or not isinstance(theirs, int | float) or not theirs >= dialect.second / 1000:
        return usual, f"{quote_value(theirs)} is not a timeout; it is ignored"
    if theirs > LONGEST_SECONDS * dialect.second:
        return LONGEST_SECONDS, f"{quote_value(theirs)} is over the limit; it becomes {LONGEST_SECONDS} s"
    seconds = round(theirs / dialect.second, 3)
    return int(seconds) if seconds == int(seconds) else seconds, ""


def _child(place: str, key: str) -> str:
    return f"{place}.{key}" if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", key) else f"{place}[{quote_value(key)}]"


def _unique_id(words: str, ids: set[str]) -> str:
    stem = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-").lower()[:_LONGEST_ID].strip("-") or "hook"
    name, number = stem, 2
    while name in ids:
        name, number = f"{stem}-{number}", number + 1
    ids.add(name)
    return name
