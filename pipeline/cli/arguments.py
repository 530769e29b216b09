"""Shared arguments and options of commands, and their completion in a shell."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from pipeline.base.errors import PipelineError
from pipeline.cli.assembly import is_task, open_task, settings_from
from pipeline.cli.output import Answer, print_answer, print_text
from pipeline.engine.settings import Settings

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SAFE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./+-]*")
"""Completions that are safe: the shell inserts them unquoted, and names in a task are untrusted."""
_PHASE = re.compile(r"phase([0-9]+[a-z]?)_(\w+)\.py")
_MOST = 1000
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def complete_files(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Leave it to the shell, which knows files best."""
    return _offer([typed], "file")


def complete_directories(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    return _offer([typed], "dir")


def complete_tasks(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the ids of tasks, or files if none fits, since a path names a task as well."""
    folder = _tasks_dir(context)
    given = context.params.get(parameter.name or "") or ()
    names = [name for name in _names_in(folder) if name.startswith(typed) and name not in given]
    tasks = _offer_words(name for name in names if is_task(os.path.join(folder, name)))
    return tasks or _offer([typed], "file")


def complete_phases(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete names of phases, or numbers after a digit. No phase is imported: only file names are read."""
    found = sorted(match.groups() for name in _names_in(_phases_dir()) if (match := _PHASE.fullmatch(name)))
    words = [number if typed[:1].isdigit() else name for number, name in found]
    return _offer_words(word for word in words if word.startswith(typed))


def complete_settings(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    return _offer_words(name for name in Settings._fields if name.startswith(typed))


def complete_models(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete offline, and the names of the providers with a colon."""
    from phases.llm.providers import PROVIDERS  # imported here: only TAB behind --model needs it

    return _offer(
        (name for name in ("offline", *(f"{name}:" for name in PROVIDERS)) if name.startswith(typed)), "plain"
    )


def complete_documents(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the short names of existing documents for `pipeline show`; after the first letters, files too."""
    from pipeline.cli.show import SHORT

    task = str(context.params.get("task") or "")
    inside = os.path.join(_tasks_dir(context), task)
    root = inside if is_task(inside) else task
    if not task or not is_task(root):
        return []
    short = [word for word, name in SHORT.items() if os.path.lexists(os.path.join(root, name))]
    words = [word for word in short if word.startswith(typed)]
    return _offer_words([*words, *(_files_beneath(root, typed) if typed else ())])


task_argument = click.argument("task", metavar="ID", shell_complete=complete_tasks)
task_or_newest = click.argument("task", metavar="[ID]", required=False, shell_complete=complete_tasks)
tasks_dir_option = click.option(
    "--tasks-dir",
    metavar="DIR",
    help="Directory that holds the tasks (default: tasks).",
    shell_complete=complete_directories,
)


def html_option(shows: str) -> _Decorator:
    """Add --html to a command; `shows` describes the page."""
    return click.option(
        "--html", metavar="FILE", help=f"Also write a page that {shows}.", shell_complete=complete_files
    )


def answers(command: Callable[..., Answer]) -> Callable[..., int]:
    """Add --json to a command, and print its answer."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @wraps(command)
    def print_it(*, as_json: bool, **options: Any) -> int:
        return print_answer(command(**options), as_json=as_json)

    return print_it


def answers_about(argument: _Decorator) -> Callable[[Callable[..., Answer]], Callable[..., int]]:
    """Add --json, --tasks-dir and the argument ID to a command, and call it with that task (the newest, without ID)."""

    def decorate(command: Callable[..., Answer]) -> Callable[..., int]:
        @argument
        @tasks_dir_option
        @answers
        @wraps(command)
        def open_and_answer(*, task: str | None, tasks_dir: str | None, **options: Any) -> Answer:
            return command(open_task(settings_from({"tasks_dir": tasks_dir}), task), **options)

        return open_and_answer

    return decorate


def _offer_words(words: Iterable[str]) -> list[CompletionItem]:
    return _offer((word for word in words if _SAFE.fullmatch(word)), "plain")


def _offer(words: Iterable[str], kind: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # imported here: only TAB needs it

    return [CompletionItem(word, type=kind) for word in words]


def _tasks_dir(context: click.Context) -> str:
    try:
        return os.path.abspath(settings_from({"tasks_dir": context.params.get("tasks_dir")}).tasks_dir)
    except PipelineError:
        return ""  # whoever runs the command is told what is wrong with the settings


def _phases_dir() -> str:
    from importlib.util import find_spec

    try:
        own = settings_from({}).phases
    except PipelineError:
        return ""
    spec = find_spec("phases")
    return own or next(iter(spec.submodule_search_locations or ()), "") if spec else own


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder)) if folder else []
    except OSError:
        return []


def _files_beneath(root: str, typed: str) -> Iterator[str]:
    """Yield files of a task whose path in it begins so, at most a thousand. Links are not followed."""
    return islice(_walk_files(root, typed), _MOST)


def _walk_files(root: str, typed: str) -> Iterator[str]:
    for base, folders, names in os.walk(root):
        inside = "" if base == root else os.path.relpath(base, root) + "/"
        folders[:] = sorted(
            name for name in folders if f"{inside}{name}/".startswith(typed) or typed.startswith(f"{inside}{name}/")
        )
        for name in sorted(names):
            if (inside + name).startswith(typed) and not name.startswith("."):
                yield inside + name


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    pipeline completion bash >> ~/.bashrc
    pipeline completion zsh >> ~/.zshrc
    pipeline completion fish > ~/.config/fish/completions/pipeline.fish
    """
    from click.shell_completion import get_completion_class

    from pipeline.cli import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"click has no completion for {shell}")
    print_text(kind(cli, {}, "pipeline", "_PIPELINE_COMPLETE").source())
