"""What stands for a call, a command, an error and a result when they are compared: without what differs from run to run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

_LONGEST_KEY, _LONGEST_LINE = 200, 160
_MOST_FAILURES = 50
_CHANGING = (
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?"), "<time>"),
    (re.compile(r"\b0x[0-9a-fA-F]+"), "<address>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|us|µs|ns|seconds|minutes)\b"), "<duration>"),
    (re.compile(r"(?<=[\w\]'\").]):\d+(?::\d+)?"), ":<line>"),
    (re.compile(r"\bline \d+\b"), "line <line>"),
)
_COUNT = re.compile(r"\b\d+ (?=[a-z])")
_FAILS = re.compile(r"fail|error|exception|assert|panic|not ok|✗|✘|×", re.IGNORECASE)


def signature_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """The tool with its arguments, their keys sorted: two equal calls have one."""
    text = json.dumps([tool, dict(arguments)], sort_keys=True, ensure_ascii=True, default=str)
    return _short_digest(text)


def digest_of_result(text: str) -> str:
    """Two results that say the same at another time, or from another line, have one."""
    return _short_digest(normalised(text))


def command_key(command: str) -> str:
    """A command without what makes no difference to a shell."""
    return " ".join(command.split())[:_LONGEST_KEY]


def error_key(error: str) -> str:
    """An error without its time and place; empty where there is none."""
    return " ".join(normalised(error).split())[:_LONGEST_KEY]


def normalised(text: str) -> str:
    """A text without times, durations, addresses and line numbers."""
    for pattern, stands in _CHANGING:
        text = pattern.sub(stands, text)
    return text


def failures_in(output: str) -> tuple[str, ...]:
    """The lines that say what fails, sorted, each once: of any test runner, none is known by name.

    An output that says nothing of the kind gives its last line that is not empty.
    """
    lines = [" ".join(line.split())[:_LONGEST_LINE] for line in _COUNT.sub("<n> ", normalised(output)).splitlines()]
    told = {line for line in lines if _FAILS.search(line)} or {next((line for line in reversed(lines) if line), "")}
    return tuple(sorted(told - {""}))[:_MOST_FAILURES]


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
