"""OpenAI's package, as both of its wire formats use it, and what both say alike."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from phases.llm.model import Request

_KEY_LENGTH = 32


def load_sdk() -> tuple[Any, Callable[..., Any]]:
    import openai  # late: it takes half a second, and an extra installs it

    return openai, openai.OpenAI


def cache_key(request: Request) -> str:
    """What requests that begin alike are sent under, so that they reach the machine whose cache holds that beginning."""
    first = b"".join(message.digest for message in request.messages[:2])
    return sha256(first).hexdigest()[:_KEY_LENGTH]
