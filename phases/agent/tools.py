"""The tools that a model may call: typed, checked, held inside the workspace, and bounded in what they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from phases.agent.acceptance import syntax_fault
from phases.agent.model import ToolCall
from phases.agent.sandbox import run_command
from phases.agent.workspace import Workspace, WorkspaceError

LARGEST_ANSWER = 30_000
_TEXT = {"type": "string"}


@dataclass(frozen=True)
class Tool:
    """One tool: what a model is told of it, and what it does."""

    name: str
    description: str
    arguments: tuple[str, ...]
    """All are strings, and all are required."""
    act: Callable[..., str]

    def schema(self) -> dict[str, Any]:
        """What models are given."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "required": list(self.arguments),
                "properties": dict.fromkeys(self.arguments, _TEXT),
            },
        }


class ToolError(Exception):
    """Goes back to the model as the answer, marked as an error."""


class Tools:
    """The tools of one run."""

    def __init__(self, workspace: Workspace, sandbox: str) -> None:
        self._workspace, self._sandbox = workspace, sandbox
        self._tools = {
            tool.name: tool
            for tool in (
                Tool("Read", "Read a file of the workspace.", ("path",), workspace.read),
                Tool(
                    "Write",
                    "Write a whole file of the workspace. Python is parsed at once.",
                    ("path", "content"),
                    self._write,
                ),
                Tool(
                    "Bash",
                    "Run a shell command in the workspace, in a sandbox without network.",
                    ("command",),
                    self._bash,
                ),
            )
        }

    def schemas(self) -> list[Mapping[str, Any]]:
        """What models are given, in a fixed order."""
        return [tool.schema() for tool in self._tools.values()]

    def answer(self, call: ToolCall) -> dict[str, Any]:
        """Does what a call asks. A call that makes no sense is answered too, with what is wrong with it."""
        try:
            text, failed = self._act(call), False
        except (ToolError, WorkspaceError) as error:
            text, failed = str(error), True
        if len(text) > LARGEST_ANSWER:
            text = text[:LARGEST_ANSWER] + f"\n… {len(text) - LARGEST_ANSWER:,} characters more"
        return {"text": text, "failed": failed}

    def _act(self, call: ToolCall) -> str:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(f"there is no tool {call.name!r}; there are: {', '.join(self._tools)}")
        given = call.arguments if isinstance(call.arguments, Mapping) else {}
        if set(given) != set(tool.arguments) or not all(isinstance(value, str) for value in given.values()):
            raise ToolError(f"{call.name} takes exactly these arguments, all strings: {', '.join(tool.arguments)}")
        return tool.act(**given)

    def _write(self, path: str, content: str) -> str:
        self._workspace.write(path, content)
        lines = content.count("\n")
        if path.endswith(".py"):
            fault = syntax_fault(content)
            if fault:
                raise ToolError(f"{path} is written ({lines} lines) and does not parse: {fault}")
        return f"{path} is written, {lines} lines"

    def _bash(self, command: str) -> str:
        finished = run_command(command, self._workspace.root, self._sandbox)
        if finished.exit_code != 0:
            raise ToolError(f"exit code {finished.exit_code}\n{finished.output}")
        return f"exit code 0\n{finished.output}"
