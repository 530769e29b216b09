"""Read and write YAML restricted to JSON's values: mappings with string keys, lists, strings, numbers, true, false, null.

The text is untrusted. libyaml gives a stream of events, which cannot overflow anything; the values are built here.
So there is no tag, no alias, no date and no surprise: `off` is a string, and so is `2026-01-31`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.base.errors import FormatError

DEEPEST = 64
LARGEST = 4 * 1024 * 1024
MOST_VALUES = 300_000
"""A plan of a hundred pages has some 20,000."""
_WIDTH, _LONGEST_FIELD = 120, 70
_IDENTIFIER = re.compile(r"[A-Z][0-9]{1,5}")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# What the dumper leaves unquoted must be read as a text: these are its own spellings of a number with a fraction.
_FLOAT = r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|\.[0-9]+(?:[eE][-+][0-9]+)?"
_Place = tuple[int, int]
_Path = tuple[str | int, ...]


def parse_yaml(data: bytes) -> Any:
    """Parse one YAML document. Raises FormatError, with line and column."""
    return _YamlBuilder(data, with_places=False).value


def locate_yaml(data: bytes, path: Sequence[str | int]) -> _Place:
    """Return line and column, from 1, of the value at a path in valid YAML; (0, 0) if there is none."""
    return _YamlBuilder(data, with_places=True).places.get(tuple(path), (0, 0))


def dump_yaml(value: Any) -> bytes:
    """Return a YAML document: keys in the given order, letters unescaped. Raises FormatError."""
    import yaml  # late: 15 ms, and most commands read and write no YAML

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True  # parse_yaml refuses them, so a value that stands in two places is written twice

        def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:
            short = all(
                isinstance(item, (int, float)) or (isinstance(item, str) and _IDENTIFIER.fullmatch(item))
                for item in sequence
            )
            return super().represent_sequence(tag, sequence, flow_style=short)

        def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
            fields = list(mapping.values())
            is_flat = mapping is not value and not any(isinstance(field, (list, dict)) for field in fields)
            lengths = [len(str(field)) for field in fields]
            is_short = is_flat and max(lengths, default=0) <= _LONGEST_FIELD and sum(lengths) <= _WIDTH - 20
            return super().represent_mapping(tag, mapping, flow_style=is_short)

    # decision 39: a line a field, and an empty line between entries: a person reads it from top to bottom; what fits on a line
    # with all its fields is one line, or the figures of a paper's tables are most of a plan.
    form: dict[str, Any] = {"allow_unicode": True, "width": _WIDTH, "encoding": "utf-8", "default_flow_style": False}
    try:
        return _space_out(bytes(yaml.dump(value, Dumper=Dumper, sort_keys=False, **form)))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FormatError(f"cannot be written as YAML: {' '.join(str(error).split())[:200]}") from error


def _space_out(data: bytes) -> bytes:
    """Insert an empty line before each key of the document and each entry of its lists.

    Texts that go on over lines are indented, so what begins a line is always a key or an entry.
    """
    lines = data.split(b"\n")
    spaced: list[bytes] = []
    for line, following in zip(lines, [*lines[1:], b""], strict=True):
        is_entry = line.startswith(b"- ") and not line.startswith(b"- {") and following.startswith(b"  ")
        is_key = bool(line) and not line.startswith((b" ", b"-")) and (following.startswith((b" ", b"- ")))
        if spaced and (is_entry or is_key) and spaced[-1]:
            spaced.append(b"")
        spaced.append(line)
    return b"\n".join(spaced)


class _YamlBuilder:
    """Turns the events of one document into a value, and remembers where each part of it begins."""

    def __init__(self, data: bytes, *, with_places: bool) -> None:
        if len(data) > LARGEST:
            raise FormatError(f"{len(data):,} bytes of YAML, over the limit of {LARGEST:,}")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"not UTF-8 text: {error.reason} at byte {error.start}") from error
        self.places: dict[_Path, _Place] = {}
        self._with_places, self._count = with_places, 0
        self._events = _parse_events(text)
        self.value = self._document()

    def _document(self) -> Any:
        value, seen = None, False
        for event in self._events:
            kind = type(event).__name__
            if kind in ("ScalarEvent", "MappingStartEvent", "SequenceStartEvent", "AliasEvent"):
                if seen:
                    raise _error_at("a second document begins here, and only one is read", event)
                value, seen = self._build(event, ()), True
        return value

    def _build(self, event: Any, path: _Path) -> Any:
        kind = type(event).__name__
        if kind == "AliasEvent" or event.anchor:
            raise _error_at("anchors and aliases are not allowed", event)
        if event.tag and not (kind == "ScalarEvent" and any(event.implicit)):
            raise _error_at("tags are not allowed", event)
        if len(path) >= DEEPEST:
            raise _error_at(f"nested deeper than {DEEPEST} levels", event)
        self._count += 1
        if self._count > MOST_VALUES:
            raise _error_at(f"more than {MOST_VALUES:,} values", event)
        if self._with_places:
            self.places[path] = _place_of(event)
        if kind == "ScalarEvent":
            return _parse_scalar(event)
        return self._mapping(path) if kind == "MappingStartEvent" else self._sequence(path)

    def _mapping(self, path: _Path) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for event in self._events:
            kind = type(event).__name__
            if kind == "MappingEndEvent":
                break
            if kind == "ScalarEvent" and event.tag and not any(event.implicit):
                raise _error_at("tags are not allowed", event)
            if kind != "ScalarEvent" or event.anchor:
                raise _error_at("a key must be a plain string", event)
            if event.value in value:
                raise _error_at(f"the key {event.value[:80]!r} appears twice in one mapping", event)
            value[event.value] = self._build(next(self._events), (*path, event.value))
        return value

    def _sequence(self, path: _Path) -> list[Any]:
        value: list[Any] = []
        for event in self._events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            value.append(self._build(event, (*path, len(value))))
        return value


def _parse_events(text: str) -> Iterator[Any]:
    import yaml  # late: 15 ms, and most commands read and write no YAML

    try:
        yield from yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise FormatError(f"not YAML: {error.problem or error.context}", line=place[0], column=place[1]) from error
    except (yaml.YAMLError, ValueError) as error:
        raise FormatError(f"not YAML: {' '.join(str(error).split())[:200]}") from error


def _parse_scalar(event: Any) -> Any:
    """Parse a scalar: a quoted one is a string, a plain one a number, true, false or null only if it looks exactly so."""
    text: str = event.value
    if not event.implicit[0] or event.style in ("'", '"', "|", ">"):
        return text
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    try:
        if re.fullmatch(r"[-+]?(?:0|[1-9][0-9]*)", text):
            return int(text)
        if re.fullmatch(_FLOAT, text):
            number = float(text)
            if number - number == 0:
                return number
            raise _error_at(f"{text[:80]} is not a finite number", event)
        if re.fullmatch(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", text):
            raise _error_at(f"{text} is not a finite number", event)
    except ValueError as error:
        raise _error_at(f"{text[:40]}… is not a number of a reasonable size", event) from error
    return text


def _place_of(event: Any) -> _Place:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _error_at(problem: str, event: Any) -> FormatError:
    line, column = _place_of(event)
    return FormatError(problem, line=line, column=column)
