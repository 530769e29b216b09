"""Bash: a shell command, run by whoever owns the sandbox."""

from __future__ import annotations

from collections.abc import Callable

from phases.agent.tools.toolbox import Tool, ToolError, ToolKind, object_schema

SECONDS, MOST_SECONDS = 120, 600
LONGEST_COMMAND = 100_000
Run = Callable[[str, int], tuple[int | None, str]]
"""Command and seconds in; exit code (None: it did not run, or ran too long) and output out."""


def bash_tool(run: Run) -> Tool:
    """Bash. What a command writes is not told in `touched`."""

    def act(command: str, timeout: int = SECONDS) -> str:
        _refuse_unusable(command)
        code, output = run(command, int(timeout))
        if code != 0:
            raise ToolError(output if code is None else f"exit code {code}\n{output}")
        return f"exit code 0\n{output}"

    return Tool(
        "Bash",
        "Runs a shell command in the workspace, in a sandbox without network. Each command is a shell of its own. "
        f"`timeout` is in seconds, {SECONDS} unless given.",
        object_schema(
            {"command": {"type": "string", "minLength": 1}},
            timeout={"type": "integer", "minimum": 1, "maximum": MOST_SECONDS},
        ),
        act,
        ToolKind.EXEC,
    )


def _refuse_unusable(command: str) -> None:
    """What the system would not take as one argument is refused here, in words."""
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ToolError("the command is no text: it holds half a surrogate pair") from error
    if "\x00" in command:
        raise ToolError("the command holds a NUL character, and no shell takes that")
    if size > LONGEST_COMMAND:
        raise ToolError(
            f"the command has {size:,} bytes, over {LONGEST_COMMAND:,}; put it into a file with Write, and run that"
        )
