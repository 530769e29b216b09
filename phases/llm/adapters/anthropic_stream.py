"""What a stream of Anthropic's messages says, and when it is a whole reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phases.llm.adapters.reply_builder import Counted, Draft, parsed, whole_number
from phases.llm.adapters.streams import cut_off, events_of, good_end
from phases.llm.error_classification import Server, malformed, verdict_on_event
from phases.llm.model import OK, REFUSED, TRUNCATED, Reply
from pipeline.base.errors import FormatError
from pipeline.base.formats import dump_json_line

_ENDS = {
    "end_turn": OK,
    "tool_use": OK,
    "stop_sequence": OK,
    "max_tokens": TRUNCATED,
    "model_context_window_exceeded": TRUNCATED,
    "refusal": REFUSED,
}


def read_stream(server: Server, draft: Draft, pieces: Iterable[bytes]) -> Reply:
    """The reply that a stream holds. Raises ReplyError for one that is cut off, or is none."""
    stream = _Stream(server, draft)
    for event in events_of(server, pieces):
        said = parsed(server, event.data)
        kind = said.get("type", event.name)
        if kind == "error" or event.name == "error":
            raise verdict_on_event(server, said.get("error") or said)
        if kind == "message_stop":
            return stream.end()
        stream.take(kind, said)
    raise cut_off(server)


class _Stream:
    """The state of a stream: its blocks, and why it ended."""

    def __init__(self, server: Server, draft: Draft) -> None:
        self._server, self._draft = server, draft
        self._finish: str | None = None
        self._begun = False
        self._blocks: dict[object, str] = {}
        """The kinds of the blocks that are open."""

    def take(self, kind: object, said: Mapping[str, Any]) -> None:
        """Adds what an event brings. Kinds that are not known are passed over, as the format wants it."""
        if kind == "message_start":
            if self._begun:
                raise malformed(self._server, "a second message, and one was asked for")
            self._begun = True
            self._count(_mapping(said.get("message")).get("usage"))
        elif kind == "content_block_start":
            self._start(said.get("index"), _mapping(said.get("content_block")))
        elif kind == "content_block_delta":
            self._add(said.get("index"), _mapping(said.get("delta")))
        elif kind == "content_block_stop":
            self._end(said.get("index"))
        elif kind == "message_delta":
            reason = _mapping(said.get("delta")).get("stop_reason")
            if reason is not None and not isinstance(reason, str):
                raise malformed(self._server, "a reason for ending of the wrong type")
            self._finish = reason or self._finish
            self._count(said.get("usage"))

    def end(self) -> Reply:
        """The reply, now that the end mark is there."""
        if self._blocks:
            raise malformed(self._server, "a reply with a part that has no end")
        return good_end(self._server, self._draft, self._finish, _ENDS, calling="tool_use")

    def _start(self, index: object, block: Mapping[str, Any]) -> None:
        if not isinstance(index, int) or index in self._blocks:
            raise malformed(self._server, "a part of a reply that stands nowhere")
        self._blocks[index] = str(block.get("type"))
        self._draft.thoughts.begin_block(index, block)
        if block.get("type") == "text" and block.get("text"):
            self._draft.add_text(block["text"])
            self._draft.thoughts.add_to_block(index, {"type": "text_delta", "text": block["text"]})
        elif block.get("type") == "tool_use":
            self._draft.begin_call(index, block.get("id"), block.get("name"))
            if block.get("input"):  # the whole of it at once
                self._draft.add_arguments(index, self._written(block["input"]))

    def _written(self, value: object) -> str:
        try:
            return dump_json_line(value).decode()
        except FormatError as error:
            raise malformed(self._server, "a call, and the arguments are nested too deeply") from error

    def _add(self, index: object, delta: Mapping[str, Any]) -> None:
        if not isinstance(index, int) or index not in self._blocks:
            raise malformed(self._server, "a piece of a part that it never began")
        if delta.get("type") == "text_delta":
            self._draft.add_text(delta.get("text"))
        elif delta.get("type") == "input_json_delta":
            self._draft.add_arguments(index, delta.get("partial_json"))
        self._draft.thoughts.add_to_block(index, delta)

    def _end(self, index: object) -> None:
        if self._blocks.pop(index, None) is not None and isinstance(index, int):
            self._draft.thoughts.end_block(index)

    def _count(self, usage: object) -> None:
        """What was used, as far as this event says: the request's tokens come first, the reply's last."""
        told = {name: whole_number(value) for name, value in _mapping(usage).items()}
        old, read, written = (
            self._draft.counted,
            told.get("cache_read_input_tokens"),
            told.get("cache_creation_input_tokens"),
        )
        if told.get("input_tokens") is not None:
            total = (told["input_tokens"] or 0) + (read or 0) + (written or 0)
            old = Counted(total, read or 0, old.out, written or 0)
        self._draft.counted = old._replace(out=old.out if told.get("output_tokens") is None else told["output_tokens"])


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
