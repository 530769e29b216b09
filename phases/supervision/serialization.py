"""Convert frozen dataclasses to JSON with camelCase keys and back: the graph, the checkpoint and the settings."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Return dataclasses, enumerations, tuples, mappings and plain values as plain JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: to_json(getattr(value, name)) for key, (name, _) in _fields_of(type(value)).items()}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_json(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(inner) for inner in value]
    return value


def from_json(kind: type[T], data: Any) -> T:
    """Return a value of a dataclass; omitted keys take their defaults.

    Raises:
        ValueError: for anything else that does not fit.
    """
    return typing.cast("T", _read_value(kind, data, kind.__name__))


def to_camel(name: str) -> str:
    """Return snake_case as camelCase."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def _fields_of(kind: type) -> dict[str, tuple[str, Any]]:
    """Return JSON key -> name and type of each field. A field may name its key in its metadata."""
    hints = typing.get_type_hints(kind)
    return {
        str(member.metadata.get("key", to_camel(member.name))): (member.name, hints[member.name])
        for member in dataclasses.fields(kind)
    }


def _read_value(kind: Any, data: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        arm = next(arm for arm in get_args(kind) if arm is not type(None))
        return None if data is None else _read_value(arm, data, where)
    if origin is tuple:
        return tuple(_read_value(get_args(kind)[0], inner, where) for inner in _expect_type(list, data, where))
    if origin is not None and issubclass(origin, Mapping):
        rows, inner_kind = _expect_type(dict, data, where), get_args(kind)[1]
        return {key: _read_value(inner_kind, inner, f"{where}.{key}") for key, inner in rows.items()}
    if kind is Any:
        return data
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, _expect_type(dict, data, where), where)
    if issubclass(kind, StrEnum):
        return kind(_expect_type(str, data, where))
    return _expect_type(kind, data, where)


def _read_record(kind: Any, data: dict[str, Any], where: str) -> Any:
    fields = _fields_of(kind)
    if unknown := data.keys() - fields.keys():
        raise ValueError(f"{where}: {min(unknown)!r} is not known")
    values = {fields[key][0]: _read_value(fields[key][1], value, f"{where}.{key}") for key, value in data.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _expect_type(kind: Any, data: Any, where: str) -> Any:
    if kind is int and type(data) is float and data.is_integer():  # to JSON, 4.0 is a whole number
        return int(data)
    if kind is float and type(data) in (int, float):
        return float(data)
    if kind in (bool, int, str, dict, list) and type(data) is kind:
        return data
    raise ValueError(f"{where}: {data!r} is not of type {getattr(kind, '__name__', kind)}")
