"""The options of every command that makes phases run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from pipeline.cli.arguments import complete_directories, complete_phases
from pipeline.cli.assembly import mode_of

_Command = Callable[..., Any]
_SETTINGS = (
    *("tasks_dir", "model", "plan_model", "code_model", "base_url", "review", "stop_at", "until", "sandbox", "install"),
    *("supervisor", "supervisor_shadow", "trust_hooks", "max_acceptance_continues"),
    *("references", "mirror", "lookup", "allow_own_code"),
    *("max_output_tokens", "max_usd", "max_tokens", "max_turns", "max_minutes", "batch_usd", "password"),
)
_ASK = "\x00"
"""No password: the flag stands by itself."""
_MODES = {"default": None, "help": "Leave out the reference phases 06-08, or run them (the default)."}
_REVIEW = {"type": click.Choice(["auto", "ask", "file"]), "help": "Who approves the plan."}
_OFF = {"flag_value": "off", "default": None, "help": "Let the agent's commands run with your own rights."}
_INSTALL = {
    "flag_value": "true",
    "default": None,
    "help": "Install the packages that the plan names, for the sandbox only.",
}
_OWN_CODE = {"default": None, "help": "Fetch the paper's own repository too."}
_WATCH = {
    "type": click.Choice(["off", "adaptive", "strict"]),
    "help": "How closely the agent is supervised: not at all, when it goes astray (the default), or at every step.",
}
_SHADOW = {"default": None, "help": "Let supervision note what it would do, and do nothing."}
_TRUST = {
    "flag_value": "true",
    "default": None,
    "help": "Run the hooks that are in the workspace before the agent starts, even though they are not trusted.",
}
_PASSWORD = {
    "metavar": "WORD",
    "is_flag": False,
    "flag_value": _ASK,
    "help": "Opens an encrypted PDF; without WORD it is asked for. Kept in no file.",
}
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_JSON = {"is_flag": True, "help": "Print report.json instead of the closing screen."}


def _parse_amount(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """Dollars, as the settings take them: no infinity, and nothing that is not a number."""
    if value is not None and not _AMOUNT.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not an amount, like 2 or 0.50")
    return None if value is None else float(value)


_MORE = {"metavar": "N", "callback": _parse_amount, "help": "Raise that limit by N dollars."}


def _line_option(metavar: str, text: str) -> dict[str, Any]:
    return {"metavar": metavar, "help": text}


def _phase_option(text: str) -> dict[str, Any]:
    return {"metavar": "N", "help": text, "shell_complete": complete_phases}


def _directory_option(text: str) -> dict[str, Any]:
    return {"metavar": "DIR", "help": text, "shell_complete": complete_directories}


_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--fast/--full", "fast"), _MODES),
    (("--tasks-dir",), _directory_option("Where the task directories are.")),
    (
        ("--model",),
        _line_option("NAME", "offline (the default), or PROVIDER:NAME; `pipeline models` lists the providers."),
    ),
    (("--plan-model",), _line_option("NAME", "The model that plans, where it is another one.")),
    (("--code-model",), _line_option("NAME", "The model that writes the code, where it is another one.")),
    (("--base-url",), _line_option("URL", "Where a server of your own answers.")),
    (("--max-output-tokens",), _line_option("N", "Let a reply have N tokens, what the model thinks included.")),
    (("--max-usd",), _line_option("N", "Make no call once N dollars are spent on the task.")),
    (("--add-usd",), _MORE),
    (("--max-tokens",), _line_option("N", "Make no call once N tokens are used up.")),
    (("--max-turns",), _line_option("N", "Pause after N turns of the agent (400).")),
    (("--max-minutes",), _line_option("N", "Make no call after N minutes of work.")),
    (
        ("--batch-usd",),
        _line_option("N", "Make no call once N dollars are spent on all tasks of the directory together."),
    ),
    (("--review",), _REVIEW),
    (("--stop-at",), _phase_option("Stop before this phase (number or name).")),
    (("--until",), _phase_option("Stop after this phase.")),
    (("--redo",), _phase_option("Run this phase and what follows again; the old code is kept beside.")),
    (("--references",), _directory_option("Use the code in the directories of DIR instead of what the paper links.")),
    (("--mirror",), _directory_option("Take repositories from DIR/host/owner/name instead of the network.")),
    (
        ("--lookup",),
        _line_option("LIST", "Ask these for code: github,semanticscholar,openalex,paperswithcode:FILE (none)."),
    ),
    (("--allow-own-code/--no-allow-own-code", "allow_own_code"), _OWN_CODE),
    (("--unsandboxed", "sandbox"), _OFF),
    (("--allow-install", "install"), _INSTALL),
    (("--supervisor",), _WATCH),
    (("--supervisor-shadow/--no-supervisor-shadow", "supervisor_shadow"), _SHADOW),
    (("--trust-hooks", "trust_hooks"), _TRUST),
    (("--max-acceptance-continues",), _line_option("N", "Let the agent fix what a check refused up to N times (3).")),
    (("--password",), _PASSWORD),
    (("-v", "--verbose"), {"is_flag": True, "help": "Show the log while it is written, DEBUG lines too."}),
    (("--json", "as_json"), _JSON),
)


def run_options(command: _Command) -> _Command:
    """Gives a command all of them."""
    for names, details in reversed(_OPTIONS):
        command = click.option(*names, **details)(command)
    return command


def flags_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are settings, under their settings' names."""
    if options["password"] == _ASK:
        options = {**options, "password": click.prompt("Password of the PDF", hide_input=True, err=True)}
    return {"mode": mode_of(options["fast"]), **{name: options[name] for name in _SETTINGS}}
