"""Find the programs that a plan or a hook needs and this machine does not have."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from phases.acceptance.configuration.checksums import INTERPRETERS, shell_words
from phases.acceptance.configuration.repo_hooks import HOOKS_FILE
from phases.acceptance.hook import COMMAND, REPO, Hook
from phases.acceptance.payload import RunFacts, variables_for
from phases.sandbox.bash import build_search_path
from phases.sandbox.box import Box

_WITH_PYTHON = frozenset({"python", "python3", "pytest", "coverage"})
_TAKE_NUMBERS = frozenset({"nice", "timeout"})
_GO_BEFORE = _TAKE_NUMBERS | {"!", "env", "exec", "nohup", "time"}
_OF_THE_SHELL = frozenset(
    {
        ":", "[", "[[", "alias", "bg", "builtin", "case", "cd", "command", "declare", "echo", "eval", "exit", "export", "false",
        "fg", "for", "function", "hash", "if", "let", "local", "printf", "pwd", "read", "readonly", "return", "select", "set",
        "shift", "shopt", "test", "trap", "true", "type", "ulimit", "umask", "unset", "until", "wait", "while", "{",
    }
)  # fmt: skip
_NO_FILE = "no file "
_NAME = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_MADE_BY_A_SHELL = re.compile(r"[$`*?\[\]{}\0#]")


def missing_programs(plan: Mapping[str, Any], box: Box) -> dict[str, str]:
    """Return the programs that are not there, each with the first command that needs it.

    What Python and the plan's packages bring is not looked for: it is installed later, or told of by itself.
    """
    setup = plan.get("environment_setup", {})
    brought = {str(name).partition(">")[0].partition("=")[0].strip() for name in setup.get("packages", ())}
    commands = [*plan["validation_approach"]["verify_commands"], *setup.get("tools", ())]
    found = find_unknown_programs(commands, build_search_path(box, ""))
    return {name: command for name, command in found.items() if name not in {*_WITH_PYTHON, *brought}}


def describe_missing_programs(missing: Mapping[str, str]) -> list[str]:
    """Return a line for each: what is not there, what cannot be checked for want of it, and what to do."""
    return [
        f"{name} was not found where commands look for programs, so `{command}` cannot be run here and the code will not be "
        f"checked by it; show commands the directory where {name} is: {programs_option(name)}"
        for name, command in missing.items()
    ]


def programs_option(name: str) -> str:
    """Return the option that shows commands the directory of a program."""
    # rustup's own directory holds stand-ins that find no toolchain in a sandbox
    return '--programs "$(rustc --print sysroot)"' if name in ("cargo", "rustc") else "--programs DIR"


def describe_missing(
    hooks: Iterable[Hook],
    run: RunFacts,
    environment: Mapping[str, str],
    settings_file: str,
    planned: Collection[str] = (),
) -> Iterator[str]:
    """Yield a line for each hook that cannot run as written.

    `planned`: files that the agent is to write.
    """
    for hook in hooks:
        given = variables_for(hook, run) if run.cwd else {}
        for what in find_missing(hook, run.cwd, {**environment, **given}):
            if os.path.normpath(what.removeprefix(_NO_FILE)) not in planned:
                where = HOOKS_FILE if hook.source == REPO else settings_file
                cure = "write it" if what.startswith(_NO_FILE) else "install it"
                yield f"hook {hook.key} cannot run: there is {what}; {cure}, or fix the command in {where}"


def find_missing(hook: Hook, workspace: str, variables: Mapping[str, str]) -> list[str]:
    """Return the missing program or script of a command in words, such as `no program pytset`.

    `workspace`: where the hook starts; empty where that is not known. `variables`: those that the hook is given.
    """
    if hook.kind != COMMAND:
        return []
    known = {**variables, **hook.env}
    args = [str(word) for word in hook.params.get("args", ())]
    words = [_put_in(word, known) for word in (_strip_prefixes(args) if args else _first_command(hook.command))]
    program = next(iter(words), "")
    if not program or program in _OF_THE_SHELL or _MADE_BY_A_SHELL.search(program):
        return []
    if "/" not in program and program not in (".", "source"):
        path = known.get("PATH", os.defpath)
        if not hook.sandbox and shutil.which(program, path=path) is None:
            return [f"no program {program}"]
    elif "/" in program:
        return _missing_file(program, workspace)
    return _missing_script(words, workspace) if os.path.basename(program) in INTERPRETERS else []


def find_unknown_programs(commands: Iterable[str], path: str) -> dict[str, str]:
    """Return the programs that shell commands begin with and `path` does not have, each with the first command of it."""
    unknown = dict[str, str]()
    for command in commands:
        program = next(iter(_first_command(command)), "")
        is_plain = (
            program and "/" not in program and program not in _OF_THE_SHELL and not _MADE_BY_A_SHELL.search(program)
        )
        if is_plain and shutil.which(program, path=path) is None:
            unknown.setdefault(program, command)
    return unknown


def _first_command(command: str) -> list[str]:
    """Return the words of the first command of a line, from its program on."""
    words = shell_words(command)
    end = next((at for at, word in enumerate(words) if re.fullmatch(r"[;&|()<>\n]+", word)), len(words))
    # a function, or a shell of its own
    return [] if "(" in "".join(words[end : end + 1]) else _strip_prefixes(words[:end])


def _strip_prefixes(words: Sequence[str]) -> list[str]:
    """Return the words from the program on, without `env`, `timeout 10` and assignments before it."""
    before = ""
    for at, word in enumerate(words):
        if word in _GO_BEFORE:
            before = word
        elif before and word.startswith("-") and before not in _TAKE_NUMBERS:
            return []  # which of its options take a word is not known
        elif not (before in _TAKE_NUMBERS and re.match("-|[0-9]", word)) and not re.match(r"[A-Za-z_]\w*=", word):
            return list(words[at:])
    return []


def _put_in(word: str, variables: Mapping[str, str]) -> str:
    """Replace known variables and the home directory in a word."""
    if word.startswith("~/"):
        word = f"$HOME{word[1:]}"
    return _NAME.sub(lambda found: variables.get(found[1] or found[2], found[0]), word)


def _missing_script(words: Sequence[str], workspace: str) -> list[str]:
    """Return the missing script of an interpreter; `-c` and `-m` take none."""
    for word in words[1:]:
        if not word.startswith("-"):
            return _missing_file(word, workspace)
        if word[1:2] != "-" and re.search("[cem]", word):
            break
    return []


def _missing_file(path: str, workspace: str) -> list[str]:
    if _MADE_BY_A_SHELL.search(path) or not (workspace or os.path.isabs(path)):
        return []
    return [] if os.path.exists(os.path.join(workspace, path)) else [f"{_NO_FILE}{path}"]
