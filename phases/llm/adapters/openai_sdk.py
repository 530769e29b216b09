"""Shared code for both wire formats of OpenAI's package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from phases.llm.model import Request

_KEY_LENGTH = 32


def load_sdk() -> tuple[Any, Callable[..., Any]]:
    import openai  # late: it takes half a second, and an extra installs it

    return openai, openai.OpenAI


def strict_parameters(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a tool's schema for the vendor's strict mode: every property required, null for optional ones.

    None for a schema that has an object of any shape in it: that tool stays as it is.
    """
    if schema.get("type") != "object":
        if schema.get("type") != "array":
            return dict(schema)
        items = strict_parameters(schema.get("items", {}))
        return None if items is None else {**schema, "items": items}
    if schema.get("additionalProperties") is not False:
        return None
    required, properties = schema.get("required", ()), {}
    for name, value in schema["properties"].items():
        inner = strict_parameters(value)
        if inner is None:
            return None
        properties[name] = inner if name in required else {"anyOf": [inner, {"type": "null"}]}
    return {**schema, "properties": properties, "required": list(properties)}


def refuses_strict(said: str) -> bool:
    """Return whether this server's refusal means that it does not take a strict schema."""
    return "strict" in said or "invalid schema for function" in said.lower()


def cache_key(request: Request) -> str:
    """Return a key shared by requests with the same beginning, so that they reach the machine that has it cached."""
    first = b"".join(message.digest for message in request.messages[:2])
    return sha256(first).hexdigest()[:_KEY_LENGTH]
