"""Keep a model's reasoning from a stream, and return it to that model unchanged.

Vendors sign it, and refuse the next question of a tool loop if it is missing or changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from phases.llm.error_classification import Server, bad_reply
from phases.llm.model import OWNER, Message, is_deep

TEXTS = ("reasoning_content", "reasoning")
DETAILS, EXTRAS, BLOCKS = "reasoning_details", "extra_content", "blocks"
ITEM = "reasoning"
"""A part of a reply of the Responses API."""
THINKING = ("thinking", "redacted_thinking", ITEM)
_WORDS = ("reasoning", "thinking", "signature")
_GROWING = ("text", "summary")
"""The parts of a detail that come piece by piece."""
_SIGNED = ("text", "summary", "data", "signature")


class Thoughts:
    """Reasoning of one reply.

    `take` counts a piece, and refuses what is not text or too much; `read` does the same with readable words.
    """

    def __init__(self, server: Server, take: Callable[[object], str], read: Callable[[object], str]) -> None:
        self._server, self._take, self._read = server, take, read
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._grown: list[dict[str, list[str]]] = []
        self._blocks: list[dict[str, Any]] = []
        self._open: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def add_text(self, name: str, piece: object) -> None:
        if taken := self._read(piece):
            self._texts.setdefault(name, []).append(taken)

    def add_details(self, rows: object) -> None:
        """Take pieces of OpenRouter's list; a piece goes on with the one before it where both say the same place."""
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise bad_reply(self._server, "reasoning_details of the wrong type")
        for row in rows:
            for name in _SIGNED:
                (self._read if name in _GROWING else self._take)(row.get(name) or "")
            if self._details and _is_continuation(self._details[-1], row):
                self._details[-1] |= {name: value for name, value in row.items() if value is not None}
            else:
                self._take("\n")  # each costs room, an empty one too
                self._details.append(dict(row))
                self._grown.append({name: [] for name in _GROWING})
            for name in _GROWING:
                if row.get(name):
                    self._grown[-1][name].append(row[name])

    def count(self, piece: object) -> None:
        """Count a piece of what comes whole at its end."""
        self._read(piece)

    def add_block(self, block: Mapping[str, Any]) -> None:
        """Take a block that came whole: a part of a reply of the Responses API, in its place among the others."""
        self._take(block.get("encrypted_content") or "\n")  # each costs room, an empty one too
        self._blocks.append(dict(block))

    def begin_block(self, index: int, block: Mapping[str, Any]) -> None:
        """Take the beginning of one of Anthropic's blocks, whatever its kind: their order must stay."""
        kind = block.get("type")
        row = dict(block) if kind in THINKING else {"type": kind, **({"characters": 0} if kind == "text" else {})}
        self._read(row.get("thinking") or "")
        for name in ("data", "signature"):
            self._take(row.get(name) or "")
        self._open[index] = row, []
        self._blocks.append(row)

    def add_to_block(self, index: int, delta: Mapping[str, Any]) -> None:
        row, pieces = self._open[index]
        if delta.get("type") == "text_delta":
            row["characters"] = row.get("characters", 0) + len(str(delta.get("text")))
        elif delta.get("type") == "thinking_delta":
            pieces.append(self._read(delta.get("thinking")))
        elif delta.get("type") == "signature_delta":
            row["signature"] = self._take(delta.get("signature"))

    def end_block(self, index: int) -> None:
        row, pieces = self._open.pop(index, ({}, []))
        if pieces:
            row["thinking"] = "".join([row.get("thinking") or "", *pieces])

    def whole(self, extras: Sequence[object]) -> dict[str, Any]:
        """Return all reasoning and the calls' provider data; empty without any. Raises ReplyError if it is too deep."""
        found: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._texts.items()}
        if self._details:
            found[DETAILS] = [
                {**row, **{name: "".join(pieces) for name, pieces in grown.items() if pieces}}
                for row, grown in zip(self._details, self._grown, strict=True)
            ]
        if any(extras):
            found[EXTRAS] = [extra if isinstance(extra, dict) else None for extra in extras]
        if any(row["type"] in THINKING for row in self._blocks):
            found[BLOCKS] = self._blocks
        if is_deep(found):
            raise bad_reply(self._server, "reasoning that is nested too deeply")
        return {OWNER: owner_of(self._server), **found} if found else {}


def owner_of(server: Server) -> str:
    """Return the owner of a server's reasoning: the model as the setting names it."""
    return f"{server.provider}:{server.model}"


def reasoning_for(message: Message, server: Server) -> Mapping[str, Any]:
    """Return a message's reasoning for the model that it came from; empty for any other."""
    # decision 130: a signature holds for the model that made it, and another one may refuse it.
    return message.reasoning if message.reasoning.get(OWNER) == owner_of(server) else {}


def refuses_reasoning(said: str, messages: Sequence[Message]) -> bool:
    """Return whether the server's refusal is about the reasoning in these messages, which may be outdated."""
    return any(word in said for word in _WORDS) and any(message.reasoning for message in messages)


def order_blocks(text: str, reasoning: Mapping[str, Any], calls: Sequence[Any]) -> Iterator[Any]:
    """Yield the blocks of a message in order: thinking, parts of the text, and `calls`."""
    rows = [dict(row) for row in reasoning.get(BLOCKS, ()) if isinstance(row, dict)]
    rest = list(calls)
    sizes = [row.get("characters") for row in rows if row.get("type") == "text"]
    told = all(isinstance(size, int) and size >= 0 for size in sizes) and sum(filter(None, sizes)) == len(text)
    if not told or sum(row.get("type") == "tool_use" for row in rows) != len(rest):
        # A key was redacted from the text, or the row was edited: what must come first does.
        rows = [row for row in rows if row.get("type") in THINKING] + [{"type": "text", "characters": len(text)}]
    for row in rows:
        if row.get("type") in THINKING:
            yield row
        elif row.get("type") == "text":
            piece, text = text[: row["characters"]], text[row["characters"] :]
            if piece.strip():
                yield {**{name: value for name, value in row.items() if name != "characters"}, "text": piece}
        elif row.get("type") == "tool_use":
            yield rest.pop(0)
    yield from rest


def _is_continuation(before: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Return whether a detail continues the previous one: an encrypted or signed one is whole."""
    same = all(before.get(name) == row.get(name) for name in ("type", "index"))
    ended = before.get("signature") or before.get("data") or row.get("data")
    return same and row.get("id") in (None, before.get("id")) and not ended
