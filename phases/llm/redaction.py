"""Take keys out of text before anybody sees or keep it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from phases.llm.model import OWNER, Reply, ToolCall

REDACTED = "[redacted]"
_SHORTEST = 8
"""Shorter secrets are left alone: taking them out would tear holes in ordinary words."""
_DEEPEST = 128
"""Levels of lists and objects that are looked into: twice what a call's arguments may have."""
_SHAPES = (
    # Every part that repeats either cannot fail once it began or is bounded, so the time is linear in the text.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^-]*+(?:-(?!----)[^-]*+)*+(?:-----END [A-Z0-9 ]{0,40}-----)?",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}",
    r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{20,}",
    r"(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}",
    r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}",
    # Names in code have an underscore or no digit where these have neither: hf_model_name, npm_config_cache, sk_test_loader.
    r"(?<![A-Za-z0-9_])(?:hf|r8|npm)_[A-Za-z0-9]{30,}",
    r"(?<![A-Za-z0-9_])gsk_(?=[A-Za-z0-9]{0,60}[0-9])[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9_])[sr]k_(?:live|test)_(?=[A-Za-z0-9]{0,60}[0-9])[A-Za-z0-9]{10,}",
    r"(?<![A-Za-z0-9_-])(?:glpat|nvapi|pypi)-(?=[A-Za-z0-9_.-]{0,60}[0-9])(?=[A-Za-z0-9_.-]{0,60}[A-Z])[A-Za-z0-9_.-]{20,}",
    # DigitalOcean, SendGrid, Vault, Google, Databricks, Shopify, Slack's addresses for messages
    r"(?<![A-Za-z0-9_])do[opr]_v1_[a-f0-9]{64}",
    r"(?<![A-Za-z0-9_.-])SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    r"(?<![A-Za-z0-9_.-])(?:hvs|ya29)\.(?=[A-Za-z0-9_-]{0,60}[0-9])[A-Za-z0-9_-]{24,}",
    r"(?<![A-Za-z0-9_])dapi[a-f0-9]{32}",
    r"(?<![A-Za-z0-9_])shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"https://hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}",
    # An address of a database with a password that has a digit: user:password@localhost of an example has none.
    (
        r"(?<![A-Za-z0-9])(?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|amqp)(?:s|\+[a-z0-9]{1,20})?://"
        r"[^\s:/@\"']{0,60}:(?=[^\s/@\"']{0,99}[0-9])[^\s/@\"']{8,100}@[^\s\"']{1,200}"
    ),
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}",  # a JWT
)


_MARKS = (
    *("-----BEGIN ", "AKIA", "ASIA", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "AIza"),
    *("hf_", "r8_", "npm_", "sk_", "rk_", "glpat-", "nvapi-", "pypi-", "_v1_", "SG.", "hvs.", "ya29.", "dapi", "shp"),
    *("https://hooks.", "postgres", "mysql", "mariadb", "mongodb", "redis", "amqp", "eyJ"),
)
"""Whatever has one of the shapes has one of these in it: to look for them takes a fiftieth of the time."""


def redact_text(text: str, secrets: Sequence[str] = ()) -> str:
    """Return the text without our keys, in any spelling, and without anything that looks like a key."""
    if len(text) < _SHORTEST:  # no secret and no shape is so short, and half of all names in a document are
        return text
    own, pattern = _secret_pattern(tuple(secrets))
    return pattern.sub(REDACTED, text) if any(mark in text for mark in (*own, *_MARKS)) else text


def redact_reply(reply: Reply, secrets: Sequence[str] = ()) -> Reply:
    """Return a reply without keys: in its text, its detail, and the calls at any depth."""
    calls = tuple(
        ToolCall(
            redact_text(call.id, secrets).replace(REDACTED, "redacted"),  # providers allow no brackets in an id
            redact_text(call.name, secrets),
            {redact_text(key, secrets): redact_value(value, secrets) for key, value in call.arguments.items()},
        )
        for call in reply.calls
    )
    reasoning = _redact_reasoning(reply.reasoning, secrets)
    text, detail = redact_text(reply.text, secrets), redact_text(reply.detail, secrets)
    return replace(reply, text=text, detail=detail, calls=calls, reasoning=reasoning)


def redact_value(value: Any, secrets: Sequence[str] = (), *, levels: int = _DEEPEST) -> Any:
    """Return a JSON value without keys, at any depth; parts deeper than `levels` are removed whole."""
    if isinstance(value, str):
        return redact_text(value, secrets)
    if not levels and isinstance(value, (list, dict)):
        return REDACTED
    if isinstance(value, list):
        return [redact_value(child, secrets, levels=levels - 1) for child in value]
    if isinstance(value, dict):
        return {
            redact_text(key, secrets): redact_value(child, secrets, levels=levels - 1) for key, child in value.items()
        }
    return value


def _redact_reasoning(reasoning: Mapping[str, Any], secrets: Sequence[str]) -> dict[str, Any]:
    # decision 130: what may be signed is kept whole or not at all; a vendor refuses it when it was changed.
    clean = {name: redact_value(value, secrets) for name, value in reasoning.items()}
    kept = {name: value for name, value in clean.items() if isinstance(value, str) or value == reasoning[name]}
    return kept if kept.keys() - {OWNER} else {}


@lru_cache(maxsize=16)
def _secret_pattern(secrets: tuple[str, ...]) -> tuple[Sequence[str], re.Pattern[str]]:
    """Return the spellings of our keys, and the pattern of these and of anything like a key."""
    own = {spelling for secret in secrets if len(secret) >= _SHORTEST for spelling in _spellings_of(secret)}
    longest_first = sorted(own, key=lambda spelling: (-len(spelling), spelling))
    return longest_first, re.compile("|".join([*map(re.escape, longest_first), *_SHAPES]))


def _spellings_of(secret: str) -> Iterator[str]:
    yield from (secret, quote(secret, safe=""), quote_plus(secret), quote(secret))
    data = secret.encode("utf-8", "replace")
    for before in range(3):  # base64 cuts a text in threes: a key looks different at each distance from a cut
        coded = b64encode(b"\0" * before + data).decode()
        whole = coded[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6]
        if len(whole) >= _SHORTEST:
            yield from (whole, whole.replace("+", "-").replace("/", "_"))
