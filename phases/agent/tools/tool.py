"""What a tool is: what a model is told of it, what it does, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class ToolError(Exception):
    """Goes back to the model as the answer, marked as failed. `acted` says what was done all the same."""

    def __init__(self, message: str, acted: Acted | None = None) -> None:
        super().__init__(message)
        self.acted = acted or Acted(message)


@dataclass(frozen=True)
class Acted:
    """What came of a call."""

    text: str
    touched: tuple[str, ...] = ()
    """Paths of the workspace that were written. What a command wrote is not among them."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """Path -> sha256 of what the model has now before it as a whole; empty where it no longer has it."""
    shown: tuple[Mapping[str, Any], ...] = ()
    """What of other people's code is in the text: repository, file, commit, licence, line and end each."""


@dataclass(frozen=True)
class Tool:
    """One tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema: a closed object. One object for the life of the tool, because validators are kept by its identity."""
    act: Callable[..., Acted | str]
    """Takes the arguments by name; those that the schema does not require may be left out."""
    reads_only: bool
    again: Callable[..., Acted | str] | None = None
    """Answers a call that may have been done already, where doing it twice would not do."""

    def schema(self) -> dict[str, Any]:
        """What models are given."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def closed(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """The schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **optional},
    }
