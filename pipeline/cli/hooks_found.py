"""Finds every hook of the user and of one workspace, with the state that it is in."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.configuration.parse_hooks import find_problems, parse_hooks
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
)
from phases.acceptance.configuration.trust_store import read_store
from phases.acceptance.configuration.validation import find_faults
from phases.acceptance.hook import POINTS, REPO, USER, Hook
from phases.acceptance.hook_registry import CODE, STORE, HookSetting
from phases.workspace.workspace import Workspace
from pipeline.base.errors import PipelineError, UsageError
from pipeline.base.plain_yaml import parse_yaml
from pipeline.base.text_escaping import one_line
from pipeline.cli.assembly import config_directory, read_user_hooks, settings_file
from pipeline.engine.contract import Contracts, explain_breaches
from pipeline.engine.settings import did_you_mean, user_hooks

MANAGED, DISABLED = "managed", "disabled"
RUNS = (MANAGED, USER, TRUSTED)
"""The states of hooks that a run would use."""
_CHECKS = "planned files, imports, the plan's checks, the entry script"
_ITEM = re.compile(r"\.items\[([0-9]+)\]")
_ORDER = tuple(POINTS)


class ListedHook(NamedTuple):
    """One hook, as it is listed. What a file says is not made safe for a terminal here."""

    point: str
    key: str
    """`user:tests`."""
    state: str
    """managed, user, trusted, untrusted, modified, invalid or disabled."""
    kind: str
    seconds: float | None
    """How long it may take; None where nothing limits it, or nobody can say."""
    policy: str
    command: str
    note: str = ""
    hook: Hook | None = None
    """What a run would use; None for one that cannot be used."""


class HookListing(NamedTuple):
    """All of them, by point and in the order in which they run."""

    rows: tuple[ListedHook, ...]
    problems: tuple[str, ...]
    """What is wrong with a configuration, a line each."""
    notes: tuple[str, ...]
    """Why hooks do not run, a line each."""
    repo: RepoHooks


def read_hook_setting(contracts: Contracts) -> HookSetting:
    """What a run is told of the user's hooks. Raises UsageError for a file that is not right."""
    return HookSetting(
        read_user_hooks(), config_directory(), hooks_file_parser(contracts), store_checker(contracts), os.environ
    )


def discover_hooks(contracts: Contracts, workspace: str) -> HookListing:
    """The hooks of the user, and of a workspace (empty: of none)."""
    own, problems = _own_config(contracts)
    repo = _discover_repo(contracts, workspace)
    all_off = own.get("enabled", True) is False
    rows = [_internal_row(), *_list_rows(own, USER, lambda name: (USER, ""))]
    notes = [_store_note(contracts), *([f"{settings_file()}: enabled is false, so no hook but ours runs"] * all_off)]
    if repo.state != NO_HOOKS:
        theirs, wrong = _repo_config(contracts, workspace, repo)
        told = dict(repo.skipped)
        rows += _repo_rows(_list_rows(theirs, REPO, lambda name: _state_of(repo, told, name)), repo, all_off=all_off)
        problems += wrong
        notes.append(_file_note(repo))
    place = {name: number for number, name in enumerate(_ORDER)}
    rows.sort(key=lambda row: place.get(row.point, len(place)))
    return HookListing(tuple(rows), tuple(problems), tuple(filter(None, notes)), repo)


def find_hook(found: HookListing, name: str, task: str) -> Hook:
    """The hook of that key or id, as a run would use it. Raises UsageError for any other; `task`: as a user types it."""
    fitting = [row for row in found.rows if name.casefold() in map(str.casefold, (row.key, row.key.partition(":")[2]))]
    if not fitting:
        raise UsageError(f"there is no hook '{name}'{did_you_mean(name, [row.key for row in found.rows])}")
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
    """What the parameters of a hook come to, in words; a list of arguments as a shell would want it."""
    if "args" in params:
        return shlex.join(map(str, params["args"]))
    named = (str(value) for value in params.values() if isinstance(value, str | int))
    return str(params["command"]) if "command" in params else " ".join(named)


def hooks_file_parser(contracts: Contracts) -> Callable[[bytes], dict[str, Any]]:
    """How the hooks file of a workspace is parsed and checked."""
    return lambda data: dict(contracts.parse("hooks.yaml", data, writer="you"))


def store_checker(contracts: Contracts) -> Callable[[Any], str | None]:
    """Why a value is no store of trusted workspaces, or None."""
    return lambda value: contracts.breach(contracts.schema(STORE), value)


