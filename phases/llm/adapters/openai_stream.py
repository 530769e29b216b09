"""What a stream of OpenAI's chat completions says, and when it is a whole reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phases.llm.adapters.events import DONE
from phases.llm.adapters.reply_builder import Counted, Draft, parsed, whole_number
from phases.llm.adapters.streams import cut_off, events_of, good_end
from phases.llm.error_classification import Server, malformed, verdict_on_event
from phases.llm.model import OK, REFUSED, TRUNCATED, Reply
from phases.llm.reasoning import DETAILS, TEXTS

_ENDS = {"stop": OK, "tool_calls": OK, "length": TRUNCATED, "max_tokens": TRUNCATED, "content_filter": REFUSED}


def read_stream(server: Server, draft: Draft, pieces: Iterable[bytes]) -> Reply:
    """The reply that a stream holds. Raises ReplyError for one that is cut off, or is none."""
    finish: str | None = None
    for event in events_of(server, pieces):
        if event.data.strip() == DONE:
            return good_end(server, draft, finish, _ENDS, calling="tool_calls")
        chunk = parsed(server, event.data)
        if event.name == "error" or chunk.get("error"):
            raise verdict_on_event(server, chunk.get("error") or chunk)
        draft.counted = _counted(chunk.get("usage")) or draft.counted
        finish = _take(server, draft, chunk.get("choices", [])) or finish
    raise cut_off(server)


def _take(server: Server, draft: Draft, choices: object) -> str | None:
    """Adds what a chunk brings, and returns its reason for ending."""
    if choices is None or choices == []:
        return None  # the chunk with the usage
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise malformed(server, "choices that are none")
    if len(choices) > 1 or choices[0].get("index", 0) not in (0, None):
        raise malformed(server, "a second choice, and one was asked for")
    delta = choices[0].get("delta") or {}
    if not isinstance(delta, dict):
        raise malformed(server, "a piece of a reply of the wrong type")
    if delta.get("content") is not None:
        draft.add_text(delta["content"])
    for name in TEXTS:
        if delta.get(name) is not None:
            draft.thoughts.add_text(name, delta[name])
    if delta.get(DETAILS) is not None:
        draft.thoughts.add_details(delta[DETAILS])
    if delta.get("refusal") is not None:
        draft.add_refusal(delta["refusal"])
    calls = delta.get("tool_calls") or []
    if not isinstance(calls, list):
        raise malformed(server, "calls of tools of the wrong type")
    for place, call in enumerate(calls):
        _take_call(server, draft, call, place)
    finish = choices[0].get("finish_reason")
    if finish is not None and not isinstance(finish, str):
        raise malformed(server, "a reason for ending of the wrong type")
    return finish or None


def _take_call(server: Server, draft: Draft, call: object, place: int) -> None:
    function: Any = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise malformed(server, "a call of a tool of the wrong type")
    key, identifier, name = call.get("index", place), call.get("id"), function.get("name")
    if isinstance(key, bool) or not isinstance(key, int):
        raise malformed(server, "a call of a tool without its place")
    if not draft.is_begun(
        key, identifier, name
    ):  # some servers give every call the place 0, and tell them apart by id alone
        draft.begin_call(key, identifier, name)
    if function.get("arguments") is not None:
        draft.add_arguments(key, function["arguments"])
    if isinstance(call.get("extra_content"), dict):
        draft.add_extra(key, call["extra_content"])


def _counted(usage: object) -> Counted | None:
    if not isinstance(usage, Mapping):
        return None
    told = usage.get("prompt_tokens_details")
    details: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    spent = usage.get("completion_tokens_details")
    return Counted(
        whole_number(usage.get("prompt_tokens")),
        whole_number(details.get("cached_tokens")),
        whole_number(usage.get("completion_tokens")),
        whole_number(details.get("cache_write_tokens")) or 0,
        usd=_cost(usage),
        thought=whole_number(spent.get("reasoning_tokens")) if isinstance(spent, Mapping) else None,
    )


def _cost(usage: Mapping[str, Any]) -> float | None:
    """What the server says a reply cost; with a key of the user's own at OpenRouter, what that key's owner paid comes on top."""
    more = usage.get("cost_details") if usage.get("is_byok") is True else None
    amounts = [usage.get("cost"), more.get("upstream_inference_cost") if isinstance(more, Mapping) else None]
    told = [
        float(one) for one in amounts if isinstance(one, (int, float)) and not isinstance(one, bool) and 0 <= one < 1e6
    ]
    return sum(told) if told else None
