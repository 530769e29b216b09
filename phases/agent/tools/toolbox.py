"""Define tools, and answer a model's calls: check arguments, act once, bound the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from phases.llm.model import ToolCall
from phases.workspace.workspace import LARGEST_FILE, WorkspaceError
from pipeline.base.text_escaping import bound_text, escape_text, one_line

MOST_CHARACTERS = 2 * LARGEST_FILE
"""Of all arguments together. A file as long as a file may be fits, however it is escaped."""
Answer = dict[str, Any]
"""text, failed, touched (paths), seen (path -> sha256), and if any shown, pictures, asked, added, job, code: for the journal."""
Breach = Callable[[Mapping[str, Any], Any], str | None]
"""Returns why a value breaks a JSON schema, in one line, or None."""


class ToolKind(StrEnum):
    """Effect of a tool's calls: whether they write, and how supervision classes them.

    Every tool names its kind, so there is no other table of tools.
    """

    READ = "READ"
    SEARCH = "SEARCH"
    WRITE = "WRITE"
    EXEC = "EXEC"
    DELEGATE = "DELEGATE"
    NEUTRAL = "NEUTRAL"
    """Changes what the run remembers, and no file."""


class ToolError(Exception):
    """Goes back to the model as the answer, marked as failed. `acted` says what was done all the same."""

    def __init__(self, message: str, acted: ToolResult | None = None) -> None:
        super().__init__(message)
        self.acted = acted or ToolResult(message)


@dataclass(frozen=True)
class ToolResult:
    text: str
    touched: tuple[str, ...] = ()
    """Paths of the workspace that were written. What a command wrote is not among them."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """Path -> sha256 of what the model has now before it as a whole; empty where it no longer has it."""
    shown: tuple[Mapping[str, Any], ...] = ()
    """Reference code in the text: repository, file, commit, licence, line and end of each."""
    pictures: tuple[Mapping[str, Any], ...] = ()
    """Pictures shown next to the text, as named in the journal."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """A question to the user: question, options, answer, by."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """A package that was installed: line, why."""
    job: Mapping[str, Any] = field(default_factory=dict)
    """A job that was started or looked at: the fields of a JobState."""
    code: str = ""
    """The rule that refused it, where its tool has rules with names."""


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema: a closed object. One object for the life of the tool, because validators are kept by its identity."""
    act: Callable[..., ToolResult | str]
    """Takes the arguments by name; those that the schema does not require may be left out."""
    kind: ToolKind
    shown: Mapping[str, Any] | None = None
    """The schema that the model is shown, where it is told less than is taken: each word of it is paid for in each question."""
    redo: Callable[..., ToolResult | str] | None = None
    """Answers a call that may have been done already, where doing it twice would not do."""

    @property
    def reads_only(self) -> bool:
        """Return whether the tool changes nothing: sub-agents may have it, and its results need no sync."""
        return self.kind in (ToolKind.READ, ToolKind.SEARCH, ToolKind.DELEGATE)

    def schema(self) -> dict[str, Any]:
        """Return the schema for the model, without limits on lengths and numbers: breaking one gives an error."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": _without_limits(self.shown or self.parameters),
        }


_LIMITS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")


def _without_limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    rules = {rule: value for rule, value in schema.items() if rule not in _LIMITS}
    if "items" in rules:
        rules["items"] = _without_limits(rules["items"])
    if "properties" in rules:
        rules["properties"] = {name: _without_limits(value) for name, value in rules["properties"].items()}
    return rules


def object_schema(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the schema of a closed object with these properties."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **optional},
    }


class Notes:
    """Path -> sha256 of what the model was shown whole, or wrote, since its context began. One context has one."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def known(self, path: str) -> str | None:
        """Return the sha256 of a file as the model knows it; None unless it knows the whole."""
        return self._seen.get(path)

    def learn(self, seen: Mapping[str, str]) -> None:
        """Update from an answer's `seen`, or from the journal on a resume. An empty digest forgets."""
        for path, digest in seen.items():
            if digest:
                self._seen[path] = digest
            else:
                self._seen.pop(path, None)

    def forget(self, paths: Iterable[str] | None = None) -> None:
        """Forget these files, or all, when the context drops them."""
        for path in list(self._seen if paths is None else paths):
            self._seen.pop(path, None)


