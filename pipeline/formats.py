"""Bytes to values and back, for the three formats of documents: JSON, YAML, and Markdown with front matter.

Everything here may come from a stranger: each parser has caps, and one kind of error (FormatError, with line and column).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.errors import FormatError

DEEPEST = 64
LARGEST_YAML = 4 * 1024 * 1024
_FENCE = "---\n"
_JSON_LEVELS = 2
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Markdown(NamedTuple):
    """A Markdown document: the whole text (character spans count from its first character) and its front matter."""

    text: str
    front: Mapping[str, Any]

    @property
    def body_start(self) -> int:
        """Where the text after the front matter begins."""
        return self.text.index("\n" + _FENCE, len(_FENCE) - 1) + len(_FENCE) + 1


def parse_json(data: bytes) -> Any:
    """Strict JSON (RFC 8259): no NaN, no duplicate keys, no lone surrogates. How deep it may go is for the schema."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates, parse_float=_finite)
        if b"\\ud" in data or b"\\uD" in data:  # only an escape can smuggle half a surrogate pair in
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except UnicodeError as error:
        raise FormatError(f"not UTF-8 text: {error}") from error
    except RecursionError as error:
        raise FormatError("nested too deeply") from error
    except ValueError as error:
        raise FormatError(f"not JSON: {error}") from error
    return value


def dump_json(value: Any) -> bytes:
    """The bytes of a JSON document, made to be read and compared by line: a field a line, and in a list or table a row a line."""
    try:
        return (_json_lines(value) + "\n").encode("utf-8")
    except (ValueError, TypeError) as error:
        raise FormatError(f"cannot be written as JSON: {error}") from error


def parse_yaml(data: bytes) -> Any:
    """YAML without aliases, tags or deep nesting; those are how a small file eats a machine."""
    if len(data) > LARGEST_YAML:
        raise FormatError(f"{len(data):,} bytes of YAML, over the limit of {LARGEST_YAML:,}")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = _decode(data)
    try:
        _refuse_traps(yaml.parse(text, Loader=loader))
        return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader, chosen above
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FormatError(
            f"not YAML: {error.problem or error.context}",
            line=mark.line + 1 if mark else 0,
            column=mark.column + 1 if mark else 0,
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise FormatError(f"not YAML: {' '.join(str(error).split())}") from error


def dump_yaml(value: Any) -> bytes:
    """The bytes of a YAML document: keys in the order given, letters as they are."""
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True  # parse_yaml refuses them, so a value that stands in two places is written twice

    try:
        return bytes(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110, encoding="utf-8"))
    except yaml.YAMLError as error:
        raise FormatError(f"cannot be written as YAML: {error}") from error


def locate_yaml(data: bytes, path: Sequence[str | int]) -> tuple[int, int]:
    """Line and column, from 1, of the value at a path in YAML that parses; (0, 0) where the path leads nowhere."""
    import yaml

    node = yaml.compose(_decode(data), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for step in path:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
        else:
            node = None
        if node is None:
            return 0, 0
    return (node.start_mark.line + 1, node.start_mark.column + 1) if node else (0, 0)


def parse_markdown(data: bytes) -> Markdown:
    """Markdown that begins with YAML front matter between two `---` lines."""
    text = _decode(data)
    end = text.find("\n" + _FENCE, len(_FENCE) - 1)
    if not text.startswith(_FENCE) or end < 0:
        raise FormatError("no front matter: the file must begin with a block between two '---' lines", line=1, column=1)
    front = parse_yaml(text[len(_FENCE) : end + 1].encode("utf-8"))
    if not isinstance(front, dict):
        raise FormatError("the front matter is not a mapping of keys to values", line=2, column=1)
    return Markdown(text, front)


def compose_markdown(front: Mapping[str, Any], body: str) -> Markdown:
    """A Markdown document from its two parts."""
    return Markdown(_FENCE + dump_yaml(dict(front)).decode("utf-8") + _FENCE + body, front)


def _json_lines(value: Any, depth: int = 0) -> str:
    # json.dumps(indent=2) leaves the fast encoder; two levels of our own keep it, and are easier on the eye.
    pad = "  " * (depth + 1)
    if depth < _JSON_LEVELS and isinstance(value, dict) and value:
        rows = [f"{pad}{_encode(str(key))}: {_json_lines(child, depth + 1)}" for key, child in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + "  " * depth + "}"
    if depth < _JSON_LEVELS and isinstance(value, list) and value:
        return "[\n" + ",\n".join(pad + _encode(child) for child in value) + "\n" + "  " * depth + "]"
    return _encode(value)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 text: {error.reason} at byte {error.start}") from error


def _refuse_traps(events: Any) -> None:
    import yaml

    depth = 0
    for event in events:
        problem = None
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            problem = "anchors and aliases are not allowed"
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            problem = f"nested deeper than {DEEPEST} levels" if depth > DEEPEST else None
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        if problem:
            raise FormatError(problem, line=event.start_mark.line + 1, column=event.start_mark.column + 1)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands twice in one object")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large for a number")
    return value
