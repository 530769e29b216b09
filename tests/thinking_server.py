"""A server that enforces what vendors of thinking models enforce: what a model thought comes back as it was sent, or the
question is refused with 400, in the vendors' own words. The refusals stand in `server.refused`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.llm_server import ANTHROPIC, Answer, Asked, LlmServer, Says, Script, Status, error_body, signature_of
from tests.responses_wire import RESPONSES, reasoning_item, turns_of

_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
_Key = tuple[str, tuple[tuple[str, str], ...]]


class ThinkingServer(LlmServer):
    """Remembers what was thought in each reply, by the text and the calls of the reply."""

    def __init__(self, *script: Answer | Script, always_wanted: bool = False, **more: Any) -> None:
        """`always_wanted`: each turn of the model needs reasoning_content, also one that this server did not speak."""
        super().__init__(*script, **more)
        self.refused: list[str] = []
        self._always_wanted = always_wanted
        self._said: dict[_Key, Says] = {}

    def next_answer(self, request: Asked) -> Answer:
        fault = self._fault(request)
        if fault:
            self.refused.append(fault)
            return Status(400, error_body(fault))
        answer = super().next_answer(request)
        if isinstance(answer, Says):
            self._said[_key(answer.text, ((one.name, json.loads(one.arguments or "{}")) for one in answer.calls))] = (
                answer
            )
        return answer

    def _fault(self, request: Asked) -> str:
        if request.path == RESPONSES:
            return _responses_fault(request.body["input"], self._said)
        of_one = _anthropic_fault if request.path == ANTHROPIC else self._openai_fault
        for place, message in enumerate(request.body["messages"]):
            if message["role"] == "assistant" and (fault := of_one(place, message, self._said)):
                return fault
        return ""

    def _openai_fault(self, place: int, message: Mapping[str, Any], known: Mapping[_Key, Says]) -> str:
        calls = message.get("tool_calls") or []
        functions = [one["function"] for one in calls]
        said = known.get(
            _key(message.get("content") or "", ((one["name"], json.loads(one["arguments"])) for one in functions))
        )
        sent = {name: message[name] for name in _FIELDS if name in message}
        extras = [one.get("extra_content") for one in calls]
        if said is None:
            stranger = [name for name in sent if name != "reasoning_content"]
            if stranger or (sent and not self._always_wanted):
                return f"reasoning in message {place} is not ours: {sorted(sent)}"
            missing = self._always_wanted and not sent
        else:
            wanted = {"reasoning_content": said.thinks} if said.thinks else {}
            missing = bool(wanted) and "reasoning_content" not in sent
            details = {"reasoning_details": merged(said.details)} if said.details else {}
            if not missing and sent != wanted | details:
                return f"reasoning was changed in message {place}: {sent}"
            if extras != [one.extra for one in said.calls]:
                return f"Function call is missing a thought_signature in functionCall parts. position {place}"
        return (
            f"Missing `reasoning_content` field in the assistant message at message index {place}." if missing else ""
        )


def merged(details: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The whole of a list that was sent piece by piece, each with its own index."""
    whole: dict[object, dict[str, Any]] = {}
    for piece in details:
        row = whole.setdefault(piece["index"], {})
        for name, value in piece.items():
            grows = name in ("text", "summary") and name in row
            row[name] = row[name] + value if grows else value
    return [whole[index] for index in whole]


def _anthropic_fault(place: int, message: Mapping[str, Any], known: Mapping[_Key, Says]) -> str:
    content = message["content"]
    text = "".join(block["text"] for block in content if block["type"] == "text")
    text = "" if text == "(nothing)" else text
    calls = ((block["name"], block["input"]) for block in content if block["type"] == "tool_use")
    said = known.get(_key(text, calls))
    thought = [block for block in content if block["type"] in ("thinking", "redacted_thinking")]
    wanted = [*_thinking_of(said)] if said else []
    if wanted and content[: len(wanted)] != thought:
        return f"messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{content[0]['type']}`"
    if thought != wanted:
        return f"messages.{place}: Invalid `signature` in `thinking` block, or it was modified"
    return ""


def _responses_fault(items: Sequence[Mapping[str, Any]], known: Mapping[_Key, Says]) -> str:
    for turn in turns_of(items):
        calls = [(item["name"], json.loads(item["arguments"])) for item in turn if item.get("type") == "function_call"]
        text = "".join(item["content"] for item in turn if item.get("role") == "assistant")
        said = known.get(_key(text, calls))
        sent = [item for item in turn if item.get("type") == "reasoning"]
        wanted = [reasoning_item(said.thinks)] if said and said.thinks else []
        if sent != wanted or turn[: len(sent)] != sent:
            return f"Item 'fc_1' was provided without its required 'reasoning' item: {sent} is not {wanted}"
        if said and any(item.get("phase") != "commentary" for item in turn if item.get("role") == "assistant"):
            return "the phase of a message was not preserved"
    return ""


def _thinking_of(said: Says) -> Iterator[dict[str, Any]]:
    if said.thinks:
        yield {"type": "thinking", "thinking": said.thinks, "signature": signature_of(said.thinks)}
    if said.redacted:
        yield {"type": "redacted_thinking", "data": said.redacted}


def _key(text: str, calls: Any) -> _Key:
    return text.strip(), tuple((name, json.dumps(arguments, sort_keys=True)) for name, arguments in calls)
