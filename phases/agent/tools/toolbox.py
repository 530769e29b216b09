"""Answers the calls of a model: each is checked, done once, and answered in bounded words, whatever it asks for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from phases.agent.tools.tool import Acted, Tool, ToolError
from phases.llm.model import ToolCall
from phases.workspace.workspace import LARGEST_FILE, WorkspaceError
from pipeline.base.text_escaping import bounded, escaped, one_line

MOST_CHARACTERS = 2 * LARGEST_FILE
"""Of all arguments together. A file as long as a file may be fits, however it is escaped."""
Answer = dict[str, Any]
"""text, failed, touched (paths), seen (path -> sha256), shown where other people's code is in it: JSON, for the journal."""
Breach = Callable[[Mapping[str, Any], Any], str | None]
"""Why a value does not fit a JSON schema, in one line, or None."""


class Toolbox:
    """The tools that one conversation may use."""

    def __init__(self, tools: Iterable[Tool], breach: Breach) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._breach = breach

    def schemas(self) -> list[Mapping[str, Any]]:
        """What models are given, in a fixed order."""
        return [tool.schema() for tool in self._tools.values()]

    def reads_only(self, name: str) -> bool:
        """Whether the tool of that name changes nothing. One that does not exist changes nothing either."""
        return name not in self._tools or self._tools[name].reads_only

    def answer(self, call: ToolCall, *, again: bool = False) -> Answer:
        """Does what a call asks. A call that makes no sense is answered too, with what is wrong with it.

        `again`: the call may have been done before, without its answer being kept. Only a disk that says no is raised.
        """
        try:
            acted, failed = self._act(call, again), False
        except ToolError as error:
            acted, failed = error.acted, True
        except WorkspaceError as error:
            acted, failed = Acted(str(error)), True
        return {
            "text": bounded(escaped(acted.text)),
            "failed": failed,
            "touched": list(acted.touched),
            "seen": dict(acted.seen),
            **({"shown": [dict(row) for row in acted.shown]} if acted.shown else {}),
        }

    def _act(self, call: ToolCall, again: bool) -> Acted:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(self._no_such(str(call.name)))
        arguments = self._checked(tool, call.arguments)
        acted = (tool.again or tool.act)(**arguments) if again else tool.act(**arguments)
        return acted if isinstance(acted, Acted) else Acted(acted)

    def _no_such(self, name: str) -> str:
        from difflib import get_close_matches

        names = {own.lower(): own for own in self._tools}
        near = get_close_matches(name[:100].lower(), list(names), n=1)
        meant = f", did you mean {names[near[0]]}?" if near else "."
        return f"there is no tool {one_line(repr(name))}{meant} There are: {', '.join(self._tools)}."

    def _checked(self, tool: Tool, given: Any) -> dict[str, Any]:
        """The arguments, when they fit. A null is taken for an argument that was left out, as many models mean it."""
        arguments = {name: value for name, value in given.items() if value is not None} if _is_object(given) else given
        try:
            characters = len(json.dumps(arguments, ensure_ascii=False))
            if characters > MOST_CHARACTERS:
                raise ToolError(
                    f"{tool.name}: {characters:,} characters of arguments, over the limit of {MOST_CHARACTERS:,}"
                )
            wrong = self._breach(tool.parameters, arguments)
        except (ValueError, TypeError, RecursionError) as error:
            wrong = f"that is no JSON: {one_line(str(error))}"
        if wrong:
            raise ToolError(f"{tool.name} cannot take these arguments, {one_line(wrong, 400)}. {in_words(tool)}")
        return dict(arguments)


def in_words(tool: Tool) -> str:
    """What a tool takes, in one sentence."""
    required = tool.parameters["required"]
    rows = [
        f"{name} ({_kind(schema)}{'' if name in required else ', may be left out'})"
        for name, schema in tool.parameters["properties"].items()
    ]
    return f"{tool.name} takes: {', '.join(rows)}."


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(schema["enum"])
    if isinstance(schema["type"], list):
        return " or ".join(_kind({**schema, "type": one}) for one in schema["type"])
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}"
    if schema["type"] == "object":
        return "objects with " + ", ".join(f"{name}: {_kind(inner)}" for name, inner in schema["properties"].items())
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    limits = [f"{word} {schema[rule]:,}" for rule, word in (("minimum", "from"), ("maximum", "to")) if rule in schema]
    return " ".join([words.get(schema["type"], schema["type"]), *limits])
