"""Run the commands that README.md shows on lines `$ COMMAND`, as facts for whoever reviews the delivery.

A README also shows commands that are meant to fail or need a file of the user, so a failure is not a fault by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from phases.workspace.command_runner import CommandRunner

README = "README.md"
_COMMAND = re.compile(r"^[ \t]*\$ (.+(?:(?<=\\)\n.+)*)", re.MULTILINE)
_MOST, _SECONDS, _TAIL = 12, 20, 600
_NEEDS_NETWORK = re.compile(r"\b(?:install|clone|venv|activate|curl|wget)\b")
"""Commands that fetch packages, which a sandbox without a network can only fail at."""


def run_readme_commands(sources: Mapping[str, str], commands: CommandRunner) -> list[dict[str, Any]]:
    """Run the commands in their order and return what each did, as command, exit_code and tail.

    `exit_code` is None if the command still ran after its seconds. What they write is left for the caller to take back.
    """
    shown = [command for command in _COMMAND.findall(sources.get(README, "")) if not _NEEDS_NETWORK.search(command)]
    shown = list(dict.fromkeys(shown))[:_MOST]
    variables = {"PYTHONPATH": "src"} if os.path.isdir(os.path.join(commands.box.workspace, "src")) else {}
    rows = []
    for number, command in enumerate(shown, 1):
        commands.report("runs README command", number, len(shown), command)
        finished = commands.run(command, _SECONDS, variables)
        rows.append({"command": command, "exit_code": finished.exit_code, "tail": finished.output[-_TAIL:]})
    return rows


def describe_command(row: Mapping[str, Any]) -> str:
    """Return a command, how it ended, and the end of its output."""
    return f"$ {row['command']}\n{describe_exit(row)}\n{row['tail']}"


def describe_exit(row: Mapping[str, Any]) -> str:
    """Return how a command ended."""
    return f"still ran after {_SECONDS} s" if row["exit_code"] is None else f"exit code {row['exit_code']}"
