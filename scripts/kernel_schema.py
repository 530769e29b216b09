#!/usr/bin/env python3
"""Writes schemas/supervisor-config.schema.json from the settings of the kernel (phases/supervision/config.py), from the root.

python -m scripts.kernel_schema
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from enum import StrEnum
from pathlib import Path
from typing import Any

from phases.supervision.config import Config
from phases.supervision.serialization import to_camel, to_json

SCHEMA = Path(__file__).parent.parent / "schemas" / "supervisor-config.schema.json"


def schema_of(kind: type) -> dict[str, Any]:
    """Return the schema of one class of settings."""
    hints = typing.get_type_hints(kind)
    properties = {to_camel(row.name): _property_of(row, hints[row.name]) for row in dataclasses.fields(kind)}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def whole_schema() -> dict[str, Any]:
    """The schema of the file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "supervisor-config.json",
        "description": "The numbers that supervision goes by, in kernel/supervisor-config.json. Every key may be left out. "
        "Written by the user.",
        **schema_of(Config),
        "examples": [to_json(Config()), {"mode": "strict", "triggers": {"noProgressRoundsMin": 6}}],
    }


def _property_of(row: dataclasses.Field[Any], kind: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return schema_of(kind)
    about = {"description": row.metadata["about"]}
    default = {"default": to_json(row.default)}
    if typing.get_origin(kind) is tuple:
        items = {"enum": _words_of(typing.get_args(kind)[0])}
        return {**about, "type": "array", "items": items, "uniqueItems": True, **default}
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return {**about, "enum": [*_words_of(typing.get_args(kind)[0]), None], **default}
    if kind is bool:
        return {**about, "type": "boolean", **default}
    bounds = {"minimum": row.metadata["least"], "maximum": row.metadata["most"]}
    return {**about, "type": "integer" if kind is int else "number", **bounds, **default}


def _words_of(kind: type[StrEnum]) -> list[str]:
    return [word.value for word in kind]


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(whole_schema(), indent=2) + "\n")
