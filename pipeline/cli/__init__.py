"""The command line: the only place that prints, reads the environment and exits."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from pipeline import __version__

# name -> (module, the line that `pipeline --help` shows). A command's module is imported when the command is used.
COMMANDS = {
    "run": ("pipeline.cli.run", "Turn a paper into code, or continue a task."),
    "chat": ("pipeline.cli.run", "Turn a requirement in plain words into code."),
    "read": ("pipeline.cli.read", "Show how a paper is read, without making a task."),
    "resume": ("pipeline.cli.run", "Continue a task where it stopped."),
    "step": ("pipeline.cli.run", "Run exactly one phase of a task."),
    "batch": ("pipeline.cli.batch", "Turn many papers into code, some at a time."),
    "stop": ("pipeline.cli.stop", "Stop the run of a task."),
    "serve": ("pipeline.cli.serve", "Show the tasks in a browser, and steer them there."),
    "list": ("pipeline.cli.list", "List the tasks."),
    "status": ("pipeline.cli.status", "Show a task's progress."),
    "show": ("pipeline.cli.show", "Print a document of a task."),
    "open": ("pipeline.cli.open", "Open the directory of a task, or print where it is."),
    "why": ("pipeline.cli.status", "Show what would run next, and why."),
    "check": ("pipeline.cli.check", "Check every document of a task."),
    "logs": ("pipeline.cli.logs", "Print a task's log."),
    "graph": ("pipeline.cli.graph", "Draw the phases and what flows between them."),
    "review": ("pipeline.cli.review", "Approve, edit or reject a task's plan."),
    "cost": ("pipeline.cli.cost", "Show what a task has cost, by phase and by file."),
    "trace": ("pipeline.cli.trace", "Show where each requirement of the paper is in the code."),
    "verify": ("pipeline.cli.verify", "Judge the code of a task again, without a model."),
    "reproduce": ("pipeline.cli.reproduce", "Run the experiments of a task, and compare the paper's tables."),
    "results": ("pipeline.cli.results", "Show the paper's tables next to the code's results."),
    "supervisor": ("pipeline.cli.supervisor", "Show how the agent was supervised, and steer it."),
    "search": ("pipeline.cli.search", "Search the code that a paper builds on."),
    "adopt": ("pipeline.cli.adopt", "Trust the settings of a task that came from elsewhere."),
    "rewind": ("pipeline.cli.rewind", "Go back to an attempt that was rejected."),
    "hooks": ("pipeline.cli.hooks", "Add, list, trust and try hooks, which check the agent's work."),
    "export": ("pipeline.cli.export", "Export the code: a notebook, a zip, or a git repository."),
    "pack": ("pipeline.cli.pack", "Pack a task into one file, for another machine."),
    "unpack": ("pipeline.cli.pack", "Unpack a task from a file that pack wrote."),
    "rm": ("pipeline.cli.rm", "Remove tasks and everything in them."),
    "iterate": ("pipeline.cli.iterate", "Describe a change; updates the plan and only the code it affects."),
    "models": ("pipeline.cli.models", "List the configured models, and test each with one small call."),
    "config": ("pipeline.cli.config", "Show the settings and where each comes from, and set them."),
    "doctor": ("pipeline.cli.doctor", "Show what is installed, and what is missing."),
    "mcp": ("pipeline.cli.mcp", "Serve the commands to an assistant (Model Context Protocol)."),
    "completion": ("pipeline.cli.arguments", "Print the completion script for a shell."),
}

GROUPS = {
    "Run": ("run", "chat", "resume", "stop", "step", "batch", "iterate"),
    "Look": (
        "serve",
        "list",
        "status",
        "show",
        "open",
        "why",
        "cost",
        "trace",
        "logs",
        "search",
        "read",
        "check",
        "graph",
    ),
    "Plan": ("review",),
    "Agent": ("verify", "reproduce", "results", "export", "hooks", "rewind", "supervisor"),
    "Set up": ("models", "config", "doctor", "adopt", "pack", "unpack", "rm", "mcp", "completion"),
}
"""The commands as the help shows them."""
EXIT_CODES = (
    ("0", "completed; warning; or stopped where --until or --stop-at asked it to"),
    ("1", "error: a phase gave up, or a required todo failed"),
    ("2", "the command or a setting is wrong"),
    ("3", "incomplete: the code does not meet the plan, or you must fix something"),
    ("4", "the plan was rejected"),
    ("5", "paused: it waits for a review, or reached a limit"),
    ("70", "a bug"),
    ("75", "another process works on the task; try again later"),
    ("130", "interrupted (128 + the number of the signal)"),
)
_OTHER_WORDS = {"delete": "rm", "remove": "rm", "clean": "rm", "ls": "list", "continue": "resume", "start": "run"}
"""Commands that users type under another name."""
_SHORT_HELP = """\
Turns a research paper into code, in phases that you can stop, read and edit.

  pipeline run --fast paper.pdf   read the paper, plan, and write the code
  pipeline status                 how far it got
  pipeline show paper plan        read what it made: plan, acceptance, report
  pipeline resume                 continue after a stop, an edit or a limit
  pipeline models                 which models there are, and what each needs
