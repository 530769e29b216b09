"""List every hook of the user and of one workspace, with its state."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.checks.missing_programs import describe_missing
from phases.acceptance.configuration.parse_hooks import find_faults, find_problems, parse_hooks, suggest_word
from phases.acceptance.configuration.repo_hooks import (
    HOOKS_FILE,
    INVALID,
    LARGEST_HOOKS_FILE,
    MODIFIED,
    NO_HOOKS,
    TRUSTED,
    UNTRUSTED,
    RepoHooks,
    discover_repo_hooks,
    read_store,
)
from phases.acceptance.hook import POINTS, REPO, USER, Hook
from phases.acceptance.hook_registry import CODE, HookSetting
from phases.acceptance.payload import RunFacts
from phases.workspace.workspace import Workspace
from pipeline.base.errors import PipelineError, UsageError
from pipeline.base.plain_yaml import parse_yaml
from pipeline.base.text_escaping import one_line

MANAGED, DISABLED = "managed", "disabled"
RUNS = (MANAGED, USER, TRUSTED)
"""The states of hooks that a run would use."""
Explain = Callable[[Any], Iterable[tuple[str, str]]]
"""Yields the JSON path and message of each breach of the schema of hooks.yaml."""
_CHECKS = "planned files, imports, the plan's checks, the entry script"
_ITEM = re.compile(r"\.items\[([0-9]+)\]")
_ORDER = {name: number for number, name in enumerate(POINTS)}


class ListedHook(NamedTuple):
    """One listed hook. Texts from files are not escaped for a terminal."""

    point: str
    key: str
    """`user:tests`."""
    state: str
    """managed, user, trusted, untrusted, modified, invalid or disabled."""
    kind: str
    seconds: float | None
    """Timeout; None if there is none, or the hook is invalid."""
    policy: str
    command: str
    note: str = ""
    hook: Hook | None = None
    """The hook as a run would use it; None if it cannot be used."""


class HookListing(NamedTuple):
    """All hooks, by point and in the order in which they run."""

    rows: tuple[ListedHook, ...]
    problems: tuple[str, ...]
    """Faults of the configuration, a line each."""
    notes: tuple[str, ...]
    """Reasons why hooks do not or cannot run, a line each."""
    repo: RepoHooks


def list_hooks(setting: HookSetting, workspace: str, explain: Explain, fault: str = "") -> HookListing:
    """List the hooks of the user and of a workspace (empty: none). Invalid hooks are listed, not raised.

    `setting.own` need not be valid here; `fault`: why the settings file could not be read at all.
    """
    own, problems = ({}, [fault]) if fault else _check_user_hooks(setting, explain)
    repo = RepoHooks(NO_HOOKS)
    if workspace:
        repo = discover_repo_hooks(workspace, setting.store, setting.parse, setting.check_store)
    all_off = own.get("enabled", True) is False
    rows = [ListedHook(CODE.point, CODE.key, MANAGED, CODE.kind, None, CODE.failure_policy, _CHECKS, hook=CODE)]
    rows += _list_rows(own, USER, lambda name: (USER, ""))
    store = read_store(setting.store, setting.check_store)
    notes = [f"no workspace is trusted: {store.fault}"] if store.fault and not store.missing else []
    notes += [f"{setting.settings_file}: enabled is false, so no hook but ours runs"] if all_off else []
    if repo.state != NO_HOOKS:
        config, wrong = _check_repo_hooks(workspace, repo, explain)
        rows += _list_repo_rows(config, repo, all_off=all_off)
        problems += wrong
        notes.append(f"{HOOKS_FILE} of the workspace is {repo.state}" + (f": {repo.reason}" if repo.reason else ""))
    usable = [row.hook for row in rows if row.state in RUNS and row.hook is not None]
    place = RunFacts(
        "", "", os.path.realpath(workspace) if workspace else "", "", settings_directory=setting.own_folder
    )
    notes += describe_missing(usable, place, setting.environment, setting.settings_file)
    rows.sort(key=lambda row: _ORDER.get(row.point, len(_ORDER)))
    return HookListing(tuple(rows), tuple(problems), tuple(notes), repo)


def find_hook(listing: HookListing, name: str, task: str) -> Hook:
    """Return the hook of a key or id, as a run would use it. Raises UsageError."""
    fitting = [row for row in listing.rows if name.casefold() in (row.key.casefold(), _id_of(row).casefold())]
    if not fitting:
        raise UsageError(f"there is no hook '{name}'{suggest_word(name, [row.key for row in listing.rows])}")
    if len(fitting) > 1:
        raise UsageError(f"'{name}' is {' and '.join(row.key for row in fitting)}; name one of them")
    row = fitting[0]
    if row.state in RUNS and row.hook is not None:
        return row.hook
    trust = f"look at it with: pipeline hooks trust {task} --show, then: pipeline hooks trust {task}"
    cure = trust if row.state in (UNTRUSTED, MODIFIED) else f"look with: pipeline hooks list {task}"
    note = f" ({row.note})" if row.note else ""
    raise UsageError(f"{row.key} is {row.state}{note}, and so is not run; {cure}")


def what_runs(params: Mapping[str, Any]) -> str:
    """Return the command of a hook, or its other parameters; arguments are quoted for a shell."""
    if "args" in params:
        return shlex.join(map(str, params["args"]))
    named = (str(value) for value in params.values() if isinstance(value, str | int))
    return str(params["command"]) if "command" in params else " ".join(named)


def _check_user_hooks(setting: HookSetting, explain: Explain) -> tuple[Mapping[str, Any], list[str]]:
    """Return the value under `hooks` of the settings file, and its faults."""
    if not setting.own:
        return {}, []
    wrong = _format_breaches(explain(setting.own), setting.settings_file, "$.runtime")
    config = {} if wrong else setting.own["hooks"]
    return config, wrong or find_problems(config, USER, setting.settings_file)


def _check_repo_hooks(workspace: str, repo: RepoHooks, explain: Explain) -> tuple[Mapping[str, Any], list[str]]:
    """Return the same for the hooks file of the workspace."""
    reason = [repo.reason] if repo.state == INVALID else []
    try:
        data = Workspace(workspace).read_bytes(HOOKS_FILE)
        value = parse_yaml(data) if len(data) <= LARGEST_HOOKS_FILE else None
    except PipelineError:
        value = None
    if value is None:
        return {}, reason
    wrong = _format_breaches(explain(value), HOOKS_FILE, "$")
    config = {} if wrong else value["hooks"]
    return config, wrong or find_problems(config, REPO, HOOKS_FILE) or reason


def _format_breaches(breaches: Iterable[tuple[str, str]], where: str, root: str) -> list[str]:
    return [f"{where} at {path.replace('$', root, 1)}: {one_line(message, 300)}" for path, message in breaches]


def _list_rows(config: Mapping[str, Any], source: str, state_of: Callable[[str], tuple[str, str]]) -> list[ListedHook]:
    """List the hooks of one file in order, including disabled and invalid ones."""
    faults = [fault.place for fault in find_faults(config, source)]
    bad = {int(found[1]) for place in faults if (found := _ITEM.match(place))}
    items: Sequence[Mapping[str, Any]] = config.get("items", ())
    good = {item["id"]: item for index, item in enumerate(items) if index not in bad}
    top = ("default_timeout_sec", "default_failure_policy")
    defaults = {name: config[name] for name in top if name in config and f".{name}" not in faults}
    hooks = parse_hooks({**defaults, "items": [{**item, "enabled": True} for item in good.values()]}, source, "")
    off = not config.get("enabled", True) or (source == USER and not config.get("user_hooks_enabled", True))
    rows = []
    for hook in hooks:
        state, note = (DISABLED, "") if off or not good[hook.id].get("enabled", True) else state_of(hook.id)
        command = what_runs(hook.params)
        rows.append(
            ListedHook(hook.point, hook.key, state, hook.kind, hook.seconds, hook.failure_policy, command, note, hook)
        )
    for index in sorted(bad):
        item, key = items[index], f"{source}:{items[index]['id']}"
        kind, command = str(item.get("kind", "builtin")), what_runs(item.get("params", {}))
        rows.append(ListedHook(str(item["point"]), key, INVALID, kind, None, "", command))
    return rows


def _list_repo_rows(config: Mapping[str, Any], repo: RepoHooks, *, all_off: bool) -> list[ListedHook]:
    """List the hooks of the workspace as they were compared with the trust store: the file may have changed since."""
    hooks, why = {hook.id: hook for hook in repo.hooks}, dict(repo.skipped)

    def state_of(name: str) -> tuple[str, str]:
        if repo.state != MODIFIED:
            return repo.state, ""
        return (TRUSTED, "") if name in hooks else (MODIFIED, why.get(name, ""))

    rows = [row._replace(hook=hooks.get(_id_of(row))) for row in _list_rows(config, REPO, state_of)]
    return [row._replace(state=DISABLED) for row in rows] if all_off else rows


def _id_of(row: ListedHook) -> str:
    return row.key.partition(":")[2]