def store_path() -> str:
    """Where the user keeps what is trusted."""
    return f"{config_directory()}/{STORE}"


def _own_config(contracts: Contracts) -> tuple[Mapping[str, Any], list[str]]:
    """The value under `hooks` of the user's file, and what is wrong with it. What breaks the schema is not looked into."""
    where = settings_file()
    try:
        runtime = user_hooks(where)
    except UsageError as error:
        return {}, [str(error)]
    if not runtime:
        return {}, []
    wrong = _schema_breaches(contracts, runtime, where, "$.runtime")
    return ({}, wrong) if wrong else (runtime["hooks"], find_problems(runtime["hooks"], USER, where))


def _discover_repo(contracts: Contracts, workspace: str) -> RepoHooks:
    if not workspace:
        return RepoHooks(NO_HOOKS)
    return discover_repo_hooks(workspace, store_path(), hooks_file_parser(contracts), store_checker(contracts))


def _repo_config(contracts: Contracts, workspace: str, repo: RepoHooks) -> tuple[Mapping[str, Any], list[str]]:
    """The same of the file of the workspace."""
    try:
        data = Workspace(workspace).read_bytes(HOOKS_FILE)
        value = parse_yaml(data) if len(data) <= LARGEST_HOOKS_FILE else None
    except PipelineError:
        value = None
    if value is None:
        return {}, [repo.reason] if repo.state == INVALID else []
    config: Mapping[str, Any] = {}
    wrong = _schema_breaches(contracts, value, HOOKS_FILE, "$")
    if not wrong:
        config = value["hooks"]
        wrong = find_problems(config, REPO, HOOKS_FILE)
    return config, wrong or ([repo.reason] if repo.state == INVALID else [])


def _schema_breaches(contracts: Contracts, value: Any, where: str, root: str) -> list[str]:
    schema = contracts.schema("hooks.yaml")
    if contracts.breach(schema, value) is None:
        return []
    return [
        f"{where} at {found.json_path.replace('$', root, 1)}: {one_line(found.message, 300)}"
        for found in explain_breaches(schema, value)
    ]


def _internal_row() -> ListedHook:
    return ListedHook(CODE.point, CODE.key, MANAGED, CODE.kind, None, CODE.failure_policy, _CHECKS, hook=CODE)


def _list_rows(config: Mapping[str, Any], source: str, state: Callable[[str], tuple[str, str]]) -> list[ListedHook]:
    """The hooks of one file in their order, those that are turned off or cannot be used among them."""
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
        word, note = (DISABLED, "") if off or not good[hook.id].get("enabled", True) else state(hook.id)
        rows.append(_hook_row(hook, word, note))
    return [*rows, *(_invalid_row(items[index], source) for index in sorted(bad))]


def _hook_row(hook: Hook, state: str, note: str) -> ListedHook:
    command = what_runs(hook.params)
    return ListedHook(hook.point, hook.key, state, hook.kind, hook.seconds, hook.failure_policy, command, note, hook)


def _invalid_row(item: Mapping[str, Any], source: str) -> ListedHook:
    key = f"{source}:{item['id']}"
    command = what_runs(item.get("params", {}))
    return ListedHook(str(item["point"]), key, INVALID, str(item.get("kind", "builtin")), None, "", command)


def _state_of(repo: RepoHooks, told: Mapping[str, str], name: str) -> tuple[str, str]:
    if repo.state != MODIFIED:
        return repo.state, ""
    return (TRUSTED, "") if any(hook.id == name for hook in repo.hooks) else (MODIFIED, told.get(name, ""))


def _repo_rows(rows: Iterable[ListedHook], repo: RepoHooks, *, all_off: bool) -> list[ListedHook]:
    """With the very hooks that were compared with what is trusted: the file may be another by now."""
    hooks = {hook.key: hook for hook in repo.hooks}
    rows = [row._replace(hook=hooks.get(row.key)) for row in rows]
    return [row._replace(state=DISABLED) for row in rows] if all_off else rows


def _store_note(contracts: Contracts) -> str:
    store = read_store(store_path(), store_checker(contracts))
    return f"no workspace is trusted: {store.fault}" if store.fault and not store.missing else ""


def _file_note(repo: RepoHooks) -> str:
    reason = repo.reason
    return f"{HOOKS_FILE} of the workspace is {repo.state}" + (f": {reason}" if reason else "")
