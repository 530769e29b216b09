"""`pipeline completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click

from pipeline.cli.console import say


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
    say(kind(cli, {}, "pipeline", "_PIPELINE_COMPLETE").source())