class Toolbox:
    """The tools that one conversation may use."""

    def __init__(self, tools: Iterable[Tool], breach: Breach) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._breach = breach

    def schemas(self) -> list[Mapping[str, Any]]:
        """Return the schemas of all tools in a fixed order."""
        return [tool.schema() for tool in self._tools.values()]

    def kinds(self) -> dict[str, ToolKind]:
        return {tool.name: tool.kind for tool in self._tools.values()}

    def reads_only(self, name: str) -> bool:
        """Return whether a tool changes nothing; an unknown tool changes nothing."""
        return name not in self._tools or self._tools[name].reads_only

    def answer(self, call: ToolCall, *, again: bool = False) -> Answer:
        """Execute a call. An invalid call is answered with its fault.

        `again`: the call may have been done before without a record. Raises only if the disk fails.
        """
        try:
            acted, failed = self._act(call, again), False
        except ToolError as error:
            acted, failed = error.acted, True
        except WorkspaceError as error:
            acted, failed = ToolResult(str(error)), True
        return {
            "text": bound_text(escape_text(acted.text)),
            "failed": failed,
            "touched": list(acted.touched),
            "seen": dict(acted.seen),
            **({"shown": [dict(row) for row in acted.shown]} if acted.shown else {}),
            **({"pictures": [dict(row) for row in acted.pictures]} if acted.pictures else {}),
            **({"asked": dict(acted.asked)} if acted.asked else {}),
            **({"job": dict(acted.job)} if acted.job else {}),
            **({"added": dict(acted.added)} if acted.added else {}),
            **({"code": acted.code} if acted.code else {}),
        }

    def _act(self, call: ToolCall, again: bool) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(self._no_such(str(call.name)))
        arguments = self._checked(tool, call.arguments)
        acted = (tool.redo or tool.act)(**arguments) if again else tool.act(**arguments)
        return acted if isinstance(acted, ToolResult) else ToolResult(acted)

    def _no_such(self, name: str) -> str:
        names = {own.lower(): own for own in self._tools}
        near = get_close_matches(name[:100].lower(), list(names), n=1)
        meant = f", did you mean {names[near[0]]}?" if near else "."
        return f"there is no tool {one_line(repr(name))}{meant} There are: {', '.join(self._tools)}."

    def _checked(self, tool: Tool, given: Any) -> dict[str, Any]:
        """Return valid arguments. A null counts as left out, as many models mean it."""
        arguments = given
        if isinstance(given, Mapping):
            arguments = {name: value for name, value in given.items() if value is not None}
        try:
            characters = len(json.dumps(arguments, ensure_ascii=False))
            if characters > MOST_CHARACTERS:
                raise ToolError(
                    f"{tool.name}: {characters:,} characters of arguments, over the limit of {MOST_CHARACTERS:,}"
                )
            wrong = self._breach(tool.parameters, arguments)
        except (ValueError, TypeError, RecursionError) as error:
            wrong = f"that is not JSON: {one_line(str(error))}"
        if wrong:
            raise ToolError(f"{tool.name} cannot take these arguments, {one_line(wrong, 400)}. {describe_tool(tool)}")
        return dict(arguments)


def describe_tool(tool: Tool) -> str:
    required = tool.parameters["required"]
    rows = [
        f"{name} ({_describe_kind(schema)}{'' if name in required else ', may be left out'})"
        for name, schema in tool.parameters["properties"].items()
    ]
    return f"{tool.name} takes: {', '.join(rows)}."


def _describe_kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(schema["enum"])
    if isinstance(schema["type"], list):
        return " or ".join(_describe_kind({**schema, "type": kind}) for kind in schema["type"])
    if schema["type"] == "array":
        return f"list of {_describe_kind(schema['items'])}"
    if schema["type"] == "object":
        return "objects with " + ", ".join(
            f"{name}: {_describe_kind(inner)}" for name, inner in schema["properties"].items()
        )
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    limits = [f"{word} {schema[rule]:,}" for rule, word in (("minimum", "from"), ("maximum", "to")) if rule in schema]
    return " ".join([words.get(schema["type"], schema["type"]), *limits])
