"""Parse and write documents: JSON, and Markdown with front matter; YAML is in plain_yaml.

The input is untrusted: each parser has caps, and one kind of error (FormatError, with line and column).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.base.errors import FormatError
from pipeline.base.plain_yaml import dump_yaml, parse_yaml

_FENCE = "---\n"
_JSON_LEVELS = 2
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Markdown(NamedTuple):
    """A Markdown document: the whole text (character spans count from its first character) and its front matter."""

    text: str
    front: Mapping[str, Any]

    @property
    def body_start(self) -> int:
        """Offset of the text after the front matter."""
        return self.text.index("\n" + _FENCE, len(_FENCE) - 1) + len(_FENCE) + 1


def parse_json(data: bytes, *, strict: bool = True) -> Any:
    """Parse strict JSON (RFC 8259): no NaN, no duplicate keys, no lone surrogates. The schema limits its depth.

    With `strict=False` a text in it may hold line breaks and tabs as they are, as models write them.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text, strict=strict, parse_constant=_no_constant, object_pairs_hook=_no_duplicates, parse_float=_parse_float
        )
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
    """Return a JSON document for reading and comparing by line: a field a line, in a list or table a row a line."""
    try:
        return (_json_lines(value) + "\n").encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"cannot be written as JSON: {' '.join(str(error).split())[:200]}") from error


def dump_json_line(value: Any) -> bytes:
    """Return a value as one line of a .jsonl file, without its line end."""
    try:
        return _encode(value).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"cannot be written as JSON: {' '.join(str(error).split())[:200]}") from error


def parse_markdown(data: bytes) -> Markdown:
    """Parse Markdown that begins with YAML front matter between two `---` lines."""
    text = _decode_utf8(data)
    end = text.find("\n" + _FENCE, len(_FENCE) - 1)
    if not text.startswith(_FENCE) or end < 0:
        raise FormatError("no front matter: the file must begin with a block between two '---' lines", line=1, column=1)
    try:
        front = parse_yaml(text[len(_FENCE) : end + 1].encode("utf-8"))
    except FormatError as error:  # its lines are counted from below the fence
        raise FormatError(str(error), line=error.line and error.line + 1, column=error.column) from error
    if not isinstance(front, dict):
        raise FormatError("the front matter is not a mapping of keys to values", line=2, column=1)
    return Markdown(text, front)


def compose_markdown(front: Mapping[str, Any], body: str) -> Markdown:
    """Return a Markdown document from its two parts."""
    return Markdown(_FENCE + dump_yaml(dict(front)).decode("utf-8") + _FENCE + body, front)


def _json_lines(value: Any, depth: int = 0) -> str:
    # decision 9: json.dumps(indent=2) leaves the fast encoder; two levels of our own keep it, and are easier on the eye.
    pad = "  " * (depth + 1)
    if depth < _JSON_LEVELS and isinstance(value, dict) and value:
        if not all(isinstance(key, str) for key in value):
            raise TypeError("every key must be a string")
        rows = [f"{pad}{_encode(key)}: {_json_lines(child, depth + 1)}" for key, child in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + "  " * depth + "}"
    if depth < _JSON_LEVELS and isinstance(value, list) and value:
        return "[\n" + ",\n".join(pad + _encode(child) for child in value) + "\n" + "  " * depth + "]"
    return _encode(value)


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 text: {error.reason} at byte {error.start}") from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name[:80]!r} appears twice in one object")
            seen.add(name)
    return value


def _parse_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large for a number")
    return value
