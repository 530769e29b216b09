"""Parse the value under `hooks` of a file into hooks, with every default filled in.

The command of a hook stands under `params`, as `command` or `args`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phases.acceptance.configuration.validation import find_faults
from phases.acceptance.hook import (
    ACCEPT_GATE,
    BUILTIN,
    CLAUDE,
    FAIL_OPEN,
    POINTS,
    STRICT,
    USER,
    WORKSPACE_CHANGED,
    Hook,
    HookPoint,
)
from pipeline.base.errors import PipelineError


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
    """Return every fault in a line: its place, the fault, and what to do."""
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
