"""Runs a command hook: its command line, its environment, its log."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from phases.acceptance.commands.answers import answer_of
from phases.acceptance.commands.clean import cleaned
from phases.acceptance.commands.process import Launch, run_process
from phases.acceptance.commands.variables import dropped_names, environment_of
from phases.acceptance.hook import FAILED, Hook, Result
from phases.acceptance.points import POINTS
from phases.sandbox.bash import shell_words

_LONGEST_HEADING = 8192


class Place(NamedTuple):
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


def run_command(hook: Hook, payload: bytes, place: Place) -> Result:
    """Runs it once, `payload` on its input, with the rights of the user."""
    argv = _argv(hook)
    if not argv:
        return Result(FAILED, f"hook {hook.key} could not be run: it has no command")
    launch = Launch(
        argv,
        place.workspace,
        environment_of(place.environment, secret_names=place.secret_names, hook=hook, added=place.added),
        payload,
        hook.seconds,
        place.log,
        _heading(hook, dropped_names(place.environment, secret_names=place.secret_names, hook=hook)),
    )
    return answer_of(run_process(launch), hook, POINTS[hook.point])


def _argv(hook: Hook) -> tuple[str, ...]:
    if args := hook.params.get("args"):
        return tuple(map(str, args))
    return tuple(shell_words(hook.command)) if hook.command.strip() else ()


def _heading(hook: Hook, dropped: Collection[str]) -> str:
    lines = [f"{hook.key} at {hook.point}: {hook.command}"]
    if dropped:
        lines.append(f"not given to it: {', '.join(dropped)} (env_allow gives one by its name)")
    return "\n".join(cleaned(line, _LONGEST_HEADING) for line in lines)
