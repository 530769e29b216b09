"""The model that repeats recorded replies, one JSON object a line: no network, no cost, the same every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.agent.model import Message, Reply, reply_from_json
from pipeline.errors import FormatError, PhaseError
from pipeline.files import read_bytes
from pipeline.formats import parse_json


class ReplayModel:
    """Answers turn N with line N of the recording."""

    def __init__(self, path: str) -> None:
        self.name = f"replay:{path}"
        self.detail = "recorded replies"
        self._replies = [
            _reply(path, number, line) for number, line in enumerate(read_bytes(path).split(b"\n"), 1) if line.strip()
        ]

    def ask(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Reply:
        turn = sum(message.role == "assistant" for message in messages)
        if turn >= len(self._replies):
            raise PhaseError(
                f"{self.name} holds {len(self._replies)} replies, and the run asks for one more; record a longer one"
            )
        return self._replies[turn]


def _reply(path: str, number: int, line: bytes) -> Reply:
    try:
        row = parse_json(line)
        return reply_from_json(row.get("reply", row))
    except (FormatError, KeyError, TypeError, AttributeError) as error:
        raise PhaseError(f"{path}, line {number}: not a recorded reply ({error})") from error
