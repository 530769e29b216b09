"""Runs a command hook: its command line, its environment, its log. A program that it lacks is no verdict."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from typing import NamedTuple

from phases.acceptance.commands.hook_process import CommandLaunch, ProcessOutcome, run_process
from phases.acceptance.commands.hook_protocol import read_verdict
from phases.acceptance.commands.sanitize import strip_control
from phases.acceptance.configuration.checksums import hash_scripts, is_tool_module
from phases.acceptance.hook import ACCEPT_GATE, BLOCK, FAILED, POINTS, Hook, HookResult
from phases.sandbox.bash import shell_words
from phases.workspace.workspace import LARGEST_FILE
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes

_LONGEST_HEADING = 8192
_LONGEST_QUOTE = 200
_SECONDS_TO_READ = 5.0


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
    environment = environment_of(place.environment, secret_names=place.secret_names, hook=hook, added=place.added)
    launch = CommandLaunch(
        argv,
        place.workspace,
        environment,
        payload,
        hook.seconds,
        place.log,
        _log_heading(hook, dropped_names(place.environment, secret_names=place.secret_names, hook=hook)),
    )
    return judge_outcome(run_process(launch), hook, place.workspace, environment.get("PATH"))


_MISSING_PROGRAM = re.compile(
    r"""
    :[ ](?P<shell>[\w+][\w.+-]*):[ ](?:command[ ])?not[ ]found$
    | [ ]command[ ]not[ ]found:[ ](?P<zsh>[\w+][\w.+-]*)$
    | \b(?:make|xargs|env):[ ]['\u2018]?(?P<caller>[\w+][\w.+-]*)['\u2019]?:[ ]No[ ]such[ ]file[ ]or[ ]directory$
    | \bNo[ ]such[ ]file[ ]or[ ]directory:[ ]'(?P<python>[\w+][\w+-]*)'$
    | ^\S*python[\d.]*:[ ]No[ ]module[ ]named[ ]'?(?P<module>\w+)'?$
    """,
    re.VERBOSE | re.MULTILINE,
)
"""How shells and programs say that a program is not installed. A name with a slash is a file, which the agent may owe, and
so is one with a suffix where Python names it."""
_MAY_HIDE_IT = (1, 2)
"""What scripts exit with after anything that went wrong."""


def judge_outcome(ran: ProcessOutcome, hook: Hook, workspace: str, path: str | None) -> HookResult:
    """The verdict of one run. At the gate, a block for want of a program of the hook's own is none: no agent can mend that.

    `path`: where the hook's programs are looked for; None where that is not known, as in the sandbox.
    """
    result = read_verdict(ran, hook, POINTS[hook.point])
    # A guard that refuses a call goes on refusing it: what it prints may be words of the agent.
    if hook.point != ACCEPT_GATE or result.status != BLOCK or ran.exit_code not in _MAY_HIDE_IT:
        return result
    for found in _MISSING_PROGRAM.finditer(result.tail):
        name = str(found[found.lastgroup or 0])
        if _is_program_of(hook, name, workspace) and _is_not_installed(name, found.lastgroup == "module", path):
            line = result.tail[: found.end()].rpartition("\n")[2].strip()
            told = f"hook {hook.key} exited with code {ran.exit_code} because a program is missing: {name} is not installed here"
            return result._replace(status=FAILED, reason=f"{told} ({strip_control(line, _LONGEST_QUOTE)})")
    return result


def _is_not_installed(name: str, module: bool, path: str | None) -> bool:
    return is_tool_module(name) if module else path is None or shutil.which(name, path=path) is None


def _is_program_of(hook: Hook, name: str, workspace: str) -> bool:
    """Whether the command of a hook, or a script that it names, speaks of a program. The agent's code calls any other."""
    word = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])")
    if word.search(hook.command):
        return True
    for script in hash_scripts(hook, workspace):
        try:
            text = read_bytes(os.path.join(workspace, script), limit=LARGEST_FILE).decode("utf-8", "replace")
        except StorageError:
            continue
        if word.search(text):
            return True
    return False


def read_session_variables(hook: Hook, path: str, place: HookPlace) -> dict[str, str]:
    """What a hook wrote into its CLAUDE_ENV_FILE, as its shell understands it; `place` is that of the hook itself."""
    before = environment_of(place.environment, secret_names=place.secret_names, hook=hook, added=place.added)
    argv = tuple(shell_words('. "$CLAUDE_ENV_FILE" > /dev/null 2>&1; exec env -0'))
    ran = run_process(CommandLaunch(argv, place.workspace, {**before, "CLAUDE_ENV_FILE": path}, b"", _SECONDS_TO_READ))
    rows = ran.stdout.decode("utf-8", "surrogateescape").split("\0") if ran.is_whole else []
    given = dict(row.split("=", 1) for row in rows if "=" in row)
    ours = {*place.added, "CLAUDE_ENV_FILE", "_", "SHLVL", "PWD", "OLDPWD"}
    return {name: value for name, value in given.items() if name not in ours and before.get(name) != value}


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
    r"|(?:^|_)(?:DATABASE_URL|DB_URL|DSN)$|(?:^|_)WEBHOOK(?:_URL)?$|^SLACK_.*WEBHOOK"
    r"|^PIPELINE_.*(?:KEY|PASSWORD)S?(?:$|_)",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"://[^\s/@:]*:[^\s/@]+@")
"""An address with a password in it, be it of a database or of a proxy."""


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
            if name not in hook.env_allow
            and (name.upper() in secrets or _SECRET.search(name) is not None or _PASSWORD.search(own[name]) is not None)
        )
    )
