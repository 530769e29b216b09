"""Runs a command hook: its command line, its environment, its log."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from phases.acceptance.commands.hook_environment import dropped_names, environment_of
from phases.acceptance.commands.hook_process import CommandLaunch, run_process
from phases.acceptance.commands.hook_protocol import read_verdict
from phases.acceptance.commands.sanitize import strip_control
from phases.acceptance.hook import FAILED, POINTS, Hook, HookResult
from phases.sandbox.bash import shell_words

_LONGEST_HEADING = 8192


class HookPlace(NamedTuple):
    """Where a hook runs, and what it finds there."""

    workspace: str
    log: str
    """The file for all of its output; its folder is there. Empty: none."""
    environment: Mapping[str, str]
    """The user's own, whole."""
    secret_names: Collection[str] = ()
    """Variables that hold keys of models, whatever they are called."""
    added: Mapping[str, str] = {}
    """What this program tells every hook: CLAUDE_PROJECT_DIR and the like."""


def run_command(hook: Hook, payload: bytes, place: HookPlace) -> HookResult:
    """Runs it once, `payload` on its input, with the rights of the user."""
    argv = _build_argv(hook)
    if not argv:
        return HookResult(FAILED, f"hook {hook.key} could not be run: it has no command")
    launch = CommandLaunch(
        argv,
        place.workspace,
        environment_of(place.environment, secret_names=place.secret_names, hook=hook, added=place.added),
        payload,
        hook.seconds,
        place.log,
        _log_heading(hook, dropped_names(place.environment, secret_names=place.secret_names, hook=hook)),
    )
    return read_verdict(run_process(launch), hook, POINTS[hook.point])


def _build_argv(hook: Hook) -> tuple[str, ...]:
    if args := hook.params.get("args"):
        return tuple(map(str, args))
    return tuple(shell_words(hook.command)) if hook.command.strip() else ()


def _log_heading(hook: Hook, dropped: Collection[str]) -> str:
    lines = [f"{hook.key} at {hook.point}: {hook.command}"]
    if dropped:
        lines.append(f"not given to it: {', '.join(dropped)} (env_allow gives one by its name)")
    return "\n".join(strip_control(line, _LONGEST_HEADING) for line in lines)
