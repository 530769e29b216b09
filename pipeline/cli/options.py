"""Options of every command that runs phases."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import click

from pipeline.cli.arguments import complete_directories, complete_files, complete_models, complete_phases
from pipeline.cli.assembly import OWN_AGENT, mode_of
from pipeline.engine.settings import Settings

_Command = Callable[..., Any]
_ASK = "\x00"
"""No password: the flag stands by itself."""
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


def _parse_amount(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """Parse an amount in dollars, as the settings do: a finite number."""
    if value is not None and not _AMOUNT.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not an amount like 2 or 0.50")
    return None if value is None else float(value)


def _join_data(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
    if not values:
        return None
    from phases.sandbox.devices import why_not_one_data_set  # imported here: TAB must import no phase

    if why := next(filter(None, map(why_not_one_data_set, values)), ""):
        raise click.BadParameter(why)
    return os.pathsep.join(values)


def _join_paths(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
    if wrong := next((value for value in values if os.pathsep in value), None):
        raise click.BadParameter(f"{wrong!r} holds a {os.pathsep!r}, which separates two of them")
    return os.pathsep.join(values) or None


data_option = click.option(
    "--data",
    metavar="NAME=PATH",
    multiple=True,
    callback=_join_data,
    help="Let commands read your data, at /data/NAME; or fetch it: NAME=https://…; may be given several times.",
)


allow_data_option = click.option(
    *("--allow-data/--no-allow-data", "allow_data"),
    default=None,
    help="Fetch the data sets that the plan or --data names an address of.",
)


def _full_path(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    return os.path.abspath(value) if value else None


def _text(name: str, metavar: str, help_text: str, **more: Any) -> Callable[[_Command], _Command]:
    """Add an option with a value."""
    return click.option(name, metavar=metavar, help=help_text, **more)


def _flag(names: str, setting: str, help_text: str, **more: Any) -> Callable[[_Command], _Command]:
    """Add an option without a value. If it is not given, the settings decide."""
    return click.option(names, setting, default=None, help=help_text, **more)


reader_option = click.option(
    "--reader",
    type=click.Choice(["built-in", "docling"]),
    callback=lambda context, option, value: "" if value == "built-in" else value,
    help="Read PDFs with docling, where it is installed.",
)
base_url_option = _text(
    "--base-url",
    "URL",
    "Ask the model at this address: your own server, or any server that speaks the provider's protocol. It gets the "
    "setting api_key, or no key.",
)
send_key_option = _flag(
    "--send-key",
    "send_key",
    "Send the vendor's key (ANTHROPIC_API_KEY, …) to the address of --base-url.",
    flag_value="true",
)
_PHASE: dict[str, Any] = {"shell_complete": complete_phases}
_MODEL: dict[str, Any] = {"shell_complete": complete_models}
_DIRECTORY: dict[str, Any] = {"shell_complete": complete_directories}
_OPTIONS = (
    _flag("--fast/--full", "fast", "Leave out the reference phases 06-08, or run them (the default)."),
    _text("--tasks-dir", "DIR", "Directory that holds the tasks (default: tasks).", **_DIRECTORY),
    _text(
        "--model", "NAME", "offline (the default), or PROVIDER:NAME; `pipeline models` lists the providers.", **_MODEL
    ),
    _text("--plan-model", "NAME", "Use a different model for planning.", **_MODEL),
    _text("--code-model", "NAME", "Use a different model for the code.", **_MODEL),
    _text(
        "--agent",
        "CMD",
        "Have an agent of your own write the code: a command that reads its prompt from stdin, or from the file {prompt}. "
        "It runs with your own rights.",
    ),
    base_url_option,
    send_key_option,
    _text("--context-tokens", "N", "Say how many tokens the model can read at once, where its server does not."),
    _text("--effort", "LEVEL", "How much models think before they answer: none, low, medium or high."),
    _text("--plan-effort", "LEVEL", "The same for planning alone."),
    _text("--code-effort", "LEVEL", "The same for the code alone."),
    _flag(
        *("--batch-prices/--no-batch-prices", "batch_prices"),
        "Plan and judge at OpenAI's flex tariff: half the price, and longer waits.",
    ),
    _text("--max-output-tokens", "N", "Limit a reply to N tokens, including thinking."),
    _text("--max-usd", "N", "Make no more calls once N dollars are spent on the task."),
    _text("--add-usd", "N", "Raise the limit of --max-usd by N dollars.", callback=_parse_amount),
    _text("--max-tokens", "N", "Make no more calls once N tokens are used."),
    _text("--max-turns", "N", "Pause after N turns of the agent (default: 400)."),
    _text("--max-minutes", "N", "Make no more calls after N minutes of work."),
    _text("--command-seconds", "N", "Let a command of the agent, or a check, run for up to N seconds (default: 600)."),
    _text(
        "--job-seconds",
        "N",
        "Let a job that the agent starts in the background run for up to N seconds (default: 14400).",
    ),
    _text("--command-memory-gb", "N", "Let a command hold up to N GB of memory (default: 8)."),
    _text("--batch-usd", "N", "Make no more calls once N dollars are spent on all tasks in the directory together."),
    _flag(
        *("--dry-run", "dry_run", "Only estimate what the next calls to a model would cost, and stop."),
        flag_value="true",
    ),
    click.option("--review", type=click.Choice(["auto", "ask", "file"]), help="Who approves the plan."),
    _text("--stop-at", "N", "Stop before this phase (number or name).", **_PHASE),
    _text("--until", "N", "Stop after this phase.", **_PHASE),
    _text(
        "--redo",
        "N",
        "Run this phase and everything after it again; the old code is kept as generate_code.prev.",
        **_PHASE,
    ),
    _text(
        "--references", "DIR", "Use the code in the directories of DIR instead of what the paper links.", **_DIRECTORY
    ),
    _text("--mirror", "DIR", "Take repositories from DIR/host/owner/name instead of the network.", **_DIRECTORY),
    _text(
        "--lookup",
        "LIST",
        "Search these services for code: github,semanticscholar,openalex (default: none).",
    ),
    _flag("--allow-own-code/--no-allow-own-code", "allow_own_code", "Fetch the paper's own repository too."),
    click.option(
        *("--sandbox", "sandbox_kind"),
        type=click.Choice(["required", "bubblewrap", "landlock", "podman", "docker", "apptainer"]),
        help="How the agent's commands are sandboxed; required (the default) is bubblewrap, else Landlock.",
    ),
    _flag("--unsandboxed", "sandbox", "Let the agent's commands run with your own rights.", flag_value="off"),
    click.option(
        "--install",
        type=click.Choice(["allowed", "ask", "refused"]),
        help="Whether the packages that the plan names are installed, for the sandbox only (default: ask at the review).",
    ),
    # what --install allowed was called before
    _flag("--allow-install", "allow_install", "The same as --install allowed.", flag_value="allowed", hidden=True),
    click.option(
        "--packages-of",
        type=click.Choice(["today", "paper"]),
        help="Install today's packages, or those two years after an arXiv paper's month.",
    ),
    _text("--python", "DIR", "Use the packages of an environment of your own, and install none.", **_DIRECTORY),
    _text(
        "--programs",
        "DIR",
        "Show commands a directory of programs, such as a compiler; colons between several.",
        **_DIRECTORY,
    ),
    _text("--gpu", "none|auto|0,1", "Let the agent's commands use graphics cards (default: none)."),
    data_option,
    allow_data_option,
    click.option(
        "--supervisor",
        type=click.Choice(["off", "adaptive", "strict"]),
        help="How closely the agent is supervised: not at all, when it goes astray (the default), or at every step.",
    ),
    _flag(
        *("--supervisor-shadow/--no-supervisor-shadow", "supervisor_shadow"),
        "Let supervision note what it would do, without doing it.",
    ),
    _flag(
        # a flag and no setting, which would say it of every workspace to come (decision 88)
        *("--trust-hooks", "trust_hooks"),
        "Run the hooks that are in the workspace before the agent starts, even though they are not trusted.",
        flag_value="true",
    ),
    _flag("--anyway", "anyway", "Plan a text that does not look like something to implement.", flag_value="true"),
    _text(
        "--mutants",
        "N|off",
        "Try N small changes of each requirement's code on its tests, and report which were noticed.",
    ),
    click.option(
        "--require",
        type=click.Choice(["located", "run", "guarded"]),
        help="Refuse code unless every requirement has this evidence (default: it is only reported).",
    ),
    _flag("--evidence/--no-evidence", "evidence", "Measure which code the tests run and check, or only run them."),
    _text(
        "--judge",
        "NAME",
        "The model that reviews the code against the paper (same, off; default: the one that wrote it).",
    ),
    _text("--tests", "DIR", "Your own tests, which the code must pass and the model never sees.", **_DIRECTORY),
    click.option(
        "--reproduce",
        type=click.Choice(["quick", "full", "off"]),
        is_flag=False,
        flag_value="full",
        help="Run the experiments of the code at the end, and compare the paper's tables.",
    ),
    _text(
        "--tolerance",
        "N",
        "By how many percent a figure may differ from the paper's (default: its own spread, else 5).",
    ),
    _text(
        "--held-out",
        "DIR",
        "Data of your own for the experiments, which never see DIR/labels.",
        **_DIRECTORY,
    ),
    _text(
        "--reproduce-attempts", "N", "Send what differs from the tables back to the agent, up to N times (default: 0)."
    ),
    _text("--experiment-minutes", "N", "Stop an experiment after N minutes (default: 60)."),
    _text("--max-acceptance-continues", "N", "Let the agent fix what a check rejected up to N times (default: 3)."),
    _text(
        *("--password", "WORD", "Opens an encrypted PDF; without WORD you are asked for it. It is not stored."),
        is_flag=False,
        flag_value=_ASK,
    ),
    click.option(
        "--with",
        "notes",
        metavar="FILE",
        multiple=True,
        callback=_join_paths,
        shell_complete=complete_files,
        help="A text that belongs to the paper: its addendum, notes on its data; may be given several times.",
    ),
    _text(
        "--blacklist",
        "FILE",
        "Fetch nothing from the addresses, hosts and repositories (owner/name) in FILE, a line each. Lines are added to those "
        "that the task has.",
        callback=_full_path,
        shell_complete=complete_files,
    ),
    _flag("--ocr/--no-ocr", "ocr", "Have ocrmypdf recognize the letters of a scan."),
    reader_option,
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Show the log as it is written, DEBUG lines too, and the model's words as they come.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print report.json instead of the closing screen."),
)


_GROUPS = {
    "Most used": ("fast", "model", "max_usd", "review", "stop_at", "until", "redo", "tests", "wanted_id", "verbose"),
    "Models": (
        *("plan_model", "code_model", "agent", "base_url", "send_key", "context_tokens", "max_output_tokens"),
        *("effort", "plan_effort", "code_effort"),
    ),
    "Limits": (
        "add_usd",
        "max_tokens",
        "max_turns",
        "max_minutes",
        "batch_usd",
        "max_acceptance_continues",
        "dry_run",
        "batch_prices",
    ),
    "Input": ("notes", "blacklist", "ocr", "reader", "password", "anyway", "new", "tasks_dir"),
    "Other people's code": ("references", "mirror", "lookup", "allow_own_code"),
    "Commands and hooks": (
        *(
            "sandbox_kind",
            "sandbox",
            "install",
            "allow_install",
            "packages_of",
            "python",
            "programs",
            "command_seconds",
            "command_memory_gb",
            "job_seconds",
            "gpu",
            "data",
            "allow_data",
        ),
        *("trust_hooks",),
    ),
    "Reproduction": ("reproduce", "tolerance", "reproduce_attempts", "held_out", "experiment_minutes"),
    "Checks and supervision": ("mutants", "require", "evidence", "judge", "supervisor", "supervisor_shadow"),
    "This command": ("jobs", "engine", "where", "csv_file", "html", "rows_as_json"),
    "Output": ("as_json", "help_all", "help"),
}
"""The options as --help-all shows them; --help shows those of the first group, and the last."""


class RunCommand(click.Command):
    """A command that makes phases run: its help shows the options that one needs, and --help-all the rest, in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        shown = {
            "help" if "--help" in option.opts else str(option.name): option.get_help_record(ctx) for option in options
        }
        groups = {title: [shown.pop(name) for name in names if name in shown] for title, names in _GROUPS.items()}
        groups["Other"] = [record for record in shown.values() if record]
        if not ctx.meta.get(_ALL):
            groups = {"Options": [*groups["This command"], *groups["Most used"], *groups["Output"]]}
        for title, records in groups.items():
            if rows := [record for record in records if record]:
                with formatter.section(title):
                    formatter.write_dl(rows)