"""


def short_help() -> str:
    """Return the short help of a bare `pipeline`: the five main commands, and the names of the rest."""
    from pipeline.cli.output import wrap_text

    rows = [wrap_text(f"{title:<9}{' '.join(names)}", hanging=9) for title, names in GROUPS.items()]
    more = "pipeline --help says what each one does; pipeline COMMAND --help, how to use it."
    return "\n".join([_SHORT_HELP, *rows, "", more])


class _Formatter(click.HelpFormatter):
    """Puts the comment of an example below its command where both do not fit into a line."""

    def write_text(self, text: str) -> None:
        first, *examples = text.split("\b\n")
        room = self.width - self.current_indent
        folded = [re.sub(rf"(?m)^(?=.{{{room + 1}}})(.*\S) {{2,}}(\S.*)$", r"\1\n      \2", part) for part in examples]
        super().write_text("\b\n".join([first, *folded]))


class _Context(click.Context):
    formatter_class = _Formatter


class LazyGroup(click.Group):
    """A group whose help is a table, so that showing it imports no command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        from importlib import import_module

        command = getattr(import_module(COMMANDS[name][0]), f"{name}_command")
        if not isinstance(command, click.Command):
            return None
        command.context_class = _Context
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[:1] == ["help"]:
            if args[1:2] and args[1] in COMMANDS:
                return super().resolve_command(ctx, [args[1], "--help"])
            click.echo(ctx.get_help())
            ctx.exit()
        if args[:1] == ["version"]:
            click.echo(f"pipeline, version {__version__}")
            ctx.exit()
        if args and args[0] not in COMMANDS:
            if args[0] in _OTHER_WORDS:
                ctx.fail(f"there is no command '{args[0]}'; did you mean '{_OTHER_WORDS[args[0]]}'?")
            from pipeline.engine.settings import did_you_mean

            ctx.fail(f"there is no command '{args[0]}'{did_you_mean(args[0], [*COMMANDS])}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = {name for names in GROUPS.values() for name in names}
        for title, names in {**GROUPS, "Other": tuple(name for name in COMMANDS if name not in grouped)}.items():
            rows = [(name, COMMANDS[name][1]) for name in names if name in COMMANDS]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=12)
        with formatter.section("Exit codes"):
            formatter.write_dl(EXIT_CODES)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help", "--help-all"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="pipeline")
@click.pass_context
def cli(context: click.Context) -> None:
    """Turn a research paper into code, in ten phases that can be stopped, read, edited and resumed.

    \b
    pipeline run --fast paper.pdf     read the paper, plan, and write the code
    pipeline resume                   continue the newest unfinished task
    pipeline status                   show its progress
    """
    if context.invoked_subcommand is None:
        click.echo(short_help())


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code. Every failure ends here, as one line on stderr."""
    from pipeline.cli.boundary import exit_code_of
    from pipeline.cli.streams import finish_output, open_streams

    open_streams()
    code = exit_code_of(lambda: cli.main(args=arguments, prog_name="pipeline", standalone_mode=False))
    lost = finish_output()
    code = code or int(lost)
    if code:
        from pipeline.cli.boundary import end_children

        end_children()
    # A phase that was left behind in a thread must not keep the process, nor crash its shutdown.
    os._exit(code)
