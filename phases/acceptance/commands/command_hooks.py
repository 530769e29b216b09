"""Runs a command hook: its command line, its environment, its log."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

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
    """The file for all of its output; its directory is there. Empty: none."""
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


SET_FOR_ALL = ("CI", "GIT_TERMINAL_PROMPT", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
"""Names among `added` that a hook might set in its `env`: ours win."""
_SECRET = re.compile(
    r"(?:_|^)(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PASSPHRASE|(?:ACCESS|PRIVATE)_?KEY)(?:$|_)"
    r"|^AWS_|^GIT_CONFIG_|^(?:GIT_ASKPASS|SSH_AUTH_SOCK|LD_PRELOAD)$"
    r"|^PIPELINE_.*(?:KEY|PASSWORD)S?(?:$|_)",
    re.IGNORECASE,
)


def environment_of(
    own: Mapping[str, str], *, secret_names: Collection[str], hook: Hook, added: Mapping[str, str]
) -> dict[str, str]:
    """The environment of one hook: the user's own without secrets, then the hook's `env`, then `added`."""
    dropped = dropped_names(own, secret_names=secret_names, hook=hook)
    kept = {name: value for name, value in own.items() if name not in dropped}
    return {**kept, **hook.env, **added}


def dropped_names(own: Mapping[str, str], *, secret_names: Collection[str], hook: Hook) -> tuple[str, ...]:
    """Which variables the hook does not get, by name."""
    # Names are compared in capitals: programs on Linux may use any case.
    secrets = {name.upper() for name in secret_names}
    return tuple(
        sorted(
            name
            for name in own
            if name not in hook.env_allow and (name.upper() in secrets or _SECRET.search(name) is not None)
        )
    )