_ALL = "pipeline.help_all"


def _show_all(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        context.meta[_ALL] = True
        click.echo(context.get_help())
        context.exit()


def run_options(*, without: tuple[str, ...] = ()) -> Callable[[_Command], _Command]:
    """Add all of them to a command, except those that mean nothing to it."""

    def decorate(command: _Command) -> _Command:
        command = click.option(
            "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show all options."
        )(command)
        for option in reversed(_OPTIONS):
            taught = option(command)
            if taught.__click_params__[-1].name in without:  # type: ignore[attr-defined]  # click keeps them there
                taught.__click_params__.pop()  # type: ignore[attr-defined]  # the same
            command = taught
        return command

    return decorate


def flags_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are settings, by their settings' names."""
    if options.get("password") == _ASK:
        options = {**options, "password": click.prompt("Password of the PDF", hide_input=True, err=True)}
    if agent := options.get("agent"):
        if options.get("code_model"):
            raise click.UsageError("--agent and --code-model both say who writes the code; give one of them")
        options = {**options, "code_model": OWN_AGENT + agent}
    if kind := options.get("sandbox_kind"):
        if options.get("sandbox"):
            raise click.UsageError("--sandbox and --unsandboxed contradict each other; give one of them")
        options = {**options, "sandbox": kind}
    if options.get("allow_install") and not options.get("install"):
        options = {**options, "install": options["allow_install"]}
    if options.get("blacklist"):
        from pipeline.base.http.blacklist import read_blacklist  # imported here: few runs name one

        options = {**options, "blacklist": read_blacklist(options["blacklist"])}
    return {
        "mode": mode_of(options.get("fast")),
        **{name: options[name] for name in Settings._fields if name in options},
    }
